"""Counting with numba and without: the same counts."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import pytest

from rankveil.flow.microaggregate import adding


def counted(places: np.ndarray, rows_so_far: int) -> np.ndarray:
    counts = np.zeros(1001, np.int32)
    adding.add_ones(counts, places, rows_so_far)
    return counts


PLACES = np.random.default_rng(1).integers(-1, 1000, 50_000)


def test_long_tables_are_counted_by_numba_with_the_same_result() -> None:
    pytest.importorskip("numba", reason="numba is not installed (pip install 'rankveil[fast]')")
    adding._compiled.cache_clear()
    slow = counted(PLACES, 0)
    assert adding._compiled.cache_info().currsize == 0, "short tables do not wait for numba"
    assert (counted(PLACES, adding.LONG + 1) == slow).all()
    assert slow[-1] == np.count_nonzero(PLACES == -1)


def test_a_place_outside_the_counts_is_an_error_and_not_somebody_elses_memory() -> None:
    pytest.importorskip("numba", reason="numba is not installed (pip install 'rankveil[fast]')")
    with pytest.raises(IndexError):
        counted(np.array([1001]), adding.LONG + 1)


def test_without_numba_long_tables_are_counted_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected, real = counted(PLACES, 0), builtins.__import__

    def refusing(name: str, *rest: Any, **more: Any) -> Any:
        if name == "numba":
            raise ImportError(name)
        return real(name, *rest, **more)

    adding._compiled.cache_clear()
    monkeypatch.setattr(builtins, "__import__", refusing)
    assert (counted(PLACES, adding.LONG + 1) == expected).all()
    adding._compiled.cache_clear()
