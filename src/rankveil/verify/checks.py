"""The list of checks, and those of the certificate by itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pydantic import ValidationError

from rankveil import certificate as certificates
from rankveil._version import __version__
from rankveil.certificate import Certificate
from rankveil.certificate.odds import meaning_of
from rankveil.certificate.reading import Twice, content_of, unambiguous
from rankveil.certificate.spent import spent_by
from rankveil.errors import RankveilError, TableError
from rankveil.formats.addresses import is_address
from rankveil.fragments import fragment
from rankveil.measure.accounting import delta_at_most, implies, rho_within
from rankveil.methods import METHODS
from rankveil.privacy import theorems
from rankveil.verify import release as of_release
from rankveil.verify.accuracy import accuracy
from rankveil.verify.numbers import Fails
from rankveil.verify.numbers import number as _number
from rankveil.verify.papers import Papers
from rankveil.write import CERTIFICATE_NAME, recover

if TYPE_CHECKING:
    from rankveil.release import Release

_NEARLY_ALL = 1 - Fraction(1, 10**6)  # of the ρ that (ε, δ) allow: a budget is spent whole, up to rounding


@dataclass(frozen=True)
class Check:
    check: str
    holds: bool
    detail: str


@dataclass(frozen=True, repr=False)
class Verification:
    """What `verify` has found.

    >>> made = rv.release(people, plan, out="2031-q1")
    >>> found = rv.verify("2031-q1")
    >>> found.verified, found.checks[0].check
    (True, 'certificate can be read')
    """

    checks: tuple[Check, ...]
    certificate: Certificate | None  # None if it cannot be read

    @property
    def verified(self) -> bool:
        return all(check.holds for check in self.checks)

    def __repr__(self) -> str:
        failed = sum(not check.holds for check in self.checks)
        if failed:
            return f"NOT VERIFIED: {failed} of {len(self.checks)} checks fail"
        return f"Verified: all {len(self.checks)} checks hold"

    def _repr_html_(self) -> str:
        rows = [("holds" if check.holds else "FAILS", check.check, check.detail) for check in self.checks]
        return fragment(repr(self), table=(("", "check", ""), rows))

    def as_dict(self) -> dict[str, Any]:
        return {"verified": self.verified, "checks": [asdict(check) for check in self.checks]}


def verify(
    certificate: str | Path | Release[Any],
    release: str | Path | None = None,
    *,
    key: str | Path | None = None,
    ledger: str | Path | None = None,
) -> Verification:
    """Check a release, or the folder of a model alone, against its certificate. All checks are made, whichever fail.

        >>> made = rv.release(people, plan, out="2031-q1")
        >>> rv.verify("2031-q1")
        Verified: all ... checks hold
        >>> rv.verify("2031-q1/certificate.json", "2031-q1/release.parquet").verified
        True
        >>> text = Path("2031-q1/release.parquet").write_bytes(b"PAR1, and then something else")
        >>> rv.verify("2031-q1")
        NOT VERIFIED: ... of ... checks fail

    One argument names the folder of a release, or what `release` has given back; two name the certificate and the
    release, which is a file, a folder, or the address of a table in a database, which is then compared with the release
    beside the certificate. Nothing else is read, so anyone can verify. With `key`, a public key, it must be signed by
    it; with `ledger`, that ledger must have what it had then.
    """
    where, named = _named(certificate, release)
    try:
        read = read_certificate(where)
    except Fails as failure:
        return Verification((Check("certificate can be read", False, str(failure)),), None)
    path = _release_of(read, named)
    if isinstance(release, str) and is_address(release) and read.release is not None:
        path = where.parent / Path(read.release.file).name
    checks: list[tuple[str, Callable[[], str]]] = [
        ("certificate can be read", lambda: _format(read)),
        ("claim is the method's own", lambda: _claim(read)),
        ("made for release", lambda: _for_release(read)),
        ("shares stay within the budget", lambda: _budget(read)),
        ("shares are complete", lambda: _complete(read)),
    ]
    if read.release is not None or read.model is None:  # else it is of a model alone
        checks += [
            ("file is the certified one", lambda: of_release.fingerprint(read, path)),
            ("columns are those declared", lambda: of_release.columns(read, path)),
            ("rows and values are those declared", lambda: of_release.contents(read, path)),
        ]
    checks.append(("model is the certified one", lambda: of_release.model(read, path)))
    if read.weights is not None:
        checks.append(("weights are the certified ones", lambda: of_release.weights(read, path.parent)))
    if isinstance(release, str) and is_address(release):
        checks.append(("table is the release", lambda: of_release.table(read, path, str(release))))
    if read.published_accuracy is not None:
        checks.append(("published accuracy adds up", lambda: accuracy(read)))
    if read.release is not None:
        papers = Papers(read, where, path, alone=release is None and named.is_dir())
        checks += [
            ("page says what the certificate says", papers.shown),
            ("files are those on the list", papers.listed),
            ("signature", lambda: papers.signature(None if key is None else Path(key))),
        ]
        if ledger is not None:
            checks.append(("ledger", lambda: papers.ledger(Path(ledger))))
    elif key is not None or ledger is not None:
        checks.append(("signature", _never_signed))
    return Verification(tuple(_made(name, check) for name, check in checks), read)


def _named(certificate: str | Path | Release[Any], release: str | Path | None) -> tuple[Path, Path]:
    """Where the certificate and the release are. What a killed run has left half done is completed, or taken back."""
    if not isinstance(certificate, str | Path):
        if certificate.folder is None:
            raise TableError(
                "A release in memory has no file that could be verified.", remedy="Release it with out=...", cost=""
            )
        certificate = certificate.folder
    where = Path(certificate)
    beside = release is None or is_address(release)
    path = (where if where.is_dir() else where.parent) if beside else Path(release or "")
    for folder in {path if path.is_dir() else path.parent, where if where.is_dir() else where.parent}:
        recover(folder)
    return where / CERTIFICATE_NAME if where.is_dir() else where, path


def _release_of(read: Certificate, named: Path) -> Path:
    """The release in a folder is the file that the certificate names, whatever else lies there, or is missing."""
    from rankveil.evaluate.evaluation import release_file

    if not named.is_dir() or (named / "model.json").exists():
        return named
    if read.release is not None and read.release.parts is None:
        return named / Path(read.release.file).name
    return release_file(named)


def _never_signed() -> str:
    raise Fails("a model by itself, or a release in memory, has no manifest and is not signed")


def _made(name: str, check: Callable[[], str]) -> Check:
    try:
        return Check(name, True, check())
    except Fails as failure:
        return Check(name, False, str(failure))
    except RankveilError as error:  # the release cannot be read
        return Check(name, False, error.problem)
    except OSError as error:
        return Check(name, False, f"the release cannot be read: {error.strerror}")
    except (pa.ArrowException, UnicodeError):  # its text may quote values
        return Check(name, False, "a column of the release holds values of another type than its kind")


# The certificate by itself


def read_certificate(path: Path) -> Certificate:
    try:
        text = content_of(path).decode("utf-8")
        unambiguous(text)
        return Certificate.model_validate_json(text)
    except ValidationError as error:
        places = sorted({".".join(map(str, entry["loc"])) or "the whole" for entry in error.errors()})
        raise Fails(
            f"{path.name} is not a certificate of format 1 or {certificates.FORMAT}: {', '.join(places[:5])}"
        ) from None
    except Twice as error:
        raise Fails(f"{path.name}: {error}") from None
    except FileNotFoundError:
        raise Fails(f"{path.name} is missing") from None
    except (OSError, ValueError, RecursionError):
        raise Fails(f"{path.name} is not JSON text") from None


def _format(read: Certificate) -> str:
    older = ", which cites no theorems: which ones carry it is not checked" if read.certificate_format == 1 else ""
    return f"format {read.certificate_format}, rankveil {read.rankveil_version}{older}"


def _claim(read: Certificate) -> str:
    method = METHODS.get(read.method)
    if method is None:
        raise Fails(f"this version of rankveil ({__version__}) knows no method {read.method!r}")
    private = method.differentially_private
    epsilon, delta = _number(read.epsilon), _number(read.delta)
    public = any(column.role == "public" for column in read.columns)
    expectations = {
        "differentially_private": read.differentially_private == private,
        "epsilon": (epsilon is not None and epsilon > 0) if private else epsilon is None,
        "delta": (delta is not None and 0 <= delta < 1) if private else delta is None,
        "delta, which the method does not use": not delta or method.uses_delta,
        "accounting": read.accounting is None or bool(delta),
        "settings.epsilon": not private or _number(read.settings.epsilon) == epsilon,
        "reason": (read.reason is None) == private,
        "statement": _statement_fits(read, private=private),
        "neighbours": not public or certificates.NEIGHBOURS_WITH_PUBLIC.strip() in read.neighbours,
        "protects": read.protects is None or (method.name == "synthetic" and not public),
    }
    if read.certificate_format == certificates.FORMAT:
        expectations["theorems"] = _theorems_fit(read)
    if read.rankveil_version == __version__:  # another version may have put the same in other words
        expectations["reason"] = read.reason == (method.why_not or None)
        expectations["neighbours"] &= read.neighbours.startswith(read.unit.definition)
        noted = any(share.column == "number of rows" and "T52" in share.theorems for share in read.shares)
        expectations["protects"] &= read.unit.rows_public or noted
        expectations["meaning"] = _meaning_fits(read)
        expectations["spent"] = read.spent is None or read.spent == _spending(read)
    wrong = [name for name, fits in expectations.items() if not fits]
    if wrong:
        raise Fails(f"not what rankveil says of {read.method}: {', '.join(wrong)}")
    return "differentially private" if private else "not differentially private, and says so"


def _meaning_fits(read: Certificate) -> bool:
    """Whether odds and attacks are those that follow from ε and δ."""
    if read.meaning is None:
        return True
    if not read.differentially_private:
        return False
    epsilon, delta = _stated(read)
    beside = sum((_number(each.epsilon) or Fraction(0) for each in read.published_accuracy or ()), Fraction(0))
    return beside >= 0 and read.meaning == meaning_of(epsilon, delta, read.accounting, beside)


def _spending(read: Certificate) -> tuple[certificates.SpentNote, ...]:
    for share in read.shares:
        _number(share.epsilon), _number(share.rho)
    return spent_by(read.shares, [column.name for column in read.columns])


def _theorems_fit(read: Certificate) -> bool:
    """Whether the theorems are those of the method and its shares; of another version, whether none is left out."""
    listed = {one.id for one in read.theorems}
    if read.rankveil_version != __version__:
        return bool(listed) and listed.issuperset(one for share in read.shares for one in share.theorems)
    if not theorems().keys() >= {one for share in read.shares for one in share.theorems}:
        return False
    if read.differentially_private and not all(share.theorems for share in read.shares):
        return False
    counted = "T46" if read.rho_accounting == "gaussian" else "T7"
    if any(share.rho is not None and counted not in share.theorems for share in read.shares):
        return False  # noise was not bought in the accounting that the certificate names
    expected = certificates.theorems_for(
        METHODS[read.method], read.shares, read.columns, _number(read.delta), read.accounting, read.unit
    )
    return read.theorems == expected


def _statement_fits(read: Certificate, *, private: bool) -> bool:
    if read.rankveil_version != __version__:
        return ("NOT" not in read.statement) == (private and read.for_release)
    epsilon, delta = (Decimal(text) if text and "/" not in text else Decimal(0) for text in (read.epsilon, read.delta))
    expected = certificates.statement_for(
        METHODS[read.method], epsilon, delta or None, read.unit, for_release=read.for_release
    )
    return read.statement == expected


def _for_release(read: Certificate) -> str:
    if not read.for_release:
        raise Fails("its randomness came from a fixed seed: whoever knows the seed can subtract the noise")
    return "randomness of the operating system"


def _budget(read: Certificate) -> str:
    """Whether what was spent is allowed by what is claimed."""
    if not read.differentially_private:
        return "nothing is claimed"
    epsilon, delta = _stated(read)
    for share in read.shares:
        if share.epsilon is None and share.rho is None:
            raise Fails(f"a share of {share.column!r} has neither ε nor ρ, so it is not private")
        if any((amount := _number(text)) is not None and amount < 0 for text in (share.epsilon, share.rho)):
            raise Fails(f"a share of {share.column!r} is negative")
        if (share.rho is not None) != (delta > 0) or (share.epsilon is not None) != (delta == 0):
            raise Fails(f"a share of {share.column!r} is not in the unit of the whole ({'ρ' if delta else 'ε'})")
    spent = _spent(read)
    if delta == 0:
        if spent > epsilon:
            raise Fails(f"the shares add up to ε = {certificates.plain(spent)}, more than {read.epsilon}")
        return f"ε = {certificates.plain(spent)} of {read.epsilon}, added exactly"
    if read.rho_accounting == "gaussian":
        words, holds = "of Gaussian accounting", delta_at_most(spent, epsilon) <= delta  # T46
    else:
        words, holds = "of zCDP", _implied(spent, epsilon, delta)
    if not holds:
        raise Fails(f"the shares add up to ρ = {float(spent):.6g} {words}, which does not imply (ε, δ) as stated")
    return f"ρ = {float(spent):.6g} {words}, added exactly, implies ε = {read.epsilon} with δ = {read.delta}"


def _complete(read: Certificate) -> str:
    """Whether the list of shares can be the whole list."""
    named = {share.column for share in read.shares}
    paid = [column.name for column in read.columns if column.role != "public" and column.derived is None]
    absent = [name for name in paid if name not in named]
    if absent:
        raise Fails(f"{len(absent)} protected column(s) without a share, {absent[0]!r} among them")
    if not read.differentially_private:
        return "every protected column has its entry"
    epsilon, delta = _stated(read)
    spent = _spent(read)
    forfeited = any(_number(share.epsilon) == 0 for share in read.shares)  # a column of one value costs nothing
    whole = epsilon if delta == 0 else rho_within(epsilon, delta, read.rho_accounting) * _NEARLY_ALL
    if not forfeited and spent < whole:
        raise Fails("the shares add up to less than the whole budget: one may be missing")
    return "every protected column has its share, and the shares add up to the whole"


def _stated(read: Certificate) -> tuple[Fraction, Fraction]:
    epsilon, delta = _number(read.epsilon), _number(read.delta)
    if epsilon is None or delta is None or epsilon <= 0 or not 0 <= delta < 1:
        raise Fails("no ε and δ are stated, or none that mean anything")
    return epsilon, delta


def _spent(read: Certificate) -> Fraction:
    amounts = [_number(share.epsilon if share.rho is None else share.rho) for share in read.shares]
    return sum((amount for amount in amounts if amount is not None), Fraction(0))


def _implied(rho: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether ρ-zCDP implies (ε, δ) at some order (T4). The order is looked for in floats, and the proof is exact."""
    low, high = math.log(1e-6), math.log(1e7)
    order = np.float64(0)
    for _ in range(7):
        above = np.exp(np.linspace(low, high, 101))  # α - 1
        bound = above * ((above + 1) * float(rho) - float(epsilon)) - np.log(above) - (above + 1) * np.log1p(1 / above)
        order, margin = above[np.argmin(bound)] + 1, (high - low) / 100
        low, high = math.log(order - 1) - margin, math.log(order - 1) + margin
    return implies(rho, Fraction(float(order)).limit_denominator(10**6), epsilon, delta)
