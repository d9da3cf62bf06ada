"""Compressed SPSS system files (.zsav): blocks of rows that zlib has packed."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from typing import BinaryIO

import numpy as np

from rankveil.formats.format import Released, Style
from rankveil.formats.sav import SavWriter, refuse

__all__ = ["refuse", "writer"]

_BLOCK = 0x3FF000  # bytes before packing
_AS_IT_IS, _NOTHING = 253, 0  # what is said of every eight bytes


def writer(file: BinaryIO, columns: Sequence[Released], style: Style) -> ZsavWriter:
    return ZsavWriter(file, columns)


class ZsavWriter(SavWriter):
    compression = 2

    def __init__(self, file: BinaryIO, columns: Sequence[Released]) -> None:
        super().__init__(file, columns)
        self._start = file.tell()
        file.write(b"\0" * 24)  # where the list of blocks is: known at the end
        self._units, self._unpacked = b"", b""
        self._blocks: list[tuple[int, int]] = []  # sizes before and after packing

    def _put(self, content: bytes) -> None:
        """Eight numbers at a time, each as it is, after eight bytes that say so."""
        content = self._units + content
        whole = len(content) // 64 * 64
        self._units = content[whole:]
        groups = np.frombuffer(content[:whole], np.uint8).reshape(-1, 64)
        said = np.full((len(groups), 8), _AS_IT_IS, np.uint8)
        self._unpacked += np.hstack([said, groups]).tobytes()
        while len(self._unpacked) >= _BLOCK:
            self._pack(self._unpacked[:_BLOCK])
            self._unpacked = self._unpacked[_BLOCK:]

    def _pack(self, block: bytes) -> None:
        packed = zlib.compress(block, 6)
        self._file.write(packed)
        self._blocks.append((len(block), len(packed)))

    def close(self) -> None:
        if self._units:
            count = len(self._units) // 8
            self._unpacked += bytes([_AS_IT_IS] * count + [_NOTHING] * (8 - count)) + self._units
        if self._unpacked:
            self._pack(self._unpacked)
        trailer = self._start + 24 + sum(packed for _, packed in self._blocks)
        self._file.write(struct.pack("<qqii", -100, 0, _BLOCK, len(self._blocks)))
        before, after = self._start, self._start + 24
        for size, packed in self._blocks:
            self._file.write(struct.pack("<qqii", before, after, size, packed))
            before, after = before + size, after + packed
        self._file.seek(self._start)
        self._file.write(struct.pack("<qqq", self._start, trailer, 24 + 24 * len(self._blocks)))
        self._file.seek(0, os.SEEK_END)
        super().close()
