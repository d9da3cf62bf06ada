"""Round numbers: a fitted column's segments, with more of their mass on codes that end in the digits people round to.

Model        Inside a segment the density is that of the curve times a weight of each code's class (declare/digits.py),
             the same all along the column. Codes that stand out already have segments of their own, and keep them.
Weights      From the noisy counts of the classes, place after place: of the numbers that have zeros below a place, how
             many end there in 1, 2 ... 9, and how many have a zero there too. What noise explains is left as the curve
             has it (James and Stein); the rest follows the counts.
Reads        Released counts and the plan: T1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.fit.segments import Segments, tilts
from rankveil.fit.simplex import Floats
from rankveil.fit.trust import shrunk
from rankveil.measure.measurements import DigitCounts
from rankveil.rules import MOST_ROUND_CODES, PLAINLY_ROUND

_ROUNDS = 10  # of weights that bring the classes' masses to their posterior means


def with_round_numbers(segments: Segments, counted: DigitCounts) -> Segments:
    """The same mass in each segment, on other codes."""
    digits = counted.digits
    wide = segments.high - segments.low > 1
    if not wide.any():
        return segments
    low, high, mass = segments.low[wide], segments.high[wide], segments.mass[wide]
    codes = [digits.codes(which) for which in range(digits.count)]
    share = np.stack([_between(each, low, high) for each in codes], axis=1) / (high - low)[:, None]
    alone = np.bincount(digits.classes(segments.low[~wide]), segments.mass[~wide], minlength=digits.count)
    expected = mass @ share
    weight = np.ones(digits.count)
    found = _masses(expected, counted.noisy - alone, counted, digits.places)
    for _ in range(_ROUNDS):
        weight *= found / np.maximum(mass / (share @ weight) @ (share * weight), 1e-9)
        weight /= max(weight.max(), 1e-300)
        weight = np.maximum(weight, 1e-9)
    chosen = _round_classes(weight, expected, [len(each) for each in codes])
    if not chosen:
        return segments
    plain = np.setdiff1d(np.arange(digits.count), chosen)
    weight[plain] = np.average(weight[plain], weights=np.maximum(expected[plain], 1e-9))
    spikes = np.sort(np.concatenate([codes[which] for which in chosen]))
    spikes = spikes[_between_any(spikes, low, high)]
    starts = np.unique(np.concatenate([low, spikes, spikes + 1]))
    of = np.searchsorted(low, starts, side="right") - 1
    inside = (of >= 0) & (starts < high[np.maximum(of, 0)])
    starts, of = starts[inside], of[inside]
    ends = np.minimum(np.append(starts[1:], high[-1]), high[of])
    heights = np.maximum(segments.mass, 1e-9)
    tilt = tilts(segments.low, segments.high, heights)[wide][of]  # their masses hold it: pieces are flat
    first, last = (starts - low[of]) / (high - low)[of], (ends - low[of]) / (high - low)[of]
    amount = (last - first) * (1 + tilt * (first + last - 1))
    amount *= np.where(np.isin(starts, spikes), weight[digits.classes(starts)], weight[plain[0]])
    amount *= (mass / np.maximum(np.bincount(of, amount, minlength=len(mass)), 1e-300))[of]
    lows, highs = np.append(segments.low[~wide], starts), np.append(segments.high[~wide], ends)
    order = np.argsort(lows, kind="stable")
    masses = np.append(segments.mass[~wide], amount)
    return Segments(lows[order], highs[order], masses[order], segments.missing, segments.special)


def _masses(expected: Floats, noisy: Floats, counted: DigitCounts, places: int) -> Floats:
    """Posterior means of every class; they add up to the mass that is expected."""
    found, whole = np.zeros(len(expected)), float(expected.sum())
    for place in range(places):
        first = 9 * place
        here = slice(first, first + 9)
        usual = np.append(expected[here], expected[first + 9 :].sum())
        usual = usual * (whole / max(usual.sum(), 1e-9))
        answers = np.append(noisy[here], noisy[first + 9 :].sum())
        deviation = np.full(10, counted.deviation)
        deviation[9] *= np.sqrt(len(expected) - first - 9)
        mass, _ = shrunk(usual, answers, deviation, counted.law)
        mass *= whole / max(mass.sum(), 1e-9)
        found[here], whole = mass[:9], float(mass[9])
    found[-1] = whole
    return found


def _round_classes(weight: Floats, expected: Floats, sizes: list[int]) -> list[int]:
    """Classes whose codes are so much likelier than others that they get segments of their own, the likeliest first."""
    chosen: list[int] = []
    left = MOST_ROUND_CODES
    for which in np.argsort(-weight, kind="stable").tolist():
        others = np.setdiff1d(np.arange(len(weight)), [*chosen, which])
        if not len(others) or expected[which] <= 0:
            continue
        usual = np.average(weight[others], weights=np.maximum(expected[others], 1e-9))
        if weight[which] < PLAINLY_ROUND * usual:
            break
        if sizes[which] <= left:
            chosen.append(which)
            left -= sizes[which]
    return chosen


def _between(codes: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many of these ascending codes lie in each range."""
    return np.searchsorted(codes, high) - np.searchsorted(codes, low)


def _between_any(codes: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.bool_]:
    place = np.searchsorted(low, codes, side="right") - 1
    inside: NDArray[np.bool_] = (place >= 0) & (codes < high[np.maximum(place, 0)])
    return inside
