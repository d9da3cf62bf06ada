"""Sign products of all pairs of columns: linkage for few records.

Guarantee    Differentially private at the price it is given.
Argument     T19: every value counts as +1 or -1 by a released split of its column, 0 if missing.
             G_ab = sum over records of s_a·s_b. Replacing one record changes the vector of all G_ab by at most
             2·floor(m²/4) in L1 and m (m even) or sqrt(m² - 1) (m odd) in L2; adding one by m(m-1)/2 in L1 and its root
             in L2. For whole persons T50.
Arithmetic   Integer sums from the two-way counts; exact noise.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb

import numpy as np

from rankveil.declare.unit import ADDED, Sensitivity, Unit
from rankveil.fit.marginal import Marginal
from rankveil.measure.budget import Noise, Price
from rankveil.measure.measurements import SignProducts
from rankveil.measure.tables import Counted
from rankveil.noise import RandomSource


def sign_noise(price: Price, columns: int) -> Noise:
    """The noise that sign products of so many columns need at this price."""
    return price.noise_for(sign_change(price.protects, columns))


def sign_change(protects: Unit, columns: int) -> Sensitivity:
    """Of the vector of all sign products."""
    replaced = Sensitivity(2 * (columns**2 // 4), columns**2 - columns % 2)
    return protects.sensitivity(replaced, ADDED * comb(columns, 2))


def measure_signs(
    counts: Counted, marginals: Mapping[str, Marginal], price: Price, source: RandomSource
) -> SignProducts:
    """All pairs' sums of products of signs, with noise."""
    signs = {name: marginal.signs() for name, marginal in marginals.items()}
    noise = sign_noise(price, len(marginals))
    exact = np.array([int(signs[a] @ table @ signs[b]) for (a, b), table in counts.items()], dtype=np.int64)
    # PRIVACY: all pairs in one vector; the sensitivity above is that of the whole vector.
    products = noise.added_to(exact, source).astype(np.float64)
    return SignProducts(dict(zip(counts, products.tolist(), strict=True)), noise.deviation)
