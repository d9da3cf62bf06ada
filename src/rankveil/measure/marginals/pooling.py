"""Columns of one table teach each other: what is likely of a column before its own counts speak. Post-processing.

Two things are alike across the columns of amounts of a table, and visible in all of them together long before they are
in one: how far values reach as a share of the declared range, and whether there are heaps at zero. Weights of outlines'
candidates are learnt from all columns at once (empirical Bayes).

Reach        A public list of hypotheses: logarithms of reaches are normal around one of some middles, with one of some
             widths. Each has the likelihood of all columns' noisy counts; the weights are their mixture.
At zero      One frequency for each share of records at zero, learnt by expectation and maximisation, with one imagined
             column for each.
Reads        Released counts and the plan, nothing else: T1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from rankveil.measure.marginals.outline import AT_ZERO, Evidence, Outline
from rankveil.measure.marginals.projection import Floats

_MIDDLES = np.linspace(-8.0, 0.0, 17)  # logarithms of shares of the range
_WIDTHS = (0.5, 1.0, 2.0)
_MIDDLE, _WIDTH = (values.ravel()[:, None] for values in np.meshgrid(_MIDDLES, _WIDTHS))
_ROUNDS = 20


def outlines(evidence: Sequence[Evidence]) -> list[Outline]:
    """One for each column."""
    amounts = [each for each in evidence if each.is_amount]
    if len(amounts) < 2:
        return [each.outline() for each in evidence]
    hypotheses, at_zero = _learnt([_explained(each) for each in amounts])

    def weights(each: Evidence) -> Floats:
        weight: Floats = (np.tensordot(hypotheses, _by_hypothesis(each), 1) * at_zero[:, None]).ravel()
        return weight

    return [each.outline(weights(each) if each.is_amount else None) for each in evidence]


def _by_hypothesis(each: Evidence) -> Floats:
    """Weights of candidates: by hypothesis, share at zero, candidate with that share; the last add up to 1."""
    off = (each.reaches - _MIDDLE) / _WIDTH
    weight = np.exp(-(off**2) / 2).reshape(len(_MIDDLE), len(AT_ZERO), -1)
    whole = weight.sum(axis=2, keepdims=True)
    shares: Floats = np.divide(weight, whole, out=np.zeros_like(weight), where=whole > 0)
    return shares


def _explained(each: Evidence) -> Floats:
    """Likelihood of the column's counts by hypothesis and share at zero."""
    likelihood: Floats = (_by_hypothesis(each) * np.exp(each.fit).reshape(len(AT_ZERO), -1)).sum(axis=2)
    return np.maximum(likelihood, math.ulp(0.0))


def _learnt(columns: Sequence[Floats]) -> tuple[Floats, Floats]:
    """Weights of the hypotheses, and frequencies of the shares at zero."""
    at_zero = np.full(len(AT_ZERO), 1 / len(AT_ZERO))
    for _ in range(_ROUNDS):
        together = sum(np.log(np.maximum(column @ at_zero, math.ulp(0.0))) for column in columns)
        hypotheses = np.exp(together - np.max(together))
        hypotheses /= hypotheses.sum()
        seen = [hypotheses @ column * at_zero for column in columns]
        at_zero = sum(each / each.sum() for each in seen) + 1.0
        at_zero /= at_zero.sum()
    return hypotheses, at_zero
