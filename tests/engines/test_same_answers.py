"""One table, however it is cut, stored and read: the same counts and the same tables, bit for bit."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankveil.declare import Plan, Schema, declare
from rankveil.declare.dataset import Dataset
from rankveil.engines import LocalEngine, Table, open_table
from rankveil.fit.marginal import Marginal
from rankveil.measure.budget import Budget
from rankveil.measure.counts import CellCounter, CountGrid, _Counting, count_columns
from rankveil.measure.synthetic import counted, measure
from rankveil.measure.tables import Columns, Grouping, TableCounting, count_tables
from rankveil.noise import SeededSource
from tests.support import category, plan_text

ROWS = 3000
COLUMNS = {
    "wide": 'kind = "number"\nlower = 0\nupper = 300',  # more than 2^20 steps
    "wider": 'kind = "number"\nlower = -10\nupper = 100000\nstep = 0.001\nnull = true',  # more than 2^24
    "fine": 'kind = "number"\nlower = 0\nupper = 1\nstep = 0.01\nnull = true',
    "age": 'kind = "integer"\nlower = 0\nupper = 120',
    "day": 'kind = "date"\nlower = 2020-01-01\nupper = 2024-12-31',
    "town": category([f"town {place}" for place in range(300)]),
    "yes": 'kind = "boolean"\nnull = true',
}
PLAN = Plan.parse(plan_text(COLUMNS, method="synthetic"))


def make(rows: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)

    def with_nulls(values: Any) -> pa.Array:
        return pa.array(values, mask=rng.random(rows) < 0.1)

    return pa.table(
        {
            "wide": np.round(np.clip(rng.normal(100, 40, rows), 0, 300), 5),
            "wider": with_nulls(np.round(np.minimum(rng.lognormal(5, 2, rows), 1e5), 3)),
            "fine": with_nulls(np.round(rng.random(rows), 2)),
            "age": rng.integers(0, 121, rows),
            "day": pa.array((18262 + rng.integers(0, 1800, rows)).astype("datetime64[D]")),
            "town": [f"town {place}" for place in rng.zipf(1.5, rows) % 300],
            "yes": with_nulls(rng.random(rows) < 0.3),
        }
    )


Answers = tuple[dict[str, list[int]], list[dict[Columns, list[Any]]], int]
TRIPLES = [("wide", "age", "town"), ("fine", "day", "yes"), ("wider", "fine", "age")]


def marginals_of(dataset: Dataset, epsilon: int) -> dict[str, Marginal]:
    return dict(measure(counted(dataset, 1), Budget(Fraction(epsilon)), SeededSource(1)).columns)


def asked(marginals: dict[str, Marginal]) -> list[dict[Columns, Grouping]]:
    """All pairs, which may be counted in bundles; triples; and both over groups of cells."""
    pairs = list(combinations(marginals, 2))
    groups = {name: marginal.group(5, 0.0) for name, marginal in marginals.items()}
    grouped = {columns: tuple(groups[name] for name in columns) for columns in [*pairs[::2], *TRIPLES]}
    return [dict.fromkeys(pairs), dict.fromkeys(TRIPLES), grouped]


def answers(table: Table, marginals: dict[str, Marginal], threads: int = 1) -> Answers:
    schema = declare(PLAN, table)
    dataset = Dataset(schema, table, LocalEngine(threads))
    counts, rows = count_columns(dataset, schema.columns)
    tables = [count_tables(dataset, marginals, wanted) for wanted in asked(marginals)]
    return (
        {name: each.per_cell.tolist() for name, each in counts.items()},
        [{columns: each.tolist() for columns, each in some.items()} for some in tables],
        rows,
    )


@pytest.fixture(scope="module")
def data() -> pa.Table:
    return make(ROWS, 1)


@pytest.fixture(scope="module", params=[1, 100], ids=["few cells", "many cells"])
def marginals(data: pa.Table, request: pytest.FixtureRequest) -> dict[str, Marginal]:
    """Few cells are counted in bundles of columns, many are not."""
    opened = open_table(data)
    found = marginals_of(Dataset(declare(PLAN, opened), opened), request.param)
    assert (max(marginal.cell_count for marginal in found.values()) <= 18) == (request.param == 1)
    return found


@pytest.fixture(scope="module")
def expected(data: pa.Table, marginals: dict[str, Marginal]) -> Answers:
    """Counted plainly, row by row."""
    table = open_table(data)
    records = Dataset(declare(PLAN, table), table).records()
    grids = {column.name: CountGrid(column) for column in records.schema.columns}
    counts = {
        name: np.bincount(grid.cells(records.codes[name]), minlength=grid.cell_count).tolist()
        for name, grid in grids.items()
    }
    cells = {name: marginal.cell_of(records.codes[name]) for name, marginal in marginals.items()}
    tables = []
    for wanted in asked(marginals):
        some = {}
        for columns, groups in wanted.items():
            places = [cells[name] for name in columns]
            sizes = [marginals[name].cell_count for name in columns]
            if groups is not None:
                places = [group[place] for group, place in zip(groups, places, strict=True)]
                sizes = [int(group.max()) + 1 for group in groups]
            table = np.zeros(sizes, np.int64)
            for row in zip(*places, strict=True):
                table[row] += 1
            some[columns] = table.tolist()
        tables.append(some)
    assert [len(some) for some in tables] == [21, 3, 14]
    return counts, tables, ROWS


def one_file(data: pa.Table, folder: Path) -> Path:
    papq.write_table(data, folder / "one.parquet")
    return folder / "one.parquet"


def small_groups(data: pa.Table, folder: Path) -> Path:
    papq.write_table(data, folder / "groups.parquet", row_group_size=701)
    return folder / "groups.parquet"


def plain_strings(data: pa.Table, folder: Path) -> Path:
    papq.write_table(data, folder / "plain.parquet", use_dictionary=False, row_group_size=1000)
    return folder / "plain.parquet"


def parts(data: pa.Table, folder: Path) -> Path:
    (folder / "parts").mkdir()
    for place, start in enumerate(range(0, ROWS, 900)):
        papq.write_table(data.slice(start, 900), folder / "parts" / f"part-{place}.parquet")
    (folder / "parts" / "_SUCCESS").touch()
    return folder / "parts"


def text_file(data: pa.Table, folder: Path) -> Path:
    pacsv.write_csv(data, folder / "table.csv")
    return folder / "table.csv"


def text_parts(data: pa.Table, folder: Path) -> Path:
    for place, start in enumerate(range(0, ROWS, 1300)):
        with pa.output_stream(str(folder / f"part-{place}.csv.gz"), compression="gzip") as out:
            pacsv.write_csv(data.slice(start, 1300), out)
    return folder / "part-*.csv.gz"


@pytest.mark.parametrize("store", [one_file, small_groups, plain_strings, parts, text_file, text_parts])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("long_batches", [False, True])
def test_counts_and_pairs_do_not_depend_on_how_the_table_is_stored_or_on_threads(
    store: Callable[[pa.Table, Path], Path],
    threads: int,
    long_batches: bool,
    data: pa.Table,
    marginals: dict[str, Marginal],
    expected: Answers,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if long_batches:  # or what takes their place here
        monkeypatch.setattr("rankveil.measure.tables._LONG_BATCH", 1)
        monkeypatch.setattr("rankveil.measure.counts._CODES_PER_ROW", 1 << 20)
    assert answers(open_table(store(data, tmp_path)), marginals, threads) == expected


@pytest.mark.parametrize("rows", [1, 7, 64, 1000])
def test_counts_and_pairs_do_not_depend_on_the_size_of_batches(
    rows: int, data: pa.Table, marginals: dict[str, Marginal], expected: Answers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rankveil.engines.table._BATCH_ROWS", rows)
    monkeypatch.setattr("rankveil.measure.tables._LONG_BATCH", 50)
    short = data.slice(0, 400) if rows < 10 else data
    whole = expected if short is data else answers(open_table(short), marginals)
    assert answers(open_table(short), marginals, 2) == whole


@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cuts=st.lists(st.integers(0, ROWS), max_size=6),
    order=st.permutations(range(7)),
    long_batches=st.booleans(),
    full=st.booleans(),
)
def test_states_of_any_cut_merge_in_any_order_and_travel(
    cuts: list[int],
    order: list[int],
    long_batches: bool,
    full: bool,
    data: pa.Table,
    marginals: dict[str, Marginal],
    expected: Answers,
) -> None:
    """What an engine does with folds: pickle them, step, pickle states, merge. Counters may be full at any time."""
    table = open_table(data)
    schema = declare(PLAN, table)
    codes = Dataset(schema, table).records().codes
    ends = [0, *sorted(cuts), ROWS]
    pieces = [slice(first, last) for first, last in pairwise(ends)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rankveil.measure.tables._LONG_BATCH", 1 if long_batches else ROWS + 1)
        patch.setattr("rankveil.measure.counts._CODES_PER_ROW", 1 << 20 if long_batches else 64)
        for module in ("measure.tables", "measure.counts"):
            patch.setattr(f"rankveil.{module}._MOST_RECENT", 1500 if full else 1 << 30)
        for work, wanted in (
            (_Counting({column.name: CountGrid(column) for column in schema.columns}, ()), expected[0]),
            *(
                (TableCounting(marginals, some), found)
                for some, found in zip(asked(marginals), expected[1], strict=True)
            ),
        ):
            fold = pickle.loads(pickle.dumps(work))
            states = []
            for piece in pieces:
                state = fold.step(fold.zero(), {name: column[piece] for name, column in codes.items()})
                states.append(pickle.loads(pickle.dumps(state)))
            total, *others = (states[place] for place in order if place < len(states))
            for state in others:
                total = fold.merge(total, state)
            found = total.settle() if not isinstance(total, dict) else total
            settled = {
                name: (each.settle() if isinstance(each, CellCounter) else each).tolist()
                for name, each in found.items()
            }
            assert settled == wanted


@pytest.mark.parametrize("columns", [1, 2, 3, 40])
def test_tables_of_few_and_of_many_columns_are_counted_in_bundles_too(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One bundle, an odd one, and more of them than are kept."""
    rng = np.random.default_rng(columns)
    names = [f"c{place}" for place in range(columns)]
    sizes = {name: 2 + place % 15 for place, name in enumerate(names)}
    plan = Plan.parse(
        plan_text({name: f'kind = "integer"\nlower = 0\nupper = {sizes[name]}' for name in names}, method="synthetic")
    )
    table = open_table(pa.table({name: rng.integers(0, sizes[name] + 1, 500) for name in names}))
    schema: Schema = declare(plan, table)
    dataset = Dataset(schema, table)
    given = marginals_of(dataset, 1000)
    pairs = dict.fromkeys(combinations(given, 2))
    by_pairs = count_tables(dataset, given, pairs)
    monkeypatch.setattr("rankveil.measure.tables._LONG_BATCH", 1)
    in_bundles = count_tables(dataset, given, pairs)
    assert {pair: each.tolist() for pair, each in in_bundles.items()} == {
        pair: each.tolist() for pair, each in by_pairs.items()
    }
    assert all(each.sum() == 500 for each in by_pairs.values())
