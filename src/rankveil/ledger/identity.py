"""Which table an entry of the ledger is about.

Guarantee    Without the ledger's key an identity tells nothing about the table, not even whether a guess of its whole
             content is right.
Argument     HMAC-SHA256 of the table's digest, or of the name of its population, under a random key of 256 bits that
             is kept in a file of its own, readable by its owner only.
Not covered  A table with one changed record has another digest and so an identity of its own. Where several extracts
             hold the same people, the plan names their `population`, and they share one budget. So has a table that
             is written anew: in another format, or cut into other parts; and a data frame of Spark, beside the file
             that it was read from. Names and order of parts do not matter.
"""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from rankveil.engines import Table
from rankveil.engines.spark import FrameTable
from rankveil.errors import TableError


def default_ledger_path() -> Path:
    """RANKVEIL_LEDGER, or ledger.sqlite in the user's data folder."""
    given = os.environ.get("RANKVEIL_LEDGER")
    if given:
        return Path(given)
    data_home = os.environ.get("XDG_DATA_HOME")
    return (Path(data_home) if data_home else Path.home() / ".local" / "share") / "rankveil" / "ledger.sqlite"


class Run(Protocol):
    """Something that applies a function to many things, as `map` does; an engine may do so on other machines."""

    def __call__(self, task: Callable[[Path], bytes], items: list[Path], /) -> Iterable[bytes]: ...


def fingerprint(table: Table, population: str | None, key: bytes, run: Run = map) -> str:
    """The identity of a table, or of the population it is taken from, if the plan names one."""
    if population is not None:
        return population_identity(population, key)
    return hmac.new(key, b"table\0" + _digest(table, run), hashlib.sha256).hexdigest()


def population_identity(population: str, key: bytes) -> str:
    return hmac.new(key, b"population\0" + population.encode(), hashlib.sha256).hexdigest()


def _digest(table: Table, run: Run) -> bytes:
    if isinstance(table, FrameTable):
        return table.digest()  # rows that Spark computes: the same whatever their partitions and their order
    if table.parts:
        digests = sorted(run(_file_digest, [part.path for part in table.parts]))
        return digests[0] if len(digests) == 1 else hashlib.sha256(b"parts\0" + b"".join(digests)).digest()
    digest = hashlib.sha256()
    # In memory: names, types and values, independent of how the rows are cut into batches.
    digest.update(table.schema.remove_metadata().to_string().encode())
    for name in table.schema.names:
        column = pa.chunked_array(
            [batch.column(name) for batch in table.batches([name])], table.schema.field(name).type
        )
        joined = column.combine_chunks()
        joined = joined.dictionary_decode() if pa.types.is_dictionary(joined.type) else joined
        digest.update(f"\0{name}\0{len(joined)}\0".encode())
        sink = pa.BufferOutputStream()
        flat = pa.concat_arrays([joined]) if isinstance(joined, pa.Array) else joined
        with pa.ipc.new_stream(sink, pa.schema([("x", flat.type)])) as writer:
            writer.write_batch(pa.record_batch([flat], names=["x"]))
        digest.update(sink.getvalue())
    return digest.digest()


def _file_digest(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise TableError(f"Table {path.name} cannot be read: {error.strerror}.", remedy="Check the file.") from None
