"""One estimator of a column: what it keeps, what it never does, and that it learns from more budget."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from rankveil.declare import Column
from rankveil.declare.digits import LastDigits
from rankveil.declare.domain import Grid, Nominal
from rankveil.fit.cells import group_nominal
from rankveil.fit.column import fit_columns
from rankveil.fit.marginal import Finest, Marginal, NominalMarginal, OrderedMarginal
from rankveil.measure.budget import Price
from rankveil.measure.columns import column_note, exact_column, first_question, measure_columns
from rankveil.measure.counts import CountGrid, Counts
from rankveil.noise import Law, SeededSource
from rankveil.taxonomy import Taxonomy, flat_taxonomy

ROWS = 20_000
PRICES = [Price("epsilon", Fraction(1, 10)), Price("rho", Fraction(1, 1000)), Price("rho", Fraction(1, 10**6))]
Values = np.ndarray


def number(upper: int, lower: int = 0, *, null: bool = False) -> Column:
    return Column("x", "integer", Grid(upper - lower, Decimal(lower)), "protected", null, False, ())


def labels(count: int, *, null: bool = False) -> Column:
    domain = Nominal(flat_taxonomy([f"l{place}" for place in range(count)]))
    return Column("x", "category", domain, "protected", null, False, ())


def counts_of(column: Column, codes: Values) -> Counts:
    grid = CountGrid(column)
    return Counts(grid, np.bincount(grid.cells(codes), minlength=grid.cell_count))


def fitted(column: Column, codes: Values, price: Price, seed: int = 1, cells: int = 16) -> Marginal:
    measured = measure_columns({"x": counts_of(column, codes)}, len(codes), {"x": price}, SeededSource(seed))
    return fit_columns(measured, len(codes), Finest(cells, cells, len(codes) / 64))["x"]


def shapes() -> dict[str, tuple[Column, Values]]:
    draw = np.random.default_rng(1)
    return {
        "spike on a bell": (
            number(9_999),
            np.where(draw.random(ROWS) < 0.2, 999, np.clip(draw.normal(3000, 600, ROWS), 0, 9999).astype(int)),
        ),
        "loose bound": (number(10**7), np.exp(draw.normal(8, 1, ROWS)).astype(int)),
        "constant": (number(10**6), np.full(ROWS, 7688)),
        "even": (number(9_000, 1_000), draw.integers(0, 8001, ROWS)),
        "zeros": (number(10**5), np.where(draw.random(ROWS) < 0.6, 0, draw.exponential(3000, ROWS).astype(int))),
        "yes and no": (number(1), (draw.random(ROWS) < 0.1).astype(int)),
        "values, some missing": (
            number(60, null=True),
            np.where(draw.random(ROWS) < 0.1, -1, draw.binomial(60, 0.4, ROWS)),
        ),
        "labels": (labels(40, null=True), np.minimum(draw.geometric(0.3, ROWS) - 1, 39)),
        "all missing": (number(5_000, null=True), np.full(ROWS, -1)),
    }


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("shape", shapes())
def test_masses_are_never_negative_and_add_up_to_the_number_of_records(shape: str, price: Price) -> None:
    column, codes = shapes()[shape]
    marginal = fitted(column, codes, price)
    assert (marginal.mass >= 0).all()
    assert np.isfinite(marginal.mass).all()
    assert marginal.mass.sum() == pytest.approx(ROWS, rel=1e-3)
    strips = marginal.strips()
    size = CountGrid(column).size
    assert ((strips.low >= -1) & (strips.low + strips.width <= size)).all()


def mass_at(marginal: Marginal, code: int) -> float:
    strips = marginal.strips()
    share = np.diff(strips.cumulative, prepend=0.0)
    return float(share[(strips.low == code) & (strips.width == 1)].sum())


def test_a_spike_on_a_bell_is_found_and_keeps_its_mass() -> None:
    column, codes = shapes()["spike on a bell"]
    assert mass_at(fitted(column, codes, Price("rho", Fraction(1, 20))), 999) == pytest.approx(0.2, abs=0.01)


def test_without_a_spike_none_is_found() -> None:
    """The broken twin of the test above: a bell alone. Noise makes a spike in one of a hundred levels of columns."""
    _, codes = shapes()["spike on a bell"]
    bell = np.where(codes == 999, 3000 + np.arange(ROWS) % 1200 - 600, codes)
    found = [fitted(number(9_999), bell, Price("rho", Fraction(1, 20)), seed) for seed in range(10)]
    assert sum(mass_at(each, 999) > 0.005 for each in found) <= 1


def far_off(counts: Values, marginal: Marginal) -> float:
    """Total variation of single codes."""
    present = np.flatnonzero(counts)
    shares = counts[present] / counts.sum()
    return 1 - float(sum(min(share, mass_at(marginal, code)) for code, share in zip(present, shares, strict=True)))


def test_few_round_numbers_in_a_wide_range_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too few records for their last digits to be counted. Its broken twin cuts cells along the axis alone."""
    incomes, price = np.array([2_500, 7_500, 15_000, 35_000, 75_000, 200_000]), Price("epsilon", Fraction(1))
    codes = np.random.default_rng(4).choice(incomes, 1_500, p=[0.1, 0.2, 0.25, 0.25, 0.15, 0.05])
    column, counts = number(250_000), np.bincount(codes)
    assert first_question(column, len(codes), price).digits is None
    assert np.mean([far_off(counts, fitted(column, codes, price, seed)) for seed in range(5)]) < 0.6
    monkeypatch.setattr(LastDigits, "of", lambda column: None)
    assert np.mean([far_off(counts, fitted(column, codes, price, seed)) for seed in range(5)]) > 0.9


