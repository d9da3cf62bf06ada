"""Uniform integers, floats and permutations from uniform bytes.

Guarantee    If the source's bytes are uniform and independent, every function here
             except `uniform_floats` returns its stated law exactly, not up to rounding.
Argument     A word x of b bits is kept only if it lies below the largest multiple of
             the bound that is at most 2**b. Every residue then has equally many kept
             words, and a fresh word replaces one that was not kept.
Not covered  `uniform_floats` lives on the grid of multiples of 2**-53 and is meant for
             simulation. The number of redraws, hence the time, is random; it does not
             depend on the value finally returned.
Arithmetic   Unsigned integers that wrap around modulo 2**b on purpose.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.source import RandomSource

_LARGEST_BOUND = 1 << 63


def draw_words(source: RandomSource, count: int, word_bytes: int) -> NDArray[Any]:
    """`count` uniform unsigned integers of 1, 2, 4 or 8 bytes, read-only, low byte first."""
    if count < 0:
        raise ValueError(f"cannot draw {count} values; ask for zero or more")
    raw = source.random_bytes(count * word_bytes)
    if len(raw) != count * word_bytes:
        raise ValueError(f"the random source returned {len(raw)} bytes, not {count * word_bytes}")
    # The byte order is fixed so that a seed gives the same numbers on every machine.
    return np.frombuffer(raw, dtype=np.dtype(f"<u{word_bytes}"))


def uint64s(source: RandomSource, count: int) -> NDArray[np.uint64]:
    """`count` uniform integers from 0 to 2**64 - 1."""
    return draw_words(source, count, 8).astype(np.uint64)


def below(
    source: RandomSource, bounds: int | NDArray[np.int64] | NDArray[np.uint64], count: int | None = None
) -> NDArray[np.int64]:
    """Uniform integers in [0, bound), one per bound.

    Pass an integer array of bounds, or one bound and `count`. Bounds run from 1 to
    2**63, so results always fit int64.
    """
    limits = _checked_bounds(bounds, count)
    word_bytes = 4 if limits.size == 0 or int(limits.max()) < 1 << 32 else 8
    width = limits.astype(np.dtype(f"u{word_bytes}"))
    result = np.zeros(limits.shape, dtype=np.int64)
    pending = np.arange(limits.size)
    while pending.size:
        value, kept = fold(draw_words(source, pending.size, word_bytes), width[pending])
        result[pending[kept]] = value[kept].astype(np.int64)
        pending = pending[~kept]
    return result


def fold(words: NDArray[Any], bounds: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Residues of words modulo their bounds, and which of them may be kept.

    Both arrays have the same unsigned dtype of b bits. A word is kept if the block of
    `bound` consecutive words it lies in ends at or before 2**b.
    """
    residue = words % bounds
    # 2**b - bound, computed by wrapping around; a block that starts later is cut short.
    last_full_block = np.negative(bounds)
    return residue, words - residue <= last_full_block


def uniform_floats(source: RandomSource, count: int) -> NDArray[np.float64]:
    """`count` uniform odd multiples of 2**-53, so strictly between 0 and 1; for simulation."""
    return ((draw_words(source, count, 8) >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def permutation(source: RandomSource, size: int) -> NDArray[np.int64]:
    """A uniform permutation of 0 .. size-1: the order of as many random keys.

    Given that no two keys are equal, all orders are equally likely by symmetry. If two
    are equal all keys are drawn again; repairing only the equal ones would not be exact.
    """
    while True:
        keys = uint64s(source, size)
        order = np.argsort(keys)
        ranked = keys[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order.astype(np.int64)


def _checked_bounds(bounds: int | NDArray[np.int64] | NDArray[np.uint64], count: int | None) -> NDArray[np.uint64]:
    if isinstance(bounds, (int, np.integer)):
        if count is None:
            raise ValueError("one bound for all values needs the number of values, count")
        if count < 0:
            raise ValueError(f"cannot draw {count} values; ask for zero or more")
        if not 1 <= bounds <= _LARGEST_BOUND:
            raise ValueError("a bound lies outside 1 .. 2**63")
        return np.full(count, bounds, dtype=np.uint64)
    if bounds.dtype.kind not in "iu":
        raise TypeError(f"bounds must be integers, not {bounds.dtype}")
    if bounds.ndim != 1 or (count is not None and count != bounds.size):
        raise ValueError("an array of bounds has one dimension and, if count is given, that length")
    if bounds.size and (int(bounds.min()) < 1 or int(bounds.max()) > _LARGEST_BOUND):
        raise ValueError("a bound lies outside 1 .. 2**63")
    return bounds.astype(np.uint64)
