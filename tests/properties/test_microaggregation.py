"""Stability of sorted sums (T20) in exact integers, and of ordered records."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.declare import Records
from rankveil.declare.domain import MISSING
from rankveil.errors import TableError
from rankveil.microaggregate import by_distance, individual_ranking, ranking
from rankveil.microaggregate.blocks import Place, cluster_starts
from rankveil.microaggregate.clusters import ColumnClusters
from rankveil.microaggregate.ranking import rank_and_cut
from tests.support import category, grouped_rows, integer, records_of

PLACES: tuple[Place, ...] = ("first", "middle", "last")
Sums = tuple[list[int], list[int]]


def sums_at(place: Place, k: int) -> Callable[[Sequence[int]], Sums]:
    """Sums and sizes of clusters of sorted values, the larger cluster at a public place."""

    def grouped(values: Sequence[int]) -> Sums:
        starts = cluster_starts(len(values), k, larger=place)
        sizes = np.diff(np.append(starts, len(values)))
        return np.add.reduceat(np.sort(values), starts).tolist(), sizes.tolist()

    return grouped


def sums_by_ranking(k: int) -> Callable[[Sequence[int]], Sums]:
    """The same, as a release computes it."""

    def grouped(values: Sequence[int]) -> Sums:
        records = records_of({"a": values}, {"a": integer(max(1, *values))})
        (clusters,) = individual_ranking(records, k).columns
        sums, sizes = clusters.sums()
        return sums.tolist(), sizes.tolist()

    return grouped


def sums_at_the_best_place(k: int) -> Callable[[Sequence[int]], Sums]:
    """NOT public: the larger cluster goes where the squared error is least, as optimal microaggregation has it."""

    def grouped(values: Sequence[int]) -> Sums:
        ordered = sorted(values)
        count, rest = divmod(len(ordered), k)

        def cut(larger: int) -> list[list[int]]:
            sizes = [k + (rest if place == larger else 0) for place in range(count)]
            ends = list(itertools.accumulate(sizes))
            return [ordered[end - size : end] for size, end in zip(sizes, ends, strict=True)]

        def error(blocks: list[list[int]]) -> Fraction:
            return sum(
                (sum((value - Fraction(sum(block), len(block))) ** 2 for value in block) for block in blocks),
                Fraction(0),
            )

        best = min((cut(larger) for larger in range(count)), key=error)
        return [sum(block) for block in best], [len(block) for block in best]

    return grouped


def change(grouped: Callable[[Sequence[int]], Sums], x: Sequence[int], y: Sequence[int]) -> tuple[int, Fraction]:
    """L1 distance between the lists of sums, and between the lists of means."""
    (sums, sizes), (others, other_sizes) = grouped(x), grouped(y)
    assert len(sums) == len(others), "a replacement never changes the length of the list"
    return (
        sum(abs(a - b) for a, b in zip(sums, others, strict=True)),
        sum(
            (abs(Fraction(a, m) - Fraction(b, n)) for a, m, b, n in zip(sums, sizes, others, other_sizes, strict=True)),
            Fraction(0),
        ),
    )


# T20, exhaustively


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("n", "k"), [(4, 2), (5, 2), (6, 3), (7, 3)])
def test_every_replacement_in_every_small_table_moves_sums_by_exactly_its_size_and_means_by_at_most_width_over_k(
    n: int, k: int, place: Place
) -> None:
    width = 4
    grouped = sums_at(place, k)
    largest = (0, Fraction(0))
    for table in itertools.combinations_with_replacement(range(width + 1), n):
        for row in range(n):
            for new in range(width + 1):
                neighbour = (*table[:row], new, *table[row + 1 :])
                sums, means = change(grouped, table, neighbour)
                assert sums == abs(new - table[row])
                assert means <= Fraction(width, k)
                largest = max(largest[0], sums), max(largest[1], means)
    assert largest == (width, Fraction(width, k)), "the bounds are attained"


tables = st.lists(st.integers(0, 10**6), min_size=1, max_size=60)


@given(tables, st.data(), st.integers(0, 10**6))
def test_replacing_one_record_moves_block_sums_by_its_own_change_and_block_means_by_at_most_width_over_k(
    table: list[int], data: st.DataObject, new: int
) -> None:
    k = data.draw(st.integers(1, len(table)))
    row = data.draw(st.integers(0, len(table) - 1))
    place = data.draw(st.sampled_from(PLACES))
    neighbour = [*table[:row], new, *table[row + 1 :]]
    sums, means = change(sums_at(place, k), table, neighbour)
    assert sums == abs(new - table[row])
    assert means <= Fraction(10**6, k)


@settings(max_examples=50)
@given(st.lists(st.integers(0, 1000), min_size=2, max_size=30), st.data(), st.integers(0, 1000))
def test_the_ranking_of_a_release_obeys_the_bound_too(table: list[int], data: st.DataObject, new: int) -> None:
    k = data.draw(st.integers(1, len(table)))
    row = data.draw(st.integers(0, len(table) - 1))
    sums, means = change(sums_by_ranking(k), table, [*table[:row], new, *table[row + 1 :]])
    assert sums == abs(new - table[row])
    assert means <= Fraction(1000, k)


@pytest.mark.parametrize(
    ("k", "width", "table", "neighbour", "moved"),
    [
        (3, 4, [0] * 6 + [4] * 5, [0] * 5 + [4] * 6, Fraction(4)),
        (3, 6, [0, 0, 0, 3, 3, 6, 6], [0, 0, 3, 3, 6, 6, 6], Fraction(3)),
    ],
)
def test_a_larger_cluster_placed_by_the_data_breaks_the_bound(
    k: int, width: int, table: list[int], neighbour: list[int], moved: Fraction
) -> None:
    broken = sums_at_the_best_place(k)
    assert change(broken, table, neighbour)[1] == moved > Fraction(width, k)
    for place in PLACES:
        assert change(sums_at(place, k), table, neighbour)[1] <= Fraction(width, k)


# The partition


@given(st.integers(1, 500), st.data(), st.sampled_from(PLACES))
def test_clusters_have_k_members_but_for_one_that_takes_the_rest(n: int, data: st.DataObject, place: Place) -> None:
    k = data.draw(st.integers(1, n))
    sizes = np.diff(np.append(cluster_starts(n, k, larger=place), n))
    assert len(sizes) == n // k
    assert sizes.sum() == n
    assert sorted(sizes.tolist())[:-1] == [k] * (len(sizes) - 1)
    assert k <= sizes.max() <= 2 * k - 1
    if n % k:
        assert int(np.argmax(sizes)) == {"first": 0, "middle": n // k // 2, "last": n // k - 1}[place]


def test_nothing_to_group_makes_no_cluster_and_k_above_n_is_refused() -> None:
    assert cluster_starts(0, 5).tolist() == []
    with pytest.raises(TableError, match="k = 6 is more than the 5 values"):
        cluster_starts(5, 6)


# Ranks

small_values = st.lists(st.integers(-1, 5), min_size=1, max_size=50)
any_values = st.lists(st.one_of(st.just(MISSING), st.integers(0, 2**40)), min_size=1, max_size=50)


@given(st.one_of(small_values, any_values, st.lists(st.integers(60_000, 70_000), min_size=1)))
def test_ranks_are_those_of_a_stable_sort_with_missing_rows_in_no_cluster(values: list[int]) -> None:
    array = np.array(values, np.int64)
    clustering, ranked = rank_and_cut(array, 1)
    expected = [row for row in np.argsort(array, kind="stable").tolist() if values[row] != MISSING]
    assert clustering.rows.tolist() == expected
    assert ranked.tolist() == [values[row] for row in expected]


@given(any_values)
def test_all_ways_of_sorting_give_the_same_order(values: list[int]) -> None:
    small = np.array([value % 1000 if value >= 0 else value for value in values], np.int64)
    by_digits = ranking._ranked(small)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ranking, "_DIGIT_SORTED", 0)
        packed = ranking._ranked(small)
        # Beyond 2^61 value and row number no longer fit into one integer. An order-preserving stretch gets there.
        stretched = np.where(small == MISSING, MISSING, small << 52)
        fallback = ranking._ranked(stretched)
    assert by_digits[0].tolist() == packed[0].tolist() == fallback[0].tolist()
    assert by_digits[1].tolist() == packed[1].tolist()


@given(st.lists(st.one_of(st.none(), st.sampled_from("abcd")), min_size=1, max_size=30), st.data())
def test_labels_are_ranked_by_the_public_order_and_ties_by_row(values: list[str | None], data: st.DataObject) -> None:
    present = sum(value is not None for value in values)
    k = data.draw(st.integers(1, max(1, present)))
    records = records_of({"a": [*values, "a"]}, {"a": category(list("dbca"), more="null = true")})
    (clusters,) = individual_ranking(records, k).columns
    taxonomy = clusters.column.domain.taxonomy  # type: ignore[union-attr]
    codes = records.codes["a"]
    rows = [row for row in range(len(codes)) if codes[row] != MISSING]
    rows.sort(key=lambda row: (taxonomy.rank[codes[row]], row))
    assert clusters.clustering.rows.tolist() == rows
    assert clusters.values.tolist() == codes[rows].tolist()


@given(st.lists(st.one_of(st.none(), st.integers(0, 9)), min_size=2, max_size=40), st.integers(1, 5))
def test_missing_rows_are_in_no_cluster_and_stay_missing_when_values_are_spread(
    values: list[int | None], k: int
) -> None:
    if sum(value is not None for value in values) < k:
        values = [*values, *range(k)]
    records = records_of({"a": values}, {"a": integer(9, more="null = true")})
    (clusters,) = individual_ranking(records, k).columns
    spread = clusters.clustering.spread(np.arange(clusters.count), len(values))
    assert [place == MISSING for place in spread.tolist()] == [value is None for value in values]
    assert sorted(clusters.clustering.rows.tolist()) == [row for row, value in enumerate(values) if value is not None]


# Whole records in a public order

COLUMNS = {"a": integer(20), "b": integer(7), "c": category(["x", "y", "z"])}
people = st.tuples(st.integers(0, 20), st.integers(0, 7), st.sampled_from("xyz"))


def read(table: Sequence[tuple[int, int, str]]) -> Records:
    first, second, third = zip(*table, strict=True)
    return records_of({"a": first, "b": second, "c": third}, COLUMNS)


def clusters_by_distance(
    table: Sequence[tuple[int, int, str]], k: int, **how: bool
) -> tuple[list[list[int]], tuple[ColumnClusters, ...]]:
    columns = by_distance(read(table), k, **how).columns
    return grouped_rows(columns[0].clustering.rows, columns[0].clustering.starts), columns


def most_changed(before: list[list[int]], after: list[list[int]], row: int) -> int:
    """How many records of one cluster differ at most. The replaced record counts as another one."""
    return max(
        len({-1 if member == row else member for member in new} - set(old))
        for old, new in zip(before, after, strict=True)
    )


@settings(max_examples=60)
@given(st.lists(people, min_size=2, max_size=24), people, st.data())
def test_replacing_one_record_changes_each_cluster_of_the_public_order_by_at_most_one_record(
    table: list[tuple[int, int, str]], new: tuple[int, int, str], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(table)))
    row = data.draw(st.integers(0, len(table) - 1))
    before, columns = clusters_by_distance(table, k)
    after, others = clusters_by_distance([*table[:row], new, *table[row + 1 :]], k)
    assert most_changed(before, after, row) <= 1
    for column, other in zip(columns[:2], others[:2], strict=True):
        moved = np.abs(column.sums()[0] - other.sums()[0])
        width = column.column.domain.axis_width  # type: ignore[union-attr]
        assert (moved <= width).all()
        assert moved.sum() <= column.count * width


@settings(max_examples=60)
@given(st.lists(people, min_size=2, max_size=24), st.data())
def test_the_public_order_is_by_distance_from_the_corner_and_ties_by_row(
    table: list[tuple[int, int, str]], data: st.DataObject
) -> None:
    k = data.draw(st.integers(1, len(table)))
    taxonomy = read(table).schema.columns[2].domain.taxonomy  # type: ignore[union-attr]

    def squared(person: tuple[int, int, str]) -> Fraction:
        # All labels of a flat list but the reference are equally far from it: 0 or 1 of the largest distance.
        return (
            Fraction(person[0], 20) ** 2 + Fraction(person[1], 7) ** 2 + ("xyz".index(person[2]) != taxonomy.reference)
        )

    clusters, _ = clusters_by_distance(table, k)
    rows = [row for cluster in clusters for row in cluster]
    for one, two in itertools.pairwise(rows):
        # Exact ties may be told apart by the last bit of a float; anything larger may not be turned around.
        assert squared(table[one]) - squared(table[two]) < Fraction(1, 10**12)
        if table[one] == table[two]:
            assert one < two


def test_an_order_that_reads_the_spread_of_the_data_lets_one_record_change_more_than_one_record_of_a_cluster() -> None:
    generator = np.random.default_rng(5)
    worst = {True: 0, False: 0}
    for _ in range(20):
        table = [
            (int(a), int(b), "x")
            for a, b in zip(generator.integers(0, 4, 24), generator.integers(0, 8, 24), strict=True)
        ]
        neighbour = [(20, 0, "x"), *table[1:]]
        for weighed in worst:
            before, _ = clusters_by_distance(table, 6, weigh_by_deviation=weighed)
            after, _ = clusters_by_distance(neighbour, 6, weigh_by_deviation=weighed)
            worst[weighed] = max(worst[weighed], most_changed(before, after, 0))
    assert worst[False] == 1
    assert worst[True] > 1


# Centroids


@given(st.lists(st.lists(st.one_of(st.none(), st.integers(0, 50)), min_size=3, max_size=3), min_size=1, max_size=10))
def test_sums_and_means_of_clusters_leave_missing_values_out(clusters: list[list[int | None]]) -> None:
    values = [value for cluster in clusters for value in cluster]
    records = records_of(
        {"a": [*values, 0, 0], "key": range(len(values) + 2)},
        {"a": integer(50, more="null = true"), "key": integer(200)},
    )
    # `key` alone decides nothing about membership here: take the rows as they come.
    from rankveil.microaggregate.clusters import Clustering

    rows = np.arange(len(values))
    grouped = ColumnClusters(
        records.schema.columns[0], Clustering(rows, np.arange(0, len(values), 3)), records.codes["a"][: len(values)]
    )
    sums, counts = grouped.sums()
    assert sums.tolist() == [sum(value for value in cluster if value is not None) for cluster in clusters]
    assert counts.tolist() == [sum(value is not None for value in cluster) for cluster in clusters]
    for mean, total, count in zip(grouped.means(), sums.tolist(), counts.tolist(), strict=True):
        assert np.isnan(mean) if count == 0 else mean == total / count


@settings(max_examples=50)
@given(st.lists(st.one_of(st.none(), st.sampled_from("xyz")), min_size=3, max_size=30))
def test_counts_and_semantic_centroids_of_clusters_equal_those_of_each_cluster_by_itself(
    values: list[str | None],
) -> None:
    records = records_of({"a": values}, {"a": category(list("xyz"), more="null = true")})
    from rankveil.microaggregate import clusters as module

    starts = np.arange(0, len(values), 3)
    grouped = ColumnClusters(
        records.schema.columns[0], module.Clustering(np.arange(len(values)), starts), records.codes["a"]
    )
    taxonomy = records.schema.columns[0].domain.taxonomy  # type: ignore[union-attr]
    expected = []
    for start in starts:
        codes = records.codes["a"][start : start + 3]
        present = codes[codes != MISSING]
        expected.append(taxonomy.centroid(present) if len(present) else MISSING)
    assert grouped.semantic_centroids().tolist() == expected
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CLUSTERS_AT_ONCE", 2)
        assert grouped.semantic_centroids().tolist() == expected
