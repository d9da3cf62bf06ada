"""Values for rows of cells: fresh rows in pieces. Post-processing (T1): reads released numbers only.

Every piece hands out whole numbers of rows of the model, and of values of each column, in proportion to their released
weights; the pieces' roundings are shifted against each other so that the whole release does so too. A piece's rows have
nearly, but not exactly, as many cells of each kind as there are values for them. Numbers are therefore handed out by
rank: in the order of the rows' cells, and inside a cell by the latent value. Labels have no order: every row gets a
label of its own cell, save as few as possible that are moved to a cell which lacks rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rankveil.declare.domain import Codes
from rankveil.draw.rows import PIECE_ROWS, Piece
from rankveil.errors import PlanError
from rankveil.fit.limits import Rule, obeys
from rankveil.fit.marginal import Marginal
from rankveil.fit.model import Model
from rankveil.fit.strips import Strips, counts_of
from rankveil.measure.measurements import Floats
from rankveil.noise import KeyedSource, Sampler

_PLACE_BITS = (PIECE_ROWS - 1).bit_length()  # of a row in its piece
_KEY_BITS = 32 - _PLACE_BITS  # of its cell and latent value: both together are one word, which sorts fast
_FEWEST_LATENT_BITS = 2  # with fewer, rounding could move a row to the cell before
_REACH = 16  # standard deviations from one end of a key's latent part to the other
_FARTHEST = 3.9  # a latent value, and the jitter, so that their sum cannot leave the key
_MOST_FRUITLESS = 20
_TRIES_IN_CELLS = 8

_NORMAL = np.array([NormalDist().inv_cdf((place + 0.5) / 256) for place in range(256)])

_SHARES = (np.arange(256) + 0.5) / 256
PLACES = 32  # of rows in a cell that are told apart, where only some rows are drawn

Keys = NDArray[np.uint16]


class _InCells:
    """Values of single cells, for rows that break a rule with the one they were given."""

    strips: Strips
    cell_of_strip: NDArray[np.int64]  # in order

    def inside(self, cells: NDArray[np.int64], sampler: Sampler) -> Codes:
        """One value in each of these cells, independent of each other."""
        return self.at(cells, sampler.uniform(len(cells)))

    def at(self, cells: NDArray[np.int64], share: Floats) -> Codes:
        """In each of these cells the value below which there is this share of the cell."""
        first = np.minimum(np.searchsorted(self.cell_of_strip, cells), len(self.cell_of_strip) - 1)
        last = np.maximum(np.searchsorted(self.cell_of_strip, cells, side="right") - 1, first)
        cumulative = np.append(0.0, self.strips.cumulative)
        ranks = cumulative[first] + share * (cumulative[last + 1] - cumulative[first])
        strip = np.clip(np.searchsorted(self.strips.cumulative, ranks, side="right"), first, last)
        width = self.strips.width[strip]
        part = (ranks - cumulative[strip]) / np.maximum(cumulative[strip + 1] - cumulative[strip], 1e-300)
        steps = np.clip((part * width).astype(np.int64), 0, width - 1)
        codes: Codes = self.strips.low[strip] + steps
        return codes


@dataclass(frozen=True)
class ByRank(_InCells):
    """How the values of a numeric column are handed out to rows."""

    strips: Strips
    cell_of_strip: NDArray[np.int64]
    cell_count: int

    def __post_init__(self) -> None:
        if self._latent_bits < _FEWEST_LATENT_BITS:
            raise ValueError(f"{self.cell_count} cells leave no room for a latent value")

    @property
    def _latent_bits(self) -> int:
        return max(_KEY_BITS - (self.cell_count - 1).bit_length(), 0)

    @property
    def _unit(self) -> float:
        return (1 << self._latent_bits) / _REACH

    def keys(self, cells: NDArray[Any], latent: Floats) -> Keys:
        """What rows are sorted by: the cell, and in it the latent value."""
        middle = 1 << self._latent_bits >> 1
        inside = middle + np.floor(np.clip(latent, -_FARTHEST, _FARTHEST) * self._unit)
        return ((cells.astype(np.int64) << self._latent_bits) + inside.astype(np.int64)).astype(np.uint16)

    def again(self, keys: Keys, sampler: Sampler) -> Codes:
        """Other values in the rows' cells."""
        return self.inside(keys.astype(np.int64) >> self._latent_bits, sampler)

    def handed_out(self, keys: Keys, phase: float, sampler: Sampler) -> Codes:
        """One value for each row of up to one piece."""
        # Rows drawn several times share a latent value; the jitter lets them part.
        jitter = np.floor(_NORMAL * self._unit).astype(np.int16).view(np.uint16)
        words = (keys + jitter.take(sampler.words(len(keys), 1))).astype(np.uint32)
        words <<= np.uint32(_PLACE_BITS)
        words |= np.arange(len(keys), dtype=np.uint32)
        words.sort()
        words &= np.uint32((1 << _PLACE_BITS) - 1)
        codes = np.empty(len(keys), np.int64)
        codes[words.astype(np.intp)] = self.strips.values(len(keys), phase, sampler)
        return codes


