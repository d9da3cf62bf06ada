"""What an evaluation holds: plain numbers, the same for the terminal, for JSON and for the page."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rankveil.evaluate.learning import Learning
from rankveil.figure import Figure, plotted
from rankveil.fragments import Facts, fragment

INTERNAL = "INTERNAL: computed from the original table and not protected. Do not publish."


@dataclass(frozen=True)
class ColumnResult:
    name: str
    kind: str
    relative_error: float | None  # None if rows of the release do not belong to rows of the original
    variance_change: float | None
    jsd: float
    wasserstein: float | None = None  # W1/σ
    total_variation: float | None = None
    chance: float | None = None  # the total variation to be expected between two samples of this size


@dataclass(frozen=True)
class PairResult:
    columns: tuple[str, str]
    total_variation: float
    correlation_error: float | None  # None if one of the two has no order
    chance: float | None = None
    correlation: float | None = None  # of the original
    released_correlation: float | None = None


@dataclass(frozen=True)
class Bar:
    """The share of all rows that lies in one bin, or has one label."""

    label: str
    before: float
    after: float
    start: float | None = None  # of the bin, for columns of numbers
    end: float | None = None


@dataclass(frozen=True)
class Distribution:
    """One column before and after. Shares are of all rows, so bars, spike and missing add up to 1."""

    column: str
    shape: Literal["numbers", "dates", "labels"]
    bars: tuple[Bar, ...]
    missing_before: float
    missing_after: float
    spike: Bar | None = None  # one value with more than half of the rows; it would dwarf all other bars
    log: bool = False  # bins grow in size as the plan's logarithmic scale does
    gathered: bool = False  # the outermost bins hold all that lies beyond


@dataclass(frozen=True)
class Queries:
    """Errors of random questions, as shares of all rows."""

    count: int
    mean: float
    median: float
    ninth_decile: float
    worst: float
    mean_answer: float  # what the original answers on average
    answers: tuple[tuple[float, float], ...] = field(default=(), repr=False)  # before and after, question by question


@dataclass(frozen=True)
class Subgroup:
    """How well the other columns are kept among the rows with one label, or in one fifth of a column of numbers."""

    column: str
    group: str
    rows: int
    released_rows: int
    error: float | None  # mean total variation of the other columns inside; None if the release has no such row
    chance: float | None  # the same between two samples of as many rows
    beyond_chance: float  # error minus chance, at least 0; 1 where the release has no such row
    worst_column: str | None
    worst_error: float | None


@dataclass(frozen=True)
class Estimate:
    """A weighted total or mean from both tables."""

    column: str
    of: Literal["total", "mean"]
    label: str | None
    before: float
    after: float


Plot = Literal["columns", "pairs", "correlations", "queries", "groups"]


@dataclass(frozen=True)
class IntervalResult:
    """An estimate with its interval, and what the original says."""

    asked: str
    kind: str
    original: float
    estimate: float
    low: float
    high: float
    supported: bool  # by what was measured
    covered: bool


@dataclass(frozen=True)
class IntervalKind:
    """How many intervals of a kind cover the original's value. None: there is none."""

    kind: str
    estimates: int
    covered: float | None
    warned: int  # estimates that carry the warning
    warned_covered: float | None


@dataclass(frozen=True)
class Intervals:
    """Of standard estimates from a release with replicates."""

    level: float
    replicates: int
    kinds: tuple[IntervalKind, ...]
    each: tuple[IntervalResult, ...] = field(default=(), repr=False)


Word = Literal["good", "fair", "poor"]


@dataclass(frozen=True)
class Score:
    """One aspect of a release as a number from 0 to 1. How it is computed stands in `rule`."""

    aspect: str
    value: float
    word: Word
    rule: str
    by_chance: float | None = None  # what two random samples of this size would score, where that is known


@dataclass(frozen=True)
class Evaluation:
    """Averages over columns and pairs, and what they are averages of. None: not measured.

    >>> found = rv.evaluate(people, people, plan)
    >>> found.total_variation, found.columns[0].name
    (0.0, 'age')
    >>> figure = found.plot()
    """

    rows: int
    columns: tuple[ColumnResult, ...]
    relative_error: float | None
    variance_change: float | None
    jsd: float
    wasserstein: float | None = None
    total_variation: float | None = None
    chance: float | None = None
    pair_total_variation: float | None = None
    pair_chance: float | None = None
    correlation_error: float | None = None
    query_error: float | None = None
    propensity_auc: float | None = None
    learning: Learning | None = None
    scores: tuple[Score, ...] = ()
    pairs: tuple[PairResult, ...] = field(default=(), repr=False)
    queries: Queries | None = None
    subgroups: tuple[Subgroup, ...] = field(default=(), repr=False)
    distributions: tuple[Distribution, ...] = field(default=(), repr=False)
    estimates: tuple[Estimate, ...] = field(default=(), repr=False)  # by survey weights, where the plan names them
    intervals: Intervals | None = None  # of a release with replicates
    original_rows: int | None = None
    not_measured: dict[str, str] = field(default_factory=dict)  # measure -> why not
    note: str = INTERNAL

    def as_dict(self) -> dict[str, Any]:
        return {"note": self.note, **{key: value for key, value in asdict(self).items() if key != "note"}}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)

    def plot(self, *columns: str, what: Plot = "columns") -> Figure:
        """A chart (internal): columns before and after, all or those that are named.

            >>> found = rv.evaluate(people, people, plan)
            >>> found.plot("age", "income")
            Figure: Columns before and after
            >>> found.plot(what="pairs").save("pairs.svg").name
            'pairs.internal.svg'

        `what` may also be "pairs" (errors of pairs of columns), "correlations" (before and after), "queries" (answers
        to random questions) or "groups" (errors inside groups of rows).
        """
        return plotted("evaluation", self, columns, what)

    def _repr_html_(self) -> str:
        """For notebooks: averages only."""
        rows = [(score.aspect, f"{score.value:.3f}", score.word) for score in self.scores]
        averages: Facts = [
            (name, f"{value:.4f}")
            for name, value in (
                ("1-way TV", self.total_variation),
                ("2-way TV", self.pair_total_variation),
                ("W1/σ", self.wasserstein),
                ("JSD", self.jsd),
                ("query error", self.query_error),
            )
            if value is not None
        ]
        return fragment(
            f"Evaluation of {self.rows:,} released rows",
            warning=self.note,
            facts=averages,
            table=(("aspect", "score", ""), rows) if rows else None,
            footer="Scores: 1 is a perfect copy; good from 0.95, fair from 0.85. Averages: 0 is a perfect copy.",
        )
