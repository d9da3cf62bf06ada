"""One pair: a whole release of a table, and of its neighbour with the answers that the first one got.

Guarantee    A pair that passes has asked the same questions with the same scales in the same order, its two releases,
             certificates (published accuracy included) and kept models are the same to the last byte, and what the
             answers can lose adds up to no more than what the certificate claims. A pair that does not pass is a
             counterexample, or a fault of the audit, never bad luck.
Argument     The second run gets every answer of the first one and the same random bytes for everything else (watch.py).
             So whatever differs came from the exact data by another way than an answer (T44). Questions that stay
             the same compose: pure losses Σ‖Δq‖₁/scale, and the log-ratios of choices and channels, add up to ε; with
             δ the losses Σ‖Δq‖²/(2σ²), or with Gaussian accounting Σ‖Δq‖²/(2(σ²-r²)) (T46), add up to ρ. With zCDP a
             choice of ε would count as ε²/2 (Bun and Steinke 2016); with Gaussian accounting there must be none.
Arithmetic   Rational, but for the log-ratios of choices and channels.
Not covered  How long a run takes, how much memory it uses, and neighbours that were not tried.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as papq

from rankveil import rules
from rankveil.audit.findings import DependsOnData
from rankveil.audit.laws import Lost, well_smoothed
from rankveil.audit.replay.dice import Dice
from rankveil.audit.replay.plans import Case
from rankveil.audit.replay.ways import Cells, Cuts
from rankveil.audit.watch import Draw, Watch
from rankveil.audit.watch import Path as AnsweredPath
from rankveil.certificate import Certificate
from rankveil.engines import Engine
from rankveil.errors import RankveilError
from rankveil.evaluate import publish_accuracy
from rankveil.measure.accounting import rho_within
from rankveil.methods import METHODS, method_named
from rankveil.release import Release, release

_NOW = datetime(2000, 1, 1, tzinfo=UTC)
_ROUNDING = Fraction(1, 10**9)  # of log-ratios, which are computed in floating point
_NOISE, _REST = 0, 1
_WEIGHED = 20  # percent
_MEASURED = 50  # percent
_ACCURACY = "accuracy"
_ACCURACY_EPSILON = Fraction(1, 10)


@dataclass(frozen=True)
class Outcome:
    """What came of a pair."""

    case: Case
    questions: int
    loss_over_claim: float
    problems: tuple[str, ...]  # in words, without a value; none if the pair passed
    different: tuple[str, ...] = ()  # what of the two releases is not the same
    refused: RankveilError | None = None  # the plan does not take one of the tables: nothing asked, nothing released
    draws: tuple[Draw, ...] = ()  # of the first run, where noise was drawn as it is in production
    linkage: str = ""  # how columns were linked, where a rule decided it

    @property
    def passed(self) -> bool:
        return not self.problems


def run_pair(case: Case, folder: Path, engine: Engine | None = None) -> Outcome:
    """Release both tables and compare."""
    dice = Dice(case.name)
    first = Watch(dice.source(_NOISE), rest=dice.source(_REST), shrunk=case.shrunk)
    one = _ended(case, case.original, case.cuts[0], first, folder / "1", engine)
    second = Watch(dice.source(_NOISE), [draw.answer for draw in first.draws], rest=dice.source(_REST))
    other = _ended(case, case.changed, case.cuts[1], second, folder / "2", engine)
    for ended, watch in ((one, first), (other, second)):
        if isinstance(ended, RankveilError) and not watch.draws:
            return Outcome(case, 0, 0.0, (), refused=ended)
    return _compared(case, AnsweredPath(first, second), one, other)


_Ended = Release[Any] | Exception


def _ended(case: Case, cells: Cells, cuts: Cuts, watch: Watch, folder: Path, engine: Engine | None) -> _Ended:
    """A release, or what it ended with."""
    (folder / "in").mkdir(parents=True)
    out = folder / "out" if case.way.file else None
    keep = method_named(case.plan.release.method).fit is not None
    try:
        table = case.way.make(cells, case.plan, cuts, folder / "in")
        made = release(
            table,
            case.plan,
            out=out,
            source=watch,
            clock=lambda: _NOW,
            engine=engine,
            keep_model=keep,
            replicates=_replicates(case),
        )
        watch.purpose = _ACCURACY
        return made if out is None else _with_accuracy(case, table, made, out, watch, engine)
    except Exception as error:  # a bug is a result too: it names the pair, and the others go on
        return error


def _with_accuracy(
    case: Case, table: Any, made: Release[Any], out: Path, watch: Watch, engine: Engine | None
) -> Release[Any]:
    """Some releases have figures about them published, which the certificate then shows."""
    if not Dice(f"{case.name} accuracy").chance(_MEASURED) or not made.certificate.differentially_private:
        return made
    changed = publish_accuracy(
        table, out, case.plan, epsilon=_ACCURACY_EPSILON, source=watch, clock=lambda: _NOW, engine=engine
    )
    return replace(made, certificate=changed)


def _replicates(case: Case) -> int | None:
    """Some releases have weights beside them, the same for both tables of a pair."""
    able = METHODS[case.plan.release.method].has_replicates
    return rules.FEWEST_REPLICATES if able and Dice(f"{case.name} weights").chance(_WEIGHED) else None


def _compared(case: Case, path: AnsweredPath, one: _Ended, other: _Ended) -> Outcome:
    problems: list[str] = []
    different: list[str] = []
    ratio, linkage = 0.0, ""
    if isinstance(one, Release) and isinstance(other, Release):
        linkage = one.certificate.linkage or ""
        different = differences(seen(one), seen(other))
        problems += [f"{what} not the same for both tables" for what in different]
        if path.original.bytes_used != path.changed.bytes_used:
            problems.append("how many random bytes are used, beside those of answers, differs between the tables")
        try:
            losses, of_accuracy = _parted(path)
            ratio = float(_total(losses) / _claim(one.certificate))
            problems += _beyond_claim(losses, one.certificate)
            if _total(of_accuracy) > _ACCURACY_EPSILON:
                problems.append("published accuracy can lose more than it has paid for")
            if one.certificate.accounting == "gaussian" and not all(well_smoothed(first.law) for first, _ in path):
                problems.append("noise lacks the smoothing term of Gaussian accounting")
        except DependsOnData as difference:
            problems.append(str(difference))
    else:
        problems += _how_it_failed(one, other)
    drawn = tuple(path.original.draws) if case.shrunk == 1 else ()
    return Outcome(
        case, len(path.original.draws), ratio, tuple(problems), tuple(different), draws=drawn, linkage=linkage
    )


def _parted(path: AnsweredPath) -> tuple[list[Lost], list[Lost]]:
    """What answers can lose at most: those of the release, and those about its accuracy, which are paid for apart."""
    lost = list(zip(path.worst(), (draw.purpose == _ACCURACY for draw in path.original.draws), strict=True))
    return [each for each, after in lost if not after], [each for each, after in lost if after]


def _how_it_failed(one: _Ended, other: _Ended) -> list[str]:
    """In words, without those of a bug, which may quote data."""
    words = [str(each) for each in (one, other) if isinstance(each, DependsOnData)]
    bugs = [each for each in (one, other) if not isinstance(each, Release | RankveilError | DependsOnData)]
    words += [f"a release ended with a bug ({type(each).__name__})" for each in bugs]
    if not words and type(one) is not type(other):
        words = ["one release was made and the other one failed after noise was drawn"]
    return words


def _claim(certificate: Certificate) -> Fraction:
    """ε, or with δ the ρ that stands for both."""
    epsilon, delta = Fraction(certificate.epsilon or 0), Fraction(certificate.delta or 0)
    return rho_within(epsilon, delta, certificate.rho_accounting) if delta else epsilon


def _total(losses: Sequence[Lost]) -> Fraction:
    if any(lost.unit == "rho" for lost in losses):
        return sum((lost.amount if lost.unit == "rho" else lost.amount**2 / 2 for lost in losses), Fraction(0))
    return sum((lost.amount for lost in losses), Fraction(0))


def _beyond_claim(losses: Sequence[Lost], certificate: Certificate) -> list[str]:
    claim, total = _claim(certificate), _total(losses)
    problems = []
    if total > claim * (1 + (_ROUNDING if any(lost.rounded for lost in losses) else 0)):
        problems.append(f"the answers can lose {float(total / claim):.6g} times what the certificate claims")
    gaussian = Fraction(certificate.delta or 0) > 0 and certificate.rho_accounting == "gaussian"
    if gaussian and any(lost.unit == "epsilon" and lost.amount for lost in losses):
        problems.append("something was drawn that Gaussian accounting does not cover")
    shares = sum((Fraction(share.rho or share.epsilon or 0) for share in certificate.shares), Fraction(0))
    if shares > claim:
        problems.append("the shares on the certificate add up to more than it claims")
    return problems


# What others get to see


def seen(made: Release[Any]) -> dict[str, str]:
    """Everything that leaves: name -> fingerprint. Of files every byte; of frames types, chunks, values."""
    if made.folder is not None:
        files = sorted(path for path in made.folder.rglob("*") if path.is_file())
        found = {str(path.relative_to(made.folder)): _digest(path.read_bytes()) for path in files}
        layouts = {f"row groups of {path.name}": _layout(path) for path in files if path.suffix == ".parquet"}
        return found | layouts
    kept = {} if made.model is None else {f"model/{name}": _digest(each) for name, each in made.model.files().items()}
    weights = {} if made.weights is None else {"weights": _digest(_stream(made.weights))}
    return {"certificate": made.certificate.to_json(), **kept, **weights, **_seen_frame(made.table)}


def _seen_frame(table: Any) -> dict[str, str]:
    library = type(table).__module__.partition(".")[0]
    if library == "pandas":
        types = {"types": str(table.dtypes.to_dict()), "index": repr(table.index), "attributes": repr(table.attrs)}
        return types | {"values": _digest(_stream(pa.Table.from_pandas(table)))}
    if library == "polars":
        types = {"types": str(table.schema), "chunks": str([column.n_chunks() for column in table])}
        return types | {"values": _digest(_stream(table.to_arrow()))}
    if library == "pyspark":
        arrow = table.toArrow()
        return {"types": table.schema.json(), "values": _digest(_stream(arrow.combine_chunks()))}
    types = {"types": f"{table.schema.to_string(show_schema_metadata=True)} {table.schema.metadata}"}
    chunks = {"chunks": str([[len(chunk) for chunk in column.chunks] for column in table.columns])}
    return types | chunks | {"values": _digest(_stream(table))}


def differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    return [name for name in sorted(one.keys() | other.keys()) if one.get(name) != other.get(name)]


def _layout(path: Path) -> str:
    found = papq.read_metadata(path)
    return str([found.row_group(place).num_rows for place in range(found.num_row_groups)])


def _stream(table: pa.Table) -> bytes:
    memory = pa.BufferOutputStream()
    with pa.ipc.new_stream(memory, table.schema) as writer:
        writer.write_table(table)
    return bytes(memory.getvalue())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
