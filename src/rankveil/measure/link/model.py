"""Rows of cells that fit all released tables. Post-processing (T1): reads released numbers only.

A set of weighted rows stands for the joint distribution. It is sampled along a spanning tree of the tables, with
quotas instead of coin flips; what the tree does not say is filled in by the latent normal vectors of the copula; and
then the weights are raked until all tables fit. Any number of released rows is drawn from the set: draw.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rankveil.fit.marginal import Marginal, quotas
from rankveil.fit.simplex import Floats
from rankveil.measure.link.select import spanning_order
from rankveil.measure.link.signs import latent_rows
from rankveil.measure.link.tables import NoisyTable, denoise, fit_margins
from rankveil.noise import Sampler

_FEWEST_SET_ROWS, _MOST_SET_ROWS = 20_000, 100_000
_SWEEPS = 10


@dataclass(frozen=True)
class RowModel:
    """Weighted rows of base cells with latent values, and the marginals that turn cells into values."""

    marginals: Mapping[str, Marginal]
    cells: NDArray[np.int64]  # rows x columns
    latent: Floats
    weights: Floats


def model_from_copula(marginals: Mapping[str, Marginal], correlations: Floats, rows: int, sampler: Sampler) -> RowModel:
    """Few records: cells by the rank of the latent values alone."""
    latent = latent_rows(correlations, _set_size(rows), sampler)
    cells = np.empty(latent.shape, np.int64)
    everyone = np.zeros(len(latent), np.int64)
    for place, marginal in enumerate(marginals.values()):
        order = marginal.cell_order()
        cells[:, place] = order[_assigned(everyone, 1, marginal.mass[order][None, :], latent[:, place], sampler)]
    return RowModel(marginals, cells, latent, np.ones(len(latent)))


def denoised(tables: list[NoisyTable], marginals: Mapping[str, Marginal], rows: int) -> list[NoisyTable]:
    """The tables with estimates between what was measured and independence."""
    for table in tables:
        row_mass, column_mass = table.margins(marginals)
        table.estimate = denoise(table, np.outer(row_mass, column_mass) / rows, row_mass, column_mass)
    return tables


def model_from_tables(
    marginals: Mapping[str, Marginal], tables: list[NoisyTable], correlations: Floats, rows: int, sampler: Sampler
) -> RowModel:
    """Many records: rows that fit every table."""
    column = {name: place for place, name in enumerate(marginals)}
    denoised(tables, marginals, rows)
    latent = latent_rows(correlations, _set_size(rows), sampler)
    cells, in_tree = sampled_along_tree(marginals, tables, latent, sampler)
    weights = np.full(len(latent), rows / len(latent))
    for place, table in enumerate(tables):
        if place in in_tree:
            continue
        # Off the tree, the tree and the copula together are a better prior than independence.
        row_mass, column_mass = table.margins(marginals)
        index = table_cells(table, cells, column)
        modelled = np.bincount(index, weights, minlength=table.noisy.size).reshape(table.noisy.shape)
        floor = 0.02 * np.outer(row_mass, column_mass) / rows
        table.estimate = denoise(
            table, fit_margins(np.maximum(modelled, floor), row_mass, column_mass, 10), row_mass, column_mass
        )
    targets = [(table_cells(table, cells, column), table.estimate.ravel()) for table in tables]
    targets += [(cells[:, column[name]].astype(np.int32), marginal.mass) for name, marginal in marginals.items()]
    return RowModel(marginals, cells, latent, rake(weights, targets, float(rows)))


def table_cells(table: NoisyTable, cells: NDArray[np.int64], column: Mapping[str, int]) -> NDArray[np.int32]:
    """The cell of a table that each row lies in."""
    first = table.row_group[cells[:, column[table.pair[0]]]]
    second = table.column_group[cells[:, column[table.pair[1]]]]
    index: NDArray[np.int32] = (first * table.noisy.shape[1] + second).astype(np.int32)
    return index


def _set_size(rows: int) -> int:
    return min(max(rows, _FEWEST_SET_ROWS), _MOST_SET_ROWS)


def _assigned(
    parent: NDArray[np.int64], parent_count: int, weights: Floats, latent: Floats, sampler: Sampler
) -> NDArray[np.int64]:
    """A child for every row: inside each parent in the proportions of its weights, in the order of the latent value."""
    by_latent = np.argsort(latent, kind="stable")
    order = by_latent[np.argsort(parent[by_latent], kind="stable")]
    counts = quotas(weights, np.bincount(parent, minlength=parent_count), sampler)
    children = np.empty(len(parent), np.int64)
    children[order] = np.repeat(np.tile(np.arange(weights.shape[1]), parent_count), counts.ravel())
    return children


def _information(table: Floats) -> float:
    share = table / table.sum()
    independent = np.outer(share.sum(axis=1), share.sum(axis=0))
    some = share > 0
    return float((share[some] * np.log(share[some] / independent[some])).sum())


def sampled_along_tree(
    marginals: Mapping[str, Marginal],
    tables: list[NoisyTable],
    latent: Floats,
    sampler: Sampler,
    known: Mapping[str, NDArray[np.int64]] | None = None,
) -> tuple[NDArray[np.int64], set[int]]:
    """Rows of base cells, column after column along the most informative spanning forest of the tables.

    `known`: cells of columns that are given (public ones), from which the forest grows.
    """
    known = known or {}
    names = list(marginals)
    column = {name: place for place, name in enumerate(names)}
    strength = np.array([_information(table.estimate) for table in tables])
    chosen = spanning_order([table.pair for table in tables], strength, frozenset(known))
    neighbours: dict[str, list[tuple[str, NoisyTable]]] = {name: [] for name in names}
    for place in chosen:
        first, second = tables[place].pair
        neighbours[first].append((second, tables[place]))
        neighbours[second].append((first, tables[place]))
    orders = {name: marginal.cell_order() for name, marginal in marginals.items()}
    cells = np.empty(latent.shape, np.int64)
    everyone = np.zeros(len(latent), np.int64)
    done: set[str] = set(known)
    for name, given in known.items():
        cells[:, column[name]] = given
    waiting = list(known)
    for root in [*known, *names]:
        if root not in done:
            order = orders[root]
            mass = marginals[root].mass[order][None, :]
            cells[:, column[root]] = order[_assigned(everyone, 1, mass, latent[:, column[root]], sampler)]
            done.add(root)
            waiting = [root]
        while waiting:
            here = waiting.pop(0)
            for there, table in neighbours[here]:
                if there in done:
                    continue
                forward = table.pair[0] == here
                estimate = table.estimate if forward else table.estimate.T
                here_group = table.row_group if forward else table.column_group
                there_group = table.column_group if forward else table.row_group
                mass = marginals[there].mass
                group_mass = np.maximum(np.bincount(there_group, mass), 1e-9)
                weights = estimate[:, there_group] * (mass / group_mass[there_group])
                order = orders[there]
                children = _assigned(
                    here_group[cells[:, column[here]]],
                    len(estimate),
                    weights[:, order],
                    latent[:, column[there]],
                    sampler,
                )
                cells[:, column[there]] = order[children]
                done.add(there)
                waiting.append(there)
    return cells, set(chosen)


def rake(weights: Floats, targets: list[tuple[NDArray[np.int32], Floats]], total: float) -> Floats:
    """Weights under which all targets fit: proportional fitting on the rows, damped at the end.

    A target is the cell of each row and the mass that each cell should have.
    """
    for sweep in range(_SWEEPS):
        damping = 1.0 if sweep < _SWEEPS // 2 else 0.5
        for index, target in targets:
            current = np.bincount(index, weights, minlength=len(target))
            factor = np.where(current > 0, target / np.where(current > 0, current, 1.0), 1.0)
            weights = weights * (np.clip(factor, 0.2, 5.0) ** damping)[index]
        weights = weights * (total / weights.sum())
    return weights
