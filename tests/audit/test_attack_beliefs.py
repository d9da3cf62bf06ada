"""Every attacker's arithmetic against a slow, plain one: all candidates, one production run each."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.aligned.grouping import link
from rankveil.audit import attack_lists, attack_pattern, attack_rows
from rankveil.audit.attack_belief import (
    LEVEL,
    Belief,
    before,
    bounded,
    candidates,
    first_reaching,
    from_bracket,
    from_likelihood,
    raised,
)
from rankveil.audit.tables import dataset, labels, number, tree_labels
from rankveil.audit.watch import Watch
from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Grid
from rankveil.measure.budget import Budget
from rankveil.methods import METHODS
from rankveil.microaggregate import by_distance, individual_ranking
from rankveil.microaggregate.unaligned import order_every_row, rank_every_row
from rankveil.noise import SeededSource
from rankveil.perturb.centroids import filled_sums
from tests.support import exact_matrix

SOME, FEW = settings(max_examples=40), settings(max_examples=8)
ORDERS = {
    "published:individual-ranking": individual_ranking,
    "published:ranking": individual_ranking,
    "published:multivariate": by_distance,
    "published:mdav-insensitive": by_distance,
    "published:mdav": None,
}


def columns_of(null: bool) -> list[Column]:
    return [number("size", 12), number("weight", 7, null=null), tree_labels("kind", null=null)]


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[Column], list[list[int]]]:
    columns = columns_of(draw(st.booleans()))
    count = draw(st.integers(4, 9))
    rows = [[draw(st.sampled_from(candidates(column).tolist())) for column in columns] for _ in range(count)]
    return columns, rows


def with_value(records: Records, row: int, column: Column, code: int) -> Records:
    codes = {name: values.copy() for name, values in records.codes.items()}
    codes[column.name][row] = code
    return Records(records.schema, codes, records.row_count)


# Published methods


def pattern_release(
    method_name: str, columns: list[Column], rows: list[list[int]], k: int, epsilon: str, seed: int
) -> attack_pattern.Release:
    method, data = METHODS[method_name], dataset(columns, rows)
    budget, source = Budget(Fraction(epsilon)), SeededSource(seed)
    clustered = method.prepare(data, k)
    codes = method.drawn(clustered, budget, source).collected()
    order = ORDERS[method_name]
    return attack_pattern.Release(
        data.records(), clustered, codes, order, by_column=order is individual_ranking, noisy=method.uses_budget
    )


def fits_pattern(release: attack_pattern.Release, changed: Records, k: int, column: Column) -> bool:
    """Whether all clusters of the changed table show one value each in the release that was made."""
    assert release.group is not None
    clustering = next(p for p in release.group(changed, k).columns if p.column.name == column.name).clustering
    complete = [name for name, codes in release.codes.items() if not (codes == MISSING).any()]
    for name in {column.name} if release.by_column else {column.name, *complete}:
        for members in np.split(clustering.rows, clustering.starts[1:]):
            shown = release.codes[name][members]
            if len(set(shown[shown != MISSING].tolist())) > 1:
                return False
    return True


def left_by(belief: Belief, column: Column) -> set[int]:
    if isinstance(column.domain, Grid):
        return set(range(belief.low, belief.high + 1))
    return {code for code, _ in belief.labels}


@pytest.mark.parametrize("method", ["published:individual-ranking", "published:multivariate"])
@SOME
@given(table=tables(), k=st.integers(2, 3), seed=st.integers(0, 10**6), epsilon=st.sampled_from(["0.1", "1", "50"]))
def test_brackets_are_the_values_that_an_exhaustive_search_leaves(
    method: str, table: tuple[list[Column], list[list[int]]], k: int, seed: int, epsilon: str
) -> None:
    columns, rows = table
    if method == "published:individual-ranking" and any(
        sum(row[place] != MISSING for row in rows) < k for place in range(len(columns))
    ):
        return  # too few values to form a cluster
    release = pattern_release(method, columns, rows, k, epsilon, seed)
    attacker = attack_pattern.attacker(release)
    for row in range(len(rows)):
        for column in columns:
            true = int(release.records.codes[column.name][row])
            belief = attacker(row, column)
            if true == MISSING:
                assert belief.value == pytest.approx(1.0 if column.name == "kind" else 1 / len(candidates(column)))
                continue
            present = [int(code) for code in candidates(column) if code != MISSING]
            possible = {
                code
                for code in present
                if fits_pattern(release, with_value(release.records, row, column, code), k, column)
            }
            left = left_by(belief, column)
            assert true in possible
            if isinstance(column.domain, Grid):  # a bracket is the hull
                assert left == set(range(min(possible), max(possible) + 1))
            else:
                assert left == possible


@pytest.mark.parametrize("method", ["published:ranking", "published:mdav-insensitive", "published:mdav"])
@FEW
@given(table=tables(), k=st.integers(2, 3))
def test_without_noise_every_value_that_gives_the_same_release_is_left(
    method: str, table: tuple[list[Column], list[list[int]]], k: int
) -> None:
    columns, rows = table
    if any(sum(row[place] != MISSING for row in rows) < k for place in range(len(columns))):
        return
    release = pattern_release(method, columns, rows, k, "1", 0)
    attacker = attack_pattern.attacker(release)
    for row in range(len(rows)):
        for column in columns:
            place = columns.index(column)
            if rows[row][place] == MISSING:
                continue
            left = left_by(attacker(row, column), column)
            assert rows[row][place] in left
            for code in candidates(column).tolist():
                if code == MISSING or sum(r[place] != MISSING for r in rows) < k:
                    continue
                changed = [[*r[:place], code, *r[place + 1 :]] if at == row else r for at, r in enumerate(rows)]
                again = pattern_release(method, columns, changed, k, "1", 0)
                if all(np.array_equal(again.codes[name], release.codes[name]) for name in release.codes):
                    assert code in left


def test_wide_domains_are_bracketed_to_the_step() -> None:
    wide = number("size", 10**9)
    values = [5, 1_000_000, 7_777_777, 123_456_789, 500_000_000, 999_999_999]
    release = pattern_release("published:individual-ranking", [wide], [[v] for v in values], 2, "1000", 1)
    found = attack_pattern.attacker(release)(2, wide)
    # The third smallest shares a cluster with the fourth: it lies above the second, and ties are ranked by row.
    assert (found.low, found.high) == (1_000_000, 500_000_000)


def test_the_smallest_instance_of_t34_by_hand() -> None:
    # 0 1 | 2 3: with certainty record 0 is at most 2 (a tie with record 2 goes to the lower row), record 3 at least 1.
    column = number("a", 4)
    release = pattern_release("published:individual-ranking", [column], [[0], [1], [2], [3]], 2, "1000", 5)
    attacker = attack_pattern.attacker(release)
    brackets = [(attacker(row, column).low, attacker(row, column).high) for row in range(4)]
    assert brackets == [(0, 2), (0, 2), (1, 4), (1, 4)]
    assert attacker(0, column).value == pytest.approx(3 / 5)


# Noisy lists


@pytest.mark.parametrize(("method", "group"), [("unlinked", rank_every_row), ("multivariate", order_every_row)])
@SOME
@given(table=tables(), k=st.integers(1, 3), seed=st.integers(0, 10**6))
def test_beliefs_from_lists_agree_with_likelihoods_computed_one_table_at_a_time(
    method: str, group: attack_lists.Group, table: tuple[list[Column], list[list[int]]], k: int, seed: int
) -> None:
    columns, rows = table
    data, source, ranked = dataset(columns, rows), SeededSource(seed), method == "unlinked"
    records, budget = data.records(), Budget(Fraction(4))
    clustered, watch = METHODS[method].prepare(data, k), Watch(source)
    METHODS[method].protect(clustered, budget, watch)
    lists = attack_lists.drawn_lists(clustered, watch.draws, ranked=ranked)
    attacker = attack_lists.attacker(records, clustered, lists, group, ranked=ranked)
    row = seed % len(rows)
    for column in columns:
        codes = candidates(column)
        logs = np.array(
            [plain_likelihood(with_value(records, row, column, int(c)), group, k, lists, ranked=ranked) for c in codes]
        )
        expected = from_likelihood(column, codes, logs, int(records.codes[column.name][row]))
        found = attacker(row, column)
        assert found.value == pytest.approx(expected.value)
        assert [chance for _, chance in found.labels] == pytest.approx([chance for _, chance in expected.labels])
        assert np.ptp(logs) <= float(budget.epsilon) + 1e-9  # the whole promise, in this table


def plain_likelihood(
    records: Records,
    group: attack_lists.Group,
    k: int,
    lists: dict[str, attack_lists.NoisyList],
    *,
    ranked: bool,
) -> float:
    total = 0.0
    for part in group(records, k).columns:
        noisy = lists[part.column.name]
        if isinstance(noisy, attack_lists.NumberList):
            assert isinstance(part.column.domain, Grid)
            sums = filled_sums(part, part.column.domain, ranked=ranked)
            total -= float(np.abs(noisy.sums - sums).sum()) / noisy.scale
            if noisy.missing_scale is not None:
                missing = int(np.count_nonzero(part.values == MISSING))
                total -= abs(noisy.missing - missing) / noisy.missing_scale
        elif isinstance(noisy, attack_lists.LabelList):
            size = len(noisy.distances)
            for label, members in zip(noisy.values, np.split(part.values, part.clustering.starts[1:]), strict=True):
                away = noisy.distances[members % size].sum(axis=0)
                total += float(-away[label] - np.log(np.exp(-away).sum()))
    return total


# Rows that belong to records


@pytest.mark.parametrize("grid", [Grid(9), Grid(6, log=True)], ids=["linear", "log"])
@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("epsilon", ["0.5", "20"])
def test_the_law_of_a_perturbed_number_is_the_sum_over_its_noise(grid: Grid, null: bool, epsilon: str) -> None:
    column = Column("a", "integer", grid, "protected", null, False, ())
    codes, share = candidates(column), Fraction(epsilon)
    for_value = share / 2 if null else share
    scale = grid.axis_width / float(for_value)
    noise = np.arange(-int(30 * scale) - grid.axis_width - 5, int(30 * scale) + grid.axis_width + 6)
    law = np.exp(-np.abs(noise) / scale)
    law /= law.sum()
    flip = 1 / (1 + math.exp(float(share / 2)))
    for shown in codes.tolist():
        expected = []
        for code in codes.tolist():
            position = grid.axis_width // 2 if code == MISSING else int(grid.to_axis(np.array([code]))[0])
            value = 1.0 if shown == MISSING else law[grid.from_axis((position + noise).astype(float)) == shown].sum()
            told = 1.0 if not null else 1 - flip if (code == MISSING) == (shown == MISSING) else flip
            expected.append(math.log(value * told))
        found = attack_rows.laplace_log_likelihood(column, share, codes, shown)
        difference = found - np.array(expected)
        assert difference == pytest.approx(np.full(len(codes), difference[0]), abs=1e-7)
        assert np.ptp(found) <= float(share) + 1e-12


@pytest.mark.parametrize("column", [labels("a", 5), tree_labels("a"), tree_labels("a", null=True), labels("a", 1)])
def test_the_law_of_a_perturbed_label_keeps_its_promise(column: Column) -> None:
    codes, share = candidates(column), Fraction(3, 2)
    table = np.array([attack_rows.laplace_log_likelihood(column, share, codes, int(shown)) for shown in codes])
    assert np.exp(table).sum(axis=0) == pytest.approx(np.ones(len(codes)))
    assert np.ptp(table, axis=1).max() <= float(share) + 1e-12


@pytest.mark.parametrize(
    "columns", [columns_of(True), columns_of(False), [number("size", 40)]], ids=["null", "full", "one"]
)
@pytest.mark.parametrize("epsilon", ["0.1", "6"])
def test_the_law_of_an_aligned_row_is_the_channel_matrix_followed_by_redrawing(
    columns: list[Column], epsilon: str
) -> None:
    source = SeededSource(3)
    rows = [[int(candidates(column)[(7 * at) % len(candidates(column))]) for column in columns] for at in range(300)]
    data, budget, method = dataset(columns, rows), Budget(Fraction(epsilon)), METHODS["aligned"]
    protected = method.protect(method.prepare(data, 1), budget, source)
    price = protected.budget.part(protected.budget.left).amount
    linkage, marginals, records = link(protected.marginals, price), protected.marginals, data.records()
    released = method.rows(protected, budget, source).collected()
    matrix = np.array(exact_matrix(linkage.channel), dtype=np.float64)
    everything = list(product(*(range(size) for size in linkage.channel.sizes)))
    for row in (0, 11, 150):
        shown = {name: int(marginals[name].cell_of(released[name][row : row + 1])[0]) for name in marginals}
        becomes = np.array(
            [
                math.prod(linkage.redrawn[n][y, shown[n]] for n, y in zip(marginals, output, strict=True))
                for output in everything
            ]
        )
        for column in columns:
            codes = candidates(column)
            expected = []
            for code in codes:
                own = with_value(records, row, column, int(code)).codes
                inputs = tuple(
                    int(linkage.groupings[n].groups[marginals[n].cell_of(own[n][row : row + 1])[0]]) for n in marginals
                )
                expected.append(math.log(matrix[everything.index(inputs)] @ becomes))
            found = attack_rows.aligned_log_likelihood(records, released, marginals, linkage, row, column, codes)
            difference = found - np.array(expected)
            assert difference == pytest.approx(np.full(len(codes), difference[0]), abs=1e-9)
            assert np.ptp(found) <= float(price) + 1e-9


# Beliefs


@SOME
@given(
    logs=st.lists(st.floats(0, 1), min_size=20, max_size=21),
    epsilon=st.floats(0, 8),
    null=st.booleans(),
    true=st.integers(0, 3),
)
def test_no_belief_after_a_private_release_passes_the_bound(
    logs: list[float], epsilon: float, null: bool, true: int
) -> None:
    for column in (number("a", 19 - null, null=null), labels("a", 20 - null, null=null)):
        codes = candidates(column)
        found = from_likelihood(column, codes, epsilon * np.array(logs[: len(codes)]), true)
        limit = bounded(column, epsilon)
        if isinstance(column.domain, Grid):
            assert limit.value == pytest.approx(max(1 / (LEVEL + (1 - LEVEL) * math.exp(epsilon)), 1 / 20))
            assert found.value >= limit.value - 1e-9
        else:
            assert found.value <= limit.value + 1e-9


def test_the_bound_is_attained() -> None:
    column, epsilon = number("a", 9999), 2.0
    needed = LEVEL / (LEVEL + (1 - LEVEL) * math.exp(epsilon))
    codes = candidates(column)
    logs = np.where(np.arange(len(codes)) < needed * len(codes), epsilon, 0.0)
    assert from_likelihood(column, codes, logs, 0).value == pytest.approx(bounded(column, epsilon).value, abs=1e-3)
    assert raised(0.5, math.log(3)) == pytest.approx(0.75)


def test_nothing_learnt_is_one_and_a_bracket_is_its_share_of_the_domain() -> None:
    column = number("a", 99)
    codes = candidates(column)
    assert from_likelihood(column, codes, np.zeros(100), 3).value == pytest.approx(before(column))
    inside = np.where((codes >= 10) & (codes < 15), 0.0, -np.inf)
    found = from_likelihood(column, codes, inside, 12)
    assert found.value == pytest.approx(from_bracket(column, 10, 14).value) == pytest.approx(0.05)
    assert (found.low, found.high) == (10, 14)


@given(values=st.lists(st.integers(0, 9), min_size=1, max_size=30), wanted=st.integers(0, 10))
def test_first_reaching_is_the_first_place_that_reaches(values: list[int], wanted: int) -> None:
    rising = np.sort(np.array(values))
    expected = next((at for at, value in enumerate(rising) if value >= wanted), len(rising))
    assert first_reaching(lambda places: rising[places], len(rising) - 1, wanted) == expected


def test_first_reaching_needs_few_looks_in_a_domain_of_a_trillion() -> None:
    looks = []

    def value_at(places: np.ndarray) -> np.ndarray:
        looks.append(len(places))
        return places // 7

    assert first_reaching(value_at, 10**12, 10**11 + 3) == 7 * (10**11 + 3)
    assert len(looks) <= 5
