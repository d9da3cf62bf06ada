"""Method `laplace`: the channel of one record, enumerated over small domains, is ε-DP at the price it states."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rankveil import Plan, release
from rankveil.declare import Column, declare_alone
from rankveil.declare.domain import MISSING, Grid, Nominal
from rankveil.errors import PlanError
from rankveil.measure.budget import equal_shares
from rankveil.noise import SeededSource
from rankveil.perturb.records import DISTANCE_UNITS, label_distances, planned
from tests.support import category, integer, plan_text

Law = dict[int, Decimal]
SLACK = Decimal("1e-40")  # of 50 digits


def column_of(entry: str, folder: Path = Path()) -> Column:
    return declare_alone(Plan.parse(plan_text({"a": entry}), folder=folder)).columns[0]


def exp(exponent: Fraction) -> Decimal:
    return (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()


def law(column: Column, epsilon: Fraction, value: int, *, factor: Fraction = Fraction(1)) -> Law:
    """P(released code | true code), to 50 digits, as records.py describes it. `factor` changes the noise, for twins."""
    with localcontext() as context:
        context.prec = 60
        domain = column.domain
        if isinstance(domain, Nominal):
            (mechanism,) = planned(column, epsilon)
            assert mechanism.scale is not None
            distances = label_distances(domain, with_missing=column.allows_null)
            row = distances[value if value != MISSING else -1].tolist()
            weights = [exp(-Fraction(d, DISTANCE_UNITS) / (mechanism.scale * factor)) for d in row]
            total = sum(weights, Decimal(0))
            codes = [*range(domain.label_count), *([MISSING] if column.allows_null else [])]
            return {code: weight / total for code, weight in zip(codes, weights, strict=True)}
        *about_missing, laplace = planned(column, epsilon)
        assert laplace.scale is not None
        numbers = _clipped_laplace(domain, value, laplace.scale * factor)
        if not about_missing:
            return numbers
        (response,) = about_missing
        assert response.epsilon is not None
        flip = 1 / (1 + exp(response.epsilon / factor))
        gone = 1 - flip if value == MISSING else flip
        return {code: share * (1 - gone) for code, share in numbers.items()} | {MISSING: gone}


def _clipped_laplace(grid: Grid, value: int, scale: Fraction) -> Law:
    """Discrete Laplace around the value's place on the axis, moved into the axis and rounded to codes."""
    centre = grid.axis_width // 2 if value == MISSING else int(grid.to_axis(np.array([value]))[0])
    q = exp(-1 / scale)
    peak = (1 - q) / (1 + q)
    found: Law = dict.fromkeys(range(grid.width + 1), Decimal(0))
    for position in range(grid.axis_width + 1):
        away = abs(position - centre)
        share = peak * q**away
        if position in (0, grid.axis_width):
            share = q**away / (1 + q)  # the whole tail from here on
        found[int(grid.from_axis(np.array([float(position)]))[0])] += share
    return found


def largest_loss(column: Column, epsilon: Fraction, *, factor: Fraction = Fraction(1)) -> Decimal:
    """max over outputs and pairs of inputs of log P(y|x) / P(y|x'), by enumeration."""
    inputs = [*range(column.domain.width + 1 if isinstance(column.domain, Grid) else column.domain.label_count)]
    laws = [law(column, epsilon, x, factor=factor) for x in [*inputs, *([MISSING] if column.allows_null else [])]]
    with localcontext() as context:
        context.prec = 60
        assert all(abs(sum(one.values()) - 1) < SLACK for one in laws)
        return max((one[y] / two[y]).ln() for one, two in itertools.permutations(laws, 2) for y in one)


SMALL = {
    "integer": integer(4),
    "integer with missing": integer(4, more="null = true"),
    "logarithmic": integer(6, more='scale = "log"'),
    "number": 'kind = "number"\nlower = 0\nupper = 1\nstep = 0.25',
    "ordinal": 'kind = "ordinal"\ncategories = ["a", "b", "c"]',
    "date": 'kind = "date"\nlower = 2020-01-01\nupper = 2020-01-04',
    "boolean": 'kind = "boolean"',
    "boolean with missing": 'kind = "boolean"\nnull = true',
    "category": category(["x", "y", "z"]),
    "category with missing": category(["x", "y", "z"], more="null = true"),
    "taxonomy": 'kind = "category"\ntaxonomy = "tree.csv"\nnull = true',
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tree.csv").write_text("node,parent\nr,\ng,r\nh,r\na,g\nb,g\nc,h\nd,r\n")
    return tmp_path


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(7, 3)], ids=str)
@pytest.mark.parametrize("name", SMALL)
def test_no_output_tells_two_records_apart_by_more_than_the_columns_share(
    name: str, epsilon: Fraction, folder: Path
) -> None:
    column = column_of(SMALL[name], folder)
    loss = largest_loss(column, epsilon)
    claimed = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
    assert loss <= claimed + Decimal("1e-25")
    assert loss >= claimed * Decimal("0.4"), "and the price is not wasted"


