"""Changes of weights that no measured table notices."""

from __future__ import annotations

import numpy as np
import pytest

from rankveil import rules
from rankveil.draw.support import Fixed, Projection

KINDS = 3000


def crossed(deviation: float = 1.0) -> Projection:
    """Six columns of five values, of which each depends on the one before; all pairs were measured."""
    rng = np.random.default_rng(3)
    columns = [rng.integers(0, 5, KINDS)]
    for _ in range(5):
        columns.append(np.where(rng.random(KINDS) < 0.6, columns[-1], rng.integers(0, 5, KINDS)))
    pairs = [5 * columns[a] + columns[b] for a in range(6) for b in range(a)]
    return Projection([Fixed(each, 25, deviation) for each in pairs], rng.integers(1, 9, KINDS).astype(float))


def thrown() -> np.ndarray:
    return np.where(np.random.default_rng(1).random(KINDS) < 0.5, -0.5, 0.5)


@pytest.mark.parametrize("most", [0, 2048])
def test_no_table_is_moved_by_more_than_a_hundredth_of_its_noise(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    monkeypatch.setattr(rules, "MOST_DIRECT_CELLS", most)
    projection = crossed()
    assert projection.off(thrown()) > 5
    assert projection.off(projection.of(thrown())) <= rules.SUPPORT_SETTLED


def test_steps_and_the_direct_solution_agree_and_leave_all_that_was_not_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    projection = crossed(1e-4)  # so that steps go far
    direct = projection.of(thrown())
    monkeypatch.setattr(rules, "MOST_DIRECT_CELLS", 0)
    assert projection.of(thrown()) == pytest.approx(direct, abs=1e-5)
    assert projection.of(direct) == pytest.approx(direct, abs=1e-5)  # a projection
    assert np.sqrt(np.mean(direct**2)) > 0.4


def test_without_tables_nothing_is_fixed() -> None:
    assert Projection([], np.ones(KINDS)).of(thrown()).std() == pytest.approx(0.5, abs=0.01)
