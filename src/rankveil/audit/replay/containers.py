"""More ways into a release: the same cells in files of other programs, stored as those programs store them.

What stands in a cell of its own (JSON lines, SQLite, Excel) may be of any type; elsewhere the library that writes the
file finds one type for a column, and one record may decide it.
"""

from __future__ import annotations

import datetime
import json
import math
import sqlite3
import zipfile
from collections.abc import Sequence
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from rankveil.audit.replay.records import Nanoday, lowered
from rankveil.audit.replay.ways import Cells, Cuts, Way, _csv_bytes, _rows, _table
from rankveil.declare import Plan
from rankveil.declare.entries import DateColumn
from rankveil.errors import TableError
from rankveil.extras import installed

_ISO = "%Y-%m-%d"
_LARGEST_IBM = 1e70  # that a transport file of SAS holds, or nearly


def _zipped(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Path:
    path = folder / "table.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("table.csv", _csv_bytes(cells, plan, range(_rows(cells))))
    return path


def _arrow(cells: Cells, plan: Plan, cuts: Cuts, folder: Path, *, stream: bool) -> Path:
    path, table = folder / ("table.arrows" if stream else "table.feather"), _table(cells, cuts)
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    with make(str(path), table.schema) as writer:
        for batch in table.to_batches():
            writer.write_batch(batch)
    return path


# Cells with types of their own


def _own(value: Any, plan: Plan, name: str) -> Any:
    """A value as JSON and SQLite can hold it: days as the texts that the plan reads."""
    if isinstance(value, datetime.date):
        entry = plan.columns[name]
        day = value.date() if isinstance(value, datetime.datetime) else value
        return _strftime(day, entry.format if isinstance(entry, DateColumn) else _ISO)
    return float(value) if isinstance(value, Decimal) else str(value) if isinstance(value, str) else value


def _strftime(day: datetime.date, date_format: str) -> str:
    """With four digits of the year: the C library leaves zeros out."""
    return day.strftime(date_format.replace("%Y", f"{day.year:04d}"))


def _json_lines(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Path:
    """Keys in another order from record to record, and none for what is missing, as often as not."""
    path = folder / "table.jsonl"
    names, lines = list(cells), []
    for row in range(_rows(cells)):
        turned = names[row % len(names) :] + names[: row % len(names)] if row in cuts else names
        record = {name: _own(cells[name][row], plan, name) for name in turned}
        if row % 2:
            record = {name: value for name, value in record.items() if value is not None}
        lines.append(json.dumps(record, ensure_ascii=bool(row % 3)).replace("Infinity", "1e999"))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _sqlite(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> str:
    path = folder / "table.sqlite"
    base = sqlite3.connect(path)
    names = ", ".join(f'"{name}"' for name in cells)  # without types, so that each value keeps its own
    base.execute(f"CREATE TABLE people ({names})")
    columns = [[_in_64_bits(_own(value, plan, name)) for value in values] for name, values in cells.items()]
    base.executemany(f"INSERT INTO people VALUES ({', '.join('?' * len(cells))})", zip(*columns, strict=True))
    base.commit()
    base.close()
    return f"sqlite:///{path}?table=people"


def _in_64_bits(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not -(1 << 63) <= value < 1 << 63 else value


def _excel(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> Path:
    """Days as days where the plan reads ISO days; else as texts."""
    import xlsxwriter

    path = folder / "table.xlsx"
    book = xlsxwriter.Workbook(str(path), {"strings_to_formulas": False, "strings_to_urls": False})
    sheet, shown = book.add_worksheet(), book.add_format({"num_format": "dd/mm/yy"})
    for place, (name, values) in enumerate(cells.items()):
        sheet.write_string(0, place, name)
        for row, value in enumerate(values, start=1):
            _write_cell(sheet, row, place, value, _own(value, plan, name), shown)
    book.close()
    return path


def _write_cell(sheet: Any, row: int, place: int, value: Any, own: Any, shown: Any) -> None:
    if own is None:
        return
    if isinstance(value, datetime.date) and value.year >= 1901 and own == value.strftime(_ISO):
        sheet.write_datetime(row, place, datetime.datetime(value.year, value.month, value.day), shown)
    elif isinstance(own, bool):
        sheet.write_boolean(row, place, own)
    elif isinstance(own, str) or not math.isfinite(own):
        sheet.write_string(row, place, str(own)[:32_000])
    else:
        sheet.write_number(row, place, float(own))


# Columns of one type


def _one_type(values: Sequence[Any], largest: float) -> list[Any]:
    """Texts, days or floats, as a frame of pandas would hold them."""
    plain = [lowered(value) for value in values]
    if any(isinstance(value, str) for value in plain):
        return [None if value is None else str(value) for value in plain]
    if any(isinstance(value, datetime.date) for value in plain):
        return [None if day is None else datetime.date(day.year, day.month, day.day) for day in plain]
    return [None if value is None else max(min(float(value), largest), -largest) for value in plain]


def _statistical(
    cells: Cells, plan: Plan, cuts: Cuts, folder: Path, *, ending: str, largest: float = 1e300, **how: Any
) -> Path:
    """With labels and formats that no plan mentions, which say after which rows the table was cut."""
    import pandas
    import pyreadstat

    columns = {name: _one_type(values, largest) for name, values in cells.items()}
    frame = pandas.DataFrame(
        {name: pandas.Series(values, dtype=None if _all_floats(values) else object) for name, values in columns.items()}
    )
    write: Any = {
        "sav": pyreadstat.write_sav,
        "zsav": pyreadstat.write_sav,
        "dta": pyreadstat.write_dta,
        "xpt": pyreadstat.write_xport,
    }[ending]
    labels = {name: f"cut at {list(cuts)}"[:80] for name in columns}
    path = folder / f"table.{ending}"
    try:
        write(frame, str(path), column_labels=labels, file_label=f"{len(cuts)} cuts", **how)
    except pyreadstat.ReadstatError:  # Stata's long texts, some of them
        raise TableError("The library that writes such files cannot store this table.", remedy="None.") from None
    return path


def _all_floats(values: Sequence[Any]) -> bool:
    return all(value is None or isinstance(value, float) for value in values)


def _duckdb(cells: Cells, plan: Plan, cuts: Cuts, folder: Path) -> str:
    """In the types that Arrow finds."""
    import duckdb

    path = folder / "table.duckdb"
    days = {
        name: [datetime.date(v.year, v.month, v.day) if isinstance(v, Nanoday) else v for v in values]
        for name, values in cells.items()
    }
    base: Any = duckdb.connect(str(path))
    base.register("given", _table(days, cuts))
    base.execute("CREATE TABLE people AS SELECT * FROM given")
    base.close()
    return f"duckdb:///{path}?table=people"


_NEEDS = {
    "Excel": ("xlsxwriter", "python_calamine"),
    "SPSS": ("pandas", "pyreadstat"),
    "Stata": ("pandas", "pyreadstat"),
    "SAS": ("pandas", "pyreadstat"),
    "DuckDB": ("duckdb",),
}
_ALL = (
    Way("CSV in a ZIP archive", _zipped, file=True, text=True),
    Way("Feather", partial(_arrow, stream=False), file=True),
    Way("Arrow stream", partial(_arrow, stream=True), file=True),
    Way("JSON lines", _json_lines, file=True, objects=True),
    Way("SQLite", _sqlite, file=True, objects=True),
    Way("Excel", _excel, file=True, objects=True),
    Way("DuckDB", _duckdb, file=True),
    Way("SPSS", partial(_statistical, ending="sav"), file=True),
    Way("SPSS, compressed", partial(_statistical, ending="zsav", compress=True), file=True),
    Way("Stata", partial(_statistical, ending="dta"), file=True),
    Way("SAS transport", partial(_statistical, ending="xpt", largest=_LARGEST_IBM), file=True),
)


def _available(way: Way) -> bool:
    first = way.name.replace(",", " ").split()[0]
    return all(map(installed, _NEEDS.get(first, ())))


CONTAINERS = tuple(way for way in _ALL if _available(way))
ANY_NAMES = tuple(way for way in CONTAINERS if way.name.split()[0].rstrip(",") not in ("SPSS", "Stata", "SAS"))
