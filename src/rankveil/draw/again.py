"""Rows of a model that was kept: any number, with or without a condition. Post-processing (T1): costs nothing.

Condition    Conditions on one column are met by its values: of every cell the part that fulfils them is left, a row of
             the model weighs as much less as its place in the cell makes likely, and values are drawn from what is
             left. Conditions on several columns at once (`a or b`, `a < b`) are tried in the cells of every row of the
             model; a row weighs as much less as it fails. Values of the rows that are left are then drawn again until
             they fulfil them. No row of another cell is drawn and thrown away. Numbers of other columns stay at the
             places that rows had in their cells before some were left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rankveil import rules
from rankveil.declare import Schema
from rankveil.declare.domain import Codes
from rankveil.declare.expression import All, Node, clauses, names_in, parse
from rankveil.declare.rule import Clause, Stated, ranges_holding
from rankveil.draw.pieces import PLACES, ByPlace, Law, RowMaker, law_of
from rankveil.draw.rows import Piece, Rows, cut
from rankveil.draw.synthetic import Completed
from rankveil.errors import PlanError
from rankveil.fit.limits import obeys
from rankveil.fit.model import Model
from rankveil.measure.measurements import Floats, Measurements
from rankveil.noise import RandomSource, Sampler

Ranges = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Given:
    """What a condition leaves of a model."""

    text: str
    model: Model
    laws: tuple[Law, ...]
    tried: tuple[Clause, ...]  # conditions on several columns, which rows are still to be asked for
    share: float  # of the model's records


def draw_again(measured: Measurements, model: Model, count: int, where: str | None, source: RandomSource) -> Rows:
    """`count` fresh rows of the model, all of which fulfil a condition."""
    if count < 1 or count % 1:
        raise PlanError(f"{count} rows cannot be drawn.", cost="", remedy="Ask for a whole number of rows, 1 or more.")
    count, schema, sampler = int(count), measured.schema, Sampler(source)
    pieces = cut(count, source)
    if where is None:
        make = Completed(RowMaker.of(model, len(pieces), schema.rules, sampler), schema).make
    else:
        left = given(model, schema, where, sampler)
        obeyed = (*schema.rules, *left.tried)
        maker = RowMaker.of(left.model, len(pieces), obeyed, sampler, left.laws, rules.TRIES_OF_A_CONDITION)
        make = _Fulfilling(Completed(maker, schema), where).make
    return Rows(schema, count, measured.notes, False, pieces, make, linkage=measured.linkage)


@dataclass(frozen=True)
class _Fulfilling:
    """Rows that fulfil a condition; can be sent to other machines."""

    rows: Completed
    where: str

    def make(self, piece: Piece) -> dict[str, Codes]:
        try:
            return self.rows.make(piece)
        except PlanError:
            raise _nobody(self.where) from None


def given(model: Model, schema: Schema, where: str, sampler: Sampler) -> Given:
    """The model given a condition in the language of rules."""
    asked = Stated(f"the condition ({where})", parse(where, "The condition"))
    schema.scope.check(asked)
    about: dict[tuple[str, ...], list[Node]] = {}
    for node in clauses(asked.node):
        about.setdefault(schema.scope.base(names_in(node)), []).append(node)
    alone, tried = dict[str, Ranges](), list[Clause]()
    for columns, nodes in about.items():
        clause = Clause(asked.text, All(tuple(nodes)), schema.scope)
        held = ranges_holding(clause, columns[0]) if len(columns) == 1 else None
        if held is None:
            tried.append(clause)
        else:
            alone[columns[0]] = held
    laws = {
        name: law_of(marginal, (here, model.latent[:, place], model.weights))
        for place, ((name, marginal), here) in enumerate(zip(model.marginals.items(), model.cells, strict=True))
    }
    places = {name: place for place, name in enumerate(laws)}
    weights = model.weights.copy()
    for name, ranges in alone.items():
        weights *= _left_of_rows(model, places[name], laws[name], ranges)
        laws[name] = _narrowed(laws[name], ranges)[0]
    left = _heavier_than_nothing(model, weights, where)
    if tried:
        left = _heavier_than_nothing(left, left.weights * _fulfilled(left, laws, tried, sampler), where)
    handed = [
        _narrowed(law_of(left.marginals[name]), alone[name])[0]
        if name in alone
        else law
        if isinstance(law, ByPlace)
        else law_of(left.marginals[name])
        for name, law in laws.items()
    ]
    return Given(where, left, tuple(handed), tuple(tried), float(left.weights.sum() / model.weights.sum()))


def _heavier_than_nothing(model: Model, weights: Floats, where: str) -> Model:
    """The rows of the model that weigh something, and marginals with as many values in each cell."""
    kept = weights > 0
    if not kept.any():
        raise _nobody(where)
    cells, weights = [each[kept] for each in model.cells], weights[kept]
    marginals = {
        name: marginal.with_mass(np.bincount(here, weights, minlength=marginal.cell_count).astype(np.float64))
        for (name, marginal), here in zip(model.marginals.items(), cells, strict=True)
    }
    return replace(model, marginals=marginals, cells=cells, weights=weights, latent=model.latent[kept])


def _left_of_rows(model: Model, place: int, law: Law, ranges: Ranges) -> Floats:
    """How likely each row's value of a column is in these ranges."""
    cells = model.cells[place].astype(np.int64)
    share = _narrowed(law, ranges)[1]
    left: Floats = share[cells]
    if not isinstance(law, ByPlace):
        return left
    pieces, strip, mass = law.strips.within(*ranges)
    before = np.append(0.0, law.strips.cumulative)[strip]
    start = before + law.strips.mass[strip] * (pieces.low - law.strips.low[strip]) / law.strips.width[strip]
    ranks = np.stack([start, start + mass], axis=1).ravel()
    held = np.stack([np.cumsum(mass) - mass, np.cumsum(mass)], axis=1).ravel()
    ends = np.bincount(law.cell_of_strip, law.strips.mass, minlength=law.cell_count).cumsum()
    for cell in np.flatnonzero((share > 0) & (share < 1)):
        rows = np.flatnonzero(cells == cell)
        shares = np.linspace(ends[cell - 1] if cell else 0.0, ends[cell], PLACES + 1)
        part = np.diff(np.interp(shares, ranks, held)) / (shares[1] - shares[0])
        likely = law.chances(int(cell), model.latent[rows, place]) @ part
        left[rows] = np.maximum(likely, rules.RAREST_PROPOSAL * share[cell])  # chances have no far tails
    return left


