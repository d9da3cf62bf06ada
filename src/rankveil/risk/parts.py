"""Who is in a release and who is not: records of both kinds, equally many, drawn at random.

Whole units  A unit is a row or, where the plan protects persons, all rows of a person. Units are drawn, and of each one
             row is attacked, so that attacks on members and on others are equally hard (T55).
Public       Columns that everyone knows single nobody out and link nothing: attacks of that kind leave them out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from rankveil.declare import Plan, Records, Schema
from rankveil.declare.dataset import Dataset
from rankveil.declare.persons import limited, persons_of
from rankveil.declare.schema import encode_batch
from rankveil.engines import open_table
from rankveil.errors import TableError
from rankveil.evaluate.measuring import on_scale_of
from rankveil.methods import budget_of, method_named
from rankveil.noise import RandomSource, Sampler

FEWEST = 30
MOST_RELEASED = 20_000


@dataclass(frozen=True)
class Held:
    """A table in memory."""

    rows: pa.Table
    schema: Schema

    @property
    def dataset(self) -> Dataset:
        return Dataset(self.schema, open_table(self.rows))

    def records(self) -> Records:
        codes = {
            column.name: encode_batch(column, array).codes
            for column, array in ((each, _one_array(self.rows, each.name)) for each in self.schema.columns)
        }
        return Records(self.schema, codes, self.rows.num_rows)

    def units(self) -> NDArray[np.int64]:
        """Whose each row is, as a number."""
        if self.schema.unit.person is None:
            return np.arange(self.rows.num_rows)
        batch = self.rows.combine_chunks().to_batches()
        whose = pa.concat_arrays([persons_of(self.schema, each) for each in batch])
        return np.asarray(whose.dictionary_encode().indices.fill_null(-1))

    def some(self, which: NDArray[np.int64]) -> Held:
        return Held(self.rows.take(pa.array(which)), self.schema)


@dataclass(frozen=True)
class Sides:
    """A release in random order, and as many members as others."""

    released: Records
    members: Records
    others: Records
    on_file: bool  # the release is the given file

    @property
    def count(self) -> int:
        return self.members.row_count

    @property
    def protected(self) -> Sides:
        """The same people, without their public columns."""
        return Sides(_protected(self.released), _protected(self.members), _protected(self.others), self.on_file)


def _protected(records: Records) -> Records:
    schema = replace(records.schema, columns=records.schema.protected, stated=())
    return Records(schema, {name: records.codes[name] for name in schema.names}, records.row_count)


def _one_array(rows: pa.Table, name: str) -> pa.Array:
    found = rows.column(name).combine_chunks()
    return found.chunk(0) if isinstance(found, pa.ChunkedArray) else found


def picked(records: Records, rows: NDArray[np.int64]) -> Records:
    return Records(records.schema, {name: codes[rows] for name, codes in records.codes.items()}, len(rows))


def one_of_each(units: NDArray[np.int64], sampler: Sampler) -> NDArray[np.int64]:
    """A row of every unit, in random order."""
    order = sampler.permutation(len(units))
    _, first = np.unique(units[order], return_index=True)
    return order[np.sort(first)]


def split(units: NDArray[np.int64], share: float, sampler: Sampler) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of members and of others: whole units, drawn at random."""
    known = np.unique(units)
    out = known[sampler.permutation(len(known))][: int(len(known) * share)]
    is_other = np.isin(units, out)
    return np.flatnonzero(~is_other), np.flatnonzero(is_other)


def sides(released: Records, members: Held, others: Held, most: int, sampler: Sampler, *, on_file: bool) -> Sides:
    """At most so many records of each kind, and at most MOST_RELEASED released rows."""
    chosen = [one_of_each(held.units(), sampler) for held in (members, others)]
    count = min(most, *map(len, chosen))
    if count < FEWEST:
        raise TableError(
            f"There are {count} records outside the release, or in it: attacks need {FEWEST} of each at least.",
            remedy="Give more records with --held-out, or a larger --control-share.",
        )
    some = sampler.permutation(released.row_count)[:MOST_RELEASED]
    first, second = (picked(held.records(), rows[:count]) for held, rows in zip((members, others), chosen, strict=True))
    return Sides(picked(released, some), first, second, on_file)


def released_in_memory(held: Held, plan: Plan, source: RandomSource) -> Records:
    """Rows by the plan, drawn for a test and never published: the source is not one for releases."""
    method = method_named(plan.release.method)
    with limited(held.dataset, source) as used:
        rows = method.drawn(method.prepare(used, plan.release.k or 1), budget_of(plan), source)
    return on_scale_of(held.schema, Records(rows.schema, rows.collected(), rows.row_count))
