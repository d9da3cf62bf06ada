"""The local engine: one machine, all its cores."""

from __future__ import annotations

from dataclasses import dataclass

from rankveil.engines.engine import RowProgress, silent
from rankveil.engines.fold import Fold, State
from rankveil.engines.source import Table


@dataclass(frozen=True)
class LocalEngine:
    name: str = "local"

    def fold(self, table: Table, work: Fold[State], progress: RowProgress = silent) -> State:
        state = work.zero()
        for batch in table.batches(work.columns):
            state = work.step(state, batch)
            progress(batch.num_rows)
        return state
