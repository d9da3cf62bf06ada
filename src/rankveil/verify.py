"""Whether a certificate and a release belong together, and whether the certificate agrees with itself.

Shows        The release file is the certified one, byte for byte; its columns, rows and values are those declared; the
             parts of the budget add up, exactly, to the ε (or imply the (ε, δ)) that is stated; the claim is the one
             that rankveil makes for this method.
Cannot show  That the noise was really drawn, that the plan's bounds are public knowledge, that the original was read
             only once, or who wrote the certificate. It is not signed: whoever changes release and certificate alike,
             and consistently, is not found out here. Compare with the certificate its publisher shows.

Everything needed is in the two files: neither the original nor the plan is read, so anyone can verify. The certificate
has the number of a column's labels, not the labels, so of labels only their number is checked.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import ValidationError

from rankveil import certificate as certificates
from rankveil._version import __version__
from rankveil.certificate import Certificate, ColumnNote
from rankveil.engines import Table, open_table
from rankveil.errors import RankveilError
from rankveil.flow.budget import implies, rho_within
from rankveil.methods import METHODS

_NEARLY_ALL = 1 - Fraction(1, 10**6)  # of the ρ that (ε, δ) allow: a budget is spent whole, up to rounding
_ISO_DATE = "%Y-%m-%d"
_SMALLEST = Fraction(1, 10**60)


@dataclass(frozen=True)
class Check:
    check: str
    holds: bool
    detail: str


@dataclass(frozen=True)
class Verification:
    checks: tuple[Check, ...]
    certificate: Certificate | None  # None if it cannot be read

    @property
    def verified(self) -> bool:
        return all(check.holds for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        return {"verified": self.verified, "checks": [asdict(check) for check in self.checks]}


class _Fails(Exception):
    """A check does not hold, for the reason given."""


def verify(certificate: str | Path, release: str | Path) -> Verification:
    """Check a release file against its certificate. All checks are made, whichever fail."""
    try:
        read = _read(Path(certificate))
    except _Fails as failure:
        return Verification((Check("certificate can be read", False, str(failure)),), None)
    path = Path(release)
    checks: list[tuple[str, Callable[[], str]]] = [
        ("certificate can be read", lambda: f"format {read.certificate_format}, rankveil {read.rankveil_version}"),
        ("claim is the method's own", lambda: _claim(read)),
        ("made for release", lambda: _for_release(read)),
        ("shares stay within the budget", lambda: _budget(read)),
        ("shares are complete", lambda: _complete(read)),
        ("file is the certified one", lambda: _fingerprint(read, path)),
        ("columns are those declared", lambda: _columns(read, path)),
        ("rows and values are those declared", lambda: _contents(read, path)),
    ]
    return Verification(tuple(_made(name, check) for name, check in checks), read)


def _made(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except _Fails as failure:
        return Check(name, False, str(failure))
    except RankveilError as error:  # the release cannot be read
        return Check(name, False, error.problem)
    except OSError as error:
        return Check(name, False, f"the release cannot be read: {error.strerror}")
    except (pa.ArrowException, UnicodeError):  # its text may quote values
        return Check(name, False, "a column of the release holds values of another type than its kind")


# The certificate by itself


def _read(path: Path) -> Certificate:
    def without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise _Fails("an entry occurs twice, so readers may disagree about what it says")
        return dict(pairs)

    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text, object_pairs_hook=without_repeats)
        return Certificate.model_validate_json(text)
    except ValidationError as error:
        places = sorted({".".join(map(str, entry["loc"])) or "the whole" for entry in error.errors()})
        raise _Fails(f"not a certificate of format {certificates.FORMAT}: {', '.join(places[:5])}") from None
    except (OSError, ValueError, RecursionError):
        raise _Fails("the file is not JSON text") from None


def _claim(read: Certificate) -> str:
    method = METHODS.get(read.method)
    if method is None:
        raise _Fails(f"this version of rankveil ({__version__}) knows no method {read.method!r}")
    private = method.differentially_private
    epsilon, delta = _number(read.epsilon), _number(read.delta)
    public = any(column.role == "public" for column in read.columns)
    expectations = {
        "differentially_private": read.differentially_private == private,
        "epsilon": (epsilon is not None and epsilon > 0) if private else epsilon is None,
        "delta": (delta is not None and 0 <= delta < 1) if private else delta is None,
        "delta, which the method does not use": not delta or method.uses_delta,
        "settings.epsilon": not private or _number(read.settings.epsilon) == epsilon,
        "reason": (read.reason is None) == private,
        "statement": _statement_fits(read, private=private),
        "neighbours": not public or certificates.NEIGHBOURS_WITH_PUBLIC.strip() in read.neighbours,
    }
    if read.rankveil_version == __version__:  # another version may have put the same in other words
        expectations["theorem"] = read.theorem == method.theorem
        expectations["reason"] = read.reason == (method.why_not or None)
    wrong = [name for name, fits in expectations.items() if not fits]
    if wrong:
        raise _Fails(f"not what rankveil says of {read.method}: {', '.join(wrong)}")
    return "differentially private" if private else "not differentially private, and says so"


def _statement_fits(read: Certificate, *, private: bool) -> bool:
    if read.rankveil_version != __version__:
        return ("NOT" not in read.statement) == (private and read.for_release)
    epsilon, delta = (Decimal(text) if text and "/" not in text else Decimal(0) for text in (read.epsilon, read.delta))
    expected = certificates.statement_for(METHODS[read.method], epsilon, delta or None, for_release=read.for_release)
    return read.statement == expected


def _for_release(read: Certificate) -> str:
    if not read.for_release:
        raise _Fails("its randomness came from a fixed seed: whoever knows the seed can subtract the noise")
    return "randomness of the operating system"


def _budget(read: Certificate) -> str:
    """Whether what was spent is allowed by what is claimed."""
    if not read.differentially_private:
        return "nothing is claimed"
    epsilon, delta = _stated(read)
    for share in read.shares:
        if share.epsilon is None and share.rho is None:
            raise _Fails(f"a share of {share.column!r} has no price, so it is not private")
        if any((amount := _number(text)) is not None and amount < 0 for text in (share.epsilon, share.rho)):
            raise _Fails(f"a share of {share.column!r} is negative")
        if (share.rho is not None) != (delta > 0) or (share.epsilon is not None) != (delta == 0):
            raise _Fails(f"a share of {share.column!r} is not in the unit of the whole ({'ρ' if delta else 'ε'})")
    spent = _spent(read)
    if delta == 0:
        if spent > epsilon:
            raise _Fails(f"the shares add up to ε = {certificates.plain(spent)}, more than {read.epsilon}")
        return f"ε = {certificates.plain(spent)} of {read.epsilon}, added exactly"
    if not _implied(spent, epsilon, delta):
        raise _Fails(f"the shares add up to ρ = {float(spent):.6g}, which does not imply (ε, δ) as stated")
    return f"ρ = {float(spent):.6g}, added exactly, implies ε = {read.epsilon} with δ = {read.delta}"


def _complete(read: Certificate) -> str:
    """Whether the list of shares can be the whole list."""
    named = {share.column for share in read.shares}
    absent = [column.name for column in read.columns if column.role == "protected" and column.name not in named]
    if absent:
        raise _Fails(f"{len(absent)} protected column(s) without a share, {absent[0]!r} among them")
    if not read.differentially_private:
        return "every protected column has its entry"
    epsilon, delta = _stated(read)
    spent = _spent(read)
    forfeited = any(_number(share.epsilon) == 0 for share in read.shares)  # a column of one value costs nothing
    if not forfeited and spent < (epsilon if delta == 0 else rho_within(epsilon, delta) * _NEARLY_ALL):
        raise _Fails("the shares add up to less than the whole budget: one may be missing")
    return "every protected column has its share, and the shares add up to the whole"


def _stated(read: Certificate) -> tuple[Fraction, Fraction]:
    epsilon, delta = _number(read.epsilon), _number(read.delta)
    if epsilon is None or delta is None or epsilon <= 0 or not 0 <= delta < 1:
        raise _Fails("no ε and δ are stated, or none that mean anything")
    return epsilon, delta


def _spent(read: Certificate) -> Fraction:
    amounts = [_number(share.epsilon if share.rho is None else share.rho) for share in read.shares]
    return sum((amount for amount in amounts if amount is not None), Fraction(0))


def _implied(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether ρ-zCDP implies (ε, δ) at some order. The order is looked for in floats, and the proof is exact."""
    low, high = math.log(1e-6), math.log(1e7)
    order = np.float64(0)
    for _ in range(7):
        above = np.exp(np.linspace(low, high, 101))  # α - 1
        bound = above * ((above + 1) * float(rho) - float(epsilon)) - np.log(above) - (above + 1) * np.log1p(1 / above)
        order, reach = above[np.argmin(bound)] + 1, (high - low) / 100
        low, high = math.log(order - 1) - reach, math.log(order - 1) + reach
    return implies(rho, Fraction(float(order)).limit_denominator(10**6), epsilon, delta)


