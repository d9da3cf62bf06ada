"""Tables, CSV and Parquet: drafted, read and released whatever is in the file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankveil as rv
from rankveil.declare import Plan, declare, encode
from rankveil.declare.draft import draft
from rankveil.engines import open_table
from rankveil.errors import RankveilError
from rankveil.noise import SeededSource
from tests.fuzz.harness import CANARIES, CASES, Findings, cases, corpus, refused
from tests.support import PAPERS, files_in

PLANS = [
    Plan.parse(corpus("plans")[name].decode())
    for name in (
        "good.toml",
        "synthetic.toml",
        "unlinked.toml",
        "multivariate.toml",
        "aligned.toml",
        "published.toml",
    )
]


def hidden(path: Path) -> list[str]:
    """The canaries that no message may show: those that a damaged first line has not made a column's name."""
    try:
        names = " ".join(open_table(path).schema.names)
    except RankveilError:
        return list(CANARIES)
    return [canary for canary in CANARIES if canary not in names]


def drafted_and_read(path: Path) -> None:
    """What `init` and the first step of `release` do. A draft must be a plan that can be used at once."""
    table = open_table(path)
    text = draft(table)
    plan = Plan.parse("\n".join(line for line in text.splitlines() if not line.startswith("unconfirmed")))
    encode(table, declare(plan, table))


def read(path: Path, plan: Plan) -> None:
    table = open_table(path, separator=plan.table.separator, encoding=plan.table.encoding)
    encode(table, declare(plan, table))


def released(path: Path, plan: Plan, out: Path, number: int) -> Callable[[], Any]:
    return lambda: rv.release(path, plan, out=out, source=SeededSource(number), accept_no_guarantee=True)


@pytest.mark.parametrize(("kind", "folder"), [("csv", "csv"), ("parquet", "parquet")])
def test_any_file_is_drafted_and_read_or_refused(tmp_path: Path, kind: str, folder: str) -> None:
    path = tmp_path / f"table.{kind}"
    findings, outcomes = Findings(), set()
    for number, content in cases(corpus(folder), CASES[kind], seed=1):
        with findings.case(content, number):
            path.write_bytes(content)
            canaries = hidden(path)
            outcomes.add(type(refused(lambda: drafted_and_read(path), canaries=canaries)))
            outcomes.add(type(refused(lambda: read(path, PLANS[0]), canaries=canaries)))
            assert files_in(tmp_path) == [path.name]
    findings.none()
    assert len(outcomes) > 2, "some are taken, some refused, for more than one reason"


@pytest.mark.parametrize(("kind", "name"), [("csv release", "good.csv"), ("parquet release", "good.parquet")])
def test_any_file_is_released_whole_or_not_at_all(tmp_path: Path, kind: str, name: str) -> None:
    path = tmp_path / "table"
    content = corpus("csv" if kind == "csv release" else "parquet")[name]
    findings, made = Findings(), 0
    for number, changed in cases({name: content}, CASES[kind], seed=2):
        with findings.case(changed, number):
            path.write_bytes(changed)
            out = tmp_path / f"out{number}"
            refusal = refused(released(path, PLANS[number % len(PLANS)], out, number), canaries=hidden(path))
            found = files_in(out)
            assert found == [] if refusal else len(found) == 1 + len(PAPERS) and set(PAPERS) <= set(found)
            made += refusal is None
            if refusal is None:
                papers = "".join((out / name).read_text(encoding="utf-8") for name in PAPERS)
                assert not any(canary in papers for canary in CANARIES)
    findings.none()
    assert made > 20
    outside = [name for name in files_in(tmp_path) if not name.startswith("out")]
    assert outside == ["table"], "nothing is written beside the output folder"


CELLS = st.one_of(
    st.sampled_from(
        ["", "1", "-1", "1.5", "1e400", "nan", "-inf", "0x1F", "١٢٣", "+5", "NA", "?", "true", "low", "cook"]
    ),
    st.sampled_from(
        ["2020-01-01", "2020-02-30", "0000-00-00", "=1+1", "@x", '"', ",", "\n", "\r", "\0", "\u202e", " "]
    ),
    st.text(max_size=6),
    st.integers().map(str),
    st.floats().map(str),
)


