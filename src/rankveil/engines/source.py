"""Tables to open: CSV and Parquet files, folders and patterns of them, pandas and polars frames, Arrow tables.

Guarantee    A frame that is wrong in itself (places outside its memory, bytes that are no text, more rows than memory
             for them) is refused before a value of it is used, and so is one that its own library cannot hand over.
Argument     Arrow checks every buffer, offset and index against the memory there is. Types without memory of their own,
             such as Arrow's null, may claim any number of rows; so some column has to hold a bit for each.
"""

from __future__ import annotations

import glob
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq

from rankveil._arrow_memory import take_memory_from_the_system
from rankveil.engines.arrays import value_array
from rankveil.engines.dialect import look_at
from rankveil.engines.spelling import number_texts
from rankveil.engines.table import Part, Table, unreadable
from rankveil.errors import RankveilError, TableError

MOST_COLUMNS = 1000
_ROWS_OF_NOTHING = 1 << 20  # that a table may have without memory for them


def open_table(source: object, *, separator: str | None = None, encoding: str | None = None) -> Table:
    """Look at a path, a data frame or anything with the Arrow C stream, without reading its rows yet.

    A path may name a file, a folder whose files are the parts of one table, or a pattern such as `2031-*.parquet`.
    """
    take_memory_from_the_system()
    if is_spark_frame(source):
        from rankveil.engines.spark.table import frame_table

        return frame_table(source)
    path = Path(source) if isinstance(source, str | Path) else None
    table = _open_memory(source) if path is None else _open_path(path, separator, encoding)
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


def _open_path(path: Path, separator: str | None, encoding: str | None) -> Table:
    files = _files(path)
    try:
        formats = {file: _format(file) for file in files}
    except OSError as error:
        raise unreadable(path.name, error) from None
    kind = formats[files[0]]
    other = next((file for file in files if formats[file] != kind), None)
    if other is not None:
        raise TableError(
            f"Table {path.name}: {files[0].name} is a {kind} file and {other.name} is not.",
            remedy="Give parts of one format, or a pattern that leaves the others out.",
        )
    return _open_parquet(path, files) if kind == "parquet" else _open_csv(path, files, separator, encoding)


def _files(path: Path) -> list[Path]:
    """The parts of a table in the order of their names."""
    if path.is_dir():
        found = sorted(child for child in path.iterdir() if child.name[0] not in "._")
        folder = next((child for child in found if child.is_dir()), None)
        if folder is not None:
            raise TableError(
                f"Table {path} is a folder that holds another one, {folder.name}.",
                remedy="Give a folder of CSV or Parquet files, or a pattern such as 'folder/*/*.parquet'. The name of a"
                " folder is not read as a column.",
            )
        if not found:
            raise TableError(f"Table {path} is a folder without files.", remedy="Check the path.")
        return found
    if path.exists():
        return [path]
    if glob.has_magic(str(path)):
        base = Path(path.anchor or ".")
        matches = sorted(base.glob(str(path.relative_to(base))))
        found = [match for match in matches if match.name[0] not in "._" and match.is_file()]
        if not found:
            raise TableError(f"No file matches {path}.", remedy="Check the pattern.")
        return found
    raise TableError(f"Table {path} does not exist.", remedy="Check the path.")


def _format(path: Path) -> str:
    with path.open("rb") as file:
        return "parquet" if file.read(4) == b"PAR1" else "csv"


def _open_parquet(path: Path, files: list[Path]) -> Table:
    schemas = []
    for file in files:
        try:
            schemas.append(papq.read_schema(file))
        except (pa.ArrowException, OSError, UnicodeError) as error:
            raise unreadable(file.name, error) from None
    first = schemas[0]
    for file, schema in zip(files, schemas, strict=True):
        if {(field.name, field.type) for field in schema} != {(field.name, field.type) for field in first}:
            raise _other_columns(path, files[0], file, "names and types of columns")
    return Table(path.name, "parquet", first, path=path, parts=tuple(map(Part, files)))


