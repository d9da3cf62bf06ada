"""Who is served worst: how well a release keeps the other columns inside one group of people.

A group is the rows with one label of a column of labels, the fifths of a column of numbers (by the original), or the
rows in which a value is missing. Its error is the mean total variation of all other columns inside the group.

Small groups differ from anything by chance. So every error stands beside the one to be expected between two random
samples of as many rows, groups are ranked by what goes beyond that, and fewer than 100 rows are not judged.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Records
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.evaluate.distances import Cells, chance_variation
from rankveil.evaluate.results import Subgroup
from rankveil.measure.cutting import quantile_starts

FEWEST_JUDGED = 100
_PARTS = 5


def subgroups(original: Records, released: Records, cells: Mapping[str, Cells]) -> tuple[Subgroup, ...]:
    """All groups that the original has, worst first: judged groups, then those that are too small."""
    found = []
    columns = original.schema.columns
    for column in columns if len(columns) > 1 else ():
        groups = _groups(column, original.codes[column.name], released.codes[column.name])
        found += _measured(column, groups, {name: others for name, others in cells.items() if name != column.name})
    return tuple(
        sorted(found, key=lambda part: (part.rows < FEWEST_JUDGED, -part.beyond_chance, part.column, part.group))
    )


def _groups(column: Column, original: Codes, released: Codes) -> tuple[list[str], Codes, Codes]:
    """Names of groups, and each row's group; rows of no group have number len(names)."""
    domain = column.domain
    if isinstance(domain, Grid) and domain.labels is None:
        names, starts = _fifths(domain, domain.without_special(original))
        before, after = (np.searchsorted(starts, codes, side="right") - 1 for codes in (original, released))
        after = np.maximum(after, 0)  # a released value below all original ones belongs to the lowest fifth
        if domain.special:
            before, after = (
                np.where(codes > domain.width, len(names) + codes - domain.width - 1, group)
                for codes, group in ((original, before), (released, after))
            )
            names = [*names, *(f"{value} (special)" for value in domain.special)]
    else:
        labels = domain.labels if isinstance(domain, Grid) else domain.taxonomy.labels
        names = list(labels or ())
        # A concept above the labels is in none of the groups.
        before, after = original, np.where(released < len(names), released, len(names) + 1)
    absent = len(names)
    before, after = (
        np.where(codes == MISSING, absent, group) for codes, group in ((original, before), (released, after))
    )
    return [*names, "missing"], before, after


def _fifths(grid: Grid, codes: Codes) -> tuple[list[str], Codes]:
    """Parts of about a fifth of the rows each, fewer where a value is very common, and the codes they start at."""
    candidates = quantile_starts(codes, _PARTS, first=0)
    if len(candidates) == 0:
        return [], candidates
    largest = int(codes.max())
    starts: Codes = candidates[candidates <= largest]
    ends = [*(starts[1:] - 1).tolist(), largest]
    texts = [[_as_text(grid, code) for code in codes] for codes in (starts.tolist(), ends)]
    return [low if low == high else f"{low} to {high}" for low, high in zip(*texts, strict=True)], starts


def _as_text(grid: Grid, code: int) -> str:
    return str(grid.decode(np.array([code]))[0].as_py())


def _measured(column: Column, groups: tuple[list[str], Codes, Codes], others: Mapping[str, Cells]) -> list[Subgroup]:
    names, before, after = groups
    sizes, released_sizes = (np.bincount(group, minlength=len(names))[: len(names)] for group in (before, after))
    errors, chances = [], []
    for cells in others.values():
        inside = _inside(len(names), cells, before, after)
        errors.append(inside[0])
        chances.append(inside[1])
    by_column, expected = np.array(errors), np.array(chances)
    made = []
    for place, name in enumerate(names):
        rows, released_rows = int(sizes[place]), int(released_sizes[place])
        if rows == 0:
            continue
        if released_rows == 0:
            made.append(Subgroup(column.name, name, rows, 0, None, None, 1.0, None, None))
            continue
        error, chance = float(by_column[:, place].mean()), float(expected[:, place].mean())
        worst = int(np.argmax(by_column[:, place]))
        made.append(
            Subgroup(
                column.name,
                name,
                rows,
                released_rows,
                error,
                chance,
                max(0.0, error - chance),
                list(others)[worst],
                float(by_column[worst, place]),
            )
        )
    return made


def _inside(groups: int, cells: Cells, before: Codes, after: Codes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Total variation of one column inside every group, and the one that chance alone would make."""
    tables = []
    for group, own in ((before, cells.original), (after, cells.released)):
        inside = group < groups
        counted = np.bincount(group[inside] * cells.count + own[inside], minlength=groups * cells.count)
        tables.append(counted.reshape(groups, cells.count).astype(np.float64))
    first, second = (table.sum(axis=1, keepdims=True) for table in tables)
    shares = [table / np.maximum(1, size) for table, size in zip(tables, (first, second), strict=True)]
    return np.abs(shares[0] - shares[1]).sum(axis=1) / 2, chance_variation(shares[0], first, second)
