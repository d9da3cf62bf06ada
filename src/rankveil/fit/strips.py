"""A released marginal as strips of equally likely codes: the form in which values are handed out (T1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.domain import Codes
from rankveil.fit.simplex import Floats
from rankveil.noise import Sampler

_FINE = 1 << 12  # strips up to this width need two random bytes for a place inside, wider ones four


@dataclass(frozen=True)
class Strips:
    """Consecutive codes `low` .. `low + width - 1` each, in the order of the cells; those of no mass are left out."""

    low: NDArray[np.int64]
    width: NDArray[np.int64]
    cumulative: Floats  # cumulative mass, up to 1

    @classmethod
    def of(cls, low: NDArray[np.int64], width: NDArray[np.int64], mass: Floats) -> Strips:
        kept = mass > 0
        if not kept.any():
            kept[-1:], mass = True, np.ones(len(mass))
        cumulative = np.cumsum(mass[kept])
        return cls(low[kept], width[kept], cumulative / cumulative[-1])

    @property
    def mass(self) -> Floats:
        return np.diff(self.cumulative, prepend=0.0)

    def within(self, low: NDArray[np.int64], high: NDArray[np.int64]) -> tuple[Strips, NDArray[np.int64], Floats]:
        """What of the strips lies in ranges of codes [low, high), which rise: of which strip each is, and its mass."""
        first = np.searchsorted(high, self.low, side="right")
        last = np.searchsorted(low, self.low + self.width, side="left")
        counts = np.maximum(last - first, 0)
        strip = np.repeat(np.arange(len(self.low)), counts)
        place = np.arange(len(strip)) - np.repeat(np.cumsum(counts) - counts, counts) + first[strip]
        start = np.maximum(self.low[strip], low[place])
        width = np.minimum(self.low[strip] + self.width[strip], high[place]) - start
        mass: Floats = self.mass[strip] * width / self.width[strip]
        kept = mass > 0
        return Strips(start[kept], width[kept], np.cumsum(mass[kept])), strip[kept], mass[kept]

    def values(self, count: int, phase: float, sampler: Sampler) -> Codes:
        """`count` codes in the order of the strips: whole numbers per strip, evenly spread inside."""
        counts = counts_of(self.cumulative, count, phase)
        codes: Codes = np.repeat(self.low, counts)
        widest = int(self.width.max())
        if widest == 1:
            return codes
        word_bytes = 2 if widest <= _FINE else 4
        inside = sampler.words(count, word_bytes) * 0.5 ** (8 * word_bytes)
        inside += np.arange(count) + 0.5 ** (8 * word_bytes + 1)
        inside -= np.repeat(np.cumsum(counts) - counts, counts)
        inside *= np.repeat(self.width / np.maximum(counts, 1), counts)
        # Below the width, rounding included: the last place inside is at least 2**-33 of 2**17 values from the end,
        # and the roundings of float64 are together below 2**-51.
        codes += inside.astype(np.int64)
        return codes


def counts_of(cumulative: Floats, count: int, phase: float) -> NDArray[np.int64]:
    """Whole numbers in proportion to the steps of `cumulative`, adding up to `count` (systematic rounding)."""
    steps = np.floor(cumulative * count + phase).astype(np.int64)
    steps = np.minimum(steps, count)
    steps[-1] = count
    return np.diff(steps, prepend=0)