def _open_csv(path: Path, files: list[Path], separator: str | None, encoding: str | None) -> Table:
    first = look_at(files[0], separator=separator, encoding=encoding)
    parts = [Part(files[0], first.encoding)]
    for file in files[1:]:
        dialect = look_at(file, separator=first.separator, encoding=encoding)
        if dialect.names != first.names:
            raise _other_columns(path, files[0], file, "header lines")
        parts.append(Part(file, dialect.encoding))
    schema = pa.schema([(name, pa.string()) for name in first.names])
    return Table(path.name, "csv", schema, path=path, dialect=first, parts=tuple(parts))


def _other_columns(path: Path, first: Path, other: Path, what: str) -> TableError:
    return TableError(
        f"Table {path.name}: its parts {first.name} and {other.name} have different {what}.",
        remedy="All parts of a table have the same columns; give a pattern that leaves other files out.",
    )


def _open_memory(source: object) -> Table:
    library = type(source).__module__.partition(".")[0]
    with _foreign_code():
        if isinstance(source, pa.Table):
            table, kind = source, "arrow"
        elif isinstance(source, pa.RecordBatch):
            table, kind = pa.Table.from_batches([source]), "arrow"
        elif library == "pandas" and hasattr(source, "columns"):
            table, kind = pa.Table.from_pandas(_without_guessing(source), preserve_index=False), "pandas"
        elif hasattr(source, "__arrow_c_stream__"):
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


def _without_guessing(frame: Any) -> Any:
    """A pandas frame whose columns of Python objects hold texts, or days, each made from its own value alone.

    PRIVACY: Arrow would choose one type for such a column by looking at all of its values, and with it how every single
    value is read: one record with more decimals, or another time zone, would change the others. Days beside texts are
    turned into something that no kind of column takes, for their text might be read by the format of the texts.
    """
    if not frame.columns.is_unique:
        return frame
    objects = [name for name in frame.columns if _holds_objects(frame[name].dtype)]
    if not objects:
        return frame
    frame = frame.copy(deep=False)
    for name in objects:
        values = _with_number_texts([_own_text(value) for value in frame[name]])
        if not all(value is None or isinstance(value, date) for value in values):
            values = [repr(type(value)) if isinstance(value, date) else value for value in values]
        frame[name] = type(frame[name])(values, index=frame.index, dtype=object)
    return frame


def _holds_objects(dtype: Any) -> bool:
    """Python objects, or a list of those (`category`), whose type Arrow would choose."""
    listed = getattr(dtype, "categories", None)
    return "object" in (dtype.name, getattr(getattr(listed, "dtype", None), "name", ""))


def _with_number_texts(values: list[Any]) -> list[Any]:
    places = [place for place, value in enumerate(values) if isinstance(value, float)]
    if places:
        numbers = np.array([values[place] for place in places], np.float64)
        for place, text in zip(places, number_texts(value_array(numbers)).to_pylist(), strict=True):
            values[place] = text
    return values


def _own_text(value: Any) -> Any:
    """A Python object as text, a point in time as its own calendar day, and what stands for nothing as None.

    Floats are left for Arrow to spell. The text of a value is what it would be in a column of its own type.
    """
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:  # NaN is not itself
        return None
    value = value.item() if hasattr(value, "item") else value  # NumPy's own numbers
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    if isinstance(value, Decimal):
        return f"{value.normalize():f}" if value.is_finite() else str(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return float(value)
    if isinstance(value, time):
        return value.isoformat("microseconds")
    if isinstance(value, str | int):
        return str(value)
    return repr(type(value))  # no kind of column takes it: it is refused, without showing it


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
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        first = names.index(twice[0])
        # By position: in a file without a header line the first row stands in the place of the names.
        raise TableError(
            f"Table {table.name}: {len(twice)} column name(s) occur twice; columns {first + 1} and"
            f" {names.index(twice[0], first + 1) + 1} have the same name.",
            remedy="Give every column a name of its own, and check that the first line is the header.",
        )
