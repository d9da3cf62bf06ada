"""The channel that one record's cells go through: all columns together, never column by column.

Guarantee    For any two inputs x, x' and any output y: P(y|x) <= e^ε P(y|x'). With `ratio_within(ε)` as weights, each
             record's outputs are ε-DP in that record, whatever the number of columns.
Argument     An output has the weight `inside` if it lies in the neighbourhood of x and the weight `outside` otherwise,
             with inside / outside <= e^ε. All neighbourhoods have the same number of outputs, so the sum of weights is
             the same for every x, and probabilities have the same ratios as weights.
             HammingBall: outputs that differ from x in at most `radius` columns. Of those that differ in just the set
             S there are Π_{j in S} (K_j - 1), whatever x is.
             Window: `width` consecutive groups around x, moved inwards at the ends of the column.
Drawing      HammingBall goes through the columns. Given the number c of changes so far, column j changes with
             probability (K_j - 1) W(j+1, c+1) / W(j, c), to any other group with equal chances, where W(j, c) is the
             sum of weights of all ways to go on from there: W(j, c) = W(j+1, c) + (K_j - 1) W(j+1, c+1), and at the end
             W is the weight of an output with c changes. The product over all columns is weight / W(0, 0) (chain rule).
             Beyond the radius all ways to go on have one weight, so c is counted to radius + 1 only.
Not covered  Where groups come from: from released numbers (grouping.py), never from ranks of the raw data.
Arithmetic   Whole numbers of any length and exact coins. `stay_chances` and `window_chances` are in floating point:
             they help to choose public parameters, and to read what was drawn.
Theorems     T25; T3 (all rows together); T27 (for fair bits no row-aligned release does better).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from rankveil.fit.simplex import Floats
from rankveil.noise import RandomSource, below
from rankveil.noise.coins import RationalCoins
from rankveil.noise.enclosure import exp_bounds

_SIGNIFICANT_BITS = 64
_LARGEST_EPSILON = Fraction(1 << 12)

Cells = NDArray[np.int64]  # rows x columns


def ratio_within(epsilon: Fraction) -> tuple[int, int]:
    """Whole numbers `inside` and `outside` with inside / outside <= e^ε, and less by at most one part in 2^60.

    exp_bounds gives outside >= e^-ε * inside, rounded up by a few units where outside has more than 64 bits.
    An ε beyond 4096 counts as 4096, which is less: nothing is left to gain there.
    """
    epsilon = min(epsilon, _LARGEST_EPSILON)
    bits = _SIGNIFICANT_BITS + 1 + int(epsilon * 3 / 2)  # log2 e < 3/2
    _, outside = exp_bounds(epsilon, bits)
    return 1 << bits, outside


@dataclass(frozen=True)
class HammingBall:
    """Weight `inside` on all outputs that differ from the input in at most `radius` columns, `outside` on the rest."""

    sizes: tuple[int, ...]  # K_j: groups of each column
    radius: int  # τ
    inside: int
    outside: int

    def weight(self, x: Sequence[int], y: Sequence[int]) -> int:
        changes = sum(a != b for a, b in zip(x, y, strict=True))
        return self.inside if changes <= self.radius else self.outside

    @cached_property
    def _ways(self) -> list[list[int]]:
        """W(j, c) of the docstring, for c up to radius + 1."""
        ways = [[self.inside] * (self.radius + 1) + [self.outside]]
        for size in reversed(self.sizes):
            after = ways[-1]
            ways.append([after[c] + (size - 1) * after[min(c + 1, self.radius + 1)] for c in range(self.radius + 2)])
        return ways[::-1]

    @property
    def total(self) -> int:
        """The sum of the weights of all outputs."""
        return self._ways[0][0]

    def change(self, column: int, changes: int) -> tuple[int, int]:
        """The chance that a column changes, after so many changes in the columns before, as numerator, denominator."""
        counted, more = min(changes, self.radius + 1), min(changes + 1, self.radius + 1)
        return (self.sizes[column] - 1) * self._ways[column + 1][more], self._ways[column][counted]

    @cached_property
    def _coins(self) -> list[RationalCoins]:
        states = range(self.radius + 2)
        return [RationalCoins(*zip(*(self.change(j, c) for c in states), strict=True)) for j in range(len(self.sizes))]

    def drawn(self, exact: Cells, source: RandomSource) -> Cells:
        """One output for each row of cells."""
        drawn = np.empty_like(exact)
        changes = np.zeros(len(exact), np.int64)
        for column, size in enumerate(self.sizes):
            # PRIVACY: one draw of the whole record, with ε for all columns together.
            changed = self._coins[column].flip(changes, source)
            other = 1 + below(source, max(size - 1, 1), len(exact))
            drawn[:, column] = np.where(changed, (exact[:, column] + other) % size, exact[:, column])
            changes = np.minimum(changes + changed, self.radius + 1)
        return drawn


@dataclass(frozen=True)
class Window:
    """For a single column of ordered groups: weight `inside` on `width` groups around the input."""

    sizes: tuple[int]
    width: int  # 2w + 1
    inside: int
    outside: int

    def first(self, cells: Cells) -> Cells:
        """Where the windows begin: all are equally wide, moved inwards at the ends."""
        return np.clip(cells - self.width // 2, 0, self.sizes[0] - self.width)

    def weight(self, x: Sequence[int], y: Sequence[int]) -> int:
        away = y[0] - int(self.first(np.array(x))[0])
        return self.inside if 0 <= away < self.width else self.outside

    @property
    def total(self) -> int:
        return self.width * self.inside + (self.sizes[0] - self.width) * self.outside

    def drawn(self, exact: Cells, source: RandomSource) -> Cells:
        """One output for each row of cells."""
        first = self.first(exact[:, 0])
        near = RationalCoins([self.width * self.inside], [self.total]).flip(np.zeros(len(exact), np.int64), source)
        there = first + below(source, self.width, len(exact))
        elsewhere = below(source, max(self.sizes[0] - self.width, 1), len(exact))
        elsewhere = np.where(elsewhere < first, elsewhere, elsewhere + self.width)
        return np.where(near, there, elsewhere)[:, None]


Channel = HammingBall | Window


def stay_chances(sizes: Sequence[int], epsilon: float) -> Floats:
    """The chance that a column stays as it is, radius (0 .. m - 1) by column, under the ball channel at ε.

    With F(τ) the chance that a uniform output lies within the radius and F_j(τ) the same without column j, it is
    (λ F_j(τ) + 1 - F_j(τ)) / K_j over λ F(τ) + 1 - F(τ).
    """
    small = float(np.exp(-epsilon))
    chances = np.empty((len(sizes), len(sizes)))
    counts = Counter(sizes)
    for size in counts:
        law = np.ones(1)
        for other, count in counts.items():
            law = np.convolve(law, _changes_among(other, count - (other == size)))
        without = np.minimum(np.cumsum(law), 1.0)
        within = without / size + np.concatenate([[0.0], without[:-1]]) * (1 - 1 / size)
        stays = (without + small * (1 - without)) / size / (within + small * (1 - within))
        chances[:, [place for place, one in enumerate(sizes) if one == size]] = stays[:, None]
    return chances


@lru_cache(maxsize=4096)
def _changes_among(size: int, count: int) -> Floats:
    """The law of the number of changes in `count` columns of `size` groups each, under a uniform output."""
    law = np.ones(1)
    for _ in range(count):
        law = np.convolve(law, [1 / size, 1 - 1 / size])
    return law


def window_chances(size: int, width: int, epsilon: float) -> Floats:
    """P(y|x) of the window channel, in floating point."""
    first = np.clip(np.arange(size) - width // 2, 0, size - width)[:, None]
    near = (np.arange(size) >= first) & (np.arange(size) < first + width)
    weights = np.where(near, 1.0, np.exp(-epsilon))
    chances: Floats = weights / weights.sum(axis=1, keepdims=True)
    return chances


def least_bit_error(columns: int, epsilon: float) -> float:
    """The least share of wrong bits of any row-aligned ε-DP release of so many independent fair bits (T27)."""
    return float((1 - stay_chances([2] * columns, epsilon)[:, 0]).min())
