"""What the paper's text says about its figures, each sentence as a test on our curves."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rankveil.reproduce.curves import CENSUS_CASES, EPSILONS, Point
from rankveil.reproduce.runs import NOISELESS

_NAMES = {"census-1": "Census m=1", "census-8": "Census m=8", "census-13": "Census m=13", "adult": "Adult"}
_MEASURES = {"relative_error": "RE", "jsd": "JSD"}


@dataclass(frozen=True)
class Shape:
    claim: str
    verdict: str  # holds, partly, fails
    numbers: str


class _Curves:
    def __init__(self, points: list[Point]) -> None:
        self._points = {(p.case, p.method, p.epsilon, p.k): p for p in points}
        self.sizes = {
            case: sorted({p.k for p in points if p.case == case and p.k > 1}) for case in {p.case for p in points}
        }

    def value(self, case: str, method: str, epsilon: str, k: int, what: str) -> float:
        return float(getattr(self._points[case, method, epsilon, k], what))

    def curve(self, case: str, method: str, epsilon: str, what: str) -> dict[int, float]:
        return {k: self.value(case, method, epsilon, k, what) for k in self.sizes[case]}

    def clearly_above(self, case: str, epsilon: str, k: int, what: str) -> bool:
        """Individual ranking with noise lies above plain Laplace by more than three standard errors of the runs."""
        ours, plain = self._points[case, "IR", epsilon, k], self._points[case, "laplace", epsilon, 1]
        spread = math.hypot(getattr(ours, what + "_sd"), getattr(plain, what + "_sd")) / math.sqrt(ours.runs)
        return bool(getattr(ours, what) - getattr(plain, what) > 3 * spread)

    def laplace(self, case: str, epsilon: str, what: str) -> float:
        return self.value(case, "laplace", epsilon, 1, what)


def shapes(points: list[Point]) -> list[Shape]:
    """One row per claim about the cases that were run: Census's three, Adult, or all."""
    c = _Curves(points)
    cases = [case for case in _NAMES if case in c.sizes]
    rows = [
        *(_beats_laplace(c, cases, what) for what in _MEASURES),
        _close_to_ranking_alone(c, cases),
        *(_microaggregation_alone(c, [case for case in cases if case != "census-1"], what) for what in _MEASURES),
    ]
    if "adult" in cases:
        rows.append(_adult_beats_mdav(c))
    if not set(cases).issuperset(CENSUS_CASES):
        return rows
    return [
        *rows,
        _grows_after(c, "census-1", 25),
        _worse_than_laplace_from(c, "census-1", 10),
        _worse_than_laplace_from(c, "census-8", 45),
        _worse_than_laplace_from(c, "census-13", 45),
        _falls_then_rises(c),
        _overlap_at_one(c),
        _largest_gain_at_one(c),
        _beats_mdav_alone(c, "census-8", 20),
        _beats_mdav_alone(c, "census-13", 30),
        *(_predecessor_catches_up(c, what) for what in _MEASURES),
        _less_noise_beyond_n_over_m(c),
    ]


def _verdict(results: list[bool]) -> str:
    return "holds" if all(results) else "partly" if any(results) else "fails"


def _shape(claim: str, found: Iterable[tuple[bool, str]], before: str = "") -> Shape:
    """A claim about several cases: whether it holds in each, and its numbers there."""
    listed = list(found)
    return Shape(claim, _verdict([holds for holds, _ in listed]), before + ", ".join(words for _, words in listed))


def _beats_laplace(c: _Curves, cases: list[str], what: str) -> Shape:
    results, misses = [], []
    for case in cases:
        for epsilon in EPSILONS:
            k = c.sizes[case][0]
            ours, plain = c.value(case, "IR", epsilon, k, what), c.laplace(case, epsilon, what)
            results.append(not c.clearly_above(case, epsilon, k, what))
            if not results[-1]:
                misses.append(f"{_NAMES[case]}, ε={epsilon}: {ours:.3f} against {plain:.3f}")
    return Shape(
        f"{_MEASURES[what]} is below plain Laplace already from k = 2 (or level with it, within the noise of the runs)",
        _verdict(results),
        f"{sum(results)} of {len(results)} cases" + (f"; not {'; '.join(misses)}" if misses else ""),
    )


def _grows_after(c: _Curves, case: str, turn: int) -> Shape:
    curve = c.curve(case, "IR", "10", "relative_error")
    best = min(curve, key=lambda k: curve[k])
    last = max(curve)
    return Shape(
        f"m = 1, ε = 10: RE grows for k > {turn}",
        _verdict([abs(best - turn) <= 10, curve[last] > curve[best]]),
        f"lowest at k = {best} ({curve[best]:.3f}), {curve[last]:.3f} at k = {last}",
    )


def _close_to_ranking_alone(c: _Curves, cases: list[str]) -> Shape:
    def found(case: str) -> tuple[bool, str]:
        k = max(c.sizes[case])
        ratio = c.value(case, "IR", "10", k, "relative_error") / c.value(case, "ranking", "", k, "relative_error")
        return ratio < 1.5, f"{_NAMES[case]} {ratio:.2f}"

    claim = "ε = 10, large k: RE is almost as low as individual ranking alone (within half again as much)"
    return _shape(claim, map(found, cases), "ratio at the largest k: ")


