"""Rows for tables with public columns: every row keeps its public values, the others are drawn given them.

Post-processing (T28): reads the public columns, which everyone knows, and released numbers.

Rows come in a random order (T45), drawn before anything is drawn for them: the table's own order says something about
people where it was sorted by a protected column, and neither the order nor the values of the release depend on it.

For each row several candidates are drawn along the spanning tree of the tables, starting from the row's own public
cells. The candidates' weights are raked until all tables fit, each row's candidates adding up to one, and one
candidate is kept per row. Tables are worked off in blocks, read one after the other, whose share of each table follows
from their public values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.again import read_again
from rankveil.declare.dataset import CodeBatch, Dataset
from rankveil.declare.domain import Codes
from rankveil.draw.disorder import out_of_order
from rankveil.fit.marginal import Marginal
from rankveil.fit.simplex import Floats
from rankveil.measure.link.draw import Law, law_of, matches_any
from rankveil.measure.link.model import rake, sampled_along_tree, table_cells
from rankveil.measure.link.tables import NoisyTable
from rankveil.noise import Sampler

_BLOCK = 1 << 15
_CANDIDATES = 6


@dataclass(frozen=True)
class ConditionalModel:
    dataset: Dataset
    marginals: Mapping[str, Marginal]  # public ones first
    tables: list[NoisyTable]
    correlations: Floats
    rows: int

    def draw(self, sampler: Sampler) -> Iterator[dict[str, Codes]]:
        """All rows in a random order, in blocks."""
        laws = {name: law_of(self.marginals[name]) for name in self.marginals if name not in self.public}
        stored = read_again(self.dataset, self.public, self.rows)
        for public in out_of_order(stored, self.rows, _BLOCK, sampler):
            yield self._block(public, laws, sampler)

    @property
    def public(self) -> list[str]:
        return [column.name for column in self.dataset.schema.columns if not column.protected]

    def _block(self, public: CodeBatch, laws: Mapping[str, Law], sampler: Sampler) -> CodeBatch:
        count = len(next(iter(public.values())))
        candidates = {name: np.repeat(codes, _CANDIDATES) for name, codes in public.items()}
        latent = self._latent(candidates, sampler)
        known = {name: self.marginals[name].cell_of(codes) for name, codes in candidates.items()}
        cells, _ = sampled_along_tree(self.marginals, self.tables, latent, sampler, known)
        weights = self._raked(cells, count)
        chosen = _one_of_each(weights.reshape(count, _CANDIDATES), sampler)
        codes = dict(public)
        for place, name in enumerate(self.marginals):
            if name in laws:
                keys = laws[name].keys(cells[chosen, place], latent[chosen, place])
                codes[name] = laws[name].handed_out(keys, float(sampler.uniform(1)[0]), sampler)
        return self._possible(codes, sampler)

    def _latent(self, candidates: dict[str, Codes], sampler: Sampler) -> Floats:
        """Normal vectors given the public columns: those by the rank of their value, the others from the copula."""
        size = len(next(iter(candidates.values())))
        shared = len(candidates)
        latent = np.empty((size, len(self.marginals)))
        for place, (name, codes) in enumerate(candidates.items()):
            marginal = self.marginals[name]
            rank = np.empty(marginal.cell_count, np.int64)
            rank[marginal.cell_order()] = np.arange(marginal.cell_count)
            order = np.argsort(rank[marginal.cell_of(codes)] + sampler.uniform(size), kind="stable")
            latent[order, place] = np.sort(sampler.normal(size, 1)[:, 0])
        among_public = np.atleast_2d(np.corrcoef(latent[:, :shared], rowvar=False)) + 1e-6 * np.eye(shared)
        across = self.correlations[shared:, :shared]
        slopes = np.linalg.solve(among_public, across.T).T
        left_over = self.correlations[shared:, shared:] - slopes @ across.T
        strengths, directions = np.linalg.eigh(left_over)
        factor = directions * np.sqrt(np.maximum(strengths, 0.0))
        noise = sampler.normal(size, len(self.marginals) - shared)
        latent[:, shared:] = latent[:, :shared] @ slopes.T + noise @ factor.T
        return latent

    def _raked(self, cells: NDArray[np.int64], count: int) -> Floats:
        column = {name: place for place, name in enumerate(self.marginals)}
        weights = np.full(len(cells), 1.0 / _CANDIDATES)
        share = count / self.rows
        targets = []
        for table in self.tables:
            index = table_cells(table, cells, column)
            target = table.estimate * share
            for axis, name in enumerate(table.pair):
                if name in self.public:  # the block's own public values, not the table's average
                    group = table.row_group if axis == 0 else table.column_group
                    here = np.bincount(group[cells[:, column[name]]], weights, minlength=target.shape[axis])
                    sums = target.sum(axis=1 - axis)
                    factor = here / np.where(sums > 0, sums, 1.0)
                    target = target * (factor[:, None] if axis == 0 else factor[None, :])
            targets.append((index, target.ravel()))
        rows = np.repeat(np.arange(count, dtype=np.int32), _CANDIDATES)
        return rake(weights, [*targets, (rows, np.ones(count))], float(count))

    def _possible(self, codes: dict[str, Codes], sampler: Sampler) -> dict[str, Codes]:
        """Rows that cannot occur take the protected values of other rows, until they can."""
        for _ in range(20):
            wrong = np.flatnonzero(matches_any(self.dataset.schema.impossible, codes))
            if not len(wrong):
                break
            donors = sampler.permutation(len(next(iter(codes.values()))))[: len(wrong)]
            for name, column in codes.items():
                if name not in self.public:
                    column[wrong] = column[np.resize(donors, len(wrong))]
        return codes


def _one_of_each(weights: Floats, sampler: Sampler) -> NDArray[np.int64]:
    """One candidate per row, in proportion to its weights."""
    sums = np.cumsum(weights, axis=1)
    drawn = sampler.uniform(len(weights)) * sums[:, -1]
    place = np.minimum((sums <= drawn[:, None]).sum(axis=1), weights.shape[1] - 1)
    chosen: NDArray[np.int64] = np.arange(len(weights)) * weights.shape[1] + place
    return chosen