def _number(text: str | None) -> Fraction | None:
    """An exact number as the certificate writes it: decimal or fraction."""
    if text is None:
        return None
    try:
        if len(text) > 10_000 or "e" in text.lower():
            raise ValueError
        number = Fraction(text)
        if number and not _SMALLEST <= abs(number) <= 1 / _SMALLEST:  # beyond any plan, and beyond floating point
            raise ValueError
        return number
    except (ValueError, ZeroDivisionError):
        raise _Fails("an exact number is not written as a decimal or a fraction") from None


# The release


def _fingerprint(read: Certificate, path: Path) -> str:
    if read.release is None:
        raise _Fails("the certificate is of a release in memory: it names no file")
    size = path.stat().st_size
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if size != read.release.bytes:
        raise _Fails(f"{size} bytes instead of {read.release.bytes}")
    if digest != read.release.sha256:
        raise _Fails(f"SHA-256 {digest} instead of {read.release.sha256}")
    return f"SHA-256 and {size} bytes"


def _columns(read: Certificate, path: Path) -> str:
    names, declared = list(_opened(read, path).schema.names), [column.name for column in read.columns]
    if names != declared:
        raise _Fails("other columns" if set(names) != set(declared) else "the same columns in another order")
    return f"{len(names)}, in order"


def _opened(read: Certificate, path: Path) -> Table:
    """The table, its separator read from what follows the first column's name, for it may be an unusual one."""
    name = read.columns[0].name if len(read.columns) > 1 else ""
    with path.open("rb") as file:
        header = file.readline(1 << 20).decode(errors="replace")
    declared = [column.name for column in read.columns]
    quoted = '"' + name.replace('"', '""') + '"'
    for spelt in (name, quoted, "'" + name, quoted[:1] + "'" + quoted[1:]):  # an apostrophe: formulas escaped
        separator = header[len(spelt) : len(spelt) + 1]
        if name and header.startswith(spelt) and separator.isascii() and separator not in ("", "\r", "\n", '"'):
            return open_table(path, separator=separator).unescaped(declared)  # of no effect on a Parquet file
    return open_table(path).unescaped(declared)


