"""Fresh rows in pieces."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.typing import NDArray

from rankveil.declare import Schema
from rankveil.declare.domain import MISSING, Codes
from rankveil.draw import rows
from rankveil.draw.pieces import ByRank, RowMaker, law_of
from rankveil.draw.rows import PIECE_ROWS, Piece, cut
from rankveil.errors import PlanError
from rankveil.fit.marginal import NominalMarginal, OrderedMarginal
from rankveil.fit.model import Model, fit
from rankveil.fit.segments import Segments
from rankveil.fit.strips import Strips, counts_of
from rankveil.measure.measurements import Measurements, SignProducts
from rankveil.noise import Sampler, SeededSource

AGE_MASS = [30.0, 10.0, 0.0, 60.0]


def marginals() -> dict[str, OrderedMarginal | NominalMarginal]:
    # 'age': an even stretch, one spike, a gap, a sloping stretch; 'trade': three labels and missing
    segments = Segments(np.array([0, 20, 21, 40]), np.array([20, 21, 40, 100]), np.array(AGE_MASS), 5.0)
    age = OrderedMarginal(100, segments, most_cells=8, least_mass=1.0, cell_variance=1.0, null=True)
    trade = NominalMarginal(np.array([50.0, 30.0, 20.0, 5.0]), most_cells=8, least_mass=1, label_variance=1, null=True)
    return {"age": age, "trade": trade}


def model(seed: int = 1) -> Model:
    """Two columns whose signs agree more often than not."""
    products = SignProducts({("age", "trade"): 45.0}, 0.1)
    measured = Measurements(Schema(()), 105, marginals(), signs=products, linkage="copula")
    return fit(measured, Sampler(SeededSource(seed)))


@dataclass(frozen=True)
class Never:
    """A rule: no row matches this combination."""

    combination: dict[str, tuple[int, ...]]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.combination)

    def holds(self, codes: Mapping[str, Codes]) -> NDArray[np.bool_]:
        return ~np.logical_and.reduce([np.isin(codes[name], these) for name, these in self.combination.items()])


def maker(count: int, impossible: tuple[dict[str, tuple[int, ...]], ...] = (), seed: int = 1) -> RowMaker:
    return RowMaker.of(model(seed), count, tuple(map(Never, impossible)), Sampler(SeededSource(seed)))


def together(pieces: tuple[Piece, ...], made_by: RowMaker) -> dict[str, Codes]:
    parts = [made_by.make(piece) for piece in pieces]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def test_pieces_are_as_equal_as_can_be_and_have_keys_of_their_own() -> None:
    pieces = cut(3 * PIECE_ROWS + 5, SeededSource(1))
    assert [piece.number for piece in pieces] == [0, 1, 2, 3]
    assert sum(piece.rows for piece in pieces) == 3 * PIECE_ROWS + 5
    assert max(piece.rows for piece in pieces) - min(piece.rows for piece in pieces) <= 1
    assert len({piece.key for piece in pieces}) == 4
    assert {len(piece.key) for piece in pieces} == {32}
    assert len(cut(PIECE_ROWS, SeededSource(1))) == 1


def test_a_piece_made_again_elsewhere_and_in_another_order_is_the_same() -> None:
    pieces = cut(PIECE_ROWS + 10, SeededSource(3))
    here = maker(len(pieces), ({"trade": (0,)},))
    elsewhere = pickle.loads(pickle.dumps(here.make))
    first = [here.make(piece) for piece in pieces]
    second = [elsewhere(piece) for piece in reversed(pieces)][::-1]
    for one, other in zip(first, second, strict=True):
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def test_another_key_gives_other_rows() -> None:
    (piece,) = cut(1000, SeededSource(1))
    made_by = maker(1)
    one, other = made_by.make(piece), made_by.make(replace(piece, key=bytes(32)))
    assert (one["age"] != other["age"]).any()


def test_all_pieces_together_hand_out_each_value_as_often_as_its_mass_says_to_the_row(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rows, "PIECE_ROWS", 700)  # many pieces, each with fractions to round
    count = 10_500
    pieces = cut(count, SeededSource(2))
    assert len(pieces) == 15
    made = together(pieces, maker(len(pieces)))
    assert (made["age"] == 20).sum() == pytest.approx(count * 10 / 105, abs=2)
    assert (made["age"] == MISSING).sum() == pytest.approx(count * 5 / 105, abs=2)
    assert not ((made["age"] > 20) & (made["age"] < 40)).any()
    for label, mass in enumerate((50, 30, 20)):
        assert (made["trade"] == label).sum() == pytest.approx(count * mass / 105, abs=2)
    for code in range(20):  # an even stretch: every code equally often, up to where cells meet inside it
        assert (made["age"] == code).sum() == pytest.approx(count * 30 / 105 / 20, abs=12)


def test_roundings_of_pieces_add_up_to_one_rounding() -> None:
    weights = np.cumsum(np.random.default_rng(5).dirichlet(np.ones(1000)))
    cumulative = weights / weights[-1]
    counts = sum(counts_of(cumulative, 300, (0.37 + number / 40) % 1.0) for number in range(40))
    exact = np.diff(cumulative, prepend=0.0) * 12_000
    assert np.abs(counts - exact).max() < 1.001
    # Rounding every piece by itself would not do.
    rng = np.random.default_rng(6)
    apart = sum(counts_of(cumulative, 300, rng.random()) for _ in range(40))
    assert np.abs(apart - exact).max() > 2


def test_columns_hang_together_in_every_piece() -> None:
    pieces = cut(2 * PIECE_ROWS, SeededSource(4))
    made_by = maker(len(pieces))
    for piece in pieces:
        made = made_by.make(piece)
        both = (made["age"] != MISSING) & (made["trade"] != MISSING)
        young = both & (made["age"] < 21)
        shares = [np.bincount(made["trade"][where], minlength=3) / where.sum() for where in (young, both & ~young)]
        assert np.abs(shares[0] - shares[1]).max() > 0.2


def test_rows_are_in_no_order() -> None:
    (piece,) = cut(20_000, SeededSource(1))
    age = maker(1).make(piece)["age"].astype(float)
    assert abs(np.corrcoef(age[1:], age[:-1])[0, 1]) < 0.04
    assert abs(np.corrcoef(age, np.arange(len(age)))[0, 1]) < 0.04


def test_a_piece_has_all_its_rows_and_none_that_is_impossible() -> None:
    (piece,) = cut(5000, SeededSource(1))
    made = maker(1, ({"trade": (0, 1)},)).make(piece)
    assert {len(codes) for codes in made.values()} == {5000}
    assert set(made["trade"].tolist()) == {2, MISSING}


def test_a_piece_that_cannot_be_made_says_so() -> None:
    (piece,) = cut(100, SeededSource(1))
    with pytest.raises(PlanError, match="leave no row"):
        maker(1, ({"trade": (0, 1, 2, MISSING)},)).make(piece)


def test_wide_strips_spread_over_all_their_codes() -> None:
    width = 1 << 40
    segments = Segments(np.array([0]), np.array([width]), np.array([1.0]), 0.0)
    wide = OrderedMarginal(width, segments, most_cells=4, least_mass=0.1, cell_variance=1.0, null=False)
    codes = wide.strips().values(10_000, 0.5, Sampler(SeededSource(1)))
    assert codes.min() >= 0
    assert codes.max() < width
    assert len(np.unique(codes & 1023)) > 1000  # no lattice in the last digits
    assert np.abs(np.sort(codes) / width - (np.arange(10_000) + 0.5) / 10_000).max() < 2e-4


def test_a_sloping_stretch_keeps_its_slope() -> None:
    low, high = np.array([0, 1000, 2000]), np.array([1000, 2000, 3000])
    segments = Segments(low, high, np.array([1.0, 2.0, 3.0]), 0.0)
    steep = OrderedMarginal(3000, segments, most_cells=3, least_mass=1, cell_variance=1, null=False)
    codes = steep.strips().values(60_000, 0.5, Sampler(SeededSource(1)))
    middle = codes[(codes >= 1000) & (codes < 2000)]
    assert len(middle) == pytest.approx(20_000, abs=2)
    expected = steep.quantile(1.0 + (np.arange(20_000) + 0.5) / 10_000)
    assert np.abs(np.sort(middle)[:20_000] - expected[: len(middle)]).max() <= 8


@pytest.mark.parametrize("word", [b"\x00", b"\xff"])
@pytest.mark.parametrize("width", [2, 3, 1000, (1 << 12) + 1, (1 << 40) - 1])
@pytest.mark.parametrize("count", [1, 3, 1000, PIECE_ROWS])
def test_no_draw_leaves_its_strip(word: bytes, width: int, count: int) -> None:
    class Stuck(SeededSource):
        def random_bytes(self, count: int) -> bytes:
            return word * count

    strips = Strips.of(np.array([0, width]), np.array([width, 1]), np.array([1.0, 1e-12]))
    codes = strips.values(count, 0.0, Sampler(Stuck(1)))
    assert codes[:-1].min(initial=0) >= 0
    assert codes[:-1].max(initial=0) < width


def test_as_few_labels_as_possible_leave_their_cells() -> None:
    # Labels 2 and 3 are light and share a cell with each other.
    trade = NominalMarginal(np.array([50.0, 40.0, 6.0, 4.0]), most_cells=3, least_mass=11, label_variance=1, null=False)
    assert trade.cell_of(np.arange(4)).tolist() == [0, 1, 2, 2]
    cells = np.repeat([0, 1, 2], [560, 380, 60])[np.random.default_rng(1).permutation(1000)]
    law = law_of(trade)
    codes = law.handed_out(law.keys(cells, np.zeros(1000)), 0.5, Sampler(SeededSource(1)))
    assert np.bincount(codes).tolist() == [500, 400, 60, 40]
    moved = np.flatnonzero(trade.cell_of(codes) != cells)
    assert len(moved) == 60  # 560 - 500, and nobody else
    assert (cells[moved] == 0).all()
    assert moved.min() < 100  # spread over the piece, not gathered at one end
    assert moved.max() > 900


@pytest.mark.parametrize("cell_count", [1, 2, 17, 33, 1000, 8192])
@pytest.mark.parametrize("byte", [b"\x00", b"\x80", b"\xff"])
def test_neither_latent_value_nor_jitter_moves_a_row_to_another_cell(cell_count: int, byte: bytes) -> None:
    class Stuck(SeededSource):
        def random_bytes(self, count: int) -> bytes:
            return byte * count

    every_cell = np.arange(cell_count)
    law = ByRank(Strips.of(every_cell, np.ones(cell_count, np.int64), np.ones(cell_count)), every_cell, cell_count)
    rng = np.random.default_rng(1)
    for extreme in (-50.0, 50.0):
        cells = rng.permutation(np.repeat(every_cell, 3))
        latent = np.where(rng.random(len(cells)) < 0.5, extreme, 0.0)
        codes = law.handed_out(law.keys(cells, latent), 0.5, Sampler(Stuck(1)))
        assert (codes == cells).all()


def test_too_many_cells_for_a_key_are_refused() -> None:
    one = np.ones(1, np.int64)
    with pytest.raises(ValueError, match="no room"):
        ByRank(Strips(one, one, np.ones(1)), one, 8193)
