"""Independent streams of random bytes, each made from a key of its own.

Guarantee    A stream is a function of its key: whoever draws the same from the same key gets the same bytes, on every
             machine. To anyone who does not have the key, streams of different keys look like independent uniform
             bytes, as far as SHAKE-128 does.
Argument     Draw number i is SHAKE-128(key, i), the key 32 bytes of a `RandomSource`. A sponge whose input
             starts with a secret key is a pseudorandom function of the rest of its input, with a strength of 128 bits.
Not covered  Noise. What protects records is drawn from the `RandomSource` itself, by the process that keeps the ledger;
             streams are for rows drawn from released numbers, on whatever machine that happens. So a stream is not
             releasable, and a key, once used, needs no protection.
Arithmetic   None; bytes only.
"""

from __future__ import annotations

import hashlib

from rankveil.noise.source import RandomSource

KEY_BYTES = 32
_COUNTER_BYTES = 8


def keys(source: RandomSource, count: int) -> list[bytes]:
    """Keys of independent streams."""
    drawn = source.random_bytes(count * KEY_BYTES)
    return [drawn[start : start + KEY_BYTES] for start in range(0, len(drawn), KEY_BYTES)]


class KeyedSource(RandomSource):
    """The stream that belongs to a key."""

    releasable = False

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes, not {len(key)}")
        self._key = key
        self._draws = 0

    def random_bytes(self, count: int) -> bytes:
        if count < 0:
            raise ValueError(f"cannot draw {count} bytes; ask for zero or more")
        number = self._draws.to_bytes(_COUNTER_BYTES, "little")
        self._draws += 1
        return hashlib.shake_128(self._key + number).digest(count)