@dataclass(frozen=True)
class ByPlace(ByRank):
    """Numbers by the place that a row has in its cell among all rows of the model, whichever are drawn."""

    edges: Floats  # cells x inner edges: latent values, jitter included, between equal shares of a cell's rows

    @classmethod
    def of(cls, law: ByRank, cells: NDArray[Any], latent: Floats, weights: Floats) -> ByPlace:
        """By all rows of a model."""
        jitter, shares = _NORMAL[8::16], np.arange(1, PLACES) / PLACES
        edges = np.tile(np.interp(shares, _SHARES, _NORMAL), (law.cell_count, 1))
        for cell in np.unique(cells):
            here = cells == cell
            values, kind = np.unique(latent[here], return_inverse=True)  # a kept model has few
            spread = (values[:, None] + jitter).ravel()
            order = np.argsort(spread)
            cumulative = np.cumsum(np.repeat(np.bincount(kind, weights[here]), len(jitter))[order])
            if cumulative[-1] > 0:
                edges[cell] = np.interp(shares * cumulative[-1], cumulative, spread[order])
        return cls(law.strips, law.cell_of_strip, law.cell_count, edges)

    def chances(self, cell: int, latent: Floats) -> Floats:
        """How likely rows of a cell are in each of its places: rows x places."""
        below = np.interp(self.edges[cell] - latent[:, None], _NORMAL, _SHARES, left=0.0, right=1.0)
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    def handed_out(self, keys: Keys, phase: float, sampler: Sampler) -> Codes:
        """One value for each row."""
        cells = keys.astype(np.int64) >> self._latent_bits
        inside = (keys & np.uint16((1 << self._latent_bits) - 1)) - float(1 << self._latent_bits >> 1)
        latent = (inside + sampler.uniform(len(keys))) / self._unit + _NORMAL[sampler.words(len(keys), 1)]
        # One list for all cells, each a step above the one before.
        steps = (np.clip(self.edges, -_REACH, _REACH) + 4 * _REACH * np.arange(self.cell_count)[:, None]).ravel()
        places = np.searchsorted(steps, np.clip(latent, -_REACH, _REACH) + 4 * _REACH * cells) - cells * (PLACES - 1)
        return self.at(cells, (places + sampler.uniform(len(keys))) / PLACES)


@dataclass(frozen=True)
class ByCell(_InCells):
    """How labels are handed out to rows."""

    strips: Strips
    cell_of_strip: NDArray[np.int64]
    cell_count: int

    def keys(self, cells: NDArray[Any], latent: Floats) -> Keys:
        return cells.astype(np.uint16)

    def again(self, keys: Keys, sampler: Sampler) -> Codes:
        """Other labels in the rows' cells."""
        return self.inside(keys.astype(np.int64), sampler)

    def handed_out(self, keys: Keys, phase: float, sampler: Sampler) -> Codes:
        """One label for each row of up to one piece."""
        counts = counts_of(self.strips.cumulative, len(keys), phase)
        wanted = np.zeros(self.cell_count, np.int64)
        np.add.at(wanted, self.cell_of_strip, counts)
        cells = self._moved(keys, wanted, sampler)
        label = np.zeros(self.cell_count, np.int64)
        label[self.cell_of_strip] = self.strips.low
        codes: Codes = label[cells]
        several = np.bincount(self.cell_of_strip, minlength=self.cell_count) > 1
        if several.any():
            rows, starts = _by_cell(cells, self.cell_count)
            for cell in np.flatnonzero(several):
                here = self.cell_of_strip == cell
                labels = np.repeat(self.strips.low[here], counts[here])
                codes[rows[starts[cell] : starts[cell + 1]]] = labels[sampler.shuffle(len(labels))]
        return codes

    def _moved(self, keys: Keys, wanted: NDArray[np.int64], sampler: Sampler) -> NDArray[np.intp]:
        """Cells of which there are as many as wanted: rows too many go, evenly picked, where there are too few."""
        cells = keys.astype(np.intp)
        rows, starts = _by_cell(keys, self.cell_count)
        size = np.diff(starts)
        lacking = np.repeat(np.arange(self.cell_count), np.maximum(wanted - size, 0))
        if len(lacking):
            spare = np.maximum(size - wanted, 0)
            some = np.flatnonzero(spare)
            spare, size, starts = spare[some], size[some], starts[some]
            place = np.arange(len(lacking)) - np.repeat(np.cumsum(spare) - spare, spare)  # of a row among those to go
            every = (place + np.repeat(sampler.uniform(len(some)), spare)) * np.repeat(size / spare, spare)
            picked = np.repeat(starts, spare) + np.minimum(every.astype(np.int64), np.repeat(size - 1, spare))
            cells[rows[picked]] = lacking[sampler.shuffle(len(lacking))]
        return cells


def _by_cell(cells: NDArray[Any], count: int) -> tuple[NDArray[np.intp], NDArray[np.int64]]:
    """Rows in the order of their cells, and where each of the cells begins; the end last."""
    starts = np.append(0, np.cumsum(np.bincount(cells, minlength=count)))
    return np.argsort(cells.astype(np.uint16), kind="stable"), starts  # of short numbers it counts, and compares none


