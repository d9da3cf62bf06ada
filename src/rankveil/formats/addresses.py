"""What a table is called: a path, a folder, a pattern, a sheet of a workbook, standard input, a table of a database.

    people.sav                              a file; its format is seen from its first bytes, or from its name
    2031-*.parquet                          files that are parts of one table
    people.xlsx#Persons                     a sheet of a workbook
    -                                       standard input, which is kept in a temporary file while it is needed
    sqlite:///people.db?table=persons       a path after three slashes; an absolute one makes it four
    duckdb:///people.duckdb?table=persons
    postgresql://user@host/base?table=persons

Passwords    An address may hold one. It is never shown, written or noted: `shown` leaves it out.
"""

from __future__ import annotations

import atexit
import glob
import re
import shutil
import sys
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

from rankveil.errors import OutputError, TableError
from rankveil.formats.format import Opening, Part
from rankveil.temporary import only_folder, own_place

STANDARD_INPUT = "-"
_SCHEMES = {"sqlite": "sqlite", "duckdb": "duckdb", "postgresql": "postgresql", "postgres": "postgresql"}
_OTHER = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/{2}")
_PASSWORD = re.compile(r"(?<=://)([^/@:\s]*):\S*@")  # up to the last @: a password may hold one, and slashes
_SECRETS = re.compile(r"(?i)([?&](?:password|sslpassword|passfile|sslkey)=)[^&\s]*")
_EXAMPLE = "Say which: 'sqlite:///people.db?table=persons'."


def is_address(source: object) -> bool:
    """Whether something names a table of a database."""
    return isinstance(source, str) and source.partition("://")[0].lower() in _SCHEMES and "://" in source


def shown(source: object) -> str:
    """An address without its password."""
    return _SECRETS.sub(r"\1…", _PASSWORD.sub(r"\1:…@", str(source)))


def database(address: str) -> tuple[str, Part]:
    """The format and the table that an address names."""
    parts = urlsplit(address)
    kind = _SCHEMES[parts.scheme.lower()]
    query = parse_qsl(parts.query, keep_blank_values=True)
    tables = [value for name, value in query if name == "table"]
    if len(tables) > 1 or tables == [""]:
        raise TableError("The address names no table, or more than one.", remedy=_EXAMPLE)
    table = tables[0] if tables else None
    rest = [(name, value) for name, value in query if name != "table"]
    if kind == "postgresql":
        server = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(rest, quote_via=quote), ""))
        return kind, Part(Path(table or "a table"), inside=table, server=server)
    if rest:
        raise TableError(f"The address says {rest[0][0]!r}, which is not known.", remedy=_EXAMPLE)
    path = unquote(parts.path)
    if parts.netloc or not path.startswith("/") or path == "/":
        raise TableError(f"The address of a {kind} file has three slashes and a path.", remedy=_EXAMPLE)
    path = path[1:]
    if re.match(r"/[A-Za-z]:[/\\]", path):
        path = path[1:]
    return kind, Part(Path(path), inside=table)


def files_of(source: str | Path) -> tuple[Path, list[Path], Opening]:
    """The path as it was given, the files of a table in the order of their names, and what was said beside."""
    if str(source) == STANDARD_INPUT:
        path = standard_input()
        return path, [path], Opening()
    other = _OTHER.match(str(source))
    if other is not None and not Path(source).exists():
        raise TableError(
            f"Tables are not read from addresses that begin with {other[0]}",
            remedy="Give a file, or a table of a database: 'sqlite:///people.db?table=persons', 'duckdb:///…' or"
            " 'postgresql://…'.",
        )
    path = Path(source)
    if path.is_dir():
        return path, _in_folder(path), Opening()
    if path.exists():
        return path, [path], Opening()
    if "#" in path.name:
        base, _, sheet = str(path).rpartition("#")
        if Path(base).is_file():
            return Path(base), [Path(base)], Opening(inside=sheet)
    if glob.has_magic(str(path)):
        base_folder = Path(path.anchor or ".")
        matches = sorted(base_folder.glob(str(path.relative_to(base_folder))))
        found = [match for match in matches if match.name[0] not in "._" and match.is_file()]
        if not found:
            raise TableError(f"No file matches {path}.", remedy="Check the pattern.")
        return path, found, Opening()
    raise TableError(f"Table {path} does not exist.", remedy="Check the path.")


def _in_folder(path: Path) -> list[Path]:
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


@cache  # it can be read once
def standard_input() -> Path:
    """What comes in, in a temporary file that only its owner can read and that goes with this process."""
    if sys.stdin is None or sys.stdin.isatty():
        raise TableError(
            "The table is to come from standard input, and nothing is piped in.",
            remedy="Give a path, or pipe a table in: cat people.csv | rankveil init -",
        )
    held = ExitStack()
    atexit.register(held.close)
    try:
        folder = held.enter_context(only_folder(own_place("input")))
        path = folder / "standard-input.internal"
        with path.open("xb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file, 1 << 20)
    except OSError as error:
        raise OutputError(
            f"Standard input cannot be kept in a temporary file: {error.strerror}.",
            remedy="Free space there, or name another folder in the environment variable TMPDIR.",
        ) from None
    return path
