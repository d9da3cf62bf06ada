"""Tables to open: files and databases of every format, folders and patterns, pandas and polars frames, Arrow tables.

Guarantee    A frame that is wrong in itself (places outside its memory, bytes that are no text, more rows than memory
             for them) is refused before a value of it is used, and so is one that its own library cannot hand over.
Argument     Arrow checks every buffer, offset and index against the memory there is. Types without memory of their own,
             such as Arrow's null, may claim any number of rows; so some column has to hold a bit for each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankveil._arrow_memory import take_memory_from_the_system
from rankveil.engines.spelling import own_text, with_number_texts
from rankveil.engines.table import Table
from rankveil.errors import RankveilError, TableError
from rankveil.formats import FORMATS, Opening, format_of_file
from rankveil.formats.addresses import STANDARD_INPUT, database, files_of, is_address
from rankveil.formats.damaged import unreadable

MOST_COLUMNS = 1000
_ROWS_OF_NOTHING = 1 << 20  # that a table may have without memory for them


def open_table(source: object, *, separator: str | None = None, encoding: str | None = None) -> Table:
    """Look at a path, a data frame or anything with the Arrow C stream, without reading its rows yet.

    A path may name a file, a folder whose files are the parts of one table, a pattern such as `2031-*.parquet`, a sheet
    (`people.xlsx#Persons`), a table of a database (`sqlite:///people.db?table=persons`), or standard input (`-`).
    """
    take_memory_from_the_system()
    if is_spark_frame(source):
        from rankveil.engines.spark.table import frame_table

        return frame_table(source)
    how = Opening(separator, encoding)
    table = _open_path(source, how) if isinstance(source, str | Path) else _open_memory(source)
    check_names(table)
    return table


def is_spark_frame(source: object) -> bool:
    """Whether something is a data frame of PySpark, classic or Connect. Does not import PySpark."""
    kind = type(source)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def first_rows(frame: Any, count: int) -> pa.Table | None:
    """The first rows of a frame that a release has made; None for Spark's, which would have to be computed."""
    # pandas, polars and Arrow all slice rows this way
    return None if is_spark_frame(frame) else pa.table(frame[:count])


def _open_path(source: str | Path, how: Opening) -> Table:
    if is_address(source):
        kind, part = database(str(source))
        stored = FORMATS[kind].reads.look_at_table(part)
        return Table(stored.parts[0].inside or "", kind, stored.schema, path=part.path, parts=stored.parts)
    path, files, said = files_of(source)
    formats = {file: format_of_file(file) for file in files}
    kind_of_first = formats[files[0]]
    other = next((file for file in files if formats[file] != kind_of_first), None)
    if other is not None:
        raise TableError(
            f"Table {path.name}: {files[0].name} is a {kind_of_first.name} file and {other.name} is not.",
            remedy="Give parts of one format, or a pattern that leaves the others out.",
        )
    if said.inside is not None and kind_of_first.name != "xlsx":
        raise TableError(f"Table {path.name} has no sheets.", remedy="Name the file alone.")
    stored = kind_of_first.reads.look(files, replace(how, inside=said.inside))
    name = "standard input" if str(source) == STANDARD_INPUT else path.name
    return Table(name, kind_of_first.name, stored.schema, path=path, dialect=stored.dialect, parts=stored.parts)


def _open_memory(source: object) -> Table:
    library = type(source).__module__.partition(".")[0]
    with _foreign_code():
        if isinstance(source, pa.Table):
            table, kind = source, "arrow"
        elif isinstance(source, pa.RecordBatch):
            table, kind = pa.Table.from_batches([source]), "arrow"
        elif library == "pandas" and hasattr(source, "columns"):
            table, kind = _of_pandas(source), "pandas"
        elif hasattr(source, "__arrow_c_stream__") and not hasattr(source, "to_frame"):  # a series is no table
            _check_before(source)
            table, kind = pa.table(source), "polars" if library == "polars" else "arrow"
        else:
            raise TableError(
                f"A {type(source).__name__} cannot be read as a table.",
                remedy="Give a path, a pandas or polars frame, or anything with the Arrow C stream.",
            )
        made = Table("in memory", kind, table.schema, _memory=table)
        _check_held(made, table)
    return made


@contextmanager
def _foreign_code() -> Iterator[None]:
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


def _check_before(source: object) -> None:
    """Refuse a frame that its own library dies of while it hands it over: polars, of a name that holds NUL."""
    for place, name in enumerate(getattr(source, "columns", ()), start=1):
        if isinstance(name, str) and "\0" in name:
            raise TableError(f"Table in memory: the name of column {place} holds NUL.", remedy="Give it another name.")


def _check_held(table: Table, held: pa.Table) -> None:
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


def _of_pandas(frame: Any) -> pa.Table:
    if not frame.columns.is_unique:
        _refuse_twice("in memory", [str(name) for name in frame.columns])
    frame = _without_guessing(frame)
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError):
        place = next((place for place in range(frame.shape[1]) if not _known_to_arrow(frame.iloc[:, [place]])), None)
        if place is None:
            raise
        raise TableError(
            f"Table in memory: column {place + 1} is of the type {frame.dtypes.iloc[place]}, which cannot be read.",
            remedy="Leave it out, or turn it into texts, numbers or days.",
        ) from None


def _known_to_arrow(frame: Any) -> bool:
    try:
        pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, ValueError, TypeError):
        return False
    return True


def _without_guessing(frame: Any) -> Any:
    """A pandas frame whose columns of Python objects hold texts, or days, each made from its own value alone.

    PRIVACY: Arrow would choose one type for such a column by looking at all of its values, and with it how every single
    value is read: one record with more decimals, or another time zone, would change the others. Days beside texts are
    turned into something that no kind of column takes, for their text might be read by the format of the texts.
    """
    objects = [name for name in frame.columns if _holds_objects(frame[name].dtype)]
    if not objects:
        return frame
    frame = frame.copy(deep=False)
    for name in objects:
        values = with_number_texts([own_text(value) for value in frame[name]])
        if not all(value is None or isinstance(value, date) for value in values):
            values = [repr(type(value)) if isinstance(value, date) else value for value in values]
        frame[name] = type(frame[name])(values, index=frame.index, dtype=object)
    return frame


def _holds_objects(dtype: Any) -> bool:
    """Python objects, or a list of those (`category`), whose type Arrow would choose."""
    listed = getattr(dtype, "categories", None)
    return "object" in (dtype.name, getattr(getattr(listed, "dtype", None), "name", ""))


def check_names(table: Table) -> None:
    names = table.schema.names
    if len(names) > MOST_COLUMNS:
        raise TableError(
            f"Table {table.name} has {len(names)} columns; at most {MOST_COLUMNS} are supported.",
            remedy="Release fewer columns: every further column thins the budget of all others.",
        )
    if any(not name.strip() for name in names):
        position = next(place for place, name in enumerate(names, start=1) if not name.strip())
        raise TableError(f"Table {table.name}: column {position} has no name.", remedy="Name it in the header line.")
    _refuse_twice(table.name, names)


def _refuse_twice(table: str, names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        first = names.index(twice[0])
        # By position: in a file without a header line the first row stands in the place of the names.
        raise TableError(
            f"Table {table}: {len(twice)} column name(s) occur twice; columns {first + 1} and"
            f" {names.index(twice[0], first + 1) + 1} have the same name.",
            remedy="Give every column a name of its own, and check that the first line is the header.",
        )
