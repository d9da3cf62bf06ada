"""SPSS dictionaries that contradict themselves are found before the library that reads .sav files sees them.

Guarantee    A dictionary whose variables, widths, formats or value labels do not fit together is refused in our words;
             the library (ReadStat) ends the whole program at some of these.
Not covered  Everything else: what is cut off or of an unknown kind is left to the library, which says so itself.
Layout       As in sav.py; little-endian or big-endian.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_HEADER, _LAYOUT_AT = 176, 64
_TEXT_FORMATS, _NO_FORMAT = (1, 2), 0
_WIDEST, _CONTINUED = 255, -1


class _Cut(Exception):
    """The file ends early."""


@dataclass
class _Records:
    """The records of a dictionary, read from the beginning to the end."""

    file: BinaryIO
    order: str
    left: int  # bytes

    def take(self, count: int) -> bytes:
        self.left -= count
        if count < 0 or self.left < 0:
            raise _Cut
        return self.file.read(count)

    def whole(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f"{self.order}{count}i", self.take(4 * count))


def contradicts_itself(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(_HEADER)
        if len(head) < _HEADER or head[:4] not in (b"$FL2", b"$FL3"):
            return False
        order = "<" if struct.unpack_from("<i", head, _LAYOUT_AT)[0] in (2, 3) else ">"
        try:
            return _wrong(_Records(file, order, path.stat().st_size - _HEADER))
        except _Cut:
            return False


def _wrong(records: _Records) -> bool:
    begins: list[bool] = []  # for each unit of 8 bytes of a row: whether a variable begins there
    waiting = 0  # units that the last text still needs
    while True:
        (record,) = records.whole(1)
        if record != 2 and waiting:
            return True
        if record == 2:
            width, labelled, missing, shown, _ = records.whole(5)
            records.take(8)
            begins.append(width != _CONTINUED)
            if begins[-1] == (waiting > 0) or not _CONTINUED <= width <= _WIDEST:
                return True
            kind = shown >> 16 & 0xFF
            if begins[-1] and kind != _NO_FORMAT and (kind in _TEXT_FORMATS) != (width > 0):
                return True
            waiting = -(-width // 8) - 1 if width > 0 else max(waiting - 1, 0)
            if labelled:
                records.take(-(-records.whole(1)[0] // 4) * 4)
            records.take(8 * abs(missing))
        elif record == 3:
            for _ in range(records.whole(1)[0]):
                length = records.take(9)[8]
                records.take(-(-(length + 1) // 8) * 8 - 1)
        elif record == 4:
            (count,) = records.whole(1)
            if not 0 <= count <= len(begins):
                return True
            if not all(0 < place <= len(begins) and begins[place - 1] for place in records.whole(count)):
                return True
        elif record == 6:
            records.take(80 * records.whole(1)[0])
        elif record == 7:
            _, size, count = records.whole(3)
            records.take(size * count)
        else:
            return False
