"""Charts drawn in a process of their own, so that a crash of the native library costs one chart.

Guarantee    Whatever a specification holds, `draw` gives a picture or None, within a time limit; the process that asks
             lives on.
Argument     The library runs in another process (drawing.py), which is begun anew, not forked, when the first chart is
             asked for, and again after it was lost. The alarm of the system ends it when a chart takes too long.
"""

from __future__ import annotations

import atexit
import json
import math
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import Any

from rankveil.extras import need
from rankveil.report.drawing import ANSWER, REQUEST, read_exactly
from rankveil.system import apart

SECONDS = 60  # for one chart; most take a third of one
_LONGEST = 300  # characters of a text


def check_extra() -> None:
    """Refuse if the library that draws is not installed."""
    need("Drawing charts", "report", "vl_convert")


def draw(spec: dict[str, Any], *, png: bool = False) -> tuple[str, bytes] | None:
    """A Vega-Lite specification as (SVG text, PNG bytes if asked for); None if it could not be drawn."""
    check_extra()
    return _DRAWER.draw(json.dumps(harmless(spec), allow_nan=False).encode(), png=png)


def harmless(content: Any) -> Any:
    """The same specification without what the library dies of or cannot read.

    Texts: control characters and others that XML does not know, line ends, half a pair of UTF-16, endless length.
    Numbers that are none become null, which is not drawn.
    """
    if isinstance(content, str):
        return harmless_text(content)
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {harmless_text(str(key)): harmless(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [harmless(value) for value in content]
    return content


# Each control character has a picture of its own in Unicode, so that labels that differ stay different.
_PICTURES = {code: chr(0x2400 + code) for code in range(32)} | {0x7F: "\u2421", 0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
_PICTURES |= dict.fromkeys((*range(0x80, 0xA0), *range(0xD800, 0xE000), 0x2028, 0x2029), "\ufffd")


def harmless_text(text: str) -> str:
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 50]}…{text[-49:]}"
    return text.translate(_PICTURES)


class _Drawer:
    """The other process, once there is one. One chart at a time."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def draw(self, text: bytes, *, png: bool) -> tuple[str, bytes] | None:
        with self._lock:
            try:
                return self._asked(text, png=png)
            except OSError:
                self._end()  # it is gone: with this chart, or since the last one
                return None
            except BaseException:
                self._end()  # its answer would be taken for that of the next chart
                raise

    def _asked(self, text: bytes, *, png: bool) -> tuple[str, bytes] | None:
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = _begun()
        source, sink = self._process.stdout, self._process.stdin
        assert source is not None and sink is not None  # noqa: S101 - both are pipes
        sink.write(REQUEST.pack(SECONDS, len(text), png) + text)
        sink.flush()
        head = read_exactly(source, ANSWER.size)
        if not head:
            raise BrokenPipeError
        svg, picture = (read_exactly(source, size) for size in ANSWER.unpack(head))
        return (svg.decode(), picture) if svg else None

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):  # what was still to be written has no reader
                    if pipe is not None:
                        pipe.close()

    def close(self) -> None:
        with self._lock:
            self._end()


def _begun() -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", str(Path(__file__).with_name("drawing.py"))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # a panic's message may quote data
        **apart(),  # a Ctrl-C in the terminal is for the command, which ends this process
    )


_DRAWER = _Drawer()
atexit.register(_DRAWER.close)