def _worse_than_laplace_from(c: _Curves, case: str, turn: int) -> Shape:
    plain = c.laplace(case, "10", "jsd")
    curve = c.curve(case, "IR", "10", "jsd")
    beyond = {k: value for k, value in curve.items() if k > turn}
    crossing = next((k for k in curve if all(curve[larger] > plain for larger in curve if larger >= k)), None)
    return Shape(
        f"{_NAMES[case]}, ε = 10: JSD is worse than plain Laplace for k > {turn}",
        _verdict([value > plain for value in beyond.values()]),
        f"plain Laplace {plain:.3f}; ours stays above it from k = {crossing}"
        if crossing
        else f"plain Laplace {plain:.3f}; ours reaches {max(curve.values()):.3f} and stays below",
    )


def _falls_then_rises(c: _Curves) -> Shape:
    def found(case: str) -> tuple[bool, str]:
        curve = c.curve(case, "IR", "10", "jsd")
        best = min(curve, key=lambda k: curve[k])
        turns = best < max(curve) / 2 and curve[max(curve)] > curve[best]
        return turns, f"{_NAMES[case]} lowest at k = {best}"

    return _shape("Census, ε = 10: JSD falls for low k and rises for large k", map(found, CENSUS_CASES))


def _microaggregation_alone(c: _Curves, cases: list[str], what: str) -> Shape:
    def found(case: str) -> tuple[bool, str]:
        mdav, ranking = (c.curve(case, method, "", what) for method in NOISELESS[::-1])
        k = max(mdav)
        return all(mdav[k] > ranking[k] for k in mdav), f"{_NAMES[case]} {mdav[k]:.3f} against {ranking[k]:.3f}"

    name = _MEASURES[what]
    claim = f"m > 1: insensitive MDAV alone has a higher {name} than individual ranking alone, for every k"
    return _shape(claim, map(found, cases), "at the largest k: ")


def _adult_beats_mdav(c: _Curves) -> Shape:
    def found(epsilon: str, what: str) -> tuple[bool, str]:
        ours, alone = c.curve("adult", "IR", epsilon, what), c.curve("adult", "mdav-insensitive", "", what)
        wins = [ours[k] < alone[k] for k in ours if k > 100]
        return all(wins), f"{_MEASURES[what]} at ε = {epsilon}: {sum(wins)} of {len(wins)} sizes"

    claim = "Adult: the method with noise beats insensitive MDAV without noise for k > 100 (ε = 1 and 10)"
    return _shape(claim, (found(epsilon, what) for epsilon in ("1", "10") for what in _MEASURES))


def _overlap_at_one(c: _Curves) -> Shape:
    gap = max(
        abs(c.value("census-1", "ranking", "", k, what) - c.value("census-1", "mdav-insensitive", "", k, what))
        for k in c.sizes["census-1"]
        for what in _MEASURES
    )
    return Shape("m = 1: both microaggregations overlap", _verdict([gap < 1e-9]), f"largest difference {gap:.1e}")


def _largest_gain_at_one(c: _Curves) -> Shape:
    def gain(case: str) -> float:
        theirs, ours = (c.curve(case, method, "1", "relative_error") for method in ("MV", "IR"))
        return sum(theirs[k] / ours[k] for k in ours) / len(ours)

    gains = {case: gain(case) for case in CENSUS_CASES}
    return Shape(
        "the advantage over the predecessor is largest for m = 1 and shrinks with m",
        _verdict([gains["census-1"] > gains["census-8"] > gains["census-13"]]),
        "mean ratio of RE at ε = 1: " + ", ".join(f"{_NAMES[case]} {value:.1f}" for case, value in gains.items()),
    )


def _beats_mdav_alone(c: _Curves, case: str, turn: int) -> Shape:
    ours = c.curve(case, "IR", "10", "relative_error")
    alone = c.curve(case, "mdav-insensitive", "", "relative_error")
    beyond = [ours[k] < alone[k] for k in ours if k > turn]
    first = next((k for k in ours if all(ours[larger] < alone[larger] for larger in ours if larger >= k)), None)
    return Shape(
        f"{_NAMES[case]}, ε = 10: RE is below insensitive MDAV without noise for k > {turn}",
        _verdict(beyond),
        f"below it from k = {first}",
    )


def _predecessor_catches_up(c: _Curves, what: str) -> Shape:
    def found(k: int) -> tuple[bool, str]:
        ours, theirs = (c.value("census-13", method, "10", k, what) for method in ("IR", "MV"))
        return theirs <= 1.05 * ours, f"k = {k}: {theirs:.3f} against {ours:.3f}"

    name, sizes = _MEASURES[what], [k for k in c.sizes["census-13"] if k > 80]
    claim = f"Census m=13, ε = 10, k > 80: the predecessor matches or slightly beats the method in {name} (within 5 %)"
    return _shape(claim, map(found, sizes))


def _less_noise_beyond_n_over_m(c: _Curves) -> Shape:
    def found(epsilon: str) -> tuple[bool, str]:
        k = max(c.sizes["census-13"])
        ours, theirs = (c.value("census-13", method, epsilon, k, "relative_error") for method in ("IR", "MV"))
        return theirs <= 1.05 * ours, f"ε = {epsilon}, k = {k}: {theirs:.2f} against {ours:.2f}"

    claim = "beyond k = n/m = 83 the predecessor needs less noise; noticeable at ε = 0.1 and 1 (its RE within 5 %)"
    return _shape(claim, map(found, ("0.1", "1")))
