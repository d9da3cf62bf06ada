"""Folds on a Spark cluster, and work spread over its executors.

Guarantee    The state is the one that the local engine gives for the same rows, bit for bit, whatever the partitions,
             and whatever tasks are lost and run again.
Argument     Every partition is folded into one state, which Spark hands on once. Merging is associative and commutative
             on integers. States are merged in a tree on the executors, by a key that is a function of the partition's
             number alone, so a state that is computed again goes where it went before.
Memory       An executor's task holds two states; the driver holds two, and FAN_IN more that are compressed.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa

from rankveil.engines.engine import Engine, Fold, Item, Made, Map, Regrouping, RowProgress, RowsToCome, State, silent
from rankveil.engines.local import LocalEngine
from rankveil.engines.source import is_spark_frame
from rankveil.engines.spark import session as sessions
from rankveil.engines.spark.table import FrameTable, GroupedTable, open_for_spark
from rankveil.engines.spark.tasks import (
    RESULT_TYPE,
    FoldFiles,
    FoldGroups,
    FoldRows,
    GroupFiles,
    GroupRows,
    KeepRows,
    MakeRows,
    MergeStates,
    Result,
    RunItems,
    merge_results,
    result_of,
)
from rankveil.engines.table import Table
from rankveil.errors import OutputError, PlanError, TableError

FAN_IN = 16  # states merged by one task
_TASKS_PER_SLOT = 4  # more would send more states, fewer would leave slots idle at the end


@dataclass(frozen=True)
class SparkEngine:
    """Runs on the session that is given."""

    spark: Any
    fan_in: int = FAN_IN

    @property
    def slots(self) -> int:
        """How many tasks can run at once."""
        return sessions.parallelism(self.spark)

    @property
    def in_parts(self) -> bool:
        return True

    def refuse(self, reads_records: str | None, out: object) -> None:
        """Refuse what a cluster cannot do.

        PRIVACY: noise is drawn by the driver alone. A worker that is lost is asked again, and a record whose noise was
        drawn twice would pay twice.
        """
        if out is not None and "://" in str(out):
            raise OutputError(
                f"A release cannot be written to {out}: it has to appear whole or not at all, which needs a file"
                " system.",
                remedy="Give a folder that the driver and all executors share under the same path, and copy it from"
                " there.",
            )
        if reads_records is not None:
            raise PlanError(
                f"{reads_records} needs every record by itself: its noise is drawn record by record, and on the driver"
                " alone.",
                remedy="Use the local engine, which streams files of any size, or the method synthetic without public"
                " columns, which needs counts only.",
            )

    def open(self, source: object, *, separator: str | None = None, encoding: str | None = None) -> Table:
        """A data frame, the name of a catalogue table, a path or a URL, without reading its rows."""
        return open_for_spark(self.spark, source, separator=separator, encoding=encoding)

    def fold(self, table: Table, work: Fold[State], progress: RowProgress = silent) -> State:
        pickled = pickle.dumps(work)
        with sessions.spark_errors(f"Table {table.name} cannot be read", TableError):
            if isinstance(table, GroupedTable):
                parts = _TASKS_PER_SLOT * self.slots
                states = table.frame.coalesce(parts).mapInArrow(FoldGroups(pickled), RESULT_TYPE)
            else:
                states, parts = self._read(table, work.columns, FoldRows(pickled), partial(FoldFiles, pickled))
            merged = merge_results(work, self._collected(self._merged(states, parts, pickled)))
        progress(merged.rows)
        return merged.content  # type: ignore[no-any-return]

    def _read(
        self, table: Table, columns: Sequence[str], of_frame: FoldRows | GroupRows, of_files: Callable[..., Any]
    ) -> tuple[Any, int]:
        """What tasks make of all rows of a table, and how many tasks there are."""
        most = _TASKS_PER_SLOT * self.slots
        if isinstance(table, FrameTable):
            return table.select(columns).coalesce(most).mapInArrow(of_frame, RESULT_TYPE), most
        if table.path is not None:
            slices = tuple(table.slices())
            parts = min(most, len(slices))
            return self._numbers(len(slices), parts).mapInArrow(of_files(slices), RESULT_TYPE), parts
        raise TableError(
            f"The table is in this process's memory ({table.format}), where no executor can read it.",
            remedy="Use the local engine for it, or give Spark a data frame, a table or a path.",
        )

    @contextmanager
    def regroup(self, table: Table, work: Regrouping, progress: RowProgress = silent) -> Iterator[Table]:
        """Groups are put together by a shuffle, and kept on the executors' disks until they are let go."""
        from pyspark import StorageLevel

        pickled = pickle.dumps(work)
        with sessions.spark_errors(f"Table {table.name} cannot be read", TableError):
            found, _ = self._read(table, work.columns, GroupRows(pickled), partial(GroupFiles, pickled))
            parts = min(work.groups, _TASKS_PER_SLOT * self.slots)
            together = found.repartition(parts, "part").sortWithinPartitions("part")
            kept = together.mapInArrow(KeepRows(pickled), RESULT_TYPE).persist(StorageLevel.DISK_ONLY)
        try:
            yield GroupedTable(table.name, "spark", pa.schema([]), frame=kept)
        finally:
            with suppress(Exception):  # the session may be gone, and its files with it
                kept.unpersist()

    def _merged(self, states: Any, parts: int, work: bytes) -> Any:
        """States merged on the executors until the driver can take the rest."""
        from pyspark.sql.functions import col, floor

        while parts > self.fan_in:
            parts = -(-parts // self.fan_in)
            together = floor(col("part") / self.fan_in)
            states = states.repartition(parts, together).mapInArrow(MergeStates(work), RESULT_TYPE)
        return states

    def map(self, task: Callable[[Item], Made], items: Sequence[Item]) -> Iterator[Made]:
        """What `task` makes of each item, in their order. The task may run more than once for an item."""
        with sessions.spark_errors("Work on the executors could not be finished", OutputError):
            rows = self._numbers(len(items), len(items)).mapInArrow(
                RunItems(pickle.dumps((task, list(items)))), RESULT_TYPE
            )
            made = {result.part: result.content for result in self._collected(rows)}
        yield from (made[number] for number in range(len(items)))

    def files(self, whole: Callable[[], Made], in_parts: Callable[[Map], Made]) -> Made:
        return in_parts(self.map)

    def frame(self, rows: RowsToCome[Any], like: Table) -> Any:
        """For a data frame another one, whose rows are made when Spark asks for them: the same each time."""
        if not isinstance(like, FrameTable):
            return like.rebuild(rows.whole())
        from pyspark.sql.pandas.types import from_arrow_schema

        with sessions.spark_errors("The rows could not be made", OutputError):
            return self._numbers(len(rows.items), len(rows.items)).mapInArrow(
                MakeRows(pickle.dumps((rows.make, list(rows.items)))),
                from_arrow_schema(rows.schema, prefer_timestamp_ntz=True),
            )

    def _numbers(self, count: int, parts: int) -> Any:
        return self.spark.range(0, count, 1, max(1, parts))

    def _collected(self, rows: Any) -> Iterator[Result]:
        # Row by row: the driver then holds the states compressed, and takes one apart at a time.
        for row in rows.collect():
            yield result_of(row.part, row.rows, row.refusal, row.content)


def engine_for(table: object) -> Engine:
    """The engine that a table comes with: a data frame's session, or this machine."""
    return SparkEngine(table.sparkSession) if is_spark_frame(table) else LocalEngine()  # type: ignore[attr-defined]
