"""Streams of random bytes made from keys."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from rankveil.noise import KeyedSource, Sampler, SeededSource, keys


def test_a_stream_is_a_function_of_its_key() -> None:
    first, second = keys(SeededSource(1), 2)
    assert first != second
    assert KeyedSource(first).random_bytes(100) == KeyedSource(first).random_bytes(100)
    assert KeyedSource(first).random_bytes(100) != KeyedSource(second).random_bytes(100)


def test_draws_of_one_stream_differ_and_are_those_the_docstring_states() -> None:
    stream = KeyedSource(bytes(range(32)))
    drawn = [stream.random_bytes(64) for _ in range(3)]
    assert len(set(drawn)) == 3
    assert drawn[2] == hashlib.shake_128(bytes(range(32)) + (2).to_bytes(8, "little")).digest(64)


def test_a_stream_must_not_make_noise_for_a_release() -> None:
    assert not KeyedSource(bytes(32)).releasable


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        KeyedSource(b"short")


def test_a_shuffle_is_an_order_of_everything_and_all_orders_occur() -> None:
    sampler = Sampler(KeyedSource(bytes(32)))
    seen = {tuple(sampler.shuffle(4).tolist()) for _ in range(500)}
    assert len(seen) == 24
    assert np.array_equal(np.sort(sampler.shuffle(1 << 17)), np.arange(1 << 17))
    with pytest.raises(ValueError, match="at most"):
        sampler.shuffle((1 << 17) + 1)