@settings(max_examples=CASES["hypothesis csv"], derandomize=True, database=None)
@given(
    names=st.lists(CELLS, min_size=1, max_size=3),
    rows=st.lists(st.lists(CELLS, min_size=1, max_size=3), max_size=4),
    separator=st.sampled_from([",", ";", "\t", "|"]),
    newline=st.sampled_from(["\n", "\r\n", "\r"]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"]),
)
def test_any_text_table_is_drafted_and_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    rows: list[list[str]],
    separator: str,
    newline: str,
    encoding: str,
) -> None:
    path = tmp_path_factory.mktemp("table") / "table.csv"
    text = newline.join(separator.join(line) for line in (names, *rows))
    path.write_bytes(text.encode(encoding, errors="replace"))
    refused(lambda: drafted_and_read(path))


TYPES = st.sampled_from(
    [
        *(pa.int8(), pa.uint64(), pa.int64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.null()),
        *(pa.decimal128(5, 2), pa.decimal256(60, -3), pa.string(), pa.large_string(), pa.string_view(), pa.binary()),
        *(pa.date32(), pa.date64(), pa.timestamp("ns"), pa.timestamp("s", "UTC"), pa.time32("s"), pa.duration("us")),
        *(pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.dictionary(pa.int8(), pa.string())),
        *(pa.dictionary(pa.int32(), pa.float64()), pa.month_day_nano_interval(), pa.list_view(pa.string())),
    ]
)
KINDS = st.sampled_from(
    [
        'kind = "integer"\nlower = -5\nupper = 5\nclamp = true',
        'kind = "integer"\nlower = 0\nupper = 1000000\nscale = "log"\nnull = true\nclamp = true',
        'kind = "number"\nlower = -1.5\nupper = 2.5\nstep = 0.5\nnull = true\nclamp = true',
        'kind = "date"\nlower = 1970-01-01\nupper = 2020-01-01\nnull = true\nclamp = true',
        'kind = "date"\nlower = 1970-01-01\nupper = 2020-01-01\nformat = "%d.%m.%y"\nclamp = true',
        'kind = "category"\ncategories = ["cook", "0", "1"]\nnull = true',
        'kind = "ordinal"\ncategories = ["low", "high"]\nnull = true',
        'kind = "boolean"\nnull = true',
        'kind = "drop"',
    ]
)


@st.composite
def arrays(draw: st.DrawFn, length: int) -> pa.Array:
    """An array of any type. The values come from a few integers and texts, cast if that can be done."""
    wanted = draw(TYPES)
    values = draw(
        st.one_of(
            st.lists(st.none() | st.integers(-3, 3), min_size=length, max_size=length),
            st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=length, max_size=length),
            st.lists(st.none() | st.floats(), min_size=length, max_size=length),
            st.lists(st.none() | st.sampled_from(["cook", "low", "0", "nan", ""]), min_size=length, max_size=length),
        )
    )
    try:
        return pa.array(values).cast(wanted, safe=False)
    except pa.ArrowException:
        return pa.nulls(length, wanted)


@st.composite
def frames(draw: st.DrawFn) -> pa.Table:
    length = draw(st.integers(0, 5))
    columns = [draw(arrays(length)) for _ in range(draw(st.integers(1, 2)))]
    return pa.table(columns, names=draw(st.lists(st.sampled_from("ab"), min_size=len(columns), max_size=len(columns))))


@settings(max_examples=CASES["hypothesis parquet"], derandomize=True, database=None)
@given(table=frames(), kinds=st.lists(KINDS, min_size=2, max_size=2), method=st.sampled_from(sorted(rv.METHODS)))
def test_any_arrow_table_is_released_or_refused(table: pa.Table, kinds: list[str], method: str) -> None:
    entries = "\n".join(
        f"[columns.{name}]\n{kind}" for name, kind in zip("ab", kinds, strict=True) if name in table.column_names
    )
    plan = Plan.parse(f'[release]\nmethod = "{method}"\nepsilon = 1\nk = 2\n{entries}\n')
    refused(lambda: rv.release(table, plan, source=SeededSource(1), accept_no_guarantee=True))
    refused(lambda: draft(open_table(table)))
