"""Table 1: variance changes of the first eight Census attributes, ours beside the printed ones.

Statistic    |mean over runs of var' - var| / var: the absolute value is taken after averaging. Taken before, per run,
             it cannot be as small as the printed 0.00 to 0.04 of ε = 10; the JSON gives that reading as well.
Agreement    Printed and ours are means of 10 runs each. They agree if they differ by at most t · sd · sqrt(2/10), sd
             our spread over runs and t the 99.95 % point of Student's law with 9 degrees of freedom, plus 0.005 for
             the printed rounding: one in a thousand cells would disagree by chance.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rankveil.declare.domain import Grid
from rankveil.noise import RandomSource
from rankveil.reproduce.data import census, first_columns
from rankveil.reproduce.printed import CLUSTER_SIZES, EPSILONS, METHODS, printed_cells
from rankveil.reproduce.runs import repeated

ATTRIBUTES = 8
PAPER_RUNS = 10
# Student's t, 99.95 % point, by degrees of freedom.
_T_POINTS = {2: 31.599, 4: 8.610, 9: 4.781, 19: 3.883, 29: 3.659, 49: 3.500, 99: 3.392}
_ROUNDING = 0.005
ODD_ATTRIBUTE = 3


@dataclass(frozen=True)
class Cell:
    attribute: str
    column: str
    k: int
    epsilon: float
    method: str
    printed: float
    mean: float
    sd: float
    runs: int
    agrees: bool
    agrees_without_minus_one: bool  # the printed figure is var'/var, without the -1 of the paper's own formula
    mean_of_absolute_changes: float
    largest_possible: float  # what the domain [0, U] allows at most


def table1(census_path: Path, runs: int, source: RandomSource, progress: Callable[[str], None]) -> list[Cell]:
    """All 192 cells."""
    records = first_columns(census(census_path), ATTRIBUTES)
    columns = records.schema.columns
    before = [float(np.var(records.codes[column.name])) for column in columns]
    changes: dict[tuple[int, int, str, str], np.ndarray[Any, np.dtype[np.float64]]] = {}
    for method in METHODS:
        for cluster_size in CLUSTER_SIZES:
            for epsilon in EPSILONS:
                progress(f"{method}, k = {cluster_size}, ε = {epsilon}")
                after = np.array(
                    [
                        [float(np.var(released.codes[column.name])) for column in columns]
                        for released in repeated(records, method, cluster_size, epsilon, runs, source)
                    ]
                )
                for place in range(ATTRIBUTES):
                    changes[place + 1, cluster_size, epsilon, method] = after[:, place] / before[place] - 1
    cells = []
    for attribute, cluster_size, epsilon, method, printed in printed_cells():
        change = changes[attribute, cluster_size, epsilon, method]
        column = columns[attribute - 1]
        assert isinstance(column.domain, Grid)  # noqa: S101 - Census has numbers only
        mean, spread = abs(float(change.mean())), float(change.std(ddof=1))
        allowed = _t_point(runs - 1) * spread * math.sqrt(1 / PAPER_RUNS + 1 / runs) + _ROUNDING
        cells.append(
            Cell(
                attribute=f"A{attribute}",
                column=column.name,
                k=cluster_size,
                epsilon=float(epsilon),
                method=method,
                printed=printed,
                mean=mean,
                sd=spread,
                runs=runs,
                agrees=abs(printed - mean) <= allowed,
                agrees_without_minus_one=abs(printed - abs(float(change.mean()) + 1)) <= allowed,
                mean_of_absolute_changes=float(np.abs(change).mean()),
                largest_possible=column.domain.width**2 / 4 / before[attribute - 1] - 1,
            )
        )
    return cells


def _t_point(freedom: int) -> float:
    return [point for degrees, point in _T_POINTS.items() if degrees <= max(2, freedom)][-1]


@dataclass(frozen=True)
class Statement:
    """Something the comparison shows about the printed table."""

    claim: str
    holds: bool
    numbers: str


def findings(cells: list[Cell]) -> list[Statement]:
    """What agrees, and the known discrepancies, recomputed."""
    core = [cell for cell in cells if cell.epsilon >= 1 and cell.attribute != f"A{ODD_ATTRIBUTE}"]
    agreeing = sum(cell.agrees for cell in core)
    low = [
        cell for cell in cells if cell.epsilon == 0.1 and cell.method == "IR" and cell.attribute != f"A{ODD_ATTRIBUTE}"
    ]
    odd = [cell for cell in cells if cell.attribute == f"A{ODD_ATTRIBUTE}"]
    impossible = [cell for cell in cells if cell.printed > cell.largest_possible + _ROUNDING]
    pairs = {(cell.attribute, cell.k, cell.epsilon, cell.method): cell.printed for cell in cells}
    reversed_pairs = [key for key, value in pairs.items() if key[3] == "IR" and value >= pairs[(*key[:3], "MV")]]
    return [
        Statement(
            "A1, A2, A4 to A8 at ε = 1 and 10: printed and ours agree",
            agreeing >= 0.95 * len(core),
            f"{agreeing} of {len(core)} cells ({agreeing / len(core):.1%})",
        ),
        Statement(
            "ε = 0.1, IR: printed by the paper's own formula (with the -1)",
            sum(cell.agrees for cell in low) >= 0.95 * len(low),
            f"{sum(cell.agrees for cell in low)} of {len(low)} cells agree with the -1,"
            f" {sum(cell.agrees_without_minus_one for cell in low)} without it",
        ),
        Statement(
            "every printed value is possible in [0, U]",
            not impossible,
            f"{sum(cell.attribute != f'A{ODD_ATTRIBUTE}' for cell in impossible)} values beyond the largest possible"
            f" outside A3, {sum(cell.attribute == f'A{ODD_ATTRIBUTE}' for cell in impossible)} in A3",
        ),
        Statement(
            "A3 fits the third column, EMCONTRB",
            sum(cell.agrees for cell in odd) >= 0.95 * len(odd),
            f"{sum(cell.agrees for cell in odd)} of {len(odd)} cells agree",
        ),
        Statement(
            "variance changes are always greater for the predecessor (MV) than for IR, as printed",
            not reversed_pairs,
            f"contradicted by {len(reversed_pairs)} of {len(pairs) // 2} printed pairs",
        ),
    ]


def as_json(cells: list[Cell]) -> dict[str, Any]:
    return {"rows": [asdict(cell) for cell in cells], "findings": [asdict(finding) for finding in findings(cells)]}