Law = ByRank | ByCell


def law_of(marginal: Marginal, rows: tuple[NDArray[Any], Floats, Floats] | None = None) -> Law:
    """`rows`: cells, latent values and weights of all rows of a model, where values are to stay at their places."""
    strips = marginal.strips()
    if not marginal.ordered:
        return ByCell(strips, marginal.cell_of(strips.low), marginal.cell_count)
    law = ByRank(strips, marginal.cell_of(strips.low), marginal.cell_count)
    return law if rows is None else ByPlace.of(law, *rows)


@dataclass(frozen=True)
class RowMaker:
    """The released model in the form in which pieces are made from it; can be sent to other machines."""

    names: tuple[str, ...]
    laws: tuple[Law, ...]
    keys: tuple[Keys, ...]  # one array per column, over the rows of the model
    cumulative: Floats  # cumulative weights of these rows, up to 1
    phases: Floats  # of the roundings: of rows, and of each column's values
    piece_count: int
    obeyed: tuple[Rule, ...] = ()
    tries: int = _TRIES_IN_CELLS

    @classmethod
    def of(
        cls,
        model: Model,
        piece_count: int,
        obeyed: Sequence[Rule],
        sampler: Sampler,
        laws: Sequence[Law] | None = None,
        tries: int = _TRIES_IN_CELLS,
    ) -> RowMaker:
        # Rows that are alike stand together, so that rounding takes from one what it gives to the next.
        order = np.lexsort(model.cells[::-1])
        laws = tuple(map(law_of, model.marginals.values()) if laws is None else laws)
        keys = tuple(
            law.keys(cells[order], model.latent[order, place])
            for place, (law, cells) in enumerate(zip(laws, model.cells, strict=True))
        )
        cumulative = np.cumsum(model.weights[order])
        phases = sampler.uniform(len(laws) + 1)
        return cls(
            tuple(model.marginals), laws, keys, cumulative / cumulative[-1], phases, piece_count, tuple(obeyed), tries
        )

    def make(self, piece: Piece) -> dict[str, Codes]:
        """The rows of a piece, all of which obey the rules: the same whenever and wherever it is made."""
        sampler = Sampler(KeyedSource(piece.key))
        # floor(x + v) + floor(x + v + 1/P) + ... = floor(P x + P v): the roundings of all pieces add up to one.
        made = self._rows(piece.rows, (self.phases + piece.number / self.piece_count) % 1.0, sampler)
        return self._obeying(made, piece.rows, sampler) if self.obeyed else made

    def _rows(self, count: int, phases: Floats, sampler: Sampler) -> dict[str, Codes]:
        chosen = np.repeat(np.arange(len(self.cumulative)), counts_of(self.cumulative, count, float(phases[0])))
        chosen = chosen[sampler.shuffle(count)]
        made = {
            name: law.handed_out(keys.take(chosen), float(phase), sampler)
            for name, law, keys, phase in zip(self.names, self.laws, self.keys, phases[1:], strict=True)
        }
        if self.obeyed:
            keys_of = {name: keys.take(chosen) for name, keys in zip(self.names, self.keys, strict=True)}
            laws = dict(zip(self.names, self.laws, strict=True))
            values_again(made, self.obeyed, laws, keys_of, sampler, self.tries)
        return made

    def _obeying(self, made: dict[str, Codes], wanted: int, sampler: Sampler) -> dict[str, Codes]:
        """Rows that still break a rule replaced by further draws."""
        kept: list[dict[str, Codes]] = []
        missing, fruitless = wanted, 0
        while True:
            good = np.flatnonzero(obeys(self.obeyed, made))[:missing]
            kept.append({name: codes[good] for name, codes in made.items()})
            missing -= len(good)
            if not missing:
                return {name: np.concatenate([part[name] for part in kept]) for name in self.names}
            fruitless = 0 if len(good) else fruitless + 1
            if fruitless > _MOST_FRUITLESS:
                raise no_row_obeys()
            made = self._rows(max(missing, min(wanted, 1024)), sampler.uniform(len(self.phases)), sampler)


def values_again(
    made: dict[str, Codes],
    obeyed: Sequence[Rule],
    laws: Mapping[str, Law],
    keys: Mapping[str, Keys],
    sampler: Sampler,
    tries: int = _TRIES_IN_CELLS,
) -> None:
    """Rows that break a rule get other values in the cells they have, in the columns that the rule is about."""
    for rule in obeyed:
        again = [name for name in rule.columns if name in laws]
        for _ in range(tries):
            wrong = np.flatnonzero(~rule.holds(made))
            if not len(wrong):
                break
            for name in again:
                made[name][wrong] = laws[name].again(keys[name][wrong], sampler)


def no_row_obeys() -> PlanError:
    return PlanError(
        "The plan's rules leave no row that the released model can give.",
        cost="The budget is spent, and no release was written.",
        remedy="Check [[rule]] and [[impossible]] in the plan.",
    )
