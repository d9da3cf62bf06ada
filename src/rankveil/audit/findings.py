"""What one attack found: a claimed loss, and a loss that is certain or nearly so.

Three kinds
    sampled      many draws under X and under its neighbour X'; the bound fails with a chance of at most ALPHA_PER_TEST
    exact        the largest log-ratio of probabilities at an output that can occur, computed and not estimated
    structural   an output that X cannot give and X' can, or a difference between X and X' that is no random draw at
                 all: the loss is infinite
False alarms All tests of one audit of all methods together contradict a true claim with a probability of at most
             FALSE_ALARM (T43): one test per sampled case (one event, fixed on the pilot half), at most MOST_TESTS of
             them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from rankveil.audit.bounds import Scores, best_event, epsilon_at_least, mu_at_least

FALSE_ALARM = 1e-6
MOST_TESTS = 100
ALPHA_PER_TEST = FALSE_ALARM / MOST_TESTS
_ROUNDING = 1e-9  # exact losses are added up in floating point


@dataclass(frozen=True)
class Finding:
    case: str
    kind: Literal["sampled", "exact", "structural"]
    claimed: float
    lower_bound: float
    runs: int  # releases or draws on both sides
    refuted: bool
    whole: bool = True  # the claim is that of the whole method, not of a share of its budget
    unit: Literal["epsilon", "mu", "rho"] = "epsilon"
    detail: str = ""

    def as_dict(self) -> dict[str, Any]:
        return {
            "case": self.case,
            "kind": self.kind,
            "unit": self.unit,
            "claimed": self.claimed,
            "lower_bound": None if math.isinf(self.lower_bound) else rounded_down(self.lower_bound),
            "structural": math.isinf(self.lower_bound),
            "refuted": self.refuted,
            "whole": self.whole,
            "runs": self.runs,
            "detail": self.detail,
        }


def rounded_down(bound: float) -> float:
    """Six decimals, so that a printed bound is never more than was found."""
    return math.floor(bound * 1e6 * (1 + _ROUNDING)) / 1e6


class DependsOnData(Exception):
    """Something that has to be public differs between a table and its neighbour."""


def sampled(
    case: str,
    claimed: float,
    observe: Callable[[bool, int], Scores],
    runs: int,
    *,
    whole: bool = True,
    unit: Literal["epsilon", "mu"] = "epsilon",
    detail: str = "",
) -> Finding:
    """`observe(changed, count)`: scores of so many independent runs on X, or on X' if `changed`."""
    half = max(runs // 2, 1)
    gaussian = unit == "mu"
    event = best_event(observe(False, half), observe(True, half), ALPHA_PER_TEST, gaussian=gaussian)
    original, changed = event.hits(observe(False, half)), event.hits(observe(True, half))
    more, less = (changed, original) if event.favours_changed else (original, changed)
    bound = (mu_at_least if gaussian else epsilon_at_least)(more, less, half, ALPHA_PER_TEST)
    seen = f"{event.in_words()}: {changed} of {half} under X', {original} of {half} under X"
    words = f"{detail}; {seen}" if detail else seen
    return Finding(case, "sampled", claimed, bound, 4 * half, bound > claimed, whole, unit, words)


def exact(
    case: str,
    claimed: float,
    loss: float,
    *,
    runs: int = 0,
    whole: bool = True,
    unit: Literal["epsilon", "rho"] = "epsilon",
    detail: str = "",
) -> Finding:
    return Finding(case, "exact", claimed, loss, runs, loss > claimed * (1 + _ROUNDING), whole, unit, detail)


def structural(case: str, claimed: float, *, runs: int = 0, detail: str) -> Finding:
    return Finding(case, "structural", claimed, math.inf, runs, True, detail=detail)
