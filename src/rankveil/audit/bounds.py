"""How much privacy loss a number of observations proves.

Guarantee    With probability at least 1 - alpha over the draws, `epsilon_at_least` is no larger than the true ε of the
             mechanism, whatever that is; the same holds for `mu_at_least` and the μ of a Gaussian trade-off.
Argument     Clopper-Pearson limits are exact for binomial counts; each of the two fails with probability at most
             alpha / 2. If P(E|X') >= p and P(E|X) <= q, then (ε, δ) needs p <= e^ε q + δ, and a μ-Gaussian trade-off
             needs Φ^-1(P(E|X')) - Φ^-1(P(E|X)) <= μ, for every event E: T43. The event has to be fixed before the
             observations are made: `best_event` chooses it on a pilot half, the limits use the other half alone.
Not covered  A small bound proves nothing: a better event or more draws may prove more.
Arithmetic   Limits are found by bisection on the regularised incomplete beta function (continued fraction, to about
             1e-12) and taken from the safe side of the last interval.
Reference    Clopper and Pearson 1934; Numerical Recipes for the continued fraction (modified Lentz).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]

_MOST_TERMS = 20_000
_TINY = 1e-300
_MOST_THRESHOLDS = 400


def beta_distribution(a: float, b: float, x: float) -> float:
    """P(B <= x) for B with the beta distribution of parameters a and b."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    if x > (a + 1) / (a + b + 2):  # the fraction converges quickly below the mean
        return 1.0 - beta_distribution(b, a, 1.0 - x)
    log_front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(log_front) * _fraction(a, b, x) / a


def _fraction(a: float, b: float, x: float) -> float:
    c, d = 1.0, 1.0 / _nonzero(1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MOST_TERMS):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _nonzero(1.0 + factor * d)
            c = _nonzero(1.0 + factor / c)
            value *= c * d
        if abs(c * d - 1.0) < 1e-15:
            return value
    raise ArithmeticError("the continued fraction did not settle")


def _nonzero(number: float) -> float:
    return number if abs(number) > _TINY else _TINY


def at_least(hits: int, trials: int, alpha: float) -> float:
    """Clopper-Pearson: a probability that is too large with a chance of at most alpha."""
    return 0.0 if hits == 0 else _quantile(hits, trials - hits + 1, alpha)


def at_most(hits: int, trials: int, alpha: float) -> float:
    """Clopper-Pearson: a probability that is too small with a chance of at most alpha."""
    return 1.0 if hits == trials else 1.0 - _quantile(trials - hits, hits + 1, alpha)


def _quantile(a: float, b: float, probability: float) -> float:
    """The x with P(B <= x) = probability, from below."""
    low, high = 0.0, 1.0
    while high - low > 1e-12 * high and high > 1e-300:
        # Small quantiles are looked for on a logarithmic scale.
        middle = math.sqrt(low * high) if low > 0 and high > 4 * low else (low + high) / 2
        low, high = (middle, high) if beta_distribution(a, b, middle) < probability else (low, middle)
    return low


def epsilon_at_least(hits_more: int, hits_less: int, trials: int, alpha: float, delta: float = 0.0) -> float:
    """A lower bound on ε from an event's hits among `trials` on either side; 0 if nothing is proved."""
    more, less = at_least(hits_more, trials, alpha / 2), at_most(hits_less, trials, alpha / 2)
    return max(0.0, math.log((more - delta) / less)) if more > delta else 0.0


def mu_at_least(hits_more: int, hits_less: int, trials: int, alpha: float) -> float:
    """A lower bound on the μ of a Gaussian trade-off."""
    more, less = at_least(hits_more, trials, alpha / 2), at_most(hits_less, trials, alpha / 2)
    if not 0 < more < 1 or not 0 < less < 1:
        return 0.0
    return max(0.0, NormalDist().inv_cdf(more) - NormalDist().inv_cdf(less))


@dataclass(frozen=True)
class Event:
    """{score >= threshold} or {score <= threshold}, said to be likelier under X' or under X."""

    threshold: float
    above: bool
    favours_changed: bool

    def hits(self, scores: Scores) -> int:
        return int(np.count_nonzero(scores >= self.threshold if self.above else scores <= self.threshold))

    def in_words(self) -> str:
        side = "X'" if self.favours_changed else "X"
        return f"score {'>=' if self.above else '<='} {self.threshold:.6g}, likelier under {side}"


def best_event(original: Scores, changed: Scores, alpha: float, *, gaussian: bool = False) -> Event:
    """The event that promises the largest bound, from pilot observations only."""
    pooled = np.unique(np.concatenate([original, changed]))
    if len(pooled) > _MOST_THRESHOLDS:
        pooled = np.unique(np.quantile(pooled, np.linspace(0, 1, _MOST_THRESHOLDS), method="nearest"))
    nats = -math.log(alpha / 2)
    best, promised = Event(float(pooled[0]), True, True), -math.inf
    for above in (True, False):
        rates = [_rates(scores, pooled, above=above) for scores in (original, changed)]
        for favours_changed, (less, more) in ((True, rates), (False, rates[::-1])):
            low = more - np.sqrt(2 * nats * more * (1 - more) / len(original))
            high = less + np.sqrt(2 * nats * less * (1 - less) / len(original)) + nats / len(original)
            with np.errstate(divide="ignore", invalid="ignore"):
                if gaussian:
                    normal = NormalDist()
                    inside = (low > 0) & (low < 1) & (high > 0) & (high < 1)
                    worth = np.full(len(pooled), -np.inf)
                    worth[inside] = [
                        normal.inv_cdf(one) - normal.inv_cdf(other)
                        for one, other in zip(low[inside], high[inside], strict=True)
                    ]
                else:
                    worth = np.where(low > 0, np.log(np.maximum(low, _TINY) / np.minimum(high, 1.0)), -np.inf)
            place = int(np.argmax(worth))
            if worth[place] > promised:
                best, promised = Event(float(pooled[place]), above, favours_changed), float(worth[place])
    return best


def _rates(scores: Scores, thresholds: Scores, *, above: bool) -> Scores:
    ranked = np.sort(scores)
    if above:
        return 1.0 - np.searchsorted(ranked, thresholds, side="left") / len(ranked)
    return np.searchsorted(ranked, thresholds, side="right") / len(ranked)
