"""The methods in plain words: what comes out, and when to use which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rankveil.methods import METHODS, Method


@dataclass(frozen=True)
class Choice:
    method: Method
    title: str
    makes: str  # what comes out
    use: str  # when to use it
    recommended: bool = False

    @property
    def name(self) -> str:
        return self.method.name

    @property
    def id(self) -> str:
        return self.method.name.replace(":", "-")


_WORDS: Mapping[str, tuple[str, str, str]] = {
    "synthetic": (
        "Fresh rows",
        "A new table of made-up rows that have the statistics of yours: each column, and how columns belong together.",
        "Use it for nearly everything: publishing, teaching, developing, estimating. No row is that of a person.",
    ),
    "aligned": (
        "Noisy rows, in your order",
        "Row 17 of the release still belongs to record 17, and is drawn with much noise.",
        "Use it only if somebody must put released rows beside your records, with few columns or a large ε.",
    ),
    "laplace": (
        "Noise on every value",
        "Every value of every record by itself gets noise; row 17 still belongs to record 17.",
        "Use it as the simple yardstick. With more than a few columns little is left of the data.",
    ),
    "unlinked": (
        "Columns one by one",
        "Group means of each column by itself, then every column shuffled: no row is a person, nor like one.",
        "Use it if only single columns matter. How columns belong together is lost on purpose.",
    ),
    "multivariate": (
        "Group means of whole records",
        "Records are put in groups of k, and noisy group means take their place, shuffled.",
        "Use it to compare with the older literature on microaggregation; it needs many rows per group.",
    ),
}


def sound_choices() -> list[Choice]:
    """Methods with a guarantee; the recommended one first."""
    return [
        Choice(METHODS[name], *words, recommended=name == "synthetic")
        for name, words in _WORDS.items()
        if METHODS[name].differentially_private
    ] + [
        Choice(method, method.name, f"{method.summary[:1].upper()}{method.summary[1:]}.", "")
        for method in METHODS.values()
        if method.differentially_private and method.name not in _WORDS
    ]


def published_choices() -> list[Choice]:
    return [
        Choice(
            method, method.name, f"{method.summary[:1].upper()}{method.summary[1:]}.", "To reproduce and compare only."
        )
        for method in METHODS.values()
        if not method.differentially_private
    ]
