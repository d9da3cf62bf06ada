"""A table made from the plan alone, to compare methods on without reading anybody's data.

Guarantee    No data are read: the table is a function of the plan and of a fixed seed, so whatever is chosen by looking
             at it costs no privacy.
Shapes       Numbers are bell-shaped around two fifths of their range, and on a logarithmic scale three in ten are
             at the lower end; days are spread evenly; of ordered labels the middle ones are common; of others each
             is rarer than the one before; one value in twenty is missing where the plan allows it. All columns lean
             on one hidden number, so that any two of them have a rank correlation of about 0.3.
Not covered  That a real table looks like this. What is best here need not be best there; see docs/comparing.md.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rankveil.declare import Column, Plan, Records, declare_alone
from rankveil.declare.domain import MISSING, Codes, Grid
from rankveil.errors import PlanError
from rankveil.fit.limits import obeys
from rankveil.noise import Sampler, SeededSource
from rankveil.rules import ASSUMED_ROWS

_LEAN = 0.3  # correlation of any two columns' hidden numbers
_MISSING_SHARE = 0.05
_AT_LOWER_END = 0.3
_SEED = 2016
_MOST_SWEEPS = 100
Floats = NDArray[np.float64]


def made_table(plan: Plan) -> Records:
    """As many rows as the plan expects, or 10,000."""
    schema = declare_alone(plan)
    rows = plan.release.expected_rows or ASSUMED_ROWS
    sampler = Sampler(SeededSource(_SEED))
    drawn = {column.name: _column(column, place) for column, place in _ranks(schema.drawn, rows, sampler)}
    columns = {column.name: column for column in schema.drawn}
    for _ in range(_MOST_SWEEPS if schema.rules else 0):
        for rule in schema.rules:  # rows that break a rule get another value in one of its columns
            wrong = np.flatnonzero(~rule.holds(drawn))
            which = (sampler.uniform(len(wrong)) * len(rule.columns)).astype(np.int64)
            for number, name in enumerate(rule.columns):
                again = wrong[which == number]
                drawn[name][again] = _column(columns[name], sampler.uniform(len(again)).clip(1e-9, 1 - 1e-9))
    good = np.flatnonzero(obeys(schema.rules, drawn))
    if 2 * len(good) < rows:
        raise PlanError(
            "The plan's rules leave too few rows to make a table from.",
            remedy="Check [[rule]] and [[impossible]], or name a public table: --stand-in PUBLIC.csv",
        )
    kept = np.resize(good, rows)
    return Records(schema, schema.completed({name: codes[kept] for name, codes in drawn.items()}), rows)


def _ranks(columns: tuple[Column, ...], rows: int, sampler: Sampler) -> list[tuple[Column, Floats]]:
    """For every column a number from 0 to 1 per row, evenly spread, all leaning on one hidden number."""
    hidden = sampler.normal(rows, 1 + len(columns))
    leaning = np.sqrt(_LEAN) * hidden[:, :1] + np.sqrt(1 - _LEAN) * hidden[:, 1:]
    places = (np.argsort(np.argsort(leaning, axis=0, kind="stable"), axis=0, kind="stable") + 0.5) / rows
    return [(column, places[:, place]) for place, column in enumerate(columns)]


def _column(column: Column, place: Floats) -> Codes:
    missing = np.zeros(len(place), np.bool_)
    if column.allows_null:
        missing = place > 1 - _MISSING_SHARE
        place = np.where(missing, 0.5, place / (1 - _MISSING_SHARE))
    codes = _numbers(column, column.domain, place) if isinstance(column.domain, Grid) else _labels(column, place)
    return np.where(missing, MISSING, codes)


def _numbers(column: Column, grid: Grid, place: Floats) -> Codes:
    if column.private_bounds:  # nobody says how large: amounts around a thousand steps
        steps: Codes = np.rint(1000 * np.exp(_bell(place) * 5 - 2)).astype(np.int64)
        return np.minimum(grid.width // 2 + steps, grid.width)
    if grid.log:
        above = np.maximum(place - _AT_LOWER_END, 0) / (1 - _AT_LOWER_END)
        return grid.from_axis(np.where(place < _AT_LOWER_END, 0.0, 0.3 + 0.6 * above) * grid.axis_width)
    shape = place if grid.date_format else _bell(place)
    codes: Codes = np.clip(np.floor(shape * (grid.width + 1)), 0, grid.width).astype(np.int64)
    return codes


def _bell(place: Floats) -> Floats:
    """A bell-shaped law around 0.4 from evenly spread numbers: the logistic curve's quantiles, cut off at 0 and 1."""
    return np.clip(0.4 + 0.09 * np.log(place / (1 - place)), 0.0, 1.0)


def _labels(column: Column, place: Floats) -> Codes:
    if isinstance(column.domain, Grid):
        raise TypeError("numbers are no labels")
    weights = 1 / np.arange(1, column.domain.label_count + 1) ** 0.8
    ends = np.cumsum(weights) / weights.sum()
    codes: Codes = np.minimum(np.searchsorted(ends, place), column.domain.label_count - 1).astype(np.int64)
    return codes
