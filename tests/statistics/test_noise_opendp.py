"""Our draws against OpenDP's: two independent implementations of the same laws.

Two-sample chi-square tests on cells of equal mass. OpenDP cannot be seeded, so a correct
pair of samplers is rejected in about one run in a million.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from rankveil.noise import SeededSource, discrete_gaussian, discrete_laplace

dp: Any = pytest.importorskip("opendp.prelude", reason="opendp is not installed, so there is nothing to compare with")

FALSE_ALARM = 1e-6
OUR_DRAWS = 500_000
THEIR_DRAWS = 60_000
CASES = [("laplace", 2.5), ("laplace", 1000.0), ("gaussian", 2.5), ("gaussian", 1000.0)]
OURS: dict[str, Callable[[Fraction, int, Any], NDArray[np.int64]]] = {
    "laplace": discrete_laplace,
    "gaussian": lambda deviation, count, source: discrete_gaussian(deviation**2, count, source),
}


@cache
def their_draws(law: str, scale: float) -> NDArray[np.int64]:
    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if law == "laplace":
        measurement = dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    else:
        measurement = dp.m.make_gaussian(domain, dp.l2_distance(T=float), scale=scale)
    return np.array(measurement([0] * THEIR_DRAWS), dtype=np.int64)


def agree(law: str, scale: float, factor: Fraction) -> bool:
    ours = OURS[law](Fraction(scale) * factor, OUR_DRAWS, SeededSource(31))
    theirs = their_draws(law, scale)
    cuts = np.unique(np.quantile(theirs, np.linspace(0.02, 0.98, 33)).astype(np.int64))
    counts = [np.bincount(np.searchsorted(cuts, draws), minlength=cuts.size + 1) for draws in (ours, theirs)]
    return bool(stats.chi2_contingency(np.array(counts)).pvalue >= FALSE_ALARM)


@pytest.mark.parametrize(("law", "scale"), CASES)
def test_our_draws_are_distributed_like_those_of_opendp(law: str, scale: float) -> None:
    assert agree(law, scale, Fraction(1))


@pytest.mark.parametrize("factor", [Fraction(9, 10), Fraction(11, 10)], ids=str)
@pytest.mark.parametrize(("law", "scale"), CASES)
def test_comparison_with_opendp_rejects_a_scale_ten_percent_off(law: str, scale: float, factor: Fraction) -> None:
    assert not agree(law, scale, factor)
