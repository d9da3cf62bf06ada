"""The process that draws charts: specifications on standard input, pictures on standard output. Started by drawer.py.

It imports nothing of rankveil. A panic of the native library ends this process and nothing else; a chart that takes
too long is ended by the system's alarm, which no native code can put off. It ends with its standard input.
"""

from __future__ import annotations

import signal
import struct
import sys
from typing import IO

REQUEST = struct.Struct("!QQ?")  # seconds at most, bytes of the specification, whether as PNG too
ANSWER = struct.Struct("!QQ")  # bytes of SVG, bytes of PNG; none if it could not be drawn
_VEGA_LITE = "5.20"


def read_exactly(stream: IO[bytes], size: int) -> bytes:
    """So many bytes; none if the stream ends before."""
    found = stream.read(size)
    return b"" if len(found) < size else found


def main() -> None:
    import vl_convert

    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while head := read_exactly(source, REQUEST.size):
        seconds, size, as_png = REQUEST.unpack(head)
        text = read_exactly(source, size).decode()
        if hasattr(signal, "alarm"):
            signal.alarm(seconds)
        try:
            svg = vl_convert.vegalite_to_svg(text, vl_version=_VEGA_LITE).encode()
            png = vl_convert.vegalite_to_png(text, vl_version=_VEGA_LITE, scale=2) if as_png else b""
        except Exception:  # the message may quote data; nothing drawn says enough
            svg, png = b"", b""
        if hasattr(signal, "alarm"):
            signal.alarm(0)
        sink.write(ANSWER.pack(len(svg), len(png)) + svg + png)
        sink.flush()


if __name__ == "__main__":
    main()
