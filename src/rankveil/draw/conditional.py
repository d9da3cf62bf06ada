"""Rows for tables with public columns: every row keeps its public values, the others are drawn given them.

Post-processing (T28): reads the public columns, which everyone knows, and the fitted model.

Rows come in a random order (T45), drawn before anything is drawn for them: the table's own order says something about
people where it was sorted by a protected column, and neither the order nor the values of the release depend on it.

The protected columns of a row start independent of each other and are then moved under the parameters of the fit, with
the row's public cells held as they are (the same moves as in fit/rows.py), which draws from the model given them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from rankveil import rules
from rankveil.declare.again import read_again
from rankveil.declare.dataset import CodeBatch, Dataset
from rankveil.declare.domain import Codes
from rankveil.draw.pieces import law_of, no_row_obeys, values_again
from rankveil.fit.limits import Rule, obeys
from rankveil.fit.model import Model, inner_order, started
from rankveil.fit.rows import RowSet
from rankveil.measure.disorder import out_of_order
from rankveil.noise import Sampler

_BLOCK = 1 << 15
_MOST_TRIES = 100  # for rows whose public values leave them little choice


@dataclass(frozen=True)
class ConditionalRows:
    """Rows of a model given the public columns of a table."""

    dataset: Dataset
    model: Model
    rows: int
    obeyed: Sequence[Rule] = ()

    def draw(self, sampler: Sampler) -> Iterator[dict[str, Codes]]:
        """All rows in a random order, in blocks."""
        public = [column.name for column in self.dataset.schema.columns if not column.protected]
        for block in out_of_order(read_again(self.dataset, public, self.rows), self.rows, _BLOCK, sampler):
            yield self._block(block, sampler)

    def _block(self, public: CodeBatch, sampler: Sampler) -> CodeBatch:
        """Protected values for some rows; those that break a rule are drawn again."""
        made = self._drawn(public, sampler)
        wrong = np.flatnonzero(~obeys(self.obeyed, made))
        for _ in range(_MOST_TRIES):
            if not len(wrong):
                return made
            again = self._drawn({name: codes[wrong] for name, codes in public.items()}, sampler)
            for name, codes in again.items():
                made[name][wrong] = codes
            wrong = wrong[~obeys(self.obeyed, again)]
        raise no_row_obeys()

    def _drawn(self, public: CodeBatch, sampler: Sampler) -> dict[str, Codes]:
        marginals = self.model.marginals
        known = {name: marginals[name].small_cell_of(codes) for name, codes in public.items()}
        count = len(next(iter(known.values())))
        rows = RowSet(started(marginals, known, count, sampler, self.model.limits), self.model.terms, np.ones(count))
        for _ in range(rules.CONDITIONAL_SWEEPS if self.model.terms else 0):
            for place in sampler.permutation(len(self.model.movers)):
                self.model.movers[place].move(rows, sampler)
        latent = inner_order(marginals, rows.cells, rows.weights, sampler)
        codes, laws, keys = {name: each.copy() for name, each in public.items()}, {}, {}
        for place, (name, marginal) in enumerate(marginals.items()):
            if name not in public:
                laws[name] = law_of(marginal)
                keys[name] = laws[name].keys(rows.cells[place], latent[:, place])
                codes[name] = laws[name].handed_out(keys[name], float(sampler.uniform(1)[0]), sampler)
        values_again(codes, self.obeyed, laws, keys, sampler)
        return codes
