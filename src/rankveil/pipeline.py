"""A release, from a table and a plan to protected rows and their certificate: the five steps called in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from rankveil import certificate as certificates
from rankveil._version import __version__
from rankveil.certificate import Certificate
from rankveil.declare import Plan, Schema, declare
from rankveil.declare.dataset import Dataset
from rankveil.draw.rows import Rows
from rankveil.engines import Engine, LocalEngine, Meter, Table, no_meter
from rankveil.engines.spark import FrameTable, SparkEngine, is_spark_frame
from rankveil.errors import BudgetError, GuaranteeError, OutputError, PlanError, RankveilError
from rankveil.fragments import fragment
from rankveil.ledger import Ledger, Reservation, default_ledger_path, identities
from rankveil.meaning import LARGE_DELTA, NEEDS_CONSENT, beyond, in_words
from rankveil.measure.budget import Budget
from rankveil.methods import Method, method_named
from rankveil.noise import RandomSource, SystemSource
from rankveil.write import FileFormat, OutputFolder, Written, as_arrow
from rankveil.write.spread import BatchMaker, write_spread

Progress = Callable[[str], None]
_ROWS_SHOWN = 5
RowsDone = Callable[[int, int | None], None]
ESCAPED = (
    "Labels and column names that a spreadsheet would run as formulas have an apostrophe before them, which is no part"
    " of them."
)
ORDER_RELEASED = (
    "The order of the rows is released as it is: row r belongs to record r of the table. Where that order says"
    " something about people, as in a table sorted by income or by date of entry, it is not protected; shuffle such a"
    " table first."
)


def _silent(stage: str) -> None:
    """No progress wanted."""


def metered(told: RowsDone | None) -> Meter:
    """A meter that adds rows up for someone who wants to see them."""
    if told is None:
        return no_meter

    def begin(expected: int | None) -> Callable[[int], None]:
        done = 0

        def add(rows: int) -> None:
            nonlocal done
            done += rows
            told(done, expected)

        return add

    return begin


@dataclass(frozen=True)
class Release:
    """A protected table and its certificate.

    `table` is of the kind that went in (Arrow for a file), or None if the release was written to `folder`. A data frame
    of Spark is made when it is asked for its rows, and gives the same ones each time.
    """

    table: Any
    certificate: Certificate
    folder: Path | None = None

    def _repr_html_(self) -> str:
        """For notebooks: what holds, and the first rows of the protected table."""
        rows = None
        if self.table is not None and not is_spark_frame(self.table):  # showing a frame would make Spark compute it
            first = pa.table(self.table[:_ROWS_SHOWN])  # pandas, polars and Arrow all slice rows this way
            columns = [[str(value) for value in column.to_pylist()] for column in first.columns]
            rows = (first.column_names, list(zip(*columns, strict=True)))
        return fragment(
            "Release" if self.folder is None else f"Release in {self.folder.name}/",
            warning=self.certificate.warning,
            facts=self.certificate.facts(),
            table=rows,
            footer=None if rows is None else f"The first {_ROWS_SHOWN} of {self.certificate.rows:,} protected rows.",
        )


def release(
    table: object,
    plan: Plan | str | Path,
    *,
    out: str | Path | None = None,
    accept_no_guarantee: bool = False,
    accept_large_epsilon: bool = False,
    overwrite: bool = False,
    escape_formulas: bool = False,
    engine: Engine | None = None,
    source: RandomSource | None = None,
    ledger: str | Path | None = None,
    reference: str = "",
    name: str = "",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    progress: Progress = _silent,
    rows_done: RowsDone | None = None,
) -> Release:
    """Publish a protected version of `table` as `plan` describes.

    `table` is a path to a CSV or Parquet file, to a folder of them or a pattern of such paths; a pandas, polars or
    Spark frame; or anything with the Arrow C stream.
    With `out`, the release and its certificate are written to that folder. A method without a guarantee
    (`published:...`) needs `accept_no_guarantee=True`, an ε above 20 `accept_large_epsilon=True`. `escape_formulas`
    puts an apostrophe before labels and names of a CSV release that a spreadsheet would run as formulas. The release is
    entered in the ledger (by default the user's own, see `rankveil ledger`) before noise is drawn, and is not given
    back if the run fails. `reference` is noted with that entry, so that whoever started a release can find out later
    whether it was paid for. `name` is what the ledger calls the table; by default the plan's `[publication] title`, or
    the name of the file. `source` is for tests: anything but the system's generator marks the certificate as not for
    release, and leaves the ledger alone.
    `progress` is told the stage at work, and `rows_done` how many rows of it have been read or written, and of how many
    (None if nobody knows).
    """
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    source = SystemSource() if source is None else source
    method = check_consent(
        plan,
        accept_no_guarantee=accept_no_guarantee,
        accept_large_epsilon=accept_large_epsilon or not source.releasable,  # a test releases nothing
    )
    engine = _engine_for(table) if engine is None else engine
    opened = engine.open(table, separator=plan.table.separator, encoding=plan.table.encoding)
    schema = declare(plan, opened)
    _check_engine(engine, method, schema, out)
    escape_formulas = escape_formulas and out is not None and _file_format(opened) == "csv"
    folder = (
        None
        if out is None
        else OutputFolder(out, _file_format(opened), overwrite=overwrite, escape_formulas=escape_formulas)
    )

    if folder is not None:
        folder.refuse_to_replace([part.path for part in opened.parts])
    dataset = Dataset(schema, opened, engine, meter=metered(rows_done))
    progress("reading the table and grouping")
    grouped = [method.microaggregate(dataset, plan.release.k or 1)]
    method.planned(plan)  # refuses noise that cannot be drawn, while that still costs nothing
    # PRIVACY: the spend is on the disk before any noise is drawn, and nothing takes it back.
    book = _Book.entered(ledger, plan, method, opened, engine, reference, name, clock) if source.releasable else None
    with _what_it_cost(book):
        rows = protected_rows(grouped, plan, source, progress)
    if rows.row_aligned:
        rows = replace(rows, remarks=(*rows.remarks, ORDER_RELEASED))
    if escape_formulas:
        rows = replace(rows, remarks=(*rows.remarks, ESCAPED))

    def certify(written: Written | None) -> Certificate:
        entry = None if book is None else book.reservation
        return _certificate(plan, method, schema, rows, source, clock(), written, _file_format(opened), entry)

    if folder is None:
        with _what_it_cost(book):
            if isinstance(engine, SparkEngine) and isinstance(opened, FrameTable):
                result = engine.frame(BatchMaker(rows), rows.pieces, rows.schema.arrow)
            else:
                result = opened.rebuild(as_arrow(rows))
        if book is not None:
            with suppress(BudgetError):  # the frame is made and paid for; the ledger shows it as not published
                book.published("in memory")
        return Release(result, certify(None))
    progress("writing")
    made: list[Certificate] = []

    def certified(written: Written) -> str:
        made.append(certify(written))
        return made[0].to_json()

    with _what_it_cost(book):
        separator = opened.dialect.separator if opened.dialect else plan.table.separator or ","
        if isinstance(engine, SparkEngine):
            form = FileFormat(_file_format(opened), separator, escape_formulas)
            written = folder.publish_parts(lambda target: write_spread(rows, target, form, engine.map), certified)
        else:
            written = folder.publish(rows, separator, certified, metered(rows_done)(rows.row_count))
    if book is not None:
        with _what_it_cost(book, f"Release and certificate are in {folder.path}; only a note of that is missing."):
            book.published(f"sha256 {written.sha256}")
    return Release(None, made[0], folder.path)


def protected_rows(grouped: list[Any], plan: Plan, source: RandomSource, progress: Progress = _silent) -> Rows:
    """Steps 3 and 4 on what the plan's method has grouped. INTERNAL: no ledger knows of what is drawn here.

    `grouped` holds one thing, which is taken out: exact counts can be millions of numbers, and go once noise is drawn.
    PRIVACY: a caller that lets anybody see these rows must have entered them in the ledger before this call, as
    `release` does. A caller that has not (a comparison, an experiment) keeps rows and what follows from them inside.
    """
    method = method_named(plan.release.method)
    delta = plan.release.delta
    budget = Budget(Fraction(plan.release.epsilon), None if delta is None else Fraction(delta))
    progress("drawing noise")
    protected = method.protect(grouped.pop(), budget, source)
    progress("linking columns")
    return method.relink(protected, budget, source)


def _engine_for(table: object) -> Engine:
    return SparkEngine(table.sparkSession) if is_spark_frame(table) else LocalEngine()  # type: ignore[attr-defined]


def _check_engine(engine: Engine, method: Method, schema: Schema, out: str | Path | None) -> None:
    """Refuse what a cluster cannot do, before anything is read.

    PRIVACY: noise is drawn by the driver alone. A worker that is lost is asked again, and a record whose noise was
    drawn twice would pay twice.
    """
    if engine.name != "spark":
        return
    if out is not None and "://" in str(out):
        raise OutputError(
            f"A release cannot be written to {out}: it has to appear whole or not at all, which needs a file system.",
            remedy="Give a folder that the driver and all executors share under the same path, and copy it from there.",
        )
    needs = None
    if not method.folds_only:
        needs = f"The method {method.name}"
    elif any(not column.protected for column in schema.columns):
        needs = "A plan with public columns"
    if needs is not None:
        raise PlanError(
            f"{needs} needs every record by itself: its noise is drawn record by record, and on the driver alone.",
            remedy="Use the local engine, which streams files of any size, or the method synthetic without public"
            " columns, which needs counts only.",
        )


@contextmanager
def _what_it_cost(book: _Book | None, made: str = "No release was written.") -> Iterator[None]:
    """An error after the spend says that the spend stands, and what there is to show for it."""
    try:
        yield
    except RankveilError as error:
        if book is not None:
            error.cost = f"{made} Its budget is spent: entry {book.reservation.number} of the ledger."
        raise


@dataclass(frozen=True)
class _Book:
    """A release's entry in the ledger."""

    path: Path
    reservation: Reservation
    clock: Callable[[], datetime]

    @classmethod
    def entered(
        cls,
        path: str | Path | None,
        plan: Plan,
        method: Method,
        table: Table,
        engine: Engine,
        reference: str,
        name: str,
        clock: Callable[[], datetime],
    ) -> _Book:
        where = default_ledger_path() if path is None else Path(path)
        with Ledger(where, clock=clock) as ledger:
            found = identities(
                table,
                ledger.key,
                name=plan.publication.title or name,
                population=plan.release.population,
                reading=plan.text_reading,
                older=ledger.continues_format_1,
                engine=engine,
            )
            epsilon = Fraction(plan.release.epsilon) if method.differentially_private else None
            said = [method.name, *(f"{what} accepted" for what in _weak(plan, method))]
            note = ", ".join([*said, *([f"reference {reference}"] if reference else [])])
            reservation = ledger.spend(found, epsilon, Fraction(plan.release.delta or 0), note)
        return cls(where, reservation, clock)

    def published(self, what: str) -> None:
        with Ledger(self.path, clock=self.clock) as ledger:
            ledger.published(self.reservation.identities, self.reservation, what)


def check_consent(plan: Plan, *, accept_no_guarantee: bool, accept_large_epsilon: bool = False) -> Method:
    """The plan's method, if everything a person has to agree to has been agreed to."""
    method = method_named(plan.release.method)
    if method.needs_clusters and plan.release.k is None:
        raise PlanError(
            f"The method {method.name} forms clusters and the plan sets no k.",
            remedy="Add k to [release], for example k = 10, or give --k.",
        )
    if plan.release.delta is not None and not method.uses_delta:
        raise PlanError(
            f"The method {method.name} is not made for a delta.",
            remedy="Remove delta from [release]: what the method gives holds without it.",
        )
    unbounded = [name for name, entry in plan.columns.items() if getattr(entry, "bounds", "public") == "private"]
    if unbounded and not method.finds_bounds:
        raise PlanError(
            f"The method {method.name} cannot find private bounds, which column {unbounded[0]!r} asks for.",
            remedy="Give the column public limits (lower and upper), or use the method synthetic or aligned.",
        )
    if plan.impossible and method.name != "synthetic":
        raise PlanError(
            f"The method {method.name} does not keep to `impossible`.", remedy="Remove its entries, or use synthetic."
        )
    if not method.differentially_private and not accept_no_guarantee:
        raise GuaranteeError(
            f"The method {method.name} does not give differential privacy. {method.why_not}",
            remedy="Use it for comparison only, and say so: --accept-no-guarantee (Python: accept_no_guarantee=True)."
            " For a release with a guarantee choose another method: rankveil methods.",
        )
    if _weak(plan, method) and not accept_large_epsilon:
        raise GuaranteeError(
            in_words(plan.release.epsilon, plan.release.delta),
            remedy=f"Choose an ε of at most {NEEDS_CONSENT} (1 is common) and a δ of at most {LARGE_DELTA:f} (1e-9 is)."
            " Or say that you mean it, ε or δ: --accept-large-epsilon (Python: accept_large_epsilon=True).",
        )
    if plan.guesses:
        raise GuaranteeError(
            f"The plan holds guesses taken from the data that nobody has confirmed:\n{_listed_guesses(plan)}",
            remedy="Replace each by what is publicly known about the column (not by what the table shows), then delete"
            " the column's line `unconfirmed = [...]` (and that of [table]).",
        )
    return method


def _weak(plan: Plan, method: Method) -> list[str]:
    """In what the plan's guarantee is so weak that somebody has to say yes to it."""
    return beyond(plan.release.epsilon, plan.release.delta) if method.differentially_private else []


def _listed_guesses(plan: Plan) -> str:
    """All of them; places with the same guesses share a line."""
    places: dict[tuple[str, ...], list[str]] = {}
    for place, entries in plan.guesses.items():
        places.setdefault(entries, []).append(place)
    return "\n".join(f"  {', '.join(named)}: {', '.join(entries)}" for entries, named in places.items())


def _file_format(table: Table) -> Literal["csv", "parquet"]:
    return "csv" if table.format == "csv" else "parquet"


def _certificate(
    plan: Plan,
    method: Method,
    schema: Schema,
    rows: Rows,
    source: RandomSource,
    now: datetime,
    written: Written | None,
    file_format: Literal["csv", "parquet"],
    entry: Reservation | None,
) -> Certificate:
    public = any(not column.protected for column in schema.columns)
    weak = _weak(plan, method) if source.releasable else []
    accepted = [f"Accepted by whoever released this: {' and '.join(weak)}."] if weak else []
    shares = tuple(certificates.share_of(note) for note in rows.notes)
    columns = tuple(certificates.describe(column) for column in rows.schema.columns)
    accounting = next((note.accounting for note in rows.notes if note.rho is not None), None)
    return Certificate(
        rankveil_version=__version__,
        created=now,
        title=plan.publication.title,
        method=method.name,
        differentially_private=method.differentially_private,
        for_release=source.releasable,
        statement=certificates.statement_for(
            method, plan.release.epsilon, plan.release.delta, for_release=source.releasable
        ),
        reason=method.why_not or None,
        theorems=certificates.theorems_for(method, shares, columns, plan.release.delta, accounting),
        neighbours=certificates.NEIGHBOURS + (certificates.NEIGHBOURS_WITH_PUBLIC if public else ""),
        epsilon=certificates.plain(plan.release.epsilon) if method.differentially_private else None,
        delta=certificates.plain(plan.release.delta or Decimal(0)) if method.differentially_private else None,
        accounting=accounting,
        settings=certificates.Settings(
            epsilon=certificates.plain(plan.release.epsilon) if method.uses_budget else None,
            k=plan.release.k if method.needs_clusters else None,
        ),
        shares=shares,
        rows=rows.row_count,
        row_aligned=rows.row_aligned,
        linkage=rows.linkage or None,
        remarks=(*rows.remarks, *accepted),
        columns=columns,
        ledger=None if entry is None else certificates.LedgerNote(entry=entry.number, receipt=entry.receipt),
        plan=certificates.PlanNote(sha256=plan.sha256(), file_sha256=plan.file_sha256),
        release=None if written is None else certificates.ReleaseNote.of(written, file_format, plan.table.decimal_mark),
    )
