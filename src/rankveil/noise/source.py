"""Where random bytes come from: the operating system, or a seed in tests.

Guarantee    SystemSource hands out bytes of the operating system's cryptographic
             generator, each byte once, in every process and thread.
             Exact data meet randomness in `RandomSource.answer` and nowhere else: every
             mechanism of a private method is a `Law` that is asked through this door.
Argument     It keeps no buffer. There is nothing that a fork could copy, so a
             parent and its child cannot hand out the same byte twice.
Not covered  The quality of the system's generator itself, and the time a draw takes.
Arithmetic   None; bytes only.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from typing import Any, Protocol

from numpy.typing import NDArray

_BLOCK_BYTES = 1 << 16


class Law(Protocol):
    """A mechanism with its public parameters: how an answer about exact data is drawn."""

    def drawn(self, exact: NDArray[Any], source: RandomSource) -> NDArray[Any]:
        """An answer about `exact`, with fresh randomness of `source`."""


class RandomSource(ABC):
    """A stream of independent uniform bytes.

    `releasable` says whether noise drawn from this source may protect a real
    release. Whoever writes a certificate must copy it there.
    """

    releasable: bool = False

    @abstractmethod
    def random_bytes(self, count: int) -> bytes:
        """Return exactly `count` bytes and never return them again."""

    def answer(self, law: Law, exact: NDArray[Any]) -> NDArray[Any]:
        """A protected answer about exact data.

        PRIVACY: the one door between data and randomness. Whatever else is drawn from a source depends on answers and
        on public things alone; an audit that stands in this door sees all that a release is paid for.
        """
        return law.drawn(exact, self)


class SystemSource(RandomSource):
    """The operating system's generator (os.urandom): the source for every release."""

    releasable = True

    def random_bytes(self, count: int) -> bytes:
        return os.urandom(count)


class SeededSource(RandomSource):
    """A reproducible stream for tests, simulations and tutorials.

    Whoever knows the seed can subtract the noise, so `releasable` is False and a
    certificate of a run that used this source must say: not for release.

    Block i of the stream is SHAKE-256 of the seed and i. How the stream is cut into
    calls does not matter: two calls for 3 and 5 bytes give the same as one for 8.
    """

    releasable = False

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self._next_block = 0
        self._buffer = b""
        self._position = 0

    def random_bytes(self, count: int) -> bytes:
        if count < 0:
            raise ValueError(f"cannot draw {count} bytes; ask for zero or more")
        missing = count - (len(self._buffer) - self._position)
        if missing > 0:
            blocks = -(-missing // _BLOCK_BYTES)
            fresh = [self._block(self._next_block + i) for i in range(blocks)]
            self._next_block += blocks
            self._buffer = b"".join([self._buffer[self._position :], *fresh])
            self._position = 0
        start, self._position = self._position, self._position + count
        return self._buffer[start : self._position]

    def _block(self, number: int) -> bytes:
        return hashlib.shake_256(f"rankveil {self.seed} {number}".encode()).digest(_BLOCK_BYTES)
