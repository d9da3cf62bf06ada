"""Tables that another library holds in memory: what they say of themselves is checked before it is believed.

Guarantee    A frame that is wrong in itself (places outside its memory, bytes that are no text, more rows than memory
             for them) is refused before a value of it is used, and so is one that its own library cannot hand over.
Argument     Arrow checks every buffer, offset and index against the memory there is. Types without memory of their own,
             such as Arrow's null, may claim any number of rows; so some column has to hold a bit for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from rankveil.engines.table import Table, unreadable
from rankveil.errors import RankveilError, TableError

_ROWS_OF_NOTHING = 1 << 20  # that a table may have without memory for them


@contextmanager
def foreign_code() -> Iterator[None]:
    """What goes wrong in another library is said in our words. Its own may quote data."""
    try:
        yield
    except RankveilError:
        raise
    except Exception as error:
        raise unreadable("in memory", error) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of libraries written in Rust; it is no Exception
            raise
        raise unreadable("in memory", ValueError()) from None


def check_before(source: object) -> None:
    """Refuse a frame that its own library dies of while it hands it over: polars, of a name that holds NUL."""
    for place, name in enumerate(getattr(source, "columns", ()), start=1):
        if isinstance(name, str) and "\0" in name:
            raise TableError(f"Table in memory: the name of column {place} holds NUL.", remedy="Give it another name.")


def check_held(table: Table, held: pa.Table) -> None:
    """Refuse what is wrong in itself, or could not be given back in the kind it came in."""
    held.schema.names  # noqa: B018 - an error if one is no text
    held.schema.pandas_metadata  # noqa: B018
    held.validate()  # its form, in no time whatever the number of rows
    if held.num_rows > max(8 * held.get_total_buffer_size(), _ROWS_OF_NOTHING):
        raise TableError(
            f"Table {table.name} claims {held.num_rows} rows, and has no memory that could hold them.",
            remedy="Check how it was made; a column of Arrow's type null holds no values.",
        )
    held.validate(full=True)
    if table.format != "pandas":  # its types are told by metadata that belong to a result
        table.rebuild(held.schema.empty_table())
