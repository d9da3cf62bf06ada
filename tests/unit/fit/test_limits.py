"""What rules leave of tables, and how rows move inside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from rankveil.declare.domain import MISSING, Codes
from rankveil.fit.limits import Limits, expected_table
from rankveil.fit.marginal import Marginal, NominalMarginal, OrderedMarginal
from rankveil.fit.model import in_order_of_ties, started
from rankveil.fit.rows import Mover, RowSet, tied_blocks
from rankveil.fit.segments import Segments
from rankveil.fit.terms import Term
from rankveil.noise import Sampler, SeededSource

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Rule:
    columns: Sequence[str]
    test: Callable[[Mapping[str, Codes]], Bools]

    def holds(self, codes: Mapping[str, Codes]) -> Bools:
        return self.test(codes)


def labels(*mass: float, null: bool = False) -> NominalMarginal:
    return NominalMarginal(np.array(mass), most_cells=32, least_mass=0, label_variance=1, null=null)


def ages(cuts: Sequence[int] = (), special: Sequence[float] = (), holes: Sequence[int] = ()) -> OrderedMarginal:
    segments = Segments(np.array([0]), np.array([100]), np.array([90.0]), 10.0, np.array(special))
    return OrderedMarginal(
        100, segments, most_cells=4, least_mass=1, cell_variance=1, null=True, cuts=cuts, holes=holes
    )


def _child(age: Codes) -> Bools:
    return np.logical_and(age >= 0, age < 15)


WORK = Rule(("status", "industry"), lambda codes: (codes["status"] == 0) == (codes["industry"] != MISSING))
YOUNG = Rule(("age", "status"), lambda codes: ~_child(codes["age"]) | (codes["status"] == MISSING))


def people() -> dict[str, Marginal]:
    return {
        "age": ages((15,)).with_mass(np.array([15.0, 10.0, 25.0, 20.0, 25.0, 5.0])),
        "status": labels(40.0, 20.0, 40.0, null=True),
        "industry": labels(30.0, 10.0, 60.0, null=True),
        "region": labels(50.0, 50.0),
    }


def test_a_combination_is_possible_exactly_if_one_of_its_values_obeys() -> None:
    marginals = people()
    limit, young = Limits.of([WORK, YOUNG], marginals).each
    assert limit.columns == ("status", "industry")
    assert limit.possible.tolist() == [[True, True, False], [False, False, True], [False, False, True]]
    assert young.possible[0].tolist() == [False, False, True]
    assert young.possible[1:].all(), "cells from 15 on leave everything"


def test_without_a_cut_a_cell_that_is_half_allowed_is_possible() -> None:
    uncut = people() | {"age": ages()}
    assert Limits.of([YOUNG], uncut).each == (), "ages 0 to 24 are one cell, in which 20 obeys"


def test_an_expected_table_is_empty_where_rules_say_so_and_keeps_its_margins() -> None:
    marginals = people()
    limits = Limits.of([WORK], marginals)
    groups = [np.arange(3), np.arange(3)]
    table = expected_table(("industry", "status"), groups, marginals, 100.0, limits)  # in another order than the limit
    assert table[2, 0] == table[0, 1] == table[1, 2] == 0
    assert np.allclose(table.sum(axis=1), [30, 10, 60])
    assert np.allclose(table.sum(axis=0), [40, 20, 40])
    free = expected_table(("region", "status"), [np.arange(2), np.arange(3)], marginals, 100.0, limits)
    assert np.allclose(free, np.outer([50, 50], [40, 20, 40]) / 100)


def test_groups_of_cells_are_as_possible_as_their_parts() -> None:
    marginals, limits = people(), Limits.of([WORK], people())
    left = limits.left_of(
        ("status", "industry"), [np.array([0, 0, 1]), np.arange(3)], [np.array([40.0, 20, 40]), np.ones(3)]
    )
    assert left is not None
    assert np.allclose(left, [[2 / 3, 2 / 3, 1 / 3], [0, 0, 1]])
    assert marginals["status"].cell_count == 3


def test_what_a_rule_ties_is_started_together_and_nothing_rare_is_lost() -> None:
    marginals, limits = people(), Limits.of([WORK, YOUNG], people())
    assert [limit.columns for limit in limits.ties] == [("status", "industry")]
    order = in_order_of_ties(list(marginals), limits)
    assert [name for name, _ in order] == ["age", "status", "industry", "region"]
    cells = dict(zip(marginals, started(marginals, {}, 20_000, Sampler(SeededSource(1)), limits), strict=True))
    assert ((cells["status"] == 0) == (cells["industry"] != 2)).all()
    for name in ("status", "industry", "region"):
        shares = np.bincount(cells[name]) / 20_000
        assert np.allclose(shares, marginals[name].mass / 100, atol=0.015), name


def test_blocks_are_what_hangs_on_either_side_of_a_tie_and_all_of_it() -> None:
    assert tied_blocks([(0, 1), (1, 2), (4, 5)]) == [(1, 2), (0, 1), (0, 1, 2), (4, 5)]
    assert tied_blocks([]) == []


def test_swaps_reach_what_single_moves_cannot_and_keep_what_is_swapped() -> None:
    """Work depends on region. Rows start independent of it, and status cannot move without industry."""
    marginals, limits = people(), Limits.of([WORK], people())
    order = {name: place for place, name in enumerate(marginals)}
    wanted = Term.of_limit(limits.each[0], order)
    places = (np.array([0, 3], np.int32), np.arange(3, dtype=np.int32))
    likes_work = np.array([2.0, 0, 0, 0, 0, 0])  # the first region
    pull = Term((3, 1), places, -1, np.zeros(6), 1.0, np.ones(6), None, likes_work, (2, 3))
    terms = [wanted, pull]
    shares = {}
    for swapping in (False, True):
        sampler = Sampler(SeededSource(3))
        rows = RowSet(started(marginals, {}, 8000, sampler, limits), terms, np.ones(8000))
        before = np.bincount(rows.cells[1] * 3 + rows.cells[2], minlength=9)
        movers = (
            [Mover.swapping((1, 2), terms)]
            if swapping
            else [Mover.of(c, marginals[n].mass, terms) for n, c in order.items() if c in (1, 2)]
        )
        for _ in range(20):
            for mover in movers:
                mover.move(rows, sampler)
        assert rows.obeying.all()
        assert all((term.sums(rows.cells) == sums).all() for term, sums in zip(terms, rows.sums, strict=True))
        shares[swapping] = float((rows.cells[1][rows.cells[3] == 0] == 0).mean())
        if swapping:
            assert (np.bincount(rows.cells[1] * 3 + rows.cells[2], minlength=9) == before).all()
    assert shares[True] > 0.5 > shares[False]


# Cells that are cut, and special values


def test_base_cells_are_cut_where_the_plan_says_and_special_values_have_cells_of_their_own() -> None:
    made = ages((15, 18), special=(4.0, 6.0), holes=(50,))
    assert {15, 18} <= set(made.edges.tolist())
    ordinary = len(made.edges) + 1
    assert made.cell_count == ordinary + 3
    codes = np.array([14, 15, 17, 18, 99, 100, 101, MISSING])
    cells = made.cell_of(codes)
    assert cells[-3:].tolist() == [ordinary, ordinary + 1, ordinary + 2]
    assert len({cells[0], cells[1], cells[3]}) == 3 and cells[1] == cells[2]
    assert (made.cell_table()[codes] == cells).all()
    groups = made.group(3, 1.0)
    assert len(set(groups[-3:].tolist())) == 3 and not set(groups[-3:]) & set(groups[:-3])
    assert (made.signs()[-3:] == 0).all()
    assert set(made.probes(3).tolist()) >= {0, 14, 15, 99, 100, 101, MISSING}


def test_the_density_never_gives_the_ordinary_code_of_a_special_value() -> None:
    with_hole, without = ages(special=(5.0,), holes=(50,)), ages(special=(5.0,))
    drawn = with_hole.strips().values(100_000, 0.5, Sampler(SeededSource(1)))
    assert not (drawn == 50).any()
    assert np.count_nonzero(drawn == 100) == pytest.approx(100_000 * 5 / 105, abs=2)
    assert (without.strips().values(100_000, 0.5, Sampler(SeededSource(1))) == 50).any()


def test_labels_that_rules_tell_apart_share_no_cell() -> None:
    mass = np.array([50.0, 1.0, 1.0, 1.0, 1.0])
    together = NominalMarginal(mass, most_cells=3, least_mass=2, label_variance=1, null=False)
    apart = NominalMarginal(mass, most_cells=3, least_mass=2, label_variance=1, null=False, classes=(0, 0, 1, 0, 1))
    assert together.cell_of(np.arange(5)).tolist() == [0, 1, 1, 1, 1]
    assert apart.cell_of(np.arange(5)).tolist() == [0, 1, 2, 1, 2]
