"""What a comparison found: every run, means and spreads of settings, and what is best in words."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any

from rankveil.compare.grid import Cell
from rankveil.compare.run import LARGER_IS_BETTER, MEASURES, Measured
from rankveil.figure import Figure, plotted
from rankveil.methods import METHODS

INTERNAL = (
    "INTERNAL: computed from the original table and not protected. Do not publish. Choosing a method, ε or k by these"
    " figures leaks a little about the table, which no ledger accounts for; a stand-in table avoids that."
)
# Standard errors of a difference below which runs do not tell two settings apart: Student's t, 95 %, by runs - 1.
_UNCLEAR = (12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)


@dataclass(frozen=True)
class Row:
    """One run of one setting."""

    cell: Cell
    finding: Measured

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self.cell), **asdict(self.finding)}


@dataclass(frozen=True)
class Setting:
    """All runs of one setting: mean and spread (standard deviation between runs) of every measure."""

    method: str
    epsilon: str | None
    delta: str | None
    k: int | None
    role: str
    runs: int
    mean: dict[str, float | None]
    spread: dict[str, float | None]  # None with a single run
    seconds: float

    @property
    def differentially_private(self) -> bool:
        return self.method in METHODS and METHODS[self.method].differentially_private

    def in_words(self) -> str:
        return self.method if self.k is None else f"{self.method} with k = {self.k}"

    def figure(self, measure: str) -> str:
        mean, spread = self.mean[measure], self.spread[measure]
        if mean is None:
            return "–"
        return short(mean) if spread is None else f"{short(mean)} ± {short(spread)}"


@dataclass(frozen=True)
class Best:
    """The best setting by one measure at one ε, and the next best one of another method."""

    measure: str
    epsilon: str | None
    setting: Setting
    runner_up: Setting | None
    clear: bool | None  # whether runs tell the two apart; None if nobody can know

    def in_words(self) -> str:
        title = MEASURES[self.measure]
        said = f"{title} is best with {self.setting.in_words()}: {self.setting.figure(self.measure)}"
        if self.runner_up is None:
            return said + "."
        said += f"; next is {self.runner_up.in_words()}: {self.runner_up.figure(self.measure)}"
        return said + (", too close to tell from so few runs." if self.clear is False else ".")


@dataclass(frozen=True)
class Comparison:
    """Everything that was run. `note` says whether it may be shown around.

    >>> found = rv.compare(people, plan, methods=["synthetic", "laplace"], runs=1, baselines=False)
    >>> [setting.method for setting in found.settings]
    ['synthetic', 'laplace']
    >>> found.best("total_variation").setting.method
    'synthetic'
    """

    note: str
    table: dict[str, Any]  # name, rows, columns, stand_in
    version: str
    target: str | None
    rows: tuple[Row, ...]

    @property
    def settings(self) -> tuple[Setting, ...]:
        groups: dict[tuple[Any, ...], list[Row]] = {}
        for row in self.rows:
            cell = row.cell
            if not row.finding.failed:
                groups.setdefault((cell.method, cell.epsilon, cell.delta, cell.k, cell.role), []).append(row)
        return tuple(_setting(key, group) for key, group in groups.items())

    @property
    def epsilons(self) -> list[str]:
        found = {row.cell.epsilon for row in self.rows if row.cell.epsilon is not None}
        return sorted(found, key=float)

    @property
    def measured(self) -> list[str]:
        """Measures that at least one setting has."""
        return [name for name in MEASURES if any(row.finding.measures[name] is not None for row in self.rows)]

    def best(
        self, measure: str = "pair_total_variation", *, epsilon: object = None, sound_only: bool = True
    ) -> Best | None:
        """The setting with the best mean, among methods with a guarantee unless told otherwise; None if there is none.

        Baselines that were not asked for do not compete. Without `epsilon` all of them do.
        """
        wanted = None if epsilon is None else str(epsilon)
        candidates = [
            setting
            for setting in self.settings
            if setting.mean[measure] is not None
            and setting.role == "asked"
            and (wanted is None or setting.epsilon == wanted)
            and (setting.differentially_private or not sound_only)
        ]
        if not candidates:
            return None
        sign = -1.0 if measure in LARGER_IS_BETTER else 1.0
        ranked = sorted(candidates, key=lambda setting: sign * (setting.mean[measure] or 0.0))
        other = next((setting for setting in ranked if setting.method != ranked[0].method), None)
        clear = None if other is None else _told_apart(ranked[0], other, measure)
        return Best(measure, wanted, ranked[0], other, clear)

    def in_words(self) -> list[str]:
        """What is best at every ε, for people."""
        said = [sentence for epsilon in self.epsilons for sentence in self._about(epsilon)]
        if all(setting.runs == 1 for setting in self.settings):
            said.append("One run per setting: how much of a difference is chance is not known.")
        return said

    def _about(self, epsilon: str) -> Iterable[str]:
        winners = [best for name in self.measured if (best := self.best(name, epsilon=epsilon)) is not None]
        if not winners:
            yield f"ε = {epsilon}: no method with a guarantee was asked for, so none is named best."
            return
        contested = [best for best in winners if best.runner_up is not None]
        main = self.best("pair_total_variation", epsilon=epsilon) or winners[0]
        wins = [best.setting.method for best in contested]
        champion = max(dict.fromkeys(wins), key=wins.count) if wins else ""
        won = f"{champion} is best on {wins.count(champion)} of {len(wins)} measures. " if wins else ""
        yield f"ε = {epsilon}: {won}{main.in_words()}"
        for best in contested:
            if best.setting.method != main.setting.method:
                yield f"ε = {epsilon}: {best.in_words()}"

    def as_dict(self) -> dict[str, Any]:
        """All of it for machines; the page is made from this."""
        return {
            "note": self.note,
            "table": self.table,
            "rankveil_version": self.version,
            "target": self.target,
            "measures": {name: MEASURES[name] for name in self.measured},
            "larger_is_better": sorted(LARGER_IS_BETTER & set(self.measured)),
            "in_words": self.in_words(),
            "settings": [
                {**asdict(setting), "differentially_private": setting.differentially_private}
                for setting in self.settings
            ],
            "rows": [row.as_dict() for row in self.rows],
        }

    def plot(self, measure: str = "pair_total_variation") -> Figure:
        """A chart of one measure against ε, one line per method (internal, unless a public stand-in was compared).

        >>> found = rv.compare(None, plan, stand_in="made", epsilons=[0.5, 2], runs=1, baselines=False)
        >>> found.plot("total_variation")
        Figure: 1-way TV against ε
        """
        return plotted("comparison", self.as_dict(), measure)

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Comparison:
        """The comparison behind `as_dict`, so that a stored one can be looked at again."""
        rows = [
            Row(
                Cell(**{name: row[name] for name in _CELL}),
                Measured(row["measures"], row["seconds"], row["linkage"], row["failed"]),
            )
            for row in content["rows"]
        ]
        return cls(content["note"], content["table"], content["rankveil_version"], content["target"], tuple(rows))

    def to_csv(self) -> str:
        """One line per run, after a line of comment that says what this is."""
        out = io.StringIO()
        out.write(f"# {self.note} Table: {self._table_in_words()}.\n")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([*_CELL, "differentially_private", "seconds", "linkage", "failed", *self.measured])
        for row in self.rows:
            cell, finding = asdict(row.cell), row.finding
            sound = row.cell.method in METHODS and METHODS[row.cell.method].differentially_private
            measures = ["" if finding.measures[name] is None else finding.measures[name] for name in self.measured]
            given = ["" if cell[name] is None else cell[name] for name in _CELL]
            writer.writerow(
                [*given, str(sound).lower(), f"{finding.seconds:.3f}", finding.linkage, finding.failed, *measures]
            )
        return out.getvalue()

    def _table_in_words(self) -> str:
        words = f"{' '.join(str(self.table['name']).split())}, {self.table['rows']} rows"
        return words + (f" ({self.table['stand_in']})" if self.table["stand_in"] else "")

    def _repr_html_(self) -> str:
        from rankveil.report.compare import summary

        return summary(self.as_dict())


_CELL = ("method", "role", "epsilon", "delta", "k", "run")


def _setting(key: tuple[Any, ...], rows: list[Row]) -> Setting:
    mean: dict[str, float | None] = {}
    spread: dict[str, float | None] = {}
    for name in MEASURES:
        values = [value for row in rows if (value := row.finding.measures[name]) is not None]
        mean[name] = fmean(values) if values else None
        spread[name] = stdev(values) if len(values) > 1 else None
    method, epsilon, delta, k, role = key
    seconds = fmean(row.finding.seconds for row in rows)
    return Setting(method, epsilon, delta, k, role, len(rows), mean, spread, seconds)


def _told_apart(first: Setting, second: Setting, measure: str) -> bool | None:
    spreads = (first.spread[measure], second.spread[measure])
    means = (first.mean[measure], second.mean[measure])
    if spreads[0] is None or spreads[1] is None or means[0] is None or means[1] is None:
        return None
    error = math.sqrt(spreads[0] ** 2 / first.runs + spreads[1] ** 2 / second.runs)
    degrees = min(first.runs, second.runs) - 1  # of the scarcer setting: cautious
    return abs(means[0] - means[1]) > _UNCLEAR[min(degrees, len(_UNCLEAR)) - 1] * error


def short(value: float) -> str:
    """Two or three digits that count."""
    if abs(value) < 0.00005:  # four places would show none of it
        return f"{value:.1g}"
    return f"{value:.4f}" if abs(value) < 0.1 else f"{value:.3f}" if abs(value) < 10 else f"{value:.3g}"
