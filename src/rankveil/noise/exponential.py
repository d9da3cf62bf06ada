"""Choose a candidate by its score: exponential mechanism and permute-and-flip.

Guarantee    exponential_mechanism returns candidate a of a row with probability
             proportional to exp(score[a] / scale), exactly, rows independent.
             permute_and_flip returns the law of: walk through the candidates in uniform
             random order and stop at a with probability exp((score[a] - best) / scale).
             If one record changes every score by at most s, then scale = 2 s / epsilon
             makes one row epsilon-DP under either (T8, T9). In T22 scale = 2 L / epsilon
             covers a whole list of rows at once.
Argument     exponential.proof.md (T11).
Not covered  Time. exponential_mechanism proposes until it accepts, so its time depends
             on the scores; permute_and_flip looks at every candidate once. Scores must
             not exceed int64; candidates and scale must not come from the data.
Arithmetic   Integers and fractions only; differences of scores as unsigned 64-bit
             integers, which hold the difference of any two int64.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from rankveil.noise.bernoulli import GapCoins
from rankveil.noise.source import RandomSource
from rankveil.noise.uniform import below

# How many proposals to draw in one go when few rows are left.
_BLOCK = 1 << 14
_CHUNK_CELLS = 1 << 18


def exponential_mechanism(scores: NDArray[np.int64], scale: Fraction, source: RandomSource) -> NDArray[np.int64]:
    """For each row of `scores` (rows x candidates) one candidate, P(a) ~ exp(score[a] / scale).

    A one-dimensional array counts as one row. Larger scores are more likely.
    """
    table = _checked_scores(scores)
    coins = GapCoins(scale)
    candidates = table.shape[1]
    best = table.max(axis=1)
    chosen = np.zeros(table.shape[0], dtype=np.int64)
    pending = np.arange(table.shape[0])
    while pending.size:
        # Several proposals per row at once; the first one accepted counts.
        tries = min(2 * candidates, max(1, _BLOCK // pending.size))
        proposal = below(source, candidates, pending.size * tries)
        row = np.repeat(pending, tries)
        accepted = coins.flip(_gaps(best[row], table[row, proposal]), source).reshape(-1, tries)
        at = accepted.argmax(axis=1)
        lanes = np.arange(pending.size)
        found = accepted[lanes, at]
        chosen[pending[found]] = proposal.reshape(-1, tries)[lanes, at][found]
        pending = pending[~found]
    return chosen


def permute_and_flip(scores: NDArray[np.int64], scale: Fraction, source: RandomSource) -> NDArray[np.int64]:
    """For each row of `scores` one candidate by permute-and-flip, with scale = 2 s / epsilon.

    A one-dimensional array counts as one row. All coins are flipped and one of the heads
    is picked uniformly; that is the first head in uniform random order.
    """
    table = _checked_scores(scores)
    coins = GapCoins(scale)
    rows, candidates = table.shape
    chosen = np.zeros(rows, dtype=np.int64)
    chunk = max(1, _CHUNK_CELLS // candidates)
    for start in range(0, rows, chunk):
        part = table[start : start + chunk]
        gaps = _gaps(part.max(axis=1)[:, np.newaxis], part)
        heads = coins.flip(gaps.ravel(), source).reshape(part.shape)
        # The best candidate's coin has probability 1, so every row has a head.
        pick = below(source, heads.sum(axis=1, dtype=np.int64))
        position = np.cumsum(heads, axis=1, dtype=np.int32)
        chosen[start : start + chunk] = (position > pick[:, np.newaxis]).argmax(axis=1)
    return chosen


def _gaps(best: NDArray[np.int64], scores: NDArray[np.int64]) -> NDArray[np.uint64]:
    """best - score without overflow: the wrapped difference is right modulo 2**64 and fits."""
    return best.astype(np.uint64) - scores.astype(np.uint64)


def _checked_scores(scores: NDArray[np.int64]) -> NDArray[np.int64]:
    if scores.dtype != np.int64:
        raise TypeError(f"scores must be int64, not {scores.dtype}; round them to a public grid first")
    if scores.ndim not in (1, 2) or scores.shape[-1] == 0:
        raise ValueError("scores must be rows x candidates with at least one candidate")
    return scores.reshape(-1, scores.shape[-1])
