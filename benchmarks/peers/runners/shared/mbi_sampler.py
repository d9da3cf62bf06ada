"""Rows from a graphical model of mbi 1.1.0, drawn the way the model says. Patched in by `repaired.py`.

What is wrong in mbi 1.1.0's own `synthetic_data`: a column is drawn given those earlier columns with which it shares a
*measured* table. Eliminating a column joins its neighbours, so a column depends on earlier ones with which it shares a
clique of the *junction tree*, measured or not; what the fitted model knows of those pairs is lost. And rows of a group
get their values in the order of the rows, so that columns drawn later can follow that order.

Here: in the reverse of the elimination order, each column is drawn given all earlier columns in its cliques of the
junction tree. These lie in one clique together (that is what a junction tree is), so its marginal has the conditional
shares. Inside a group of rows with equal parents every value gets its share of the rows, rounded up or down by chance
(quota), and which rows get it is a random order.

`drawn` knows nothing of mbi: it is tested with models that are summed out by hand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Clique = tuple[str, ...]


def drawn(
    marginals: Mapping[Clique, np.ndarray], elimination_order: Sequence[str], rows: int, rng: np.random.Generator
) -> dict[str, np.ndarray]:
    """So many rows. `marginals`: of every clique of the junction tree, axes as its columns; any scale."""
    columns: dict[str, np.ndarray] = {}
    for column in reversed(elimination_order):
        around = {other for clique in marginals if column in clique for other in clique}
        parents = tuple(other for other in columns if other in around)
        clique = next(clique for clique in marginals if {column, *parents} <= set(clique))
        table = _onto(np.asarray(marginals[clique], np.float64), clique, (*parents, column))
        columns[column] = _given([columns[parent] for parent in parents], table, rows, rng)
    return columns


def _onto(table: np.ndarray, clique: Clique, wanted: Clique) -> np.ndarray:
    """The marginal of these columns, axes in this order."""
    kept = [name for name in clique if name in wanted]
    summed = table.sum(axis=tuple(axis for axis, name in enumerate(clique) if name not in wanted))
    return np.maximum(summed.transpose([kept.index(name) for name in wanted]), 0.0)


def _given(parents: list[np.ndarray], table: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
    """One column given others: `table` has their axes first and its own last."""
    size = table.shape[-1]
    flat = table.reshape(-1, size)
    cell = np.ravel_multi_index(parents, table.shape[:-1]) if parents else np.zeros(rows, np.int64)
    occurring, group, counts = np.unique(cell, return_inverse=True, return_counts=True)
    shares = flat[occurring]
    # Rounding inside the model may leave no mass where rows are; they follow the column by itself.
    shares = np.where(shares.sum(axis=1, keepdims=True) > 0, shares, flat.sum(axis=0))
    upper = np.cumsum(shares, axis=1)
    upper /= upper[:, -1:]
    # Rows in a random order inside their group; the r-th of n is asked at (r + u) / n, one u a group: a value whose
    # share is s gets s·n of them, rounded up or down.
    order = np.lexsort((rng.random(rows), group))
    ordered = group[order]
    rank = np.arange(rows) - (np.cumsum(counts) - counts)[ordered]
    asked = (rank + rng.random(len(counts))[ordered]) / counts[ordered]
    # Groups one after the other on one axis, so that all are looked up at once.
    place = np.searchsorted((upper + np.arange(len(counts))[:, None]).ravel(), asked + ordered, side="right")
    last = size - 1 - np.argmax(shares[:, ::-1] > 0, axis=1)
    values = np.empty(rows, np.int64)
    values[order] = np.clip(place - ordered * size, 0, last[ordered])
    return values


def synthetic_data(model: Any, rows: int | None = None, method: str = "round") -> Any:
    """In the place of mbi's `MarkovRandomField.synthetic_data`; `method` is always quota rounding."""
    from mbi import Dataset, junction_tree, marginal_oracles

    tree, order = junction_tree.make_junction_tree(model.domain, [set(clique) for clique in model.cliques])
    fitted = marginal_oracles.message_passing_stable(model.potentials.expand(list(tree.nodes)))
    tables = {tuple(clique): np.asarray(fitted.project(clique).values) for clique in tree.nodes}
    rng = np.random.default_rng(np.random.randint(2**31))  # follows the seed of the runner
    columns = drawn(tables, order, max(1, int(rows or model.total)), rng)
    return Dataset({name: columns[name] for name in model.domain.attributes}, model.domain)


def install() -> None:
    from mbi import MarkovRandomField

    MarkovRandomField.synthetic_data = synthetic_data