@pytest.mark.parametrize("name", SMALL)
def test_the_enumeration_catches_noise_a_tenth_too_small(name: str, folder: Path) -> None:
    column = column_of(SMALL[name], folder)
    epsilon = Fraction(1)
    loss = largest_loss(column, epsilon)
    smaller = largest_loss(column, epsilon, factor=Fraction(10, 11))
    assert smaller > loss * Decimal("1.05")
    if name in ("integer", "ordinal", "date", "number", "logarithmic"):
        assert smaller > 1, "for these the bound is attained, so any less noise breaks it"


def follows(codes: np.ndarray, expected: Law) -> bool:
    """Pearson's test; one correct sample in a million is turned away."""
    kept = {code: share for code, share in expected.items() if share > 0}
    observed = [int(np.count_nonzero(codes == code)) for code in kept]
    shares = np.array([float(share) for share in kept.values()])
    return bool(
        sum(observed) == len(codes) and stats.chisquare(observed, shares / shares.sum() * len(codes)).pvalue > 1e-6
    )


@pytest.mark.parametrize("name", SMALL)
def test_a_release_draws_from_the_enumerated_channel(name: str, folder: Path) -> None:
    column = column_of(SMALL[name], folder)
    epsilon = Fraction(2)
    values = [MISSING, 1] if column.allows_null else [0, 1]
    inputs = np.tile(np.array(values), 20_000)
    plan = Plan.parse(plan_text({"a": SMALL[name]}, epsilon=2), folder=folder)
    table = release(pa.table({"a": column.domain.decode(inputs)}), plan, source=SeededSource(11)).table
    codes = column.domain.encode(table["a"].combine_chunks(), ()).codes
    for offset, value in enumerate(values):
        drawn = codes[offset::2]
        assert follows(drawn, law(column, epsilon, value))
        assert not follows(drawn, law(column, epsilon, value, factor=Fraction(5, 4)))
        assert not follows(drawn, law(column, epsilon, value, factor=Fraction(4, 5)))


# The budget


@settings(max_examples=30)
@given(
    st.decimals("0.001", "1000", places=7),
    st.lists(st.sampled_from([entry for name, entry in SMALL.items() if name != "taxonomy"]), min_size=1, max_size=7),
)
def test_the_prices_of_all_mechanisms_add_up_to_epsilon_exactly(epsilon: Decimal, entries: list[str]) -> None:
    columns = {f"c{i}": entry for i, entry in enumerate(entries)}
    schema = declare_alone(Plan.parse(plan_text(columns, epsilon=epsilon)))
    shares = equal_shares(epsilon, schema.names)
    spent = [mechanism.epsilon for column in schema.protected for mechanism in planned(column, shares[column.name])]
    assert sum(price for price in spent if price is not None) == Fraction(epsilon)
    assert None not in spent


def test_the_shares_in_a_certificate_add_up_to_epsilon_exactly() -> None:
    columns = {"a": SMALL["integer with missing"], "b": SMALL["category"], "c": SMALL["boolean"]}
    table = pa.table({"a": [1, None], "b": ["x", "y"], "c": [True, False]})
    made = release(table, Plan.parse(plan_text(columns, epsilon="0.1")), source=SeededSource(1))
    assert sum(Fraction(share.epsilon or 0) for share in made.certificate.shares) == Fraction(1, 10)
    assert made.certificate.epsilon == "0.1"


def test_a_column_with_a_single_possible_value_costs_nothing_and_stays() -> None:
    columns = {"a": category(["only"]), "b": integer(1)}
    made = release(
        pa.table({"a": ["only"] * 3, "b": [0, 1, 0]}), Plan.parse(plan_text(columns)), source=SeededSource(1)
    )
    assert made.table["a"].to_pylist() == ["only"] * 3
    assert [share.epsilon for share in made.certificate.shares] == ["0", "0.5"]


@pytest.mark.parametrize(("upper", "epsilon"), [(2**40, "0.01"), (1, "1e9")])
def test_noise_that_cannot_be_drawn_exactly_is_refused_as_a_mistake_of_the_plan(upper: int, epsilon: str) -> None:
    plan = Plan.parse(plan_text({"a": integer(upper)}, epsilon=epsilon))
    with pytest.raises(PlanError, match="'a': at this ε"):
        release(pa.table({"a": [0, 1]}), plan, accept_large_epsilon=True)


def test_missing_values_are_drawn_for_records_that_have_a_value_too() -> None:
    """At ε near 0 half of all answers about being missing are wrong, both ways (50 % ± 5 deviations)."""
    plan = Plan.parse(plan_text({"a": SMALL["integer with missing"]}, epsilon="0.000001"))
    for value in (None, 2):
        table = release(pa.table({"a": pa.array([value] * 10_000, pa.int64())}), plan, source=SeededSource(3)).table
        assert abs(table["a"].null_count - 5000) < 5 * math.sqrt(2500)
