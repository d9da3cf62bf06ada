"""Method `aligned`: row r of the release belongs to record r.

Guarantee    The released rows are differentially private at the whole of ε, for tables that differ in one record.
Argument     Marginals cost ε1. Then each record's cells, all columns together, go through one channel that is
             ε2-DP in that record (T25); a replaced record changes the law of its own row only, so all rows together
             cost ε2 (T3), and ε1 + ε2 = ε: T30. The cell of a value is a function of that value and of released
             marginals, never of other records' ranks. Values are drawn in the released cells: post-processing.
             Public columns are the same in neighbouring tables and are kept row by row.
Public rule  ε1 is what gives a column's counts 300 records per standard deviation of noise, but at least one
             tenth and at most half of ε: with n rows and m columns, 300 m √8 / n. Bounds of columns that have no
             public ones cost one tenth of ε before that.
Not covered  How much a row says about its record. No row-aligned release can say much (T26, T27): with two equally
             likely values a distance D apart the mean error is at least D / (1 + e^ε), and of m independent fair bits
             no release keeps more than the ball channel does. The certificate quotes both.
             Combinations that cannot occur are not avoided.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from rankveil import rules
from rankveil.aligned.channel import least_bit_error
from rankveil.aligned.grouping import Linkage, link
from rankveil.declare import Plan, declare_alone
from rankveil.declare.again import read_again
from rankveil.declare.dataset import CodeBatch, Dataset
from rankveil.draw.rows import Rows
from rankveil.fit.column import fit_columns
from rankveil.fit.marginal import Finest, Marginal
from rankveil.measure.bounds import planned_bounds, with_bounds
from rankveil.measure.budget import Budget, Mechanism
from rankveil.measure.columns import paid_columns, planned_columns
from rankveil.measure.synthetic import CountedColumns as Counted
from rankveil.noise import RandomSource, Sampler

_RECORDS_PER_DEVIATION = 300
_LEAST_SHARE, _LARGEST_SHARE = 0.05, 0.5
_LIGHTEST_CELL = 4 * rules.FEWEST_BASE_CELLS  # a cell holds at least one record in so many


def share_for_marginals(epsilon: Fraction, rows: int, columns: int) -> Fraction:
    """ε1 / ε by the public rule, in thousandths."""
    wanted = _RECORDS_PER_DEVIATION * columns * math.sqrt(8) / rows / float(epsilon)
    return Fraction(math.ceil(1000 * min(max(wanted, _LEAST_SHARE), _LARGEST_SHARE)), 1000)


@dataclass(frozen=True)
class MarginalsForRows:
    """The protected columns' marginals; the dataset goes along, for linkage reads it once more."""

    dataset: Dataset
    rows: int
    marginals: dict[str, Marginal]
    notes: tuple[Mechanism, ...]
    budget: Budget  # what is left for the channel


def marginals_for_rows(given: Counted, budget: Budget, source: RandomSource) -> MarginalsForRows:
    """Every protected column's marginal for ε1, after bounds where the plan asks for them."""
    found = with_bounds(given.dataset, given.counts, budget, source)
    dataset, counts, budget = found.dataset, found.counts, found.budget
    to_release = {column.name: counts[column.name] for column in dataset.schema.protected}
    share = share_for_marginals(budget.whole.amount, given.rows, len(to_release))
    cells = rules.FEWEST_BASE_CELLS
    finest = Finest(cells, cells, given.rows / _LIGHTEST_CELL)
    measured, paid = paid_columns(to_release, given.rows, budget, share, source)
    marginals = fit_columns(measured, given.rows, finest)
    return MarginalsForRows(dataset, given.rows, marginals, (*found.notes, *paid), budget)


def rows_through_channel(given: MarginalsForRows, budget: Budget, source: RandomSource) -> Rows:
    """Each record's cells through one joint channel for ε2, and values for what comes out."""
    price = given.budget.spend(given.budget.left, "channel of each record")
    if price.unit != "epsilon":
        raise ValueError("the channel is made for pure differential privacy")
    linkage = link(given.marginals, price.amount)
    note = price.note(
        _covered(list(given.marginals)), linkage.in_words(), "one record decides its own row only", ("T25",)
    )
    return Rows(
        given.dataset.schema,
        given.rows,
        (*given.notes, note),
        row_aligned=True,
        stream=_drawn(given, linkage, source),
        linkage="channel",
        remarks=lower_bounds(budget.epsilon, len(given.marginals)),
    )


def _drawn(given: MarginalsForRows, linkage: Linkage, source: RandomSource) -> Iterator[CodeBatch]:
    """Released rows in the order of the records, batch by batch."""
    sampler = Sampler(source)
    for codes in read_again(given.dataset, given.dataset.schema.names, given.rows):
        cells = np.column_stack(
            [
                linkage.groupings[name].groups[marginal.cell_of(codes[name])]
                for name, marginal in given.marginals.items()
            ]
        )
        # PRIVACY: every record goes through its channel once; what was read of it is overwritten by what came out.
        outputs = source.answer(linkage.channel, cells)
        for place, (name, marginal) in enumerate(given.marginals.items()):
            codes[name] = marginal.values_in(linkage.cells(name, outputs[:, place], sampler), sampler)
        yield codes


def lower_bounds(epsilon: Fraction, columns: int) -> tuple[str, ...]:
    """What no row-aligned release with this ε can do better (T26, T27), for the certificate; rounded down."""
    least = math.floor(1000 / (1 + math.exp(min(float(epsilon), 700.0)))) / 1000
    remarks = [
        "Expect little from single rows. Whatever the method, if row r belongs to record r, then a value that is one of"
        " two equally likely ones, a distance D apart, is released with a mean error of at least D/(1+e^ε)"
        f" = {least:.3f} D (T26)."
    ]
    if columns > 1:
        bits = math.floor(1000 * least_bit_error(columns, float(epsilon))) / 1000
        remarks.append(
            f"Of {columns} independent fair bits per record, no row-aligned release with this ε keeps more right than"
            f" the Hamming-ball channel with all of ε: at least {bits:.3f} of the bits are wrong, where guessing has"
            " 0.5 (T27)."
        )
    return tuple(remarks)


def planned_for_aligned(plan: Plan) -> list[Mechanism]:
    """How ε will be divided, for the number of rows the plan expects (or 10,000 if it says nothing)."""
    columns = declare_alone(plan).protected
    rows = plan.release.expected_rows or rules.ASSUMED_ROWS
    budget = Budget(Fraction(plan.release.epsilon))
    budget, notes = planned_bounds(columns, budget)
    share = share_for_marginals(budget.whole.amount, rows, len(columns))
    name = "window channel" if len(columns) == 1 else "joint Hamming-ball channel"
    notes += planned_columns(columns, rows, budget, share)
    groups = "groups follow from the released marginals"
    notes.append(budget.part(1 - share).note(_covered([column.name for column in columns]), name, groups, ("T25",)))
    return notes


def _covered(names: list[str]) -> str:
    return names[0] if len(names) == 1 else "all columns together"
