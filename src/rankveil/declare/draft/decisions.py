"""Columns of a draft that follow from others.

Guarantee    None, on purpose, as for all of a draft: proposals are read from the data and marked as guesses.
Derived      One column decides another in every row: by a constant sum or difference, by bands, or value by value.
             Only columns of few values are compared, and only where that can hardly be chance.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_MOST_COLUMNS = 60  # that are compared with all others
_NEAR = 5  # columns apart: so are those that follow from others in wide tables
_ROWS_PER_VALUE = 20  # of the column that decides
_ROWS_IN_BANDS = 5  # per value, where bands of values decide
_FEWEST_OTHERS = 10  # rows beside the most common value of the one that is decided
_MOST_BANDS = 20

Said = dict[str, Any]  # what a plan says of a derived column


@dataclass(frozen=True)
class Few:
    """A column of few values: their texts, and as numbers if they are whole ones."""

    texts: tuple[str, ...]
    numbers: tuple[int, ...] | None
    lower: Decimal | None = None  # of the range that the draft states
    labelled: bool = True

    def places(self, texts: pa.Array) -> NDArray[np.int64]:
        """The place of each text; missing last."""
        found = pc.fill_null(pc.index_in(texts, value_set=pa.array(self.texts, pa.string())), len(self.texts))
        return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.int64)


class Decisions:
    """Which columns decide which, while rows are read."""

    def __init__(self, columns: Mapping[str, Few]) -> None:
        self.columns = dict(columns)
        places = {name: place for place, name in enumerate(self.columns)}
        self._counts = {name: np.zeros(len(few.texts) + 1, np.int64) for name, few in self.columns.items()}
        self._seen = {
            (first, second): np.zeros((len(self.columns[first].texts) + 1, len(self.columns[second].texts) + 1), bool)
            for first, second in permutations(self.columns, 2)
            if len(self.columns[first].texts) >= len(self.columns[second].texts) > 1
            and (max(places[first], places[second]) < _MOST_COLUMNS or abs(places[first] - places[second]) <= _NEAR)
        }

    def add(self, texts: Mapping[str, pa.Array]) -> None:
        places = {name: few.places(texts[name]) for name, few in self.columns.items()}
        for name, here in places.items():
            self._counts[name] += np.bincount(here, minlength=len(self._counts[name]))
        for (first, second), seen in list(self._seen.items()):
            seen[places[first], places[second]] = True
            if (seen.sum(axis=1) > 1).any():
                del self._seen[first, second]

    def found(self) -> dict[str, Said]:
        """For each column that another decides: what the plan says of it."""
        order, found = list(self.columns), dict[str, Said]()
        for second in order:
            deciding = [first for first, other in self._seen if other == second and first not in found]
            for first in sorted(deciding, key=lambda name: len(self.columns[name].texts)):
                alike = (second, first) in self._seen
                said = self._said(first, second)
                if said is None or not self._hardly_chance(first, second, said):
                    continue
                if alike and order.index(first) > order.index(second) and self._said(second, first) is not None:
                    continue  # of two that decide each other the first one does
                found[second] = said
                break
        return found

    def _hardly_chance(self, first: str, second: str, said: Said) -> bool:
        """Of bands, each has to have enough rows, and each value some; else each value enough."""
        counts = self._counts[second]
        rows, values = int(counts.sum()), len(self.columns[first].texts)
        if "bands" in said:
            values = max(len(said["bands"]), values * _ROWS_IN_BANDS // _ROWS_PER_VALUE)
        return rows >= _ROWS_PER_VALUE * values and rows - int(counts.max()) >= _FEWEST_OTHERS

    def _said(self, first: str, second: str) -> Said | None:
        a, b, seen = self.columns[first], self.columns[second], self._seen[first, second]
        decided = seen.argmax(axis=1)  # missing is the last place on both sides
        places = [place for place in range(len(a.texts)) if seen[place].any()]
        if seen[-1].any() and decided[-1] != len(b.texts):
            return None  # a value where the other is missing
        whole = all(decided[place] < len(b.texts) for place in places)
        if a.numbers is not None:
            return self._of_numbers(first, places, decided, b) if whole else None
        values = [(a.texts[place], b.texts[decided[place]]) for place in places if decided[place] < len(b.texts)]
        return {"from": [first], "values": {key: text if b.labelled else int(text) for key, text in values}}

    def _of_numbers(self, first: str, places: Sequence[int], decided: NDArray[np.int64], b: Few) -> Said | None:
        a = self.columns[first]
        numbers = np.array(a.numbers)[places]
        if b.numbers is not None:
            others = np.array(b.numbers)[decided[places]]
            name = first if first.isidentifier() else f"`{first}`"
            for total, said in ((others + numbers, "{0} - {1}"), (others - numbers, "{1} + {0}")):
                if (total == total[0]).all():
                    return {"by": said.format(total[0], name)}
        order = np.argsort(numbers)
        starts = [place for place, _ in _runs([int(decided[places[each]]) for each in order])]
        if not 1 < len(starts) <= min(_MOST_BANDS, len(places) // 2):
            return None
        bands = [int(numbers[order[place]]) for place in starts]
        if a.lower is not None:
            bands[0] = min(bands[0], int(a.lower))
        labels = [b.texts[decided[places[order[place]]]] for place in starts]
        return {"from": [first], "bands": bands, "labels": labels}


def _runs(values: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where runs of equal values begin, and the values."""
    for place, value in enumerate(values):
        if place == 0 or value != values[place - 1]:
            yield place, value
