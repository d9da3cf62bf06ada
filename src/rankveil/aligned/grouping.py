"""Which groups of cells go through the channel, how far it reaches, and what an output says. Public choices only.

Guarantee    Nothing here costs budget: everything is a function of released marginals, ε and public constants.
Argument     Post-processing (T1). In T3 the channel may depend on whatever has been released before.
Public rule  Columns are cut into at most 2, 3, 4, 6, 8, 12 or 17 groups of released cells (16 and missing), the same
             for all, and the radius is any; then column after column may get another number, or one group, which
             leaves it out of the channel. Taken is what makes the expected error least, if records followed the
             released marginals independently. The error is the distance of ranks, in shares of all records; for labels
             1 if they differ; 1/2 between missing and a number. A single column of numbers gets the window channel with
             the best number of groups and width.
Redrawing    Outputs follow a flatter law than records do: rare groups come too often. An output is kept as often as
             the released marginal allows, and is otherwise drawn again from the groups that come too rarely, so that
             released rows follow the released marginals. A base cell in the group is then drawn by its mass.
Arithmetic   Floating point: it decides between public parameters and handles what was drawn, nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from rankveil.aligned.channel import (
    Channel,
    HammingBall,
    Window,
    ratio_within,
    stay_chances,
    window_chances,
)
from rankveil.fit.cells import Groups
from rankveil.fit.marginal import Marginal
from rankveil.fit.simplex import Floats
from rankveil.noise import Sampler

_GROUPS = (1, 2, 3, 4, 6, 8, 12, 17)
_SWEPT_COLUMNS = 64  # with more, all columns keep the same number of groups
_SWEEPS = 4
_MISSING_AWAY = 0.5
_STEPS = np.linspace(0.0, 1.0, 17)


@dataclass(frozen=True)
class Grouping:
    """The base cells of one column in groups."""

    groups: Groups  # the group of each base cell
    mass: Floats  # of each base cell, adding up to 1
    distance: Floats  # between base cells

    @property
    def size(self) -> int:
        return int(self.groups.max()) + 1

    def redrawn(self, chances: Floats) -> Floats:
        """Output group -> base cell: the chances with which an output becomes a cell, given P(output | group)."""
        wanted = np.bincount(self.groups, self.mass)
        coming = wanted @ chances
        kept = np.minimum(wanted / np.where(coming > 0, coming, 1.0), 1.0)
        lacking = np.maximum(wanted - coming, 0.0)
        spread = lacking if lacking.sum() > 0 else wanted
        group_to_group = np.diag(kept) + np.outer(1 - kept, spread / spread.sum())
        inside = self.mass / np.where(wanted > 0, wanted, 1.0)[self.groups]
        redrawn: Floats = group_to_group[:, self.groups] * inside
        return redrawn

    def error(self, chances: Floats) -> float:
        """The expected distance between a record's cell and the one released for it."""
        released = (chances @ self.redrawn(chances))[self.groups]
        return float((self.mass[:, None] * released * self.distance).sum())

    @cached_property
    def _errors(self) -> Floats:
        return np.array([self.error(staying(self.size, chance)) for chance in _STEPS])

    def errors_at(self, chances: Floats) -> Floats:
        """The same under chances to stay in the group, all others being equally likely; interpolated."""
        return np.interp(chances, _STEPS, self._errors)


def staying(size: int, chance: float) -> Floats:
    """P(output | group) of a single column: it stays with this chance, or goes to any other group."""
    if size == 1:
        return np.ones((1, 1))
    chances = np.full((size, size), (1 - chance) / (size - 1))
    np.fill_diagonal(chances, chance)
    return chances


@dataclass(frozen=True)
class Linkage:
    """The channel, the groups it works on, and what becomes of its outputs."""

    channel: Channel
    groupings: Mapping[str, Grouping]
    redrawn: Mapping[str, Floats]  # output group x base cell

    def in_words(self) -> str:
        sizes = "·".join(str(size) for size in self.channel.sizes)
        if isinstance(self.channel, Window):
            return f"window channel, {self.channel.width} of {sizes} groups"
        left_out = " (1: left out, drawn from its marginal)" if 1 in self.channel.sizes else ""
        return f"joint Hamming-ball channel, radius {self.channel.radius}, groups {sizes}{left_out}"

    def cells(self, name: str, outputs: Groups, sampler: Sampler) -> Groups:
        """A base cell for each output of a column."""
        cumulative = np.cumsum(self.redrawn[name], axis=1)
        cumulative = cumulative / cumulative[:, -1:] + np.arange(len(cumulative))[:, None]  # row after row on one axis
        places = np.searchsorted(cumulative.ravel(), outputs + sampler.uniform(len(outputs)), side="right")
        cells: Groups = np.minimum(places - outputs * cumulative.shape[1], cumulative.shape[1] - 1)
        return cells


