"""From weights of rows to numbers: what is the same for every set of weights is made once.

A statistic is a function of weights, so that its error is that of the weights: replicates.py says what they hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.expression import Node, names_in
from rankveil.errors import EstimateError
from rankveil.estimate.asked import Asked
from rankveil.estimate.regression import linear, logistic
from rankveil.estimate.values import Bools, Ends, Floats, Values, column, holds, is_condition, values_of

MOST_GROUPS = 10_000
_HIDDEN_ROWS = 64  # that stand for records at an end of a column


@dataclass(frozen=True)
class Statistic:
    """Numbers with names, as a function of the rows' weights."""

    names: tuple[str, ...]
    of: Callable[[Floats], Floats]
    rows: NDArray[np.int64]  # how many released rows each is about
    inverse: Callable[[Floats, Floats], Floats] | None = None  # of quantiles: the values at shares, under weights
    hidden: Floats | None = None  # how far records at the ends of columns move each, if noise hides them
    own: Floats | None = None  # of regressors that are numbers: the part of the variance that the others do not explain
    dates: bool = False  # they are days since 1970-01-01


def statistic(asked: Asked, columns: Mapping[str, Values], ends: Mapping[str, Ends] | None = None) -> Statistic:
    """`ends`: how far columns of numbers may reach, for what noise may hide there."""
    ends = {} if ends is None else ends
    size = len(next(iter(columns.values())).numbers)
    chosen = np.ones(size, np.bool_) if asked.where is None else holds(asked.where, columns)
    if asked.function in ("lm", "logit"):
        return _regression(asked, columns, chosen, ends)
    y = _amounts(asked.of[0], columns, asked.function) if asked.of else np.ones(size)
    dates = bool(asked.of) and _are_dates(asked.of[0], columns)
    if dates and asked.function == "total":
        raise EstimateError("total needs amounts, not dates.", remedy="Ask for a mean or a median, or total(year(x)).")
    if asked.function == "count":
        y = np.where(y > 0, 1.0, np.nan)
    group, names = _groups(asked.by, columns, chosen & ~np.isnan(y))
    counts = np.bincount(group[group >= 0], minlength=len(names))
    if asked.function in ("count", "table") and not asked.by:
        names = (asked.text.strip(),)
    elif not counts.any():
        raise _empty()
    if asked.function != "table":  # a table shows combinations of which there are no rows
        kept = counts > 0 if len(asked.by) else np.ones(len(names), np.bool_)
        place = np.where(kept, np.cumsum(kept) - 1, -1)
        group, counts = np.where(group >= 0, place[group], -1), counts[kept]
        names = tuple(name for name, keep in zip(names, kept, strict=True) if keep)
    inside = np.flatnonzero(group >= 0)
    group, y = group[inside], y[inside]

    if len(names) == 1:  # of one group, a product is quicker than a table
        member, value = np.zeros((2, size))
        member[inside], value[inside] = 1.0, y

        def sums(weights: Floats) -> Floats:
            return np.array([weights @ member])

        def totals(weights: Floats) -> Floats:
            return np.array([weights @ value])

    else:

        def sums(weights: Floats) -> Floats:
            return np.bincount(group, weights[inside], minlength=len(names)).astype(np.float64)

        def totals(weights: Floats) -> Floats:
            return np.bincount(group, weights[inside] * y, minlength=len(names)).astype(np.float64)

    if asked.function in ("count", "table"):
        return Statistic(names, sums, counts)
    if asked.function in ("total", "mean"):
        whole = asked.function == "total"
        centre = np.zeros(len(names)) if whole else totals(np.ones(size)) / counts
        hidden = np.zeros(len(names))
        for deviation, columns_there in _at_ends(asked.of, columns, ends):
            there = _amounts(asked.of[0], columns_there, asked.function)[inside]
            farthest = np.zeros(len(names))
            np.fmax.at(farthest, group, np.abs(there - centre[group]))
            hidden = np.maximum(hidden, deviation * farthest / (1.0 if whole else counts))
        of = totals if whole else (lambda weights: totals(weights) / sums(weights))
        return Statistic(names, of, counts, hidden=hidden, dates=dates)
    if asked.function == "share":
        return Statistic(names, lambda weights: totals(weights) / sums(weights), counts)
    return replace(_quantiles(names, counts, inside, group, y, asked.share), dates=dates)