def _contents(read: Certificate, path: Path) -> str:
    table = _opened(read, path)
    inspections = [_Inspection(column) for column in read.columns if column.name in table.schema.names]
    rows = 0
    for batch in table.batches():
        rows += batch.num_rows
        for inspection in inspections:
            inspection.see(batch.column(inspection.note.name))
    complaints = [] if rows == read.rows else [f"{rows} rows instead of {read.rows}"]
    complaints += [text for inspection in inspections for text in inspection.complaints()]
    if complaints:
        raise _Fails("; ".join(complaints[:10]))
    unchecked = [inspection.note.name for inspection in inspections if inspection.other_dates]
    remark = f"; dates of {', '.join(unchecked)} not checked, as their format is not certified" if unchecked else ""
    return f"{rows} rows, every value within its declared domain{remark}"


@dataclass
class _Inspection:
    """What is wrong with one column, counted batch by batch. Values are not kept, except which labels occur."""

    note: ColumnNote
    missing: int = 0
    outside: int = 0
    dates: int = 0
    other_dates: int = 0  # texts that are not dates in the ISO format
    labels: set[str] = field(default_factory=set)

    def see(self, array: pa.Array) -> None:
        if pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        if _is_text(array.type):  # a release writes missing as an empty field
            array = pc.if_else(pc.equal(array, ""), pa.scalar(None, array.type), array)
        self.missing += array.null_count
        array = array.drop_null()
        if self.note.lower is None or self.note.upper is None:
            if len(self.labels) <= self._most_labels:
                self.labels.update(map(str, pc.unique(array).to_pylist()))
        elif self.note.kind == "date":
            self._see_dates(array)
        else:
            self._see_numbers(array)

    @property
    def _most_labels(self) -> int:
        return self.note.concepts or self.note.categories or 0

    def _see_numbers(self, array: pa.Array) -> None:
        try:
            values: NDArray[np.float64] = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
            lower, upper, step = (float(str(text)) for text in (self.note.lower, self.note.upper, self.note.step))
        except (pa.ArrowException, ValueError):
            self.outside += len(array)
            return
        slack = _rounding(array.type, max(abs(lower), abs(upper)))
        with np.errstate(all="ignore"):  # a certificate may state a step of nothing; no value is on such a grid
            steps = (values - lower) / step
            inside = (values >= lower - slack) & (values <= upper + slack)
            on_grid = np.abs(steps - np.rint(steps)) * step <= slack
        self.outside += int(np.count_nonzero(~(inside & on_grid)))

    def _see_dates(self, array: pa.Array) -> None:
        if _is_text(array.type):
            parsed = pc.strptime(array, format=_ISO_DATE, unit="s", error_is_null=True)
            self.other_dates += parsed.null_count
            array = parsed.drop_null()
        self.dates += len(array)
        days = array.cast(pa.date32(), safe=False)
        try:
            lower, upper = (pa.scalar(text).cast(pa.date32()) for text in (self.note.lower, self.note.upper))
        except pa.ArrowException:
            self.outside += len(array)
            return
        inside = pc.and_(pc.greater_equal(days, lower), pc.less_equal(days, upper))
        self.outside += len(days) - int(pc.sum(inside).as_py() or 0)

    def complaints(self) -> list[str]:
        name = repr(self.note.name)
        found = []
        if self.outside:
            found.append(f"column {name}: {self.outside} value(s) outside the declared range and step")
        if self.missing and not self.note.null:
            found.append(f"column {name}: {self.missing} value(s) missing, which is not allowed")
        if len(self.labels) > self._most_labels:
            found.append(f"column {name}: more than its {self._most_labels} labels")
        if self.dates and self.other_dates:
            found.append(f"column {name}: {self.other_dates} value(s) written otherwise than the rest")
        return found


def _rounding(arrow_type: pa.DataType, magnitude: float) -> float:
    """How far a value of this type may lie from the grid: nothing for integers, the type's rounding for others."""
    if pa.types.is_integer(arrow_type):
        return 0.0
    if pa.types.is_decimal(arrow_type):
        return float(0.5 * 10.0**-arrow_type.scale + 1e-15 * magnitude)
    precision = np.finfo(arrow_type.to_pandas_dtype()).eps if pa.types.is_floating(arrow_type) else np.finfo(float).eps
    return 4 * float(precision) * magnitude


def _is_text(arrow_type: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type) or pa.types.is_string_view(arrow_type)
    )
