"""Rows for tables with public columns: every row keeps its public values, the others are drawn given them.

Post-processing (T28): reads the public columns, which everyone knows, and the fitted model.

Rows come in a random order (T45), drawn before anything is drawn for them: the table's own order says something about
people where it was sorted by a protected column, and neither the order nor the values of the release depend on it.

The protected columns of a row start independent of each other and are then moved under the parameters of the fit, with
the row's public cells held as they are (the same moves as in fit/rows.py), which draws from the model given them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rankveil import rules
from rankveil.declare.again import read_again
from rankveil.declare.dataset import CodeBatch, Dataset
from rankveil.declare.domain import Codes
from rankveil.draw.pieces import law_of, matches_any
from rankveil.fit.model import Model, inner_order, started
from rankveil.fit.rows import RowSet
from rankveil.measure.disorder import out_of_order
from rankveil.noise import Sampler

_BLOCK = 1 << 15


@dataclass(frozen=True)
class ConditionalRows:
    """Rows of a model given the public columns of a table."""

    dataset: Dataset
    model: Model
    rows: int

    def draw(self, sampler: Sampler) -> Iterator[dict[str, Codes]]:
        """All rows in a random order, in blocks."""
        public = [column.name for column in self.dataset.schema.columns if not column.protected]
        for block in out_of_order(read_again(self.dataset, public, self.rows), self.rows, _BLOCK, sampler):
            yield self._possible(self._block(block, sampler), frozenset(public), sampler)

    def _block(self, public: CodeBatch, sampler: Sampler) -> CodeBatch:
        marginals = self.model.marginals
        known = {name: marginals[name].small_cell_of(codes) for name, codes in public.items()}
        count = len(next(iter(known.values())))
        rows = RowSet(started(marginals, known, count, sampler), self.model.terms, np.ones(count))
        for _ in range(rules.CONDITIONAL_SWEEPS if self.model.terms else 0):
            for place in sampler.permutation(len(self.model.movers)):
                self.model.movers[place].move(rows, sampler)
        latent = inner_order(marginals, rows.cells, rows.weights, sampler)
        codes = dict(public)
        for place, (name, marginal) in enumerate(marginals.items()):
            if name not in public:
                law = law_of(marginal)
                keys = law.keys(rows.cells[place], latent[:, place])
                codes[name] = law.handed_out(keys, float(sampler.uniform(1)[0]), sampler)
        return codes

    def _possible(self, codes: dict[str, Codes], public: frozenset[str], sampler: Sampler) -> dict[str, Codes]:
        """Rows that cannot occur take the protected values of other rows, until they can."""
        for _ in range(20):
            wrong = np.flatnonzero(matches_any(self.dataset.schema.impossible, codes))
            if not len(wrong):
                break
            donors = sampler.permutation(len(next(iter(codes.values()))))[: len(wrong)]
            for name, column in codes.items():
                if name not in public:
                    column[wrong] = column[np.resize(donors, len(wrong))]
        return codes
