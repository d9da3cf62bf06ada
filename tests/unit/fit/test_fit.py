"""The fit: each term moves towards its optimum, the full table reaches it, rows stand for it where it is too large.

Seeds are fixed: a test that passes once passes always. False-alarm rates are those before the seeds were chosen.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import replace
from functools import partial
from itertools import product
from typing import get_type_hints

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from rankveil.declare import Schema
from rankveil.fit import full, rows, terms
from rankveil.fit.full import FullTable, walsh
from rankveil.fit.marginal import NominalMarginal
from rankveil.fit.model import Model, fit, started
from rankveil.fit.rows import Mover, RowSet, fit_rows
from rankveil.fit.terms import Term
from rankveil.measure.measurements import Measurements, TableMeasurement
from rankveil.noise import Sampler, SeededSource

TOTAL = 1000


def every(size: int) -> np.ndarray:
    return np.arange(size)


def table_of(columns: str, noisy: np.ndarray, deviation: float) -> TableMeasurement:
    return TableMeasurement(tuple(columns), tuple(map(every, noisy.shape)), noisy.astype(np.float64), deviation)


def parity_of(columns: str, product_of_signs: float, deviation: float) -> TableMeasurement:
    counts = np.array([TOTAL + product_of_signs, TOTAL - product_of_signs]) / 2
    return TableMeasurement(tuple(columns), (every(2),) * len(columns), counts, deviation, parity=True)


def joint(*shape: int, seed: int = 1, strength: float = 1.0) -> np.ndarray:
    """Counts of all cells of some table, none of them empty."""
    weights = np.exp(strength * np.random.default_rng(seed).normal(size=shape))
    return TOTAL * weights / weights.sum()


def margins(exact: np.ndarray, columns: str, names: str) -> np.ndarray:
    return exact.sum(axis=tuple(place for place, name in enumerate(names) if name not in columns))


def terms_of(exact: np.ndarray, names: str, asked: list[str], deviation: float) -> list[Term]:
    order = {name: place for place, name in enumerate(names)}
    known = labels_of({name: margins(exact, name, names) for name in names})
    return [Term.of(table_of(each, margins(exact, each, names), deviation), order, known, TOTAL) for each in asked]


def labels_of(masses: dict[str, np.ndarray]) -> dict[str, NominalMarginal]:
    return {
        name: NominalMarginal(mass, most_cells=len(mass), least_mass=0, label_variance=1, null=False).with_mass(mass)
        for name, mass in masses.items()
    }


def penalty_of(term: Term) -> np.ndarray:
    """Of every parameter by itself, for labels: nothing ties one to another."""
    if term.departures is None:
        return term.variance / (term.expected * full.rules.LARGEST_PRIOR_VARIANCE)
    return (term.variance * term.departures.level / term.departures.variance).ravel()


# One term


@settings(max_examples=100, deadline=None)
@given(
    arrays.arrays(np.float64, (3, 2), elements=st.floats(0, 500)),
    arrays.arrays(np.float64, 6, elements=st.floats(0.1, 400)),
    st.floats(0.1, 100),
)
def test_a_step_goes_uphill_from_every_cell(noisy: np.ndarray, fitted: np.ndarray, deviation: float) -> None:
    """Each parameter moves in the direction of its own slope, or stays."""
    known = labels_of({"a": np.full(3, TOTAL / 3), "b": np.full(2, TOTAL / 2)})
    term = Term.of(table_of("ab", noisy, deviation), {"a": 0, "b": 1}, known, TOTAL)
    before = term.parameters.copy()
    slope = (term.measured - fitted) * fitted / term.variance  # the prior's is zero where all parameters are
    change = term.step(fitted)
    assert (change * slope >= 0).all()
    assert np.array_equal(term.parameters, before + change)


@pytest.mark.parametrize("deviation", [0.5, 20.0, 100.0])
def test_steps_settle_where_measurement_and_prior_balance(deviation: float) -> None:
    """A single table whose cells are free: the parameter of each cell solves its own equation."""
    measured = np.array([[300.0, 100.0], [100.0, 500.0]])
    known = labels_of({"a": np.array([400.0, 600.0]), "b": np.array([400.0, 600.0])})
    term = Term.of(table_of("ab", measured, deviation), {"a": 0, "b": 1}, known, TOTAL)
    assert term.departures is not None
    start = term.expected.copy()
    for _ in range(200):
        term.step(start * np.exp(term.parameters))
    fitted = start * np.exp(term.parameters)
    tied = term.parameters * term.departures.precision.ravel()
    slope = (term.measured - fitted) * fitted / term.variance - tied
    assert np.abs(slope).max() < 1e-6
    off = np.abs(fitted - measured.ravel()).max()
    assert off < 1 if deviation < 1 else off > 0


def test_a_table_of_mere_noise_hardly_moves_the_fit_and_a_strong_one_does() -> None:
    known = labels_of({"a": np.full(8, TOTAL / 8), "b": np.full(8, TOTAL / 8)})
    order = {"a": 0, "b": 1}
    rng = np.random.default_rng(3)
    flat = np.full((8, 8), TOTAL / 64)
    noise = Term.of(table_of("ab", flat + rng.normal(0, 8, (8, 8)), 8), order, known, TOTAL)
    diagonal = np.diag(np.full(8, TOTAL / 8)) + rng.normal(0, 8, (8, 8))
    strong = Term.of(table_of("ab", diagonal, 8), order, known, TOTAL)
    assert noise.departures is not None
    assert (noise.departures.precision > 3).all()  # relative departures of less than 0.6
    assert strong.departures is None  # its records are in few cells: what is left of it is to be met


# The full table


@given(st.integers(0, 6), st.integers(0, 10**6))
def test_walsh_is_the_sum_with_signs(bits: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=1 << bits)
    direct = [
        sum((-1) ** bin(place & mask).count("1") * value for place, value in enumerate(values))
        for mask in range(1 << bits)
    ]
    assert walsh(values) == pytest.approx(np.array(direct), abs=1e-9)
    assert walsh(walsh(values)) == pytest.approx(values * (1 << bits), abs=1e-9)


def tiny_terms(deviation: float) -> tuple[list[int], list[Term]]:
    """Two tables that overlap, columns by themselves, and parities of yes/no columns among them."""
    exact = joint(2, 2, 3, 2, strength=0.7)
    terms = terms_of(exact, "abcd", ["bc", "acd", "a", "b"], deviation)
    order = {name: place for place, name in enumerate("abcd")}
    known = labels_of({name: margins(exact, name, "abcd") for name in "abcd"})
    for columns, product_of_signs in (("ab", 90.0), ("bd", -60.0), ("abd", 150.0)):
        terms.append(Term.of(parity_of(columns, product_of_signs, deviation), order, known, TOTAL))
    return [2, 2, 3, 2], terms


def objective(mass: np.ndarray, sizes: list[int], terms: list[Term], parameters: list[np.ndarray]) -> float:
    """The dual of full.py, written out cell by cell."""
    weight = 0.0
    for cell in product(*map(range, sizes)):
        weight += math.exp(sum(term_value(term, own, cell) for term, own in zip(terms, parameters, strict=True)))
    gain = 0.0
    for term, own in zip(terms, parameters, strict=True):
        gain += float((own * term.measured - penalty_of(term) * own**2 / 2).sum())
    return gain - TOTAL * math.log(weight)


def term_value(term: Term, parameters: np.ndarray, cell: tuple[int, ...]) -> float:
    index = sum(int(places[cell[column]]) for column, places in zip(term.columns, term.places, strict=True))
    return float(parameters[index if term.mask < 0 else index & term.mask])


@pytest.mark.parametrize("deviation", [3.0, 30.0])
def test_the_full_table_is_at_the_optimum(deviation: float) -> None:
    """No parameter alone can be changed for the better, by brute force; the twin that stops early can."""
    sizes, terms = tiny_terms(deviation)
    table = FullTable(sizes, terms, TOTAL)
    mass = table.fitted()
    assert mass.sum() == pytest.approx(TOTAL)
    assert (mass > 0).all()
    assert improvable(sizes, terms, mass) < 1e-6
    sizes, terms = tiny_terms(deviation)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(full.rules, "FULL_STEPS", 2)
        patch.setattr(full.rules, "FULL_ROUNDS", 1)
        early = FullTable(sizes, terms, TOTAL).fitted()
    assert improvable(sizes, terms, early) > 1e-4


def improvable(sizes: list[int], terms: list[Term], mass: np.ndarray) -> float:
    """The largest gain by any change of one parameter (of yes and no: of both, opposite to each other)."""
    parameters = [term.parameters.copy() for term in terms]
    here = objective(mass, sizes, terms, parameters)
    best = 0.0
    for own, term in zip(parameters, terms, strict=True):
        opposite = len(own) == 2 and any(set(term.columns) <= set(each.columns) for each in terms if each.mask >= 0)
        for place in range(1 if opposite else len(own)):
            for size in (-1e-2, -1e-3, 1e-3, 1e-2):
                kept = own.copy()
                own[place] += size
                if opposite:
                    own[1] -= size
                best = max(best, objective(mass, sizes, terms, parameters) - here)
                own[:] = kept
    return best


def test_with_hardly_any_noise_the_full_table_has_the_measured_margins_and_the_largest_entropy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact = joint(3, 2, 4)
    terms = terms_of(exact, "abc", ["ab", "bc"], 0.01)
    mass = FullTable([3, 2, 4], terms, TOTAL).fitted().reshape(3, 2, 4)
    given_b = exact.sum(axis=2)[:, :, None] * exact.sum(axis=0)[None] / exact.sum(axis=(0, 2))[None, :, None]
    assert mass == pytest.approx(given_b, rel=2e-3, abs=0.05)  # a and c independent given b


def test_the_gradient_of_the_full_table_is_that_of_its_value() -> None:
    sizes, terms = tiny_terms(10.0)
    table = FullTable(sizes, terms, TOTAL)
    rng = np.random.default_rng(4)
    start, point = rng.normal(size=(2, len(table._measured)))
    value_at = partial(table._objective, start, table._mixed(start))
    _, slope = value_at(point)
    for place in range(len(point)):
        step = np.zeros(len(point))
        step[place] = 1e-5
        rise = (value_at(point + step)[0] - value_at(point - step)[0]) / 2e-5
        assert rise == pytest.approx(slope[place], rel=1e-4, abs=1e-4)


# Rows


def all_cells(*sizes: int) -> list[np.ndarray]:
    return list(np.indices(sizes, dtype=np.uint8).reshape(len(sizes), -1))


def test_raking_with_hardly_any_noise_is_iterative_proportional_fitting(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = joint(3, 4, 2)
    terms = terms_of(exact, "abc", ["ab", "bc", "ac"], 0.01)
    start = np.full(24, TOTAL / 24)
    found = RowSet(all_cells(3, 4, 2), terms, start.copy())
    found.rake(300)
    ipf = start.reshape(3, 4, 2)
    for _ in range(300):
        for columns in ("ab", "bc", "ac"):
            other = tuple(place for place, name in enumerate("abc") if name not in columns)
            wanted = exact.sum(axis=other, keepdims=True)
            ipf = ipf * wanted / ipf.sum(axis=other, keepdims=True)
    assert found.weights.reshape(3, 4, 2) == pytest.approx(ipf, rel=1e-2, abs=0.1)


def test_raked_rows_and_the_full_table_agree() -> None:
    """Two ways to one optimum: weights on all cells, and the dual by quasi-Newton steps."""
    exact = joint(3, 4, 2, strength=0.8)
    by_rows, by_table = (terms_of(exact, "abc", ["ab", "bc", "ac"], 2.0) for _ in range(2))
    found = RowSet(all_cells(3, 4, 2), by_rows, np.full(24, TOTAL / 24))
    found.rake(500)
    assert found.weights == pytest.approx(FullTable([3, 4, 2], by_table, TOTAL).fitted(), rel=0.05, abs=1.0)


def test_rows_drawn_again_are_as_many_as_their_weights_say() -> None:
    weights = np.random.default_rng(5).gamma(1, 1, 24)
    found = RowSet(all_cells(3, 4, 2), [], weights).drawn_again(10_000, Sampler(SeededSource(1)))
    index = np.ravel_multi_index(tuple(found.cells), (3, 4, 2))
    assert np.abs(np.bincount(index, minlength=24) - weights / weights.sum() * 10_000).max() < 1.001
    assert found.weights.sum() == pytest.approx(weights.sum())


def law_of(sizes: tuple[int, ...], terms: list[Term]) -> np.ndarray:
    """The fitted law, cell by cell."""
    weight = np.array(
        [math.exp(sum(term_value(t, t.parameters, cell) for t in terms)) for cell in product(*map(range, sizes))]
    )
    return weight / weight.sum()


ROWS, MOVED = 40_000, 4


def moved(sizes: tuple[int, ...], terms: list[Term], seed: int) -> np.ndarray:
    """How many rows are in each cell, after rows that followed the fitted law have moved."""
    rng = np.random.default_rng(seed)
    index = rng.choice(math.prod(sizes), ROWS, p=law_of(sizes, terms))
    cells = [each.astype(np.uint8) for each in np.unravel_index(index, sizes)]
    found = RowSet(cells, terms, np.ones(ROWS))
    sampler = Sampler(SeededSource(seed))
    masses = [np.array([5.0, 1.0, 2.0, 0.5])[:size] for size in sizes]  # proposals need not follow the law
    for _ in range(MOVED):
        for column, mass in enumerate(masses):
            Mover.of(column, mass, terms).move(found, sampler)
    for term, sums in zip(terms, found.sums, strict=True):
        assert np.array_equal(sums, term.sums(found.cells)), "sums follow the moves"
    return np.bincount(np.ravel_multi_index(tuple(found.cells), sizes), minlength=math.prod(sizes))


def some_fit() -> tuple[tuple[int, ...], list[Term]]:
    exact = joint(3, 2, 2, seed=8)
    terms = terms_of(exact, "abc", ["ab", "bc"], 5.0)
    order = {name: place for place, name in enumerate("abc")}
    known = labels_of({name: margins(exact, name, "abc") for name in "abc"})
    terms.append(Term.of(parity_of("bc", 200.0, 5.0), order, known, TOTAL))
    rng = np.random.default_rng(9)
    for term in terms:
        term.parameters = rng.normal(0, 0.7, len(term.parameters))
    return (3, 2, 2), terms


def chi_squared(counts: np.ndarray, law: np.ndarray) -> float:
    expected = ROWS * law
    return float(((counts - expected) ** 2 / expected).sum())


# Chi-squared with 11 degrees of freedom exceeds 45 about 5 times in a million.
MOST = 45.0


def test_moves_leave_the_fitted_law_as_it_is() -> None:
    sizes, terms = some_fit()
    for seed in range(5):
        assert chi_squared(moved(sizes, terms, seed), law_of(sizes, terms)) < MOST


@pytest.mark.parametrize("broken", ["chances of proposals forgotten", "a term forgotten"])
def test_moves_that_change_the_law_are_noticed(broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes, terms = some_fit()
    plain = Mover.of

    def of(column: int, mass: np.ndarray, terms: list[Term]) -> Mover:
        made = plain(column, mass, terms)
        if broken.startswith("chances"):
            forgetful = (replace(each, log_chance=np.zeros_like(each.log_chance)) for each in made.proposals)
            return replace(made, proposals=tuple(forgetful))
        return replace(made, terms=made.terms[:-1], positions=made.positions[:-1])

    law = law_of(sizes, terms)
    monkeypatch.setattr(Mover, "of", of)
    if broken.startswith("chances"):
        assert chi_squared(moved(sizes, terms, 1), law) > MOST
    else:
        with pytest.raises(AssertionError, match="sums follow"):
            moved(sizes, terms, 1)


def test_rows_that_move_fit_tables_which_their_first_cells_do_not_hold() -> None:
    """Half of the cells that matter are in no row at the start: weights alone would never get there."""
    exact = np.diag([250.0, 250.0, 250.0, 250.0])[:, ::-1]
    order, known = {"a": 0, "b": 1}, labels_of({"a": np.full(4, 250.0), "b": np.full(4, 250.0)})

    def terms() -> list[Term]:
        return [Term.of(table_of("ab", exact, 2.0), order, known, TOTAL)]

    cells = [np.repeat(np.arange(4, dtype=np.uint8), 100)] * 2  # all on the other diagonal
    fitted = terms()
    movers = [Mover.of(place, np.full(4, 250.0), fitted) for place in (0, 1)]
    found = fit_rows([each.copy() for each in cells], fitted, movers, TOTAL, 4096, Sampler(SeededSource(1)))
    table = np.bincount(found.cells[0] * 4 + found.cells[1], found.weights, minlength=16).reshape(4, 4)
    assert np.abs(table - exact).sum() / 2 / TOTAL < 0.1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows.rules, "MOVES", 0)
        unmoved = fit_rows([each.copy() for each in cells], terms(), [], TOTAL, 4096, Sampler(SeededSource(1)))
    table = np.bincount(unmoved.cells[0] * 4 + unmoved.cells[1], unmoved.weights, minlength=16).reshape(4, 4)
    assert np.abs(table - exact).sum() / 2 / TOTAL > 0.9


# The model


def nominal(*mass: float) -> NominalMarginal:
    return NominalMarginal(np.array(mass), most_cells=16, least_mass=0.0, label_variance=4.0, null=False)


def measurements(exact: np.ndarray, asked: list[str], deviation: float, **more: object) -> Measurements:
    names = "abcd"[: exact.ndim]
    columns = {name: nominal(*margins(exact, name, names)) for name in names}
    tables = tuple(table_of(each, margins(exact, each, names), deviation) for each in asked)
    return Measurements(Schema(()), TOTAL, columns, tables, linkage="tables", **more)  # type: ignore[arg-type]


def sorted_joint(*shape: int) -> np.ndarray:
    """Cells of labels are numbered by mass: counts whose margins fall from the first cell on, so that numbers agree."""
    exact = joint(*shape, seed=2)
    for axis in range(exact.ndim):
        other = tuple(place for place in range(exact.ndim) if place != axis)
        exact = np.take(exact, np.argsort(-exact.sum(axis=other)), axis=axis)
    return exact


def test_the_model_expects_of_a_table_what_its_rows_hold() -> None:
    exact = sorted_joint(3, 4, 2)
    found = fit(measurements(exact, ["ab", "bc", "ac"], 1.0), Sampler(SeededSource(1)))
    assert isinstance(found, Model)
    assert found.weights.sum() == pytest.approx(TOTAL)
    for columns in ("ab", "bc", "ca", "abc"):
        groups = [every(exact.shape["abc".index(name)]) for name in columns]
        expected = margins(exact, columns, "abc").T if columns == "ca" else margins(exact, columns, "abc")
        close = 60 if columns == "abc" else 15  # the three together were not measured
        assert found.table(columns, groups) == pytest.approx(expected, abs=close)
    coarse = found.table("ab", [np.array([0, 0, 1]), np.array([0, 1, 1, 1])])
    assert coarse[0, 1] == pytest.approx(found.table("ab", [every(3), every(4)])[:2, 1:].sum())


def test_a_model_over_moving_rows_is_near_that_over_the_full_table(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = sorted_joint(3, 4, 2)
    measured = measurements(exact, ["ab", "bc", "ac"], 3.0)
    whole = fit(measured, Sampler(SeededSource(1)))
    monkeypatch.setattr(rows.rules, "MOST_FULL_CELLS", 1)
    moving = fit(measured, Sampler(SeededSource(1)))
    assert len(moving.weights) > 1000
    groups = [every(3), every(4), every(2)]
    distance = np.abs(whole.table("abc", groups) - moving.table("abc", groups)).sum() / 2 / TOTAL
    assert distance < 0.03


def crossing() -> np.ndarray:
    """Two columns that have nothing to do with each other, and a third that both decide."""
    place = np.linspace(-1, 1, 6)
    exact = np.exp(np.subtract.outer(np.add.outer(-place, -place), 2.5 * place) ** 2 / -0.5)
    exact *= TOTAL / 36 / exact.sum(axis=2, keepdims=True)
    return exact


@pytest.mark.parametrize("full_cells", [1 << 18, 1], ids=["full table", "moving rows"])
def test_a_table_that_says_two_columns_are_independent_is_believed(
    full_cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows.rules, "MOST_FULL_CELLS", full_cells)
    exact, deviation = crossing(), 1.0
    measured = measurements(exact, ["ac", "bc", "ab"], deviation)

    def missed() -> float:
        found = fit(measured, Sampler(SeededSource(1))).table("ab", [every(6), every(6)])
        return float(np.sqrt(((found - margins(exact, "ab", "abc")) ** 2).mean())) / deviation

    assert missed() < 1.5
    monkeypatch.setattr(terms.rules, "PLAINLY_LIKELIER", math.inf)  # by its own distance from independence alone
    assert missed() > 2.5


def test_known_cells_stay_as_they_are() -> None:
    exact = sorted_joint(3, 4)
    known = {"a": np.repeat(np.arange(3, dtype=np.uint8), [50, 30, 20])}
    measured = measurements(exact, ["ab"], 2.0, known=known)
    cells = started(measured.columns, known, 100, Sampler(SeededSource(1)))
    assert np.array_equal(cells[0], known["a"])
    found = fit(measured, Sampler(SeededSource(1)))
    assert [mover.columns for mover in found.movers] == [(1,)], "only columns that are not known move"


def test_a_fit_is_given_measurements_and_nothing_else_of_the_table() -> None:
    hints = get_type_hints(fit)
    assert list(inspect.signature(fit).parameters) == ["measured", "sampler", "most_rows"]
    assert (hints["measured"], hints["sampler"], hints["most_rows"]) == (Measurements, Sampler, int)
    assert hints["return"] is Model
