"""Codebooks: what is public about a table, from where it is published.

`read_codebook` opens a document of any format that docs/codebooks.md lists; `Variable` is what it says of a column, and
`draft` makes entries of a plan of it.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from rankveil.declare.codebooks import ddi, labels, schemas, sheet
from rankveil.declare.codebooks.codebook import Code, Codebook, Variable, together
from rankveil.errors import CodebookError

__all__ = ["Code", "Codebook", "Variable", "has_labels", "read_codebook", "together"]

_EXCEL = (".xlsx", ".xls", ".xlsm", ".ods")


def read_codebook(path: str | Path, columns: Collection[str], *, table: str | None = None) -> Codebook:
    """What the document says of these columns; `table` is the table's file name, where one describes several tables."""
    path = Path(path)
    suffix = path.suffix.lower()
    try:
        with path.open("rb") as file:
            head = file.read(1 << 12)
    except OSError as error:
        raise CodebookError(
            f"The codebook {path.name} cannot be read: {error.strerror}.", remedy="Check the path."
        ) from None
    begins = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    if suffix in labels.SUFFIXES:
        return labels.read(path, columns)
    if suffix in _EXCEL:
        return sheet.read_excel(path, columns)
    if begins == b"<" or head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return ddi.read(path, columns)
    if begins in (b"{", b"["):
        return schemas.read(path, columns, table)
    if suffix in (".csv", ".tsv", ".txt") and sheet.is_sheet(path):
        return sheet.read_csv(path, columns)
    raise CodebookError(
        f"The codebook {path.name} is in no format that rankveil knows.",
        remedy="Known are DDI-Codebook XML, SPSS, Stata and SAS files, Table Schema, CSVW and SDV metadata as JSON, and"
        " CSV or Excel sheets with a column `name`: docs/codebooks.md.",
    )


def has_labels(path: Path) -> bool:
    """Whether a table brings its own codebook along."""
    return path.suffix.lower() in labels.SUFFIXES
