"""Somebody's own table, as cells that can be stored anew, as they are and with one record replaced. INTERNAL."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankveil.audit.replay.ways import LOCAL_WAYS, Cells, Way
from rankveil.declare import Plan, declare
from rankveil.engines import open_table

MOST_ROWS = 100_000


@dataclass(frozen=True)
class Given:
    """A table's cells, and the ways in that they can take: texts stay texts."""

    name: str
    cells: Cells
    ways: Sequence[Way]

    @classmethod
    def read(cls, path: Path, plan: Plan) -> tuple[Given, Plan]:
        """The table, and the plan with the separator that was found in the file."""
        table = open_table(path, separator=plan.table.separator, encoding=plan.table.encoding)
        plan = plan.over(table.schema.names)
        declare(plan, table)
        cells: dict[str, list[Any]] = {name: [] for name in table.schema.names}
        for batch in table.batches():
            for name, column in zip(batch.schema.names, batch.columns, strict=True):
                cells[name] += [_day(value) for value in column.slice(0, MOST_ROWS - len(cells[name])).to_pylist()]
            if all(len(column) >= MOST_ROWS for column in cells.values()):
                break
        text = table.of_texts
        ways = [way for way in LOCAL_WAYS if not way.table and way.text == text and not (text and way.objects)]
        if table.dialect is not None:
            content = plan.model_dump()
            content["table"] |= {"separator": table.dialect.separator, "encoding": None}
            plan = Plan.from_dict(content, folder=plan.folder)
        return cls(table.name, cells, ways), plan


def _day(value: Any) -> Any:
    """Points in time are read by their day."""
    return value.date() if isinstance(value, datetime.datetime) else value
