"""Integers z with probability proportional to exp(-(a|z| + b z**2)), exactly.

Guarantee    For rational a, b >= 0, not both 0, the draws are independent and
             P(z) is proportional to exp(-(a|z| + b z**2)) on all integers z.
Argument     Write |z| = w*h + l with 0 <= l < w, w a power of two: step h of a staircase
             and position l on it. Propose h from the law exp(-f(w*h)), l uniform and a fair
             sign; keep with probability exp(-(f(w*h + l) - f(w*h))), and drop minus zero.
             The product of the two factors is exp(-f(|z|)). laplace.proof.md spells it out.
Not covered  Time: how many proposals are dropped is random. It is independent of the
             values kept, but the time of the rare exact comparisons is not.
Arithmetic   Integers only. A draw whose value leaves int64 raises OverflowError; for
             the ranges that laplace.py and gaussian.py accept that has probability
             below exp(-2**16).
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil.noise import bernoulli
from rankveil.noise.enclosure import Bounds, exp_bounds, multiply
from rankveil.noise.source import RandomSource
from rankveil.noise.thresholds import ThresholdTable
from rankveil.noise.uniform import draw_words

_GUARD_BITS = 64
_CHUNK = 1 << 16
_VALUE_BITS = 62

# The fixed-point exponent in `_exponents` is bounded for steps below this one; farther
# out (probability below 1e-6) the coin is decided exactly, one draw at a time.
_FAR = 256
_POSITION_BITS = 26
_FACTOR_BITS = 30
_SLACK = 3
# What `_exponents` needs to stay inside 64 bits.
_LARGEST_LINEAR = Fraction(1, 8)
_LARGEST_QUADRATIC = Fraction(1, 128)


class Staircase:
    """A two-sided sampler for f(n) = linear * n + quadratic * n**2 with steps of 2**step_bits.

    Holds tables but no random state, so one object may serve many callers.
    """

    def __init__(self, linear: Fraction, quadratic: Fraction, step_bits: int) -> None:
        width = 1 << step_bits
        self._linear = linear * width
        self._quadratic = quadratic * width * width
        self._step_bits = step_bits
        if step_bits and (self._linear > _LARGEST_LINEAR or self._quadratic > _LARGEST_QUADRATIC):
            raise ValueError("the steps of the staircase are too wide for its arithmetic")
        self._linear_factor = np.uint64(self._linear * (1 << _FACTOR_BITS) // 1)
        self._quadratic_factor = np.uint64(self._quadratic * (1 << _FACTOR_BITS) // 1)
        self._steps = ThresholdTable(self._step_thresholds)
        self._surely_kept = self._sure_table()

    def draw(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """`count` independent draws."""
        if count < 0:
            raise ValueError(f"cannot draw {count} values; ask for zero or more")
        result = np.empty(count, dtype=np.int64)
        done = 0
        while done < count:
            missing = count - done
            # A few more than missing, because some are dropped; never more than a cache-sized piece.
            kept = self._propose(min(_CHUNK, missing + missing // 16 + 8), source)[:missing]
            result[done : done + kept.size] = kept
            done += kept.size
        return result

    def _propose(self, count: int, source: RandomSource) -> NDArray[np.int64]:
        """The values kept among `count` proposals, in order."""
        step = self._steps.draw(count, source)
        word = draw_words(source, count, _word_bytes(self._step_bits + 1))
        negative = (word & 1).astype(np.bool_)
        if self._step_bits == 0:
            magnitude, keep = step, ~(negative & (step == 0))
        else:
            if count and int(step.max()) >> (_VALUE_BITS - self._step_bits):
                raise OverflowError("a noise value does not fit a 64-bit integer; nothing was released")
            position = ((word >> 1) & ((1 << self._step_bits) - 1)).astype(np.int64)
            magnitude = (step << self._step_bits) | position
            keep = self._keep(step, position, source) & ~(negative & (magnitude == 0))
        value = np.where(negative, -magnitude, magnitude)
        kept: NDArray[np.int64] = value[keep]
        return kept

    def _keep(self, step: NDArray[np.int64], position: NDArray[np.int64], source: RandomSource) -> NDArray[np.bool_]:
        """Whether U < exp(-(f(w*h + l) - f(w*h))), for each proposal."""
        first = draw_words(source, step.size, 2)
        # Enough for every position on the step; see `_sure_table`.
        keep: NDArray[np.bool_] = first < self._surely_kept.take(step, mode="clip")
        unsure = np.flatnonzero(~keep)
        rest = draw_words(source, unsure.size, 2).astype(np.uint64)
        uniform = (first[unsure].astype(np.uint64) << np.uint64(16)) | rest
        keep[unsure] = self._decide(uniform, step[unsure], position[unsure], source)
        return keep

    def _decide(
        self,
        uniform: NDArray[np.uint64],
        step: NDArray[np.int64],
        position: NDArray[np.int64],
        source: RandomSource,
    ) -> NDArray[np.bool_]:
        """The same coins, given the first 32 bits of U and no shortcut."""

        def exact_exponent(i: int) -> Fraction:
            share = Fraction(int(position[i]), 1 << self._step_bits)
            return self._linear * share + self._quadratic * (2 * int(step[i]) + share) * share

        # Far steps get a placeholder here; their answer is thrown away and drawn below.
        near = np.minimum(step, _FAR - 1)
        keep = bernoulli.decide(uniform, self._exponents(near, position), _SLACK, exact_exponent, source)
        for i in np.flatnonzero(step >= _FAR):
            keep[i] = bernoulli.decide_one(int(uniform[i]), bernoulli.FIRST_BITS, exact_exponent(int(i)), source)
        return keep

    def _exponents(self, step: NDArray[np.int64], position: NDArray[np.int64]) -> NDArray[np.uint64]:
        """f(w*h + l) - f(w*h) in units of 2**-20, low by less than `_SLACK` units, for h < 256.

        With s = l/w it is A*s + B*(2h + s)*s, A = linear*w <= 1/8, B = quadratic*w**2 <= 1/128.
        s is cut to 26 bits, A and B to 30 bits, the square to 30 bits, all downwards. In
        units of 2**-20 that loses less than 0.01 in the first term and less than
        0.0625 + 0.5 + 0.01 in the second; the two last shifts lose less than one each.
        Largest products: A*s < 2**53, (2h + s)*s < 2**61, times B < 2**62.
        """
        spare = self._step_bits - _POSITION_BITS
        short = position >> spare if spare > 0 else position << -spare
        share = short.astype(np.uint64)
        surplus = _FACTOR_BITS + _POSITION_BITS - bernoulli.UNIT_BITS
        first = (share * self._linear_factor) >> np.uint64(surplus)
        double = (step.astype(np.uint64) << np.uint64(_POSITION_BITS + 1)) + share
        square = (double * share) >> np.uint64(2 * _POSITION_BITS - _FACTOR_BITS)
        second = (square * self._quadratic_factor) >> np.uint64(2 * _FACTOR_BITS - bernoulli.UNIT_BITS)
        return first + second

    def _step_weights(self, bits: int) -> tuple[list[Bounds], list[Bounds], int]:
        """Bounds on exp(-f(w*h)), on each one's ratio to the next, and on the sum left out.

        f is quadratic, so the ratios themselves shrink by one constant factor.
        """
        one = 1 << bits
        shrink = exp_bounds(2 * self._quadratic, bits)
        weights, ratios = [(one, one)], [exp_bounds(self._linear + self._quadratic, bits)]
        while True:
            following = multiply(weights[-1], ratios[-1], bits)
            next_ratio = multiply(ratios[-1], shrink, bits)
            # Ratios fall, so everything from `following` on is below a geometric series.
            tail = -((following[1] << bits) // -(one - next_ratio[1]))
            if tail <= 1 << (_GUARD_BITS - 2):
                return weights, ratios, tail
            weights.append(following)
            ratios.append(next_ratio)

    def _step_thresholds(self, bits: int) -> list[Bounds]:
        """Bounds on P(h < k) for k = 1, 2, ..., the last standing for all that follow."""
        weights, _, tail = self._step_weights(bits + _GUARD_BITS)
        total_low = sum(low for low, _ in weights)
        total_high = sum(high for _, high in weights) + tail
        thresholds, low, high = [], 0, 0
        for weight in weights:
            low, high = low + weight[0], high + weight[1]
            thresholds.append(((low << bits) // total_high, -((high << bits) // -total_low)))
        return [*thresholds, (thresholds[-1][0], 1 << bits)]

    def _sure_table(self) -> NDArray[np.uint32]:
        """For each step a number v: U < v * 2**-16 is below the coin's probability anywhere on it.

        exp(-(f(w*h + l) - f(w*h))) is smallest at the end of the step, where it is the ratio
        of two neighbouring weights. The last entry, 0, serves all steps beyond the table.
        """
        _, ratios, _ = self._step_weights(bits=64 + _GUARD_BITS)
        return np.array([*(low >> (48 + _GUARD_BITS) for low, _ in ratios), 0], dtype=np.uint32)


def _word_bytes(bits: int) -> int:
    return next(size for size in (1, 2, 4, 8) if bits <= 8 * size)
