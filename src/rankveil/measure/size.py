"""The number of rows, where it is not public: measured with noise first, and used by everything after.

Guarantee    Differentially private at the price it is given.
Argument     T52: a unit changes the number of rows by at most `Unit.of_rows`. From here on the noisy number stands
             where the number of rows stood: in public rules, in fits, and in how many rows are drawn.
Refused      Noise so large that the release could have many millions of rows that nobody is behind.
Arithmetic   One integer, exact noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rankveil import rules
from rankveil.declare.schema import FEWEST_ROWS
from rankveil.errors import PlanError
from rankveil.measure.budget import Budget, Mechanism
from rankveil.noise import RandomSource

COLUMN = "number of rows"  # under which its share is noted


@dataclass(frozen=True)
class Size:
    """A number of rows that may be used and shown, and the budget that is left."""

    rows: int
    budget: Budget
    notes: tuple[Mechanism, ...] = ()


def released_size(exact: int, budget: Budget, source: RandomSource, *, answered: bool = True) -> Size:
    """`answered`: False in dry runs, where the number is what the plan expects."""
    protects = budget.whole.protects
    if protects.rows_public:
        return Size(exact, budget)
    price = budget.spend(rules.FOR_ROWS, COLUMN)
    change = protects.of_rows
    noise = price.laplace_or_gaussian(l1=change, l2_squared=change**2)
    if noise.deviation > rules.MOST_NOISE_ON_ROWS:
        raise PlanError(
            f"The number of rows would be released with noise of about {noise.deviation:,.0f}.",
            remedy="Choose a larger ε, fewer rows_per_person, or neighbours for which the number of rows is public.",
        )
    # PRIVACY: the exact number is not looked at again.
    rows = int(noise.added_to(np.array([exact], np.int64), source)[0]) if answered else exact
    note = price.note(COLUMN, f"{noise.name}, number of rows", str(change), ("T52", price.noise_theorem))
    return Size(max(rows, FEWEST_ROWS), budget.carve(budget.left, "after the number of rows"), (note,))
