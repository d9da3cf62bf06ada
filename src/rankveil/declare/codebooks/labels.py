"""Labels of SPSS, Stata and SAS files as a codebook: variable labels, value labels, missing codes, levels, formats.

The file's dictionary alone is read (formats/metadata.py): no value of a record is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from pathlib import Path

from rankveil.declare.codebooks.codebook import Code, Codebook, Gathered, Kind, Variable, whole_range
from rankveil.formats import ColumnMetadata, metadata

_PROGRAMS = {"sav": "SPSS", "zsav": "SPSS", "por": "SPSS", "dta": "Stata", "sas7bdat": "SAS", "xpt": "SAS"}
SUFFIXES = tuple(f".{ending}" for ending in _PROGRAMS)
_DECIMALS = re.compile(r"%?(?:F|COMMA|DOT|N|BEST|E)?(\d+)(?:\.(\d+))?[fg]?c?\.?", re.IGNORECASE)


def read(path: Path, columns: Collection[str]) -> Codebook:
    gathered = Gathered(path.name, columns)
    program = _PROGRAMS[path.suffix.lower().lstrip(".")]
    for name, said in metadata(path).items():
        gathered.add(_variable(said, f"{program} labels of {path.name}, variable {name}"))
    return gathered.codebook()


def _variable(said: ColumnMetadata, place: str) -> Variable:
    missing = (*said.missing, *(value for ends in said.missing_ranges for value in whole_range(*ends)))
    codes = tuple(Code(value, label.strip() or None, value in missing) for value, label in said.value_labels.items())
    meant = any(not code.missing for code in codes)
    kind: Kind | None = None
    step = None
    if said.holds in ("day", "moment"):
        kind = "date"
    elif meant and said.measure != "scale":
        kind = "label"
    elif said.holds == "number" and (said.measure == "scale" or missing):
        found = _DECIMALS.fullmatch(said.format or "")
        # SPSS states decimal places for every number; other programs show as many as there are. Two places are what
        # it shows of numbers that nobody has said anything about, whole ones too.
        step = Decimal(1).scaleb(-int(found.group(2) or 0)) if found and "SPSS" in place else None
        kind = "integer" if step is not None and step >= 1 else "quantity"
    return Variable(
        said.name,
        place,
        said.label,
        kind,
        step=step,
        codes=codes,
        ordered=True if said.measure == "ordinal" else False if said.measure == "nominal" else None,
        complete=False,  # these programs let values stand without a label
        missing=missing,
    )