def test_zeros_and_missing_keep_their_mass() -> None:
    column, codes = shapes()["zeros"]
    assert mass_at(fitted(column, codes, Price("rho", Fraction(1, 1000))), 0) == pytest.approx(0.6, abs=0.02)
    column, codes = shapes()["values, some missing"]
    assert fitted(column, codes, Price("rho", Fraction(1, 1000))).mass[-1] / ROWS == pytest.approx(0.1, abs=0.02)


def test_half_of_the_records_far_from_the_others_stay_there() -> None:
    draw = np.random.default_rng(2)
    far = draw.random(ROWS) < 0.5
    codes = np.where(far, draw.normal(800_000, 5_000, ROWS), draw.normal(2_000, 300, ROWS)).astype(int)
    for price in PRICES[:2]:
        marginal = fitted(number(10**6), codes, price)
        beyond = marginal.strips()
        share = np.diff(beyond.cumulative, prepend=0.0)[beyond.low > 400_000].sum()
        assert share == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("shape", ["spike on a bell", "loose bound", "even", "zeros", "labels", "yes and no"])
@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_more_budget_makes_the_error_smaller(shape: str, unit: str) -> None:
    column, codes = shapes()[shape]
    middles = np.quantile(codes, np.arange(1, 20) / 20)
    truth = np.array([(codes < middle).mean() for middle in middles])

    def error(amount: Fraction) -> float:
        found = []
        for seed in range(6):
            strips = fitted(column, codes, Price(unit, amount), seed).strips()  # type: ignore[arg-type]
            share = np.diff(strips.cumulative, prepend=0.0)
            inside = np.clip((middles[:, None] - strips.low) / strips.width, 0, 1)
            found.append(np.abs(inside @ share - truth).mean())
        return float(np.mean(found))

    little, some, much = (
        (Fraction(1, 500), Fraction(1, 50), Fraction(1))
        if unit == "epsilon"
        else (Fraction(1, 10**6), Fraction(1, 10**4), Fraction(1, 10))
    )
    assert error(much) <= error(some) * 1.05 + 0.001
    assert error(some) <= error(little) * 1.05 + 0.001


class Undrawn(SeededSource):
    """A dry run: answers as they are."""

    def answer(self, law: Law, exact: np.ndarray) -> np.ndarray:
        return exact


@pytest.mark.parametrize("price", PRICES)
@pytest.mark.parametrize("shape", shapes())
def test_a_dry_run_on_nothing_asks_what_was_announced(shape: str, price: Price) -> None:
    column, _ = shapes()[shape]
    grid = CountGrid(column)
    nothing = Counts(grid, np.zeros(grid.cell_count, np.int64))
    measured = measure_columns({"x": nothing}, ROWS, {"x": price}, Undrawn(1))["x"]
    asked = first_question(column, ROWS, price)
    announced = len(asked.levels)
    first, more = measured.levels[:announced], measured.levels[announced:]
    assert [len(level.low) for level in first] == [len(edges) - 1 for edges, _ in asked.levels]
    assert [level.deviation for level in first] == [noise.deviation for _, noise in asked.levels]
    # Where nothing is heavy, what was kept for heavy cells counts the same cells again.
    assert [level.low.tolist() for level in more] == [first[-1].low.tolist()] * (asked.below is not None)
    assert (measured.digits is None) == (asked.digits is None)
    assert column_note(column, ROWS, price).column == "x"


def test_a_public_column_is_kept_exactly() -> None:
    column, codes = shapes()["values, some missing"]
    marginal = exact_column(counts_of(column, codes), Finest(100, 100))
    assert marginal.mass[-1] == (codes == -1).sum()
    assert mass_at(marginal, 24) == pytest.approx((codes == 24).mean())


def test_a_marginal_with_other_masses_leaves_the_first_as_it_was() -> None:
    column, codes = shapes()["labels"]
    before = fitted(column, codes, PRICES[0])
    after = before.with_mass(before.mass[::-1].copy())
    assert after.mass.tolist() == before.mass[::-1].tolist() != before.mass.tolist()
    with pytest.raises(ValueError, match="every base cell"):
        before.with_mass(before.mass[:-1])


def test_more_base_cells_than_a_byte_holds() -> None:
    codes = np.arange(ROWS) % 1000
    marginal = exact_column(counts_of(number(999), codes), Finest(1024, 1024, 1.0))
    assert isinstance(marginal, OrderedMarginal)
    assert marginal.cell_count == 1000
    assert marginal.small_cell_of(np.arange(1000)).tolist() == list(range(1000))
    assert marginal.cell_table()[:-1].tolist() == list(range(1000))
    many = NominalMarginal(np.ones(700), most_cells=1024, least_mass=0.5, label_variance=1.0, null=False)
    assert many.small_cell_of(np.arange(700)).dtype == np.uint16
    assert sorted(many.cell_table()[:-1].tolist()) == list(range(700))


def test_light_labels_are_grouped_with_their_kin() -> None:
    above = {"all": [], "europe": ["all"], "asia": ["all"]}
    leaves = {"fr": ["europe"], "es": ["europe"], "it": ["europe"], "cn": ["asia"], "jp": ["asia"]}
    taxonomy = Taxonomy({**above, **leaves}, list(leaves))
    mass = np.array([900.0, 30.0, 25.0, 28.0, 27.0])
    found = NominalMarginal(mass, most_cells=8, least_mass=50, label_variance=1.0, null=False, taxonomy=taxonomy)
    assert found.cell_of(np.array([1, 3])).tolist() == found.cell_of(np.array([2, 4])).tolist()
    assert found.cell_count == 3
    assert len(np.unique(group_nominal(mass, 8, 50))) == 2, "without kin all light ones share a cell"
