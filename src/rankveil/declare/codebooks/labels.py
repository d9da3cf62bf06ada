"""Labels of SPSS, Stata and SAS files as a codebook: variable labels, value labels, missing codes, levels, formats.

Read by pyreadstat, the file's head alone: no value of a record is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from rankveil.declare.codebooks.codebook import Code, Codebook, Gathered, Kind, Variable, code_text
from rankveil.errors import CodebookError, MissingExtraError

SUFFIXES = {".sav": "sav", ".zsav": "sav", ".por": "por", ".dta": "dta", ".sas7bdat": "sas7bdat", ".xpt": "xport"}
_MOST_ITEMS = 50  # values that a range of missing codes may stand for
_DATES = re.compile(r"(A|E|S|J)?DATE\d*|DATETIME[\d.]*|%t[dc]\S*|YYMMDD\S*|DDMMYY\S*|MMDDYY\S*|E8601D\S*", re.IGNORECASE)
_SPSS_NUMBER = re.compile(r"(?:F|COMMA|DOT|N)(\d+)(?:\.(\d+))?", re.IGNORECASE)


def read(path: Path, columns: Collection[str]) -> Codebook:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("Reading SPSS, Stata and SAS files", "stats") from None
    reader = getattr(pyreadstat, f"read_{SUFFIXES[path.suffix.lower()]}")
    more = {"user_missing": True} if path.suffix.lower() in (".sav", ".zsav", ".dta", ".sas7bdat") else {}
    try:
        _, meta = reader(str(path), metadataonly=True, **more)
    except (pyreadstat.PyreadstatError, OSError, UnicodeError, ValueError):
        raise CodebookError(f"The codebook {path.name} cannot be read.", remedy="Check the file.") from None
    gathered = Gathered(path.name, columns)
    kinds = "SPSS" if path.suffix.lower() in (".sav", ".zsav", ".por") else "Stata" if path.suffix == ".dta" else "SAS"
    for name in meta.column_names:
        gathered.add(_variable(meta, name, f"{kinds} labels of {path.name}, variable {name}"))
    return gathered.codebook()


def _variable(meta: Any, name: str, place: str) -> Variable:
    values: Mapping[Any, str] = meta.variable_value_labels.get(name, {})
    missing = tuple(_missing(meta.missing_ranges.get(name, ()))) + tuple(
        code_text(each) for each in (getattr(meta, "missing_user_values", None) or {}).get(name, ())
    )
    codes = tuple(Code(code_text(value), str(text).strip() or None, code_text(value) in missing) for value, text in values.items())
    measure = (getattr(meta, "variable_measure", None) or {}).get(name, "unknown")
    spelled = str(meta.original_variable_types.get(name, ""))
    stored = str((getattr(meta, "readstat_variable_types", None) or {}).get(name, ""))
    meant = any(not code.missing for code in codes)
    kind: Kind | None = None
    step = None
    if _DATES.fullmatch(spelled):
        kind = "date"
    elif meant and measure != "scale":
        kind = "label"
    elif stored != "string" and (measure == "scale" or missing):
        found = _SPSS_NUMBER.fullmatch(spelled)
        step = Decimal(1).scaleb(-int(found.group(2) or 0)) if found else None
        kind = None if step is None else "integer" if step >= 1 else "number"
    label = meta.column_names_to_labels.get(name)
    return Variable(
        name,
        place,
        " ".join(label.split()) or None if label else None,
        kind,
        step=step,
        codes=codes,
        ordered=True if measure == "ordinal" else False if measure == "nominal" else None,
        complete=measure in ("nominal", "ordinal"),
        missing=missing,
    )


def _missing(ranges: Collection[Mapping[str, Any]]) -> list[str]:
    found = []
    for each in ranges:
        low, high = each["lo"], each["hi"]
        if low == high:
            found.append(code_text(low))
        elif isinstance(low, float) and low.is_integer() and high.is_integer() and high - low < _MOST_ITEMS:
            found += [str(value) for value in range(int(low), int(high) + 1)]
    return found
