"""Text in another encoding as a stream of UTF-8, for Arrow to read.

Arrow reads ahead in threads of its own and has Python decode there. A thread that asks for Python while the interpreter
ends never comes back, and the process crashes or waits for ever. So who has read such a stream waits until Arrow has
let go of it, and no memory of Python's is handed to Arrow, which would have to ask for Python to give it back.
"""

from __future__ import annotations

import codecs
import weakref
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any

import pyarrow as pa

_SECONDS = 60  # to wait at most: Arrow ends the block it is at. A debugger that holds a frame must not stop us.
_BUFFER = 1 << 16
_NATIVE = {"utf-8", "utf-8-sig"}  # Arrow passes over the mark at the beginning by itself


def as_utf8(stream: Any, encoding: str) -> tuple[pa.NativeFile, Callable[[], None]]:
    """The same text in UTF-8; and what to call when nothing here refers to it any more, before going on."""
    if codecs.lookup(encoding).name in _NATIVE and isinstance(stream, pa.NativeFile):
        return stream, lambda: None
    decoded = _Decoded(stream, encoding)
    gone: SimpleQueue[object] = SimpleQueue()
    # `put` is not written in Python: Arrow's thread cannot be made to pause in it and ask for Python once more.
    watched = weakref.ref(decoded, gone.put)

    def until_let_go() -> None:
        if watched() is not None:
            with suppress(Empty):
                gone.get(timeout=_SECONDS)

    # The buffer copies what Python gives into memory of Arrow's.
    return pa.BufferedInputStream(pa.PythonFile(decoded, mode="r"), _BUFFER), until_let_go


class _Decoded:
    """As much of a file of Python's as Arrow asks for."""

    def __init__(self, stream: Any, encoding: str) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = memoryview(b"")
        self.closed = False

    def read(self, size: int) -> bytes:
        """At most so many bytes; none at the end only."""
        while not self._ready:
            raw = self._stream.read(size)
            self._ready = memoryview(self._decoder.decode(raw, final=not raw).encode())
            if not raw:
                break
        given, self._ready = self._ready[:size], self._ready[size:]
        return bytes(given)

    def close(self) -> None:
        self._stream.close()
        self.closed = True
