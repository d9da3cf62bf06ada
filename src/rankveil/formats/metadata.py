"""What a file of SPSS, Stata or SAS says about its columns: documentation that its author wrote, not data.

Guarantee    Nothing here is counted or looked up in the rows: only the file's dictionary is read.
Not covered  Whether it is public. A dictionary may quote the data it was made from; so nothing of it reaches a release
             but by way of the plan, where somebody signs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

Holds = Literal["number", "text", "day", "moment", "time"]
Measure = Literal["nominal", "ordinal", "scale"]


@dataclass(frozen=True)
class ColumnMetadata:
    """What a file says about one of its columns.

    >>> ColumnMetadata("sex", "number", value_labels={"1": "male", "2": "female"}).value_labels["1"]
    'male'
    """

    name: str
    holds: Holds
    label: str | None = None  # the variable label: "Age at last birthday"
    value_labels: Mapping[str, str] = field(default_factory=dict)  # value, as text (7, not 7.0; Stata's .a), -> label
    missing: tuple[str, ...] = ()  # values that stand for missing, as text: -9, or .a of Stata and SAS
    missing_ranges: tuple[tuple[str, str], ...] = ()  # from, to; '-inf' and 'inf' for no end
    format: str | None = None  # in the words of the program: F8.2, DATE11, %td, DATE9.
    measure: Measure | None = None


def metadata(path: str | Path) -> dict[str, ColumnMetadata]:
    """Column name -> its label, value labels, missing codes and format, in the order of the file.

    Files that have no such dictionary (CSV, Parquet, Excel, ...) give an empty one. A SAS catalogue (.sas7bcat) of the
    same name beside a .sas7bdat file is read with it.
    """
    from rankveil.formats import format_of_file

    found = format_of_file(Path(path))
    if found.name not in ("sav", "zsav", "por", "dta", "sas7bdat", "xpt"):
        return {}
    from rankveil.formats.statistical import read_dictionary

    return described(read_dictionary(Path(path), found.name))


def described(read: Any) -> dict[str, ColumnMetadata]:
    """pyreadstat's description in ours."""
    letters = read.file_format in ("dta", "sas7bdat", "xport")
    made = {}
    for name in read.column_names:
        labels = {code_text(value, letters): str(label) for value, label in _labels(read, name).items()}
        missing, ranges = _missing(read.missing_ranges.get(name, ()))
        missing += [value for value in labels if is_letter(value) and letters]
        measure = read.variable_measure.get(name)
        made[name] = ColumnMetadata(
            name,
            holds(read.readstat_variable_types[name], read.original_variable_types.get(name), read.file_format),
            read.column_names_to_labels.get(name) or None,
            labels,
            tuple(missing),
            tuple(ranges),
            read.original_variable_types.get(name),
            measure if measure in ("nominal", "ordinal", "scale") else None,
        )
    return made


def _labels(read: Any, name: str) -> dict[Any, str]:
    return read.variable_value_labels.get(name) or {}


def _missing(given: Any) -> tuple[list[str], list[tuple[str, str]]]:
    codes, ranges = [], []
    for each in given:
        low, high = (code_text(end, letters=False) for end in (each["lo"], each["hi"]))
        if low == high:
            codes.append(low)
        else:
            ranges.append((low, high))
    return codes, ranges


def is_letter(text: str) -> bool:
    """Whether a text is a missing value of Stata or SAS: .a to .z, or ._"""
    return len(text) == 2 and text[0] == "." and (text[1] == "_" or (text[1].isascii() and text[1].islower()))


def code_text(value: Any, letters: bool) -> str:
    """A value as the texts of plans spell it. `letters`: a single letter is a missing value of Stata or SAS."""
    if isinstance(value, str):
        return f".{value.lower()}" if letters and is_letter(f".{value.lower()}") else value.rstrip(" ")
    number = float(value)
    if abs(number) > 1e300:  # SPSS: LOWEST and HIGHEST
        return "-inf" if number < 0 else "inf"
    return str(int(number)) if number.is_integer() and abs(number) < 1 << 53 else repr(number)


_DAYS = {
    "sav/zsav": ("DATE", "ADATE", "EDATE", "JDATE", "SDATE"),
    "sas": ("DATE", "DAY", "DDMMYY", "MMDDYY", "YYMMDD", "JULIAN", "JULDAY", "WEEKDATE", "WEEKDATX", "WORDDATE",
            "E8601DA", "B8601DA", "MONYY", "YYMON", "DTDATE", "IS8601DA", "NENGO", "MINGUO"),
}  # fmt: skip
_MOMENTS = {"sav/zsav": ("DATETIME", "YMDHMS"), "sas": ("DATETIME", "E8601DT", "B8601DT", "DATEAMPM", "IS8601DT")}
_TIMES = {"sav/zsav": ("TIME", "DTIME", "MTIME"), "sas": ("TIME", "HHMM", "HOUR", "MMSS", "TOD", "E8601TM")}


def holds(stored: str, shown: str | None, file_format: str) -> Holds:
    """What a column holds, by how it is stored and by how its program shows it."""
    if stored.startswith("string"):
        return "text"
    shown = shown or ""
    if file_format == "dta":
        if shown.startswith(("%td", "%d", "%-td", "%-d")):
            return "day"
        return "moment" if shown.startswith(("%tc", "%tC", "%-tc", "%-tC")) else "number"
    family = "sav/zsav" if file_format in ("sav/zsav", "por") else "sas"
    name = shown.rstrip("0123456789.").upper()
    kinds: tuple[tuple[Holds, Any], ...] = (("moment", _MOMENTS), ("day", _DAYS), ("time", _TIMES))
    return next((kind for kind, names in kinds if name in names[family]), "number")