def _quantiles(
    names: tuple[str, ...],
    counts: NDArray[np.int64],
    inside: NDArray[np.int64],
    group: NDArray[np.int64],
    y: Floats,
    share: float,
) -> Statistic:
    """Shares below the quantile; `inverse` turns shares into values (Woodruff 1952): values are often whole numbers,
    and their quantiles no smooth function of weights."""
    order = np.lexsort([y, group])
    inside, group, y = inside[order], group[order], y[order]
    ends = np.cumsum(counts)

    def inverse(weights: Floats, shares: Floats) -> Floats:
        cumulative = np.cumsum(weights[inside])
        below = np.append(0.0, cumulative[ends[:-1] - 1])
        wanted = below + np.clip(shares, 0, 1) * (cumulative[ends - 1] - below)
        found = np.searchsorted(cumulative, wanted * (1 - 1e-12), side="left")
        return np.asarray(y[np.clip(found, ends - counts, ends - 1)])

    full = inverse(np.ones(int(inside.max()) + 1), np.full(len(names), share))
    at_most = y <= full[group]

    def shares_below(weights: Floats) -> Floats:
        here = weights[inside]
        whole = np.bincount(group, here, minlength=len(names))
        return np.asarray(np.bincount(group, here * at_most, minlength=len(names)) / whole)

    return Statistic(names, shares_below, counts, inverse)


def _at_ends(
    nodes: Sequence[Node], columns: Mapping[str, Values], ends: Mapping[str, Ends]
) -> Iterator[tuple[float, dict[str, Values]]]:
    """All columns, one of those that are asked about at an end of its range; and the deviation of its noise."""
    for name in sorted(frozenset().union(*map(names_in, nodes)) & ends.keys()):
        for end in (ends[name].lower, ends[name].upper):
            yield ends[name].deviation, {**columns, name: columns[name].at(end)}


