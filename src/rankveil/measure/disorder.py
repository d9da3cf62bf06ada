"""Rows in a uniformly random order, though no more than a part of them is in memory at a time.

Guarantee    Every order of the rows is equally likely, whatever order they came in: a table sorted by income, say, does
             not show through. Memory does not depend on the number of rows, up to 2^25 of them.
Argument     Each row is put into one of several buckets at random, and each bucket's rows into a random order. Both
             steps treat all rows alike, so exchanging rows of the input does not change the law of the output (T45).
Not covered  Rows that do not fit into memory lie in a temporary file that has no name and goes with the process.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from rankveil.declare.again import in_blocks, joined
from rankveil.declare.dataset import CodeBatch
from rankveil.errors import OutputError
from rankveil.noise import Sampler

_BUCKET_ROWS = 1 << 17
_MOST_BUCKETS = 256


def out_of_order(batches: Iterator[CodeBatch], row_count: int, size: int, sampler: Sampler) -> Iterator[CodeBatch]:
    """The same rows in a random order, in blocks of `size`, the last one smaller."""
    buckets = min(_MOST_BUCKETS, -(-row_count // _BUCKET_ROWS))
    if buckets == 1:
        yield from in_blocks(iter([_shuffled(joined(list(batches)), sampler)]), size)
        return
    try:
        with tempfile.TemporaryFile(prefix="rankveil-") as file:
            names, places = _filled(batches, buckets, file, sampler)
            yield from in_blocks((_bucket(file, names, found, sampler) for found in places), size)
    except OSError as error:
        raise OutputError(
            f"The temporary folder cannot hold the public columns: {error.strerror}.",
            remedy="Free space there, or name another folder in the environment variable TMPDIR.",
        ) from None


def _filled(
    batches: Iterator[CodeBatch], buckets: int, file: BinaryIO, sampler: Sampler
) -> tuple[list[str], list[list[tuple[int, int]]]]:
    """Rows on the disk; and for each bucket where its rows begin in the file, and how many lie there."""
    names: list[str] = []
    places: list[list[tuple[int, int]]] = [[] for _ in range(buckets)]
    written = 0
    for batch in batches:
        names = list(batch)
        codes = np.stack([batch[name] for name in names], axis=1)
        bucket = sampler.below(buckets, len(codes))
        file.write(np.ascontiguousarray(codes[np.argsort(bucket, kind="stable")]).data)
        for number, count in enumerate(np.bincount(bucket, minlength=buckets).tolist()):
            if count:
                places[number].append((written, count))
            written += count
    return names, places


def _bucket(file: BinaryIO, names: list[str], places: list[tuple[int, int]], sampler: Sampler) -> CodeBatch:
    read = [np.empty((0, len(names)), np.int64)]
    for start, count in places:
        file.seek(start * len(names) * 8)
        read.append(np.frombuffer(file.read(count * len(names) * 8), np.int64).reshape(count, len(names)))
    codes = np.concatenate(read)
    return _shuffled({name: codes[:, place] for place, name in enumerate(names)}, sampler)


def _shuffled(batch: CodeBatch, sampler: Sampler) -> CodeBatch:
    rows = sampler.shuffled(np.stack(list(batch.values()), axis=1))
    return {name: np.ascontiguousarray(rows[:, place]) for place, name in enumerate(batch)}
