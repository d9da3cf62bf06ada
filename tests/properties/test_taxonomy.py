"""Semantic distances are a metric, the marginality order is total and public, centroids minimise what they should."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.errors import TaxonomyError
from rankveil.taxonomy import Taxonomy, flat_taxonomy

Parents = dict[str, list[str]]


@st.composite
def graphs(draw: st.DrawFn, *, most_parents: int = 3, most_nodes: int = 10) -> Taxonomy:
    """A random tree (one parent each) or graph below the root n0; some of its nodes carry labels."""
    count = draw(st.integers(2, most_nodes))
    parents: Parents = {"n0": []}
    for node in range(1, count):
        above = draw(st.lists(st.integers(0, node - 1), min_size=1, max_size=most_parents, unique=True))
        parents[f"n{node}"] = [f"n{parent}" for parent in above]
    labelled = draw(st.lists(st.sampled_from(sorted(parents)), min_size=1, unique=True))
    spelling = dict(draw(st.permutations(sorted(parents.items()))))  # the order of a file's rows means nothing
    return Taxonomy(spelling, {f"label of {node}": node for node in labelled})


trees = graphs(most_parents=1)
any_graph = graphs()


def ancestor_sets(taxonomy: Taxonomy) -> list[frozenset[int]]:
    return [frozenset(np.flatnonzero(row).tolist()) for row in taxonomy.ancestors]


def jaccard(first: frozenset[int], second: frozenset[int]) -> Fraction:
    return Fraction(len(first ^ second), len(first | second))


@given(any_graph)
def test_ancestors_are_the_nodes_on_all_ways_to_the_root(taxonomy: Taxonomy) -> None:
    edges = {taxonomy._position[node]: [taxonomy._position[p] for p in above] for node, above in taxonomy.edges.items()}

    def climb(node: int) -> set[int]:
        return {node}.union(*(climb(parent) for parent in edges[node]))

    assert [set(found) for found in ancestor_sets(taxonomy)] == [climb(node) for node in range(taxonomy.node_count)]


@given(any_graph)
def test_the_distance_is_the_printed_expression_of_the_ancestor_sets(taxonomy: Taxonomy) -> None:
    sets = ancestor_sets(taxonomy)
    for i, j in itertools.product(range(taxonomy.node_count), repeat=2):
        assert taxonomy.distances[i, j] == pytest.approx(math.log2(1 + jaccard(sets[i], sets[j])), abs=1e-15)


@given(any_graph)
def test_the_jaccard_distance_of_ancestors_is_a_metric_in_exact_arithmetic(taxonomy: Taxonomy) -> None:
    sets = ancestor_sets(taxonomy)
    for a, b, c in itertools.product(sets, repeat=3):
        assert (jaccard(a, b) == 0) == (a == b)
        assert jaccard(a, b) == jaccard(b, a)
        assert jaccard(a, c) <= jaccard(a, b) + jaccard(b, c)
        # log2(1 + t) keeps the triangle inequality: (1 + d(a,c)) <= (1 + d(a,b)) (1 + d(b,c)), without logarithms.
        assert 1 + jaccard(a, c) <= (1 + jaccard(a, b)) * (1 + jaccard(b, c))
    assert len(set(sets)) == taxonomy.node_count  # so no two nodes are at distance 0


@given(any_graph)
def test_the_semantic_distance_is_a_metric(taxonomy: Taxonomy) -> None:
    d = taxonomy.distances
    assert (np.diagonal(d) == 0).all()
    assert (d == d.T).all()
    assert (d[~np.eye(len(d), dtype=bool)] > 0).all()
    assert (d < 1).all()
    assert (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12).all()


def test_the_metric_check_catches_a_distance_that_is_none() -> None:
    d = np.array([[0, 0.1, 0.9], [0.1, 0, 0.1], [0.9, 0.1, 0]])
    assert not (d[:, None, :] <= d[:, :, None] + d[None, :, :] + 1e-12).all()


@given(any_graph)
def test_the_marginality_order_is_total(taxonomy: Taxonomy) -> None:
    labels = taxonomy.label_count
    assert sorted(taxonomy.order.tolist()) == list(range(labels))
    assert taxonomy.rank[taxonomy.order].tolist() == list(range(labels))
    assert taxonomy.order[0] == taxonomy.reference


@given(any_graph)
def test_the_order_starts_at_the_most_marginal_label_and_moves_away_from_it(taxonomy: Taxonomy) -> None:
    among = taxonomy.distances[: taxonomy.label_count, : taxonomy.label_count]
    totals = among.sum(axis=0)
    assert totals[taxonomy.reference] >= totals.max() - 1e-11
    along = among[taxonomy.reference][taxonomy.order]
    assert (np.diff(along) >= -1e-11).all()
    # At the same distance more marginal labels come first, then those listed first.
    for one, two in itertools.pairwise(taxonomy.order.tolist()):
        if abs(among[taxonomy.reference, one] - among[taxonomy.reference, two]) < 1e-11:
            assert totals[one] >= totals[two] - 1e-11
            if abs(totals[one] - totals[two]) < 1e-11:
                assert one < two


@given(st.data(), any_graph)
def test_distances_and_marginality_do_not_depend_on_the_order_of_rows_or_labels(
    data: st.DataObject, taxonomy: Taxonomy
) -> None:
    edges = dict(data.draw(st.permutations([(node, list(above)) for node, above in taxonomy.edges.items()])))
    names = dict(zip(taxonomy.labels, taxonomy._node_names, strict=False))
    shuffled = Taxonomy(edges, dict(data.draw(st.permutations(list(names.items())))))
    place = [shuffled.labels.index(label) for label in taxonomy.labels]
    labels = taxonomy.label_count
    assert (shuffled.distances[np.ix_(place, place)] == taxonomy.distances[:labels, :labels]).all()
    assert np.allclose(shuffled.marginality[place], taxonomy.marginality, atol=1e-12, rtol=0)


@given(st.data(), any_graph)
def test_the_order_of_rows_in_a_taxonomy_file_does_not_change_the_order_of_labels(
    data: st.DataObject, taxonomy: Taxonomy
) -> None:
    edges = dict(data.draw(st.permutations([(node, list(above)) for node, above in taxonomy.edges.items()])))
    names = dict(zip(taxonomy.labels, taxonomy._node_names, strict=False))
    assert Taxonomy(edges, names).order.tolist() == taxonomy.order.tolist()


# The minimum taxonomy that spans a sample, and its centroid

samples = st.lists(st.integers(0, 10**6), min_size=1, max_size=8)


def codes_in(taxonomy: Taxonomy, sample: list[int]) -> np.ndarray:
    return np.array([number % taxonomy.label_count for number in sample], np.int64)


def spanned_by_brute_force(taxonomy: Taxonomy, codes: set[int]) -> set[int]:
    """All nodes between a value and a common ancestor below which there is no other one."""
    above = ancestor_sets(taxonomy)
    common = set.intersection(*(set(above[code]) for code in codes))
    least = {node for node in common if not any(node in above[other] for other in common - {node})}
    return {
        node
        for node in range(taxonomy.node_count)
        if any(node in above[code] for code in codes) and any(top in above[node] for top in least)
    }


@given(any_graph, samples)
def test_the_spanned_taxonomy_is_what_lies_between_the_values_and_their_least_common_ancestors(
    taxonomy: Taxonomy, sample: list[int]
) -> None:
    codes = codes_in(taxonomy, sample)
    assert set(taxonomy.spanned(codes).tolist()) == spanned_by_brute_force(taxonomy, set(codes.tolist()))
    assert set(codes.tolist()) <= set(taxonomy.spanned(codes).tolist())


@given(trees, samples)
def test_in_a_tree_the_spanned_taxonomy_is_the_smallest_subtree_that_holds_all_values(
    taxonomy: Taxonomy, sample: list[int]
) -> None:
    codes = set(codes_in(taxonomy, sample).tolist())
    found = set(taxonomy.spanned(codes).tolist())
    parent = {taxonomy._position[node]: taxonomy._position[above[0]] for node, above in taxonomy.edges.items() if above}
    tops = [node for node in found if parent.get(node) not in found]
    assert len(tops) == 1, "connected: one node only has no parent in it"
    leaves = {node for node in found if node not in {parent.get(other) for other in found}}
    assert leaves <= codes, "nothing hangs below the values"
    if tops[0] not in codes:
        below = [node for node in found if parent.get(node) == tops[0]]
        assert len(below) > 1, "nothing sticks out above the values"


@given(any_graph, samples)
def test_the_centroid_is_the_spanned_node_with_the_least_total_distance(taxonomy: Taxonomy, sample: list[int]) -> None:
    codes = codes_in(taxonomy, sample)
    candidates = sorted(spanned_by_brute_force(taxonomy, set(codes.tolist())))
    totals = {node: math.fsum(taxonomy.distances[code, node] for code in codes.tolist()) for node in candidates}
    best = min(totals.values())
    expected = min(node for node, total in totals.items() if total <= best + 1e-11)
    assert taxonomy.centroid(codes) == expected


@given(any_graph, st.integers(0, 10**6), st.integers(1, 9))
def test_the_centroid_of_equal_labels_is_that_label(taxonomy: Taxonomy, label: int, count: int) -> None:
    code = label % taxonomy.label_count
    assert taxonomy.centroid(np.full(count, code, np.int64)) == code


# Construction


@settings(max_examples=50)
@given(any_graph, st.data())
def test_an_edge_from_the_root_to_any_other_node_makes_a_cycle(taxonomy: Taxonomy, data: st.DataObject) -> None:
    edges: Parents = {node: list(above) for node, above in taxonomy.edges.items()}
    edges["n0"] = [data.draw(st.sampled_from([node for node in edges if node != "n0"]))]
    with pytest.raises(TaxonomyError, match="cycle"):
        Taxonomy(edges, list(edges))


@given(st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=20, unique=True))
def test_labels_of_a_flat_list_are_equally_far_apart(labels: list[str]) -> None:
    taxonomy = flat_taxonomy(labels)
    between = taxonomy.distances[: len(labels), : len(labels)][~np.eye(len(labels), dtype=bool)]
    assert taxonomy.labels == tuple(labels)
    assert np.allclose(between, math.log2(1 + 2 / 3), atol=1e-15)
    assert taxonomy.order.tolist() == list(range(len(labels)))