def _regression(asked: Asked, columns: Mapping[str, Values], chosen: Bools, ends: Mapping[str, Ends]) -> Statistic:
    y = _amounts(asked.of[0], columns, asked.function)
    if asked.function == "logit" and not np.isin(y[~np.isnan(y)], (0.0, 1.0)).all():
        raise EstimateError("logit needs a condition on its left.", remedy="Write logit(income = '>50K' ~ age + sex).")
    names, x = _design(asked, columns, chosen)
    rows = np.flatnonzero(chosen & ~np.isnan(y) & ~np.isnan(x).any(axis=1))
    if len(rows) <= x.shape[1]:
        raise _empty()
    x, y = x[rows], y[rows]
    scale = np.maximum(np.abs(x).max(axis=0), 1e-300)
    if np.linalg.matrix_rank(x / scale) < x.shape[1]:
        raise EstimateError(
            "The regression has no single answer: a column on the right follows from the others, or does not vary.",
            remedy="Leave that column out.",
        )
    solve = linear if asked.function == "lm" else logistic
    counts = np.array([int(np.count_nonzero(values)) for values in x.T])
    x = x / scale
    start = solve(x, y, np.ones(len(rows)))  # from which replicates are a step or two away
    some = rows[:: max(1, len(rows) // _HIDDEN_ROWS)]
    hidden = np.zeros(len(names))
    for deviation, there in _at_ends(asked.of, columns, ends):
        x_there, y_there = _design(asked, there, chosen)[1][some] / scale, _amounts(asked.of[0], there, "lm")[some]
        weights = np.append(np.ones(len(rows)), np.full(len(some), deviation / len(some)))
        moved = solve(np.concatenate([x, x_there]), np.append(y, y_there), weights, start)
        hidden = np.maximum(hidden, np.abs(moved - start) / scale)
    own = np.where(np.isin(x, (0.0, 1.0)).all(axis=0), 1.0, _own(x))
    return Statistic(names, lambda weights: solve(x, y, weights[rows], start) / scale, counts, hidden=hidden, own=own)


def _own(x: Floats) -> Floats:
    """What is left of each column's variance beside all others; the first is the constant."""
    centred = x[:, 1:] - x[:, 1:].mean(axis=0)
    left = 1 / np.maximum(np.diag(np.linalg.pinv(centred.T @ centred, hermitian=True)), 1e-300)
    return np.append(1.0, left / np.maximum((centred**2).sum(axis=0), 1e-300))


def _design(asked: Asked, columns: Mapping[str, Values], chosen: Bools) -> tuple[tuple[str, ...], Floats]:
    """Columns of a regression's right side, and their names."""
    parts: list[tuple[str, Floats]] = [("constant", np.ones(len(chosen)))]
    for node in asked.of[1:]:
        parts += _regressors(node, columns, chosen)
    return tuple(name for name, _ in parts), np.stack([values for _, values in parts], axis=1)


def _regressors(node: Node, columns: Mapping[str, Values], chosen: Bools) -> list[tuple[str, Floats]]:
    """A number as it is; of labels one column for each but the first."""
    values = values_of(node, columns)
    name = getattr(node, "column", "value")
    if values.labels is None:
        return [(name if not is_condition(node) else "condition", values.amounts)]
    present = np.unique(values.numbers[chosen & ~np.isnan(values.numbers)]).astype(np.int64)
    missing = np.isnan(values.numbers)
    return [
        (f"{name} = {values.labels[label]}", np.where(missing, np.nan, values.numbers == label))
        for label in sorted(present, key=lambda place: values.labels[place] if values.labels else "")[1:]
    ]


def _amounts(node: Node, columns: Mapping[str, Values], function: str) -> Floats:
    if is_condition(node):
        return holds(node, columns).astype(np.float64)
    values = values_of(node, columns)
    if values.labels == ("false", "true"):
        return values.numbers
    if function in ("share", "count"):
        raise EstimateError(
            f"{function} needs a condition.", remedy=f"Write {function}(sex = 'F') or {function}(age > 64)."
        )
    if values.labels is not None:
        raise EstimateError(f"{function} needs numbers, not labels.", remedy="Compare labels: share(sex = 'F').")
    return values.amounts


def _are_dates(node: Node, columns: Mapping[str, Values]) -> bool:
    return not is_condition(node) and values_of(node, columns).is_date


def _groups(
    by: tuple[str, ...], columns: Mapping[str, Values], chosen: Bools
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """The group of each row (-1: none), and the groups' names."""
    index, lists = np.zeros(len(chosen), np.int64), []
    for name in by:
        values = column(columns, name)
        known = ~np.isnan(values.numbers)
        found, place = np.unique(values.numbers[known], return_inverse=True)
        labels = [_shown(value, values) for value in found]
        own = np.full(len(chosen), len(labels), np.int64)
        own[known] = place
        lists.append([f"{name} = {label}" for label in labels] + ([] if known.all() else [f"{name} is missing"]))
        index = index * len(lists[-1]) + own
        if np.prod([float(len(each)) for each in lists]) > MOST_GROUPS:
            raise EstimateError(
                f"There are more than {MOST_GROUPS:,} groups.", remedy="Ask by columns of fewer values."
            )
    names = tuple(", ".join(parts) for parts in product(*lists)) if by else ("all",)
    return np.where(chosen, index, -1), names


def _shown(value: float, values: Values) -> str:
    if values.labels is not None:
        return values.labels[int(value)]
    return str(np.datetime64(int(value), "D")) if values.is_date else f"{value:.12g}"


def _empty() -> EstimateError:
    return EstimateError("No released row is in this group.", remedy="Ask about a larger group.")
