"""Lends our public cells to a peer, so that the comparison is one of mechanisms and not of bins alone.

A number of more than 32 values becomes one of about 32 labels before the peer sees the table: the cells that ours would
start from, finer towards zero where the range holds it. A released label becomes a value drawn uniformly from its cell.
Both steps follow from the public description of the columns, so the peer's guarantee stands.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.peers.data import Data, labels
from rankveil.engines import open_table
from rankveil.flow.declare import declare
from rankveil.flow.microaggregate.counts import CountGrid
from rankveil.flow.protect.marginals.partition import TreeShape, nested_edges

CELLS = 32


def starts(data: Data) -> dict[str, np.ndarray]:
    """First values of the cells of each number that is recoded, and one past its last value."""
    bounds = {column["name"]: column for column in data.columns if column["kind"] == "integer"}
    shape = TreeShape(leaves=CELLS, branching=CELLS, outlined=True)
    empty = open_table(pd.DataFrame({column["name"]: pd.Series(dtype="object") for column in data.columns}))
    found = {}
    for column in declare(data.plan, empty).columns:
        limits: dict[str, Any] | None = bounds.get(column.name)
        if limits is not None and limits["upper"] - limits["lower"] >= CELLS:
            [edges] = nested_edges(CountGrid(column), shape)
            found[column.name] = limits["lower"] + edges
    return found


def recoded(data: Data) -> Data:
    """What the peer is told."""
    cells = starts(data)
    columns = (
        labels(name, *_names(cells[name])) if (name := column["name"]) in cells else column for column in data.columns
    )
    return replace(data, columns=tuple(columns))


def recode(data: Data, table: Path, target: Path) -> None:
    frame = pd.read_csv(table, keep_default_na=False)
    for name, edges in starts(data).items():
        frame[name] = np.array(_names(edges))[np.searchsorted(edges, frame[name].to_numpy(), side="right") - 1]
    frame.to_csv(target, index=False)


def restore(data: Data, released: Path, seed: int) -> None:
    """The released table, in place, with values instead of cells."""
    frame, rng = pd.read_csv(released, keep_default_na=False), np.random.default_rng(seed)
    for name, edges in starts(data).items():
        places = frame[name].map({label: place for place, label in enumerate(_names(edges))}).to_numpy()
        frame[name] = rng.integers(edges[places], edges[places + 1])
    frame.to_csv(released, index=False)


def _names(edges: np.ndarray) -> list[str]:
    return [f"cell {place}" for place in range(len(edges) - 1)]
