"""Small things that tests import: plans as text, encoded tables, folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from rankveil.aligned.channel import Channel
from rankveil.declare import Plan, Records, declare, encode
from rankveil.engines import open_table

INTEGER = 'kind = "integer"\nlower = 0\nupper = 100'
DEFAULT_TOKENS = ("", "?", "NA", "N/A", "null", "NULL")


@dataclass(frozen=True)
class Ran:
    """A finished command."""

    code: int
    out: str
    err: str

    @property
    def text(self) -> str:
        return self.out + self.err


def plan_text(
    columns: Mapping[str, str] | None = None,
    *,
    method: str = "laplace",
    epsilon: object = "1",
    k: object = None,
    expected_rows: object = None,
    table: str = "",
) -> str:
    """A plan: column name -> the lines of its entry. By default one integer column 'a' from 0 to 100."""
    lines = ["[release]", f'method = "{method}"', f"epsilon = {epsilon}"]
    if k is not None:
        lines.append(f"k = {k}")
    if expected_rows is not None:
        lines.append(f"expected_rows = {expected_rows}")
    if table:
        lines += ["[table]", table]
    for name, entry in ({"a": INTEGER} if columns is None else columns).items():
        lines += [f'[columns."{name}"]', entry]
    return "\n".join(lines) + "\n"


def integer(upper: int, *, lower: int = 0, more: str = "") -> str:
    return f'kind = "integer"\nlower = {lower}\nupper = {upper}\n{more}'


def category(labels: Sequence[str], *, more: str = "") -> str:
    return f'kind = "category"\ncategories = [{", ".join(map(quoted, labels))}]\n{more}'


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def records_of(values: Mapping[str, Sequence[object]], columns: Mapping[str, str], *, folder: Path = Path()) -> Records:
    """A small table in memory, read against its plan."""
    table = open_table(pa.table({name: pa.array(list(column)) for name, column in values.items()}))
    return encode(table, declare(Plan.parse(plan_text(columns, k=1), folder=folder), table))


def grouped_rows(rows: np.ndarray, starts: np.ndarray) -> list[list[int]]:
    """The members of each cluster."""
    ends = [*starts.tolist()[1:], len(rows)]
    return [rows[start:end].tolist() for start, end in zip(starts.tolist(), ends, strict=True)]


PAPERS = ["certificate.html", "certificate.json", "manifest.json"]  # beside a release that nobody has signed


def files_in(folder: Path) -> list[str]:
    """Names of all files below a folder, hidden ones included; none if the folder does not exist."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


@dataclass(frozen=True)
class Wrapping:
    """An engine that changes every fold it is given before it runs it."""

    engine: Any
    wrap: Callable[[Any], Any]

    def fold(self, table: Any, work: Any, progress: Any) -> Any:
        return self.engine.fold(table, self.wrap(work), progress)


def exact_matrix(channel: Channel) -> list[list[Fraction]]:
    """P(y|x) for all inputs and outputs, in the order of `itertools.product`: for small channels."""
    everything = list(product(*(range(size) for size in channel.sizes)))
    return [[Fraction(channel.weight(x, y), channel.total) for y in everything] for x in everything]
