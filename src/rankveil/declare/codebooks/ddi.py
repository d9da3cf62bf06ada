"""DDI-Codebook 2.5 and its predecessors: the XML that data archives publish.

Read safely  As a stream, by expat: no entity is expanded or fetched, declarations of entities are refused, and what a
             document may make us keep is bounded. 10^5 variables are a matter of seconds; only those of the table stay.
Taken        Names and labels, categories with their codes (`missing="Y"` among them), valid and invalid ranges, decimal
             places, nature, formats of dates, weights (`wgt`), `security`. Statistics (`sumStat`, `catStat`) are not.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import NoReturn
from xml.parsers import expat

from rankveil.declare.codebooks.codebook import Code, Codebook, Gathered, Kind, Variable, day, number, whole_range
from rankveil.errors import CodebookError

LARGEST = 2 << 30  # bytes
_LONGEST_TEXT = 1 << 14  # of an element, kept
_DEEPEST = 200
_MOST_CODES = 100_000  # of one variable
_ORDERED = {"ordinal"}
_QUANTITIES = {"interval", "ratio", "percent"}
_HIDDEN_UNLESS = ("", "public", "open", "none", "unrestricted")
DATE_FORMATS = {
    "iso8601": "%Y-%m-%d",
    "yyyy-mm-dd": "%Y-%m-%d",
    "dd.mm.yyyy": "%d.%m.%Y",
    "dd/mm/yyyy": "%d/%m/%Y",
    "mm/dd/yyyy": "%m/%d/%Y",
    "yyyymmdd": "%Y%m%d",
    "yyyy/mm/dd": "%Y/%m/%d",
    "dd-mm-yyyy": "%d-%m-%Y",
    "mm-dd-yyyy": "%m-%d-%Y",
    "tt.mm.jjjj": "%d.%m.%Y",
    "jj/mm/aaaa": "%d/%m/%Y",
    "dd/mm/aaaa": "%d/%m/%Y",
}
_KEPT_TEXTS = {"labl", "catValu", "titl", "security", "varFormat"}


@dataclass
class _Var:
    """A variable under way."""

    attributes: dict[str, str]
    label: str = ""
    codes: list[Code] = field(default_factory=list)
    valid: list[tuple[str | None, str | None]] = field(default_factory=list)
    items: list[str] = field(default_factory=list)
    invalid: list[tuple[str | None, str | None]] = field(default_factory=list)
    format: dict[str, str] = field(default_factory=dict)
    written: str = ""
    security: str | None = None


class _Reader:
    """Handlers of expat: where we are, and what is under way."""

    def __init__(self, name: str, gathered: Gathered) -> None:
        self._name, self._gathered = name, gathered
        self._path: list[str] = []
        self._text: list[str] = []
        self._length = 0
        self._kept: int | None = None  # how deep the element lies whose text is kept, with all that is inside it
        self._var: _Var | None = None
        self._code: dict[str, str] | None = None
        self.title = ""  # of the study; of the document where there is none
        self._of_study = False
        self.root = ""

    def refuse(self, problem: str) -> NoReturn:
        raise CodebookError(f"The codebook {self._name} {problem}.", remedy="Get it anew from the archive.")

    def entity(self, *_: object) -> None:
        self.refuse("declares entities, which no codebook needs and which can be made to fill the memory")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        tag = tag.rpartition(" ")[2]
        parent = self._path[-1] if self._path else ""
        self._path.append(tag)
        if len(self._path) > _DEEPEST:
            self.refuse("is nested too deeply")
        self.root = self.root or tag
        if self._kept is None and tag in _KEPT_TEXTS:
            self._text, self._length, self._kept = [], 0, len(self._path)
        attributes = {key.rpartition(" ")[2]: value for key, value in attributes.items()}
        if tag == "var":
            self._var = _Var(attributes)
        elif self._var is None:
            return
        elif tag == "catgry":
            self._code = {"missing": attributes.get("missing", "N")}
            if len(self._var.codes) >= _MOST_CODES:
                self.refuse(f"lists more than {_MOST_CODES} codes for one variable")
        elif tag == "range" and parent in ("valrng", "invalrng"):
            ends = (
                attributes.get("min", attributes.get("minExclusive")),
                attributes.get("max", attributes.get("maxExclusive")),
            )
            (self._var.valid if parent == "valrng" else self._var.invalid).append(ends)
        elif tag == "item" and parent in ("valrng", "invalrng") and "VALUE" in attributes:
            value = attributes["VALUE"]
            if parent == "valrng":
                self._var.items.append(value)
            else:
                self._var.invalid.append((value, value))
        elif tag == "varFormat":
            self._var.format = attributes

    def text(self, content: str) -> None:
        if self._kept is not None and self._length < _LONGEST_TEXT:
            self._text.append(content)
            self._length += len(content)

    def end(self, tag: str) -> None:
        tag = self._path.pop()
        parent = self._path[-1] if self._path else ""
        text = ""
        if self._kept == len(self._path) + 1:
            self._kept, text = None, " ".join("".join(self._text).split())
        if tag == "titl" and (not self.title or ("stdyDscr" in self._path and not self._of_study)):
            self.title, self._of_study = text, "stdyDscr" in self._path
        var = self._var
        if var is None:
            return
        if tag == "catValu" and self._code is not None:
            self._code["value"] = text
        elif tag == "labl" and parent == "catgry" and self._code is not None:
            self._code.setdefault("label", text)
        elif tag == "labl" and parent == "var":
            var.label = var.label or text
        elif tag == "security" and parent == "var":
            var.security = text
        elif tag == "varFormat":
            var.written = text
        elif tag == "catgry" and self._code is not None:
            if "value" in self._code:
                missing = self._code["missing"].upper() == "Y"
                var.codes.append(Code(self._code["value"], self._code.get("label") or None, missing))
            self._code = None
        elif tag == "var":
            self._var = None
            name = var.attributes.get("name", "")
            if name:
                self._gathered.add(_variable(var, self._place(name)))

    def _place(self, name: str) -> str:
        title = f" ({self.title})" if self.title else ""
        return f"DDI codebook {self._name}{title}, variable {name}"


def read(path: Path, columns: Collection[str]) -> Codebook:
    """What a DDI document says of these columns."""
    if path.stat().st_size > LARGEST:
        raise CodebookError(f"The codebook {path.name} is larger than {LARGEST >> 30} GiB.", remedy="Check the file.")
    gathered = Gathered(path.name, columns)
    reader = _Reader(path.name, gathered)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.text, reader.entity
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.buffer_text = True
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except expat.ExpatError as error:
        raise CodebookError(
            f"The codebook {path.name} is not well-formed XML: line {error.lineno}.", remedy="Get it anew."
        ) from None
    if reader.root != "codeBook":
        raise CodebookError(
            f"The codebook {path.name} is XML, but not of DDI-Codebook: its root is {reader.root!r}.",
            remedy="docs/codebooks.md lists what is understood. DDI-Lifecycle can be exported as DDI-Codebook.",
        )
    return gathered.codebook()


def _variable(var: _Var, place: str) -> Variable:
    attributes = var.attributes
    name, label = attributes["name"], var.label or None
    if var.security is not None and var.security.lower() not in _HIDDEN_UNLESS:
        return Variable(name, place, label, kind="drop", why="the codebook restricts access to it (security)")
    missing = tuple(value for ends in var.invalid for value in whole_range(*ends))
    decimals = attributes.get("dcml", "")
    step = Decimal(1).scaleb(-int(decimals)) if decimals.isdecimal() and int(decimals) <= 12 else None
    nature, contin = attributes.get("nature", ""), attributes.get("intrvl") == "contin"
    quantity = nature in _QUANTITIES or contin
    dated = var.format.get("category", "").lower() in ("date", "time") or nature == "date"
    lower, upper = var.valid[0] if len(var.valid) == 1 else (None, None)
    kind: Kind | None = None
    codes = tuple(var.codes)
    if dated:
        kind = "date"
    elif quantity or (lower is not None and upper is not None and _is_range(codes, lower, upper, nature)):
        kind = "quantity" if step is None else "integer" if step >= 1 else "number"
    elif _meant(codes) or var.items:
        kind = "label"
        codes = codes or tuple(map(Code, var.items))
    if step is None and kind == "quantity" and _meant(codes) and not quantity:
        kind, step = "integer", Decimal(1)  # codes of a scale
    limits = day if dated else number
    return Variable(
        name,
        place,
        label,
        kind,
        None if lower is None else limits(lower),
        None if upper is None else limits(upper),
        step,
        _date_format(var) if dated else None,
        codes,
        ordered=True if nature in _ORDERED else None if not nature else False,
        complete=kind == "label",
        missing=missing,
        weight=attributes.get("wgt") in ("wgt", "Y", "true"),
    )


def _meant(codes: tuple[Code, ...]) -> bool:
    return any(not code.missing for code in codes)


def _is_range(codes: tuple[Code, ...], lower: str, upper: str, nature: str) -> bool:
    """Whether the range says what can occur, and few of its numbers have labels: 1 not at all, 7 fully."""
    if not _meant(codes):
        return True
    first, last = number(lower), number(upper)
    listed = {read for code in codes if (read := number(code.value)) is not None}
    if nature == "nominal" or first is None or last is None or first % 1 or last % 1 or len(listed) < len(codes):
        return False
    return 2 * sum(first <= value <= last for value in listed) < last - first + 1


def _date_format(var: _Var) -> str | None:
    return DATE_FORMATS.get((var.written or var.format.get("formatname", "") or "iso8601").strip().lower())