def _narrowed(law: Law, ranges: Ranges) -> tuple[Law, Floats]:
    """What a column's values hold of some ranges, each cell as heavy as before; and the part left of each cell."""
    pieces, strip, mass = law.strips.within(*ranges)
    cell = law.cell_of_strip[strip]
    before = np.bincount(law.cell_of_strip, law.strips.mass, minlength=law.cell_count)
    after = np.bincount(cell, mass, minlength=law.cell_count)
    share: Floats = np.where(before > 0, after / np.maximum(before, 1e-300), 0.0)
    if not len(cell):
        return law, np.zeros(law.cell_count)
    cumulative = np.cumsum(mass / share[cell])
    return replace(law, strips=replace(pieces, cumulative=cumulative / cumulative[-1]), cell_of_strip=cell), share


def _fulfilled(model: Model, laws: dict[str, Law], tried: Sequence[Clause], sampler: Sampler) -> Floats:
    """How often values in the cells of each row of the model fulfil conditions, of a few tries; more if none does."""
    names = [name for name in model.marginals if any(name in clause.columns for clause in tried)]
    cells = {name: here.astype(np.int64) for name, here in zip(model.marginals, model.cells, strict=True)}
    hits = np.zeros(len(model.weights))
    for number in range(rules.TRIES_OF_A_RARE_CONDITION):
        if number >= rules.TRIES_OF_A_CONDITION and hits.any():
            break
        hits += obeys(tried, {name: laws[name].inside(cells[name], sampler) for name in names})
    return hits / (number + 1)


def _nobody(where: str) -> PlanError:
    return PlanError(
        f"The model gives no row that fulfils the condition ({where}).",
        cost="Nothing was drawn or written.",
        remedy="Check it against the labels and limits of the plan, or ask for less.",
    )