def link(marginals: Mapping[str, Marginal], epsilon: Fraction) -> Linkage:
    """The public rule."""
    if len(marginals) == 1:
        return _single(marginals, epsilon)
    choices = [_groupings(marginal) for marginal in marginals.values()]
    chosen, radius = _best(choices, float(epsilon))
    sizes = tuple(grouping.size for grouping in chosen)
    chances = stay_chances(sizes, float(epsilon))[radius]
    return Linkage(
        HammingBall(sizes, radius, *ratio_within(epsilon)),
        dict(zip(marginals, chosen, strict=True)),
        {
            name: grouping.redrawn(staying(grouping.size, float(chance)))
            for name, grouping, chance in zip(marginals, chosen, chances, strict=True)
        },
    )


def _single(marginals: Mapping[str, Marginal], epsilon: Fraction) -> Linkage:
    ((name, marginal),) = marginals.items()
    best: tuple[float, int, Grouping, Floats] | None = None
    for count in range(1, marginal.cell_count + 1):
        grouping = _grouping(marginal, count)
        for width in range(1, grouping.size + 1 if marginal.ordered else 2, 2):
            chances = window_chances(grouping.size, width, float(epsilon))
            error = grouping.error(chances)
            if best is None or error < best[0]:
                best = error, width, grouping, grouping.redrawn(chances)
    if best is None:
        raise ValueError("a marginal has at least one cell")
    _, width, grouping, redrawn = best
    return Linkage(Window((grouping.size,), width, *ratio_within(epsilon)), {name: grouping}, {name: redrawn})


def _grouping(marginal: Marginal, most: int) -> Grouping:
    groups = np.zeros(marginal.cell_count, np.int64) if most == 1 else marginal.group(most, 0.0)
    mass = marginal.mass / marginal.mass.sum()
    if not marginal.ordered:
        return Grouping(groups, mass, 1.0 - np.eye(len(mass)))
    middle = np.cumsum(mass) - mass / 2
    distance = np.abs(middle[:, None] - middle)
    if marginal.null:
        distance[-1, :-1] = distance[:-1, -1] = _MISSING_AWAY
    return Grouping(groups, mass, distance)


def _groupings(marginal: Marginal) -> list[Grouping]:
    """From one group to as many as there are cells; the same number of entries for every column."""
    by_size: dict[int, Grouping] = {}
    found = [_grouping(marginal, most) for most in _GROUPS]
    return [by_size.setdefault(grouping.size, grouping) for grouping in found]


def _best(choices: Sequence[Sequence[Grouping]], epsilon: float) -> tuple[list[Grouping], int]:
    """The groupings and the radius with the least mean error."""

    def judged(chosen: Sequence[Grouping]) -> tuple[float, int]:
        chances = stay_chances([grouping.size for grouping in chosen], epsilon)
        errors = sum(grouping.errors_at(chances[:, place]) for place, grouping in enumerate(chosen))
        radius = int(np.argmin(errors))
        return float(np.asarray(errors)[radius]), radius

    common = [[options[place] for options in choices] for place in range(1, len(_GROUPS))]
    chosen = min(common, key=lambda groupings: judged(groupings)[0])
    error, radius = judged(chosen)
    for _ in range(_SWEEPS if len(choices) <= _SWEPT_COLUMNS else 0):
        before = error
        for place, options in enumerate(choices):
            for option in {option.size: option for option in options}.values():
                trial = [*chosen[:place], option, *chosen[place + 1 :]]
                found, its_radius = judged(trial)
                if found < error - 1e-9:
                    chosen, error, radius = trial, found, its_radius
        if error == before:
            break
    return list(chosen), radius
