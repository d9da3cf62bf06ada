"""What the table holds beside what the plan says of a column: a small picture, missing values, values outside.

INTERNAL     Every figure here is computed from the original without noise. It is shown on the page, marked as internal,
             to whoever holds the table. Nothing of it enters a plan, a release or a certificate.
Work         One pass over the columns that are asked for, and no more than the first MOST_ROWS rows; the page says of
             how many rows a figure speaks. What was found is kept in the session's private folder for as long as the
             column's entry and the file have not changed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rankveil.declare import Column, Plan, declare
from rankveil.declare.domain import DEFAULT_NULL_TOKENS, Codes, Grid, Nominal, domain_of
from rankveil.declare.entries import ColumnEntry, DropColumn
from rankveil.declare.schema import Misfits, encode_batch
from rankveil.engines import Table
from rankveil.engines.arrays import decoded, without
from rankveil.errors import RankveilError
from rankveil.web.budget import open_dialect
from rankveil.web.home import State, Working
from rankveil.web.private import keep

MOST_ROWS = 1_000_000
MOST_LABELS = 200  # that are proposed, as a draft would
_BARS = 24
_FILE = "looks.json"


@dataclass(frozen=True)
class Look:
    """INTERNAL. What was seen of one column, read as the plan says."""

    rows: int
    all_rows: bool
    missing: int
    outside: int  # the range, or the list of labels
    unreadable: int  # no number, no date of that format
    labels: bool  # whether `outside` is about labels
    bars: tuple[int, ...]  # heights from 0 to 100, in the order of the plan

    @property
    def of_rows(self) -> str:
        return f"{self.rows:,} rows" if self.all_rows else f"the first {self.rows:,} rows"

    @property
    def misfits(self) -> tuple[str, ...]:
        """What a release would refuse, in words."""
        found = []
        if self.outside:
            one = self.outside == 1
            where = "is not among the labels" if one else "are not among the labels"
            where = where if self.labels else "lies outside" if one else "lie outside"
            found.append(f"{self.outside:,} {'value' if one else 'values'} {where}")
        if self.unreadable:
            one = self.unreadable == 1
            found.append(f"{self.unreadable:,} {'value does' if one else 'values do'} not fit the kind")
        return tuple(found)


def looks(working: Working, names: Collection[str] | None = None) -> dict[str, Look]:
    """Looks at columns, from what is kept or from one pass over the table; without those that cannot be had."""
    state = working.read()
    plan = working.plan(state)
    wanted = {name: plan.columns[name] for name in (plan.columns if names is None else names)}
    keys = {name: _key(plan, entry) for name, entry in wanted.items() if not isinstance(entry, DropColumn)}
    stamp = _stamp(state)
    kept = _kept(working, stamp)
    absent = [name for name, key in keys.items() if kept.get(name, {}).get("key") != key]
    if absent and stamp is not None:
        try:
            found = _seen(plan, open_dialect(working, Path(state.table)), absent)
        except RankveilError:
            found = {}  # the release says what is wrong with the table
        new = {name: {"key": keys[name], "look": _as_dict(found.get(name))} for name in absent}
        kept = {**kept, **new}
        keep(working.folder / _FILE, json.dumps({"stamp": stamp, "columns": kept}).encode())
    return {
        name: _as_look(kept[name]["look"])
        for name, key in keys.items()
        if kept.get(name, {}).get("key") == key and kept[name]["look"] is not None
    }


def labels_found(working: Working, name: str) -> list[str]:
    """INTERNAL. The texts that a column holds, sorted; none if there are too many to be labels, or no table."""
    state = working.read()
    plan = working.plan(state)
    tokens = plan.table.null_values or DEFAULT_NULL_TOKENS
    found: set[str] = set()
    try:
        table = open_dialect(working, Path(state.table))
        for batch in _first_rows(table, [name]):
            texts = decoded(batch.column(0)).cast(pa.string())
            found.update(text for text in pc.unique(without(texts, tokens)).to_pylist() if text is not None)
            if len(found) > MOST_LABELS:
                return []
    except (RankveilError, pa.ArrowException, OSError):
        return []
    return sorted({text.strip() for text in found} - set(tokens), key=_by_number)


def _by_number(text: str) -> tuple[bool, float, str]:
    """Codes such as 2 and 10 by what they count."""
    try:
        return (False, float(text), text)
    except ValueError:
        return (True, 0.0, text)


def _seen(plan: Plan, table: Table, names: Iterable[str]) -> dict[str, Look]:
    columns = _columns(plan, table, list(names))
    if not columns:
        return {}
    rows = 0
    misfits = {name: Misfits() for name in columns}
    counts = {name: np.zeros(_bar_count(column), np.int64) for name, column in columns.items()}
    seen: dict[str, list[Codes]] = {name: [] for name, column in columns.items() if column.private_bounds}
    for batch in _first_rows(table, list(columns)):
        rows += batch.num_rows
        for name, column in columns.items():
            try:
                encoded = encode_batch(column, batch.column(name))
            except RankveilError:  # of a type that the kind cannot be read from
                misfits[name] += Misfits(unreadable=batch.num_rows, without_code=batch.num_rows)
                continue
            misfits[name] += Misfits.of(encoded)
            there = encoded.codes[encoded.codes >= 0]
            if name in seen:
                seen[name].append(there)
            else:
                counts[name] += np.bincount(_bars(column, there), minlength=_bar_count(column))
    for name, codes in seen.items():
        counts[name] = _of_unknown_range(np.concatenate(codes or [np.empty(0, np.int64)]))
    whole = rows < MOST_ROWS
    return {name: _look(column, rows, whole, misfits[name], counts[name]) for name, column in columns.items()}


def _columns(plan: Plan, table: Table, names: list[str]) -> dict[str, Column]:
    """The columns as a release would read them, each by itself: without rules, roles and what others decide."""
    alone: dict[str, ColumnEntry] = dict.fromkeys(plan.columns, DropColumn(kind="drop"))
    for name in names:
        entry = plan.columns[name]
        try:
            if isinstance(entry, DropColumn):
                continue
            domain_of(entry, name, plan)
        except RankveilError:
            continue  # a taxonomy that cannot be read, say
        alone[name] = entry.model_copy(update={"role": "protected", "derived": None})
    if all(isinstance(entry, DropColumn) for entry in alone.values()):
        return {}
    bare = plan.model_copy(update={"columns": alone, "rule": (), "impossible": (), "interest": ()})
    return {column.name: column for column in declare(bare, table).columns}


def _first_rows(table: Table, names: list[str]) -> Iterable[pa.RecordBatch]:
    left = MOST_ROWS
    for batch in table.batches(names):
        yield batch.slice(0, left)
        left -= batch.num_rows
        if left <= 0:
            return


def _size(column: Column) -> int:
    domain = column.domain
    return domain.label_count if isinstance(domain, Nominal) else domain.width + 1


def _bar_count(column: Column) -> int:
    return min(_BARS, max(_size(column), 1))


def _bars(column: Column, codes: Codes) -> Codes:
    """The bar of each code: the public range in equal parts. Special values, which lie beyond it, have none."""
    domain, size, count = column.domain, _size(column), _bar_count(column)
    codes = codes[codes < size]
    if isinstance(domain, Grid) and domain.log:
        codes, size = domain.to_axis(codes), domain.axis_width + 1
    places: Codes = (codes.astype(np.float64) * (count / size)).astype(np.int64).clip(0, count - 1)
    return places


def _of_unknown_range(codes: Codes) -> Any:
    """Private bounds: no public range is known, so the bars run over what is there."""
    if not len(codes):
        return np.zeros(_BARS, np.int64)
    low, high = int(codes.min()), int(codes.max())
    places = ((codes - low).astype(np.float64) * (_BARS / (high - low + 1))).astype(np.int64)
    return np.bincount(places.clip(0, _BARS - 1), minlength=_BARS)


def _look(column: Column, rows: int, whole: bool, misfits: Misfits, counts: Any) -> Look:
    labels = isinstance(column.domain, Nominal) or column.domain.labels is not None
    missing = misfits.without_code - misfits.unreadable - (misfits.outside if labels else 0)
    largest = int(counts.max(initial=0))
    bars = tuple(-(-100 * int(count) // largest) for count in counts) if largest else ()
    return Look(rows, whole, max(missing, 0), misfits.outside, misfits.unreadable + misfits.ambiguous, labels, bars)


def _key(plan: Plan, entry: ColumnEntry) -> str:
    said = repr((entry.model_copy(update={"unconfirmed": ()}), plan.table.model_copy(update={"unconfirmed": ()})))
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _stamp(state: State) -> list[Any] | None:
    try:
        facts = Path(state.table).stat()
    except OSError:
        return None
    return [facts.st_size, facts.st_mtime_ns]


def _kept(working: Working, stamp: list[Any] | None) -> dict[str, Any]:
    """What was seen before; also of a copy that has been removed since, but not of another file."""
    try:
        content = json.loads((working.folder / _FILE).read_bytes())
        return dict(content["columns"]) if stamp is None or content["stamp"] == stamp else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _as_dict(look: Look | None) -> dict[str, Any] | None:
    return None if look is None else asdict(look)


def _as_look(content: Mapping[str, Any]) -> Look:
    return Look(**{**content, "bars": tuple(content["bars"])})
