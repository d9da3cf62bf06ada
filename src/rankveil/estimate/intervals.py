"""Numbers with their errors, and whether they were measured.

Error        4 / replicates times the sum of squared differences between the replicates' estimates and the estimate
             itself (draw/replicates.py). Intervals are Student's, with a degree of freedom for each replicate; those of
             quantiles are made of intervals of shares (Woodruff 1952).
Measured     Rows drawn again that agree with all that was measured still differ in what was not. The variance of an
             estimate under them, as a part of its stated variance, is what rests on the model: 0 where the estimate is
             a sum of measured cells. There a model errs by more than the chance of drawing rows. So beyond a small part
             (rules.MOST_UNMEASURED) an estimate is said not to be supported, and its interval is made wider: by as many
             times that chance as models were wrong by in simulations (rules.MODEL_ERROR).
Hidden       The model takes few records far from all others for noise. Where as many of them as one deviation of the
             noise on a count, at an end of the range that the plan declares, would carry a mean, a total or a
             coefficient out of its interval (rules.MOST_HIDDEN), it is not supported either, and its interval is wider
             by as much.
Own          A coefficient lives on what the other columns do not explain of its own. Where that is less than a part
             (rules.LEAST_OWN), it hangs on how values lie inside cells, which a model makes up: not supported.
Alike        Where all released rows agree, no weights can differ: not supported, whatever their error says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankveil import rules
from rankveil.errors import EstimateError
from rankveil.estimate.asked import Asked, asked
from rankveil.estimate.frame import Frame
from rankveil.estimate.statistics import Statistic, statistic
from rankveil.estimate.values import Floats
from rankveil.figure import Figure, plotted
from rankveil.fit.threads import on_one_thread
from rankveil.fragments import Band, fragment, pictured

if TYPE_CHECKING:
    from rankveil.release import Release

Target = Literal["table", "population"]
NOT_SUPPORTED = "not supported by what was measured"
DAYS = "days since 1970-01-01"  # what dates are in numbers
REASONS = {  # why, and what to do
    "not measured": "No measured table links these columns in such detail, so the interval is wider, by what models"
    " were wrong by in simulations. Ask about fewer columns or wider groups; whoever makes the release can name the"
    " columns in its plan ([[interest]]).",
    "hidden": "A few records at the end of a column's range, which noise can hide, would move it out of its interval,"
    " so the interval is wider. Ask for a median; narrower bounds in the plan help, too.",
    "collinear": "A regressor nearly follows from the others. Leave one of them out.",
    "alike": "All released rows agree there, or there are none, so that replicates cannot differ. Ask about a wider"
    " group.",
}
_TARGETS: dict[str, str] = {
    "table": "the table that was protected (privacy noise, and the drawing of rows)",
    "population": "the people it was drawn from (the same, and sampling)",
}
# Of 100 intervals at 95 % without the warning, how many covered the truth in simulations: from the worst table to the
# best (benchmarks/results/coverage.json), with the model before decision 41: to be measured again.
OBSERVED = {"counts": (95, 99), "numbers": (93, 98), "regressions": (76, 97)}
_KINDS = dict.fromkeys(("total", "mean", "median", "quantile"), "numbers") | dict.fromkeys(
    ("lm", "logit"), "regressions"
)
_ROUNDING = 1e-12  # relative, of sums of floats
_PARTS = 40  # of the rows, one of which is left out at a time


@dataclass(frozen=True)
class Estimate:
    """One number."""

    name: str
    estimate: float
    standard_error: float
    low: float
    high: float
    unmeasured: float  # the part of its variance that rests on the model, from 0 to 1
    hidden: float  # how far records that the noise may hide at the ends of columns would move it
    widened: float  # times that its interval is as wide as replicates alone would have it; 1 where it was measured
    reasons: tuple[str, ...]  # why it is not supported by what was measured: keys of REASONS
    rows: int  # released rows that it is about
    naive_error: float  # of whoever takes the release for the original

    @property
    def supported(self) -> bool:
        return not self.reasons


@dataclass(frozen=True)
class Estimates:
    """What was asked, and the answers.

    >>> made = rv.release(people, plan, replicates=40)
    >>> found = rv.estimate(made, "mean(income) by sex")
    >>> [one.name for one in found.each]
    ['sex = f', 'sex = m']
    >>> all(one.low <= one.estimate <= one.high for one in found.each)
    True
    """

    asked: str
    target: Target
    level: float
    replicates: int
    each: tuple[Estimate, ...]
    dates: bool = False  # numbers are days since 1970-01-01

    @property
    def warning(self) -> str | None:
        weak = [one for one in self.each if not one.supported]
        if not weak:
            return None
        which = "This is" if len(self.each) == 1 else f"{len(weak)} of {len(self.each)} are"
        said = [f"{which} {NOT_SUPPORTED}; what the model assumes decides there."]
        for key, text in REASONS.items():
            count = sum(key in one.reasons for one in weak)
            if count:
                said.append(text if count == len(weak) else f"{count} of them: {text[:1].lower()}{text[1:]}")
        return " ".join(said)

    @property
    def is_regression(self) -> bool:
        return self._function in ("lm", "logit")

    @property
    def _function(self) -> str:
        return self.asked.strip().partition("(")[0].strip().lower()

    @property
    def about(self) -> str:
        kind = _KINDS.get(self._function, "counts")
        low, high = OBSERVED[kind]
        return (
            f"{self.percent} intervals for {_TARGETS[self.target]}, from {self.replicates} replicates. In simulations"
            f" with an earlier version of the model 95% intervals of {kind} covered the truth in {low} to {high} of 100"
            " cases, by table (docs/estimates.md)."
        )

    def plot(self) -> Figure:
        """A chart of every estimate with its interval.

        >>> made = rv.release(people, plan, replicates=40)
        >>> rv.estimate(made, "mean(income) by sex").plot()
        Figure: mean(income) by sex
        """
        return plotted("estimates", self)

    def as_dict(self) -> dict[str, Any]:
        return {
            **{name: getattr(self, name) for name in ("asked", "target", "level", "replicates", "warning", "about")},
            "unit": DAYS if self.dates else None,
            "estimates": [{**asdict(one), "supported": one.supported} for one in self.each],
        }

    def lines(self) -> list[list[str]]:
        """For people: name, estimate, standard error, interval, and whether it is supported."""
        return [
            [
                one.name,
                self.shown(one.estimate, one.standard_error),
                _error_shown(one.standard_error) + (" days" if self.dates else ""),
                f"{self.shown(one.low, one.standard_error)} to {self.shown(one.high, one.standard_error)}",
                "" if one.supported else "not supported" + _times(one.widened),
            ]
            for one in self.each
        ]

    def shown(self, value: float, error: float) -> str:
        """A date, or a number with the digits that its error leaves."""
        if self.dates and np.isfinite(value):
            return str(np.datetime64(round(value), "D"))
        digits = 2 if error <= 0 or not np.isfinite(error) else int(max(0, 1 - np.floor(np.log10(error))))
        return f"{value:,.{min(digits, 12)}f}"

    @property
    def percent(self) -> str:
        """The level of the intervals, as text."""
        return f"{100 * self.level:.6g}%"

    def __str__(self) -> str:
        said = [
            f"{name}: {value} (se {error}, {interval}){mark and ', '}{mark}"
            for name, value, error, interval, mark in self.lines()
        ]
        return "\n".join([self.asked, *said, self.about, *([self.warning] if self.warning else [])])

    def _picture(self) -> str:
        shown = [one for one in self.each if not (one.name == "constant" and len(self.each) > 1)]
        bands = [Band(one.name, one.low, one.estimate, one.high, one.supported) for one in shown]
        return pictured(bands, (lambda day: self.shown(day, 1.0)) if self.dates else None)

    def _repr_html_(self) -> str:
        head = ["", "estimate", "standard error", "interval", ""]
        table = (head, self.lines())
        return fragment(self.asked, warning=self.warning, picture=self._picture(), table=table, footer=self.about)


def estimate(
    release: Release[Any] | Frame | str | Path, ask: str, *, target: Target = "table", level: float = 0.95
) -> Estimates:
    """What a release says about a question, with standard errors and intervals from its replicate weights.

    `release` is a folder that was released with `replicates`, or such a release in memory. `ask` is a text such as
    "mean(income) by sex where age >= 65"; docs/estimates.md says what can be asked. `target` names what the interval is
    for: the "table" that was protected, or the "population" its rows were drawn from.

        >>> made = rv.release(people, plan, replicates=40, out="2031-q1")
        >>> (one,) = rv.estimate("2031-q1", "mean(age)").each
        >>> one.low < one.estimate < one.high
        True
    """
    if target not in _TARGETS:
        raise EstimateError(f"There is no target {target!r}.", remedy="Choose 'table' or 'population'.")
    if not 0 < level < 1:
        raise EstimateError("The level of an interval lies between 0 and 1.", remedy="Use 0.95, for example.")
    parts = asked(ask)
    frame = release if isinstance(release, Frame) else Frame.of(release)
    if target == "population" and frame.of_persons:
        raise EstimateError(
            "In this release a person may have several rows, which are not a sample of single rows.",
            remedy="Ask for the target 'table'.",
        )
    found = _minus(ask, parts, frame) if len(parts) == 2 else statistic(parts[0], frame.columns, frame.ends)
    each = _estimates(found, parts, frame, target, level)
    return Estimates(ask, target, level, len(frame.table), each, found.dates)


def values(frame: Frame, ask: str) -> dict[str, float]:
    """The estimates alone, by name."""
    parts = asked(ask)
    found = _minus(ask, parts, frame) if len(parts) == 2 else _plain(parts[0], statistic(parts[0], frame.columns))
    return dict(zip(found.names, map(float, found.of(np.ones(frame.rows))), strict=True))


def _minus(ask: str, parts: Sequence[Asked], frame: Frame) -> Statistic:
    first, second = (_plain(part, statistic(part, frame.columns, frame.ends)) for part in parts)
    if len(first.names) != 1 or len(second.names) != 1:
        raise EstimateError("A difference is taken between two single numbers.", remedy="Use 'where' instead of 'by'.")
    rows = np.minimum(first.rows, second.rows)
    hidden = np.hypot(*(np.zeros(1) if each.hidden is None else each.hidden for each in (first, second)))
    return Statistic((ask.strip(),), lambda weights: first.of(weights) - second.of(weights), rows, hidden=hidden)


def _plain(part: Asked, found: Statistic) -> Statistic:
    """Quantiles as values, whatever the weights."""
    inverse = found.inverse
    if inverse is None:
        return found
    return Statistic(found.names, lambda weights: inverse(weights, np.full(len(found.names), part.share)), found.rows)


@on_one_thread
def _estimates(
    found: Statistic, parts: Sequence[Asked], frame: Frame, target: Target, level: float
) -> tuple[Estimate, ...]:
    far = student_quantile(level, len(frame.table))
    ones = np.ones(frame.rows)
    value = found.of(ones)
    error = _error(found, value, frame.table if target == "table" else frame.population)
    naive = _naive_error(found, value, frame.rows)
    model = _error(found, value, frame.support)
    unmeasured = np.minimum(model / np.maximum(error, np.maximum(model, 1e-300)), 1.0) ** 2
    hidden = np.zeros(len(value)) if found.hidden is None else found.hidden
    linked, seen = unmeasured <= rules.MOST_UNMEASURED, hidden <= rules.MOST_HIDDEN * error
    beyond = np.where(linked, 0.0, rules.MODEL_ERROR**2 * unmeasured)
    beyond += np.where(seen | ~(error > 0), 0.0, hidden / np.where(error > 0, error, 1.0)) ** 2
    widened = np.where(error > 0, np.sqrt(1 + beyond), 1.0)
    low, high = value - far * widened * error, value + far * widened * error
    if found.inverse is not None:  # of quantiles, errors are those of shares so far
        share = parts[0].share
        ends = [found.inverse(ones, share + side * far * widened * error) for side in (-1, 0, 1)]
        low, value, high = ends[0], ends[1], ends[2]
        error = (high - low) / (2 * far * widened)
        naive = naive * np.where(error > 0, 1.0, 0.0)
    # Where all released rows agree no replicate can differ: that is no certainty, but for the number of rows itself and
    # for quantiles, which stay at a value.
    told = (error > 0) | (value == frame.rows) | (found.inverse is not None)
    alone = np.ones(len(value), np.bool_) if found.own is None else found.own >= rules.LEAST_OWN
    holds = dict(zip(REASONS, (linked, seen, alone, (found.rows > 0) & told), strict=True))
    return tuple(
        Estimate(
            name=name,
            estimate=float(value[place]),
            standard_error=float(error[place]),
            low=float(low[place]),
            high=float(high[place]),
            unmeasured=float(unmeasured[place]),
            hidden=float(hidden[place]),
            widened=float(widened[place]),
            reasons=tuple(key for key, held in holds.items() if not held[place]),
            rows=int(found.rows[place]),
            naive_error=float(naive[place]),
        )
        for place, name in enumerate(found.names)
    )


def _error(found: Statistic, value: Floats, weights: Sequence[Floats]) -> Floats:
    squares = sum(((found.of(each) - value) ** 2 for each in weights), start=np.zeros(len(value)))
    error = np.sqrt(squares * (rules.REPLICATE_SCALE / len(weights)))
    return np.where(error <= _ROUNDING * np.abs(value), 0.0, error)


def student_quantile(level: float, freedom: int) -> float:
    """The quantile of Student's law (Fisher and Cornish's expansion: to three decimals from 10 replicates on)."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )


def _naive_error(found: Statistic, value: Floats, rows: int) -> Floats:
    """As if the rows were the sample itself: with a part of them left out at a time (jackknife)."""
    squares = np.zeros(len(value))
    parts = min(_PARTS, rows)
    place = np.arange(rows) * parts // rows
    for part in range(parts):
        without = found.of(np.where(place == part, 0.0, parts / (parts - 1)))
        squares += np.nan_to_num(without - value) ** 2
    return np.asarray(np.sqrt(squares * (parts - 1) / parts), dtype=np.float64)


def _times(widened: float) -> str:
    return f", {widened:.1f} times as wide" if widened >= 1.05 else ""


def _error_shown(error: float) -> str:
    """Three digits that count, without powers of ten up to a billion."""
    return f"{float(f'{error:.3g}'):,.0f}" if 100 <= error < 1e9 else f"{error:.3g}"
