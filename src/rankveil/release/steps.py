"""A release, from a table and a plan to protected rows and their certificate: the steps called in order."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypedDict, TypeVar, Unpack, overload

import pyarrow as pa

from rankveil import rules
from rankveil.certificate import Certificate, ExpectedNote, certify
from rankveil.consent import check_consent, weak
from rankveil.declare import Amount, Plan, Schema, declare, planned
from rankveil.declare.dataset import Dataset
from rankveil.declare.persons import limited
from rankveil.declare.unit import A_ROW
from rankveil.draw.rows import Rows
from rankveil.engines import Engine, Meter, RowsDone, Table, engine_for, first_rows, metered
from rankveil.errors import BudgetError, OutputError, PlanError
from rankveil.formats import FORMATS
from rankveil.formats.into import Target
from rankveil.fragments import fragment
from rankveil.ledger import Booking
from rankveil.load import load_into
from rankveil.measure.budget import Budget
from rankveil.methods import METHODS, FittedTable, Method, budget_of
from rankveil.model import Model
from rankveil.noise import RandomSource, SystemSource
from rankveil.preview.looked import expectations
from rankveil.preview.reach import MOST
from rankveil.sign import papers, signing_key_for
from rankveil.sign.manifest import signer_note
from rankveil.write import (
    FileFormat,
    OutputFolder,
    Written,
    fingerprints,
    publish_files,
    publish_frame,
    released_columns,
    said_by,
    weights_table,
    write_weights,
)

_ROWS_SHOWN = 5
_MORE_ROWS = 10_000  # than there are, at most, where a noisy number says how many are drawn
_OTHER_FORMAT = "Store the table as CSV or Parquet; its release is written alike."


T_co = TypeVar("T_co", covariant=True)


class _Frame(Protocol):
    """A pandas or polars frame: what comes out is one, too."""

    @property
    def shape(self) -> tuple[int, int]: ...

    @property
    def to_dict(self) -> Any: ...  # a table of Arrow has none


FrameT = TypeVar("FrameT", bound=_Frame)


@dataclass(frozen=True, repr=False)
class Release(Generic[T_co]):
    """A protected table and its certificate, as `release` gives them.

    `table` is of the kind that went in (Arrow for a file), or None if the release was written to `folder`. A data frame
    of Spark is made when it is asked for its rows, and gives the same ones each time.

        >>> made = rv.release(people, plan)
        >>> made
        Release of 500 rows by synthetic with ε = 1
        >>> type(made.table).__name__, len(made.table)
        ('DataFrame', 500)
        >>> made.certificate.epsilon, made.certificate.differentially_private
        ('1', True)
    """

    table: T_co
    certificate: Certificate
    folder: Path | None = None
    model: Model | None = None  # where it was to be kept
    weights: pa.Table | None = None  # replicate weights of a release in memory, row by row

    def __repr__(self) -> str:
        said = self.certificate
        budget = [("ε", said.epsilon), ("δ", None if said.delta == "0" else said.delta)]
        held = ", ".join(f"{symbol} = {amount}" for symbol, amount in budget if amount is not None)
        where = "" if self.folder is None else f", in {self.folder}"
        return f"Release of {said.rows:,} rows by {said.method}{held and ' with '}{held}{where}"

    def _repr_html_(self) -> str:
        """For notebooks: what holds, and the first rows of the protected table."""
        first, rows = None if self.table is None else first_rows(self.table, _ROWS_SHOWN), None
        if first is not None:
            columns = [[str(value) for value in column.to_pylist()] for column in first.columns]
            rows = (first.column_names, list(zip(*columns, strict=True)))
        return fragment(
            "Release" if self.folder is None else f"Release in {self.folder.name}/",
            warning=self.certificate.warning,
            facts=self.certificate.facts(),
            table=rows,
            footer=None if rows is None else f"The first {_ROWS_SHOWN} of {self.certificate.rows:,} protected rows.",
        )


class _Who(TypedDict, total=False):
    """What `release` and `fit` may be told besides, for type checkers."""

    epsilon: Amount | None
    delta: Amount | None
    accept_large_epsilon: bool
    engine: Engine | None
    source: RandomSource | None
    ledger: str | Path | None
    reference: str
    name: str
    clock: Callable[[], datetime]
    progress: Callable[[str], None]
    rows_done: RowsDone | None


class _How(_Who, total=False):
    """What `release` may be told besides."""

    accept_no_guarantee: bool
    replicates: int | None
    into: str | None
    key: str | Path | None
    passphrase: str | None
    signed: bool
    overwrite: bool
    escape_formulas: bool
    keep_model: bool


@overload
def release(table: object, plan: Plan | str | Path, *, out: str | Path, **how: Unpack[_How]) -> Release[None]: ...


@overload
def release(
    table: str | Path, plan: Plan | str | Path, *, out: None = None, **how: Unpack[_How]
) -> Release[pa.Table]: ...


@overload
def release(table: FrameT, plan: Plan | str | Path, *, out: None = None, **how: Unpack[_How]) -> Release[FrameT]: ...


@overload
def release(
    table: object, plan: Plan | str | Path, *, out: str | Path | None = None, **how: Unpack[_How]
) -> Release[Any]: ...


def release(
    table: object,
    plan: Plan | str | Path,
    *,
    epsilon: Amount | None = None,
    delta: Amount | None = None,
    out: str | Path | None = None,
    accept_no_guarantee: bool = False,
    accept_large_epsilon: bool = False,
    replicates: int | None = None,
    into: str | None = None,
    overwrite: bool = False,
    escape_formulas: bool = False,
    keep_model: bool = False,
    engine: Engine | None = None,
    source: RandomSource | None = None,
    ledger: str | Path | None = None,
    key: str | Path | None = None,
    passphrase: str | None = None,
    signed: bool = True,
    reference: str = "",
    name: str = "",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    progress: Callable[[str], None] = lambda stage: None,
    rows_done: RowsDone | None = None,
) -> Release[Any]:
    """Publish a protected version of `table` as `plan` describes.

        >>> made = rv.release(people, plan, epsilon=0.5)
        >>> list(made.table.columns)
        ['age', 'sex', 'income']
        >>> rv.release("people.csv", "plan.toml", out="2031-q1").folder.name
        '2031-q1'

    `table` is a path to a file of any format that is read (docs/formats.md), to a folder of CSV or Parquet files or a
    pattern of such paths; the address of a table in a database; a pandas, polars or Spark frame; or anything with the
    Arrow C stream. `epsilon` and `delta` take the place of the plan's.
    With `out`, the release and its documents (certificate, its page, manifest) are written to that folder, and
    signed with `key`, or with the key beside the ledger if there is one (`rankveil key new`); `signed=False` leaves the
    signature out. `passphrase` opens a locked key. With `into`, the address of a table in a database, the release also
    becomes that table, which appears whole or not at all. A method without a guarantee
    (`published:...`) needs `accept_no_guarantee=True`, an ε above 20 `accept_large_epsilon=True`. `escape_formulas`
    puts an apostrophe before labels and names of a CSV release that a spreadsheet would run as formulas. `keep_model`
    keeps what was measured and fitted (method `synthetic`): in `model/` beside the release, and as `model` of what is
    given back; rows and tables can be drawn from it at any time, at no further cost.
    The release is entered in the ledger (by default the user's own, see `rankveil ledger`) before noise is drawn, and
    is not given back if the run fails. `reference` is noted with that entry, so that whoever started a release can find
    out later whether it was paid for. `name` is what the ledger calls the table; by default the plan's `[publication]
    title`, or the name of the file. `source` is for tests: anything but the system's generator marks the certificate as
    not for release, and leaves the ledger alone.
    `replicates` asks for so many replicate weights of the released rows, in a file `weights` beside the release (in
    memory: `Release.weights`), from which `estimate` makes standard errors. They cost no budget.
    `progress` is told the stage at work, and `rows_done` how many rows of it have been read or written, and of how many
    (None if nobody knows).
    """
    plan = planned(plan, epsilon=epsilon, delta=delta)
    source = SystemSource() if source is None else source
    run = _Run.of(table, plan, engine, source, accept_no_guarantee, accept_large_epsilon)
    plan, method = run.plan, run.method
    _check_replicates(method, replicates)
    run.engine.refuse(method.reads_records(run.schema), out)
    escape = escape_formulas and out is not None
    form = _file_format(run, escape_formulas=escape)
    folder = None if out is None else OutputFolder(out, form, overwrite=overwrite)
    target = None if into is None else _target(into, out, overwrite=overwrite)
    if folder is not None:
        folder.refuse_to_replace([part.path for part in run.opened.parts])
    described = run.described() if keep_model else None
    signing = signing_key_for(key, ledger, passphrase) if signed and out is not None and source.releasable else None

    meter = metered(rows_done)
    check = _check_size if replicates is not None and plan.unit.rows_public else None
    booking, fitted = run.paid_and_linked(meter, progress, partial(run.entered, ledger, reference, name, clock), check)
    with booking.stands():
        kept = None if described is None else run.model(described, fitted)
        rows = method.rows(fitted, run.budget, source)
        del fitted
        weights = None
        if replicates is not None:
            progress("drawing replicates")
            rows, drawn = rows.weighed(replicates)
            weights = weights_table(drawn)
            del drawn
        rows = replace(rows, weigh=None)  # rows are made on other machines, too; the model stays here
        files = None if kept is None else kept.files()

        @cache  # made once, for it says when
        def certified(written: Written | None = None) -> Certificate:
            return certify(
                plan,
                method,
                rows,
                form,
                booking.reservation,
                clock(),
                written,
                replicates,
                for_release=source.releasable,
                model=None if files is None else fingerprints(files),
                expected=_expected(plan, rows),
                signer=None if signing is None else signer_note(signing),
            )

        if folder is None:
            made = publish_frame(rows, run.opened, run.engine)
            with suppress(BudgetError):  # the frame is made and paid for; the ledger shows it as not published
                booking.published("in memory")
            return Release(made, certified(), model=kept, weights=weights)
        if weights is not None:
            beside = "weights.csv" if FORMATS[form.name].for_statisticians else "weights.parquet"
            folder.add(beside, partial(write_weights, weights, name=beside))
        progress("writing")
        head = booking.head()

        def with_papers(written: Written) -> dict[str, bytes]:
            return papers(certified(written), head, signing)

        written = publish_files(rows, folder, with_papers, run.engine, meter, files)
    with booking.stands(f"Release and certificate are in {folder.path}; only a note of that is missing."):
        booking.published(f"sha256 {written.sha256}")
    if target is not None:
        progress("writing the table")
        with booking.stands(f"Release and certificate are in {folder.path}; the table was not written."):
            load_into(folder.path, target)
    return Release(None, certified(written), folder.path, kept)


def fit(
    table: object,
    plan: Plan | str | Path,
    *,
    epsilon: Amount | None = None,
    delta: Amount | None = None,
    accept_large_epsilon: bool = False,
    engine: Engine | None = None,
    source: RandomSource | None = None,
    ledger: str | Path | None = None,
    reference: str = "",
    name: str = "",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    progress: Callable[[str], None] = lambda stage: None,
    rows_done: RowsDone | None = None,
) -> Model:
    """Measure `table` as `plan` describes and fit a model to what was measured: a release without its rows.

        >>> model = rv.fit(people, plan, epsilon=2)
        >>> model.sample(1000).num_rows
        1000

    It costs what a release costs, is entered in the ledger like one, and has a certificate, which is saved with it.
    From the model rows and tables are drawn at any time, without data or budget. What is given is what `release` takes;
    the method is `synthetic`.
    """
    plan = planned(plan, epsilon=epsilon, delta=delta)
    source = SystemSource() if source is None else source
    run = _Run.of(table, plan, engine, source, False, accept_large_epsilon)
    run.engine.refuse(run.method.reads_records(run.schema), None)
    described = run.described()
    booking, fitted = run.paid_and_linked(
        metered(rows_done), progress, partial(run.entered, ledger, reference, name, clock)
    )
    with booking.stands():
        made, measured = run.model(described, fitted), fitted.measured
        rows = Rows(measured.schema, measured.rows, measured.notes, row_aligned=False, linkage=measured.linkage)
        certificate = certify(
            run.plan,
            run.method,
            rows,
            FileFormat("parquet"),
            booking.reservation,
            clock(),
            None,
            for_release=source.releasable,
            model=fingerprints(made.files()),
            expected=_expected(run.plan, rows),
        )
        with suppress(BudgetError):  # the model is made and paid for; the ledger shows it as not published
            booking.published("a model in memory")
        return replace(made, certificate=certificate.to_json())


@dataclass(frozen=True)
class _Run:
    """A table that is about to be released, or measured."""

    plan: Plan
    method: Method
    source: RandomSource
    engine: Engine
    opened: Table
    schema: Schema

    @classmethod
    def of(
        cls,
        table: object,
        plan: Plan,
        engine: Engine | None,
        source: RandomSource,
        accept_no_guarantee: bool,
        accept_large_epsilon: bool,
    ) -> _Run:
        agreed = accept_large_epsilon or not source.releasable  # a test releases nothing
        consent = partial(check_consent, accept_no_guarantee=accept_no_guarantee, accept_large_epsilon=agreed)
        if not plan.has_patterns:
            consent(plan)  # before a table is opened, if that can be
        engine = engine_for(table) if engine is None else engine
        opened = engine.open(table, separator=plan.table.separator, encoding=plan.table.encoding)
        plan = plan.over(opened.schema.names)
        method = consent(plan)
        return cls(plan, method, source, engine, opened, declare(plan, opened))

    @property
    def budget(self) -> Budget:
        return budget_of(self.plan)

    def described(self) -> dict[str, str]:
        """What a model says of the plan; read before anything is spent."""
        if self.method.fit is None:
            raise PlanError(
                f"The method {self.method.name} has no model that could be kept.",
                remedy='Release without it, or use method = "synthetic".',
            )
        return Model.public_files(self.plan, self.schema)

    def model(self, described: dict[str, str], fitted: FittedTable) -> Model:
        return Model.of(described, fitted.measured, fitted.model, for_release=self.source.releasable)

    def paid_and_linked(
        self,
        meter: Meter,
        progress: Callable[[str], None],
        entered: Callable[[], Booking],
        check_rows: Callable[[int], None] | None = None,
    ) -> tuple[Booking, Any]:
        """What was entered in the ledger, and what rows can be made of."""
        progress("reading the table and grouping")
        with limited(Dataset(self.schema, self.opened, self.engine, meter), self.source) as dataset:
            prepared = self.method.prepare(dataset, self.plan.release.k or 1)
            if check_rows is not None:
                check_rows(prepared.rows)
            self.method.planned(self.plan)  # refuses noise that cannot be drawn, while that still costs nothing
            # PRIVACY: the spend is on the disk before any noise is drawn, and nothing takes it back.
            booking = entered() if self.source.releasable else Booking()
            with booking.stands():
                progress("drawing noise")
                protected = self.method.protect(prepared, self.budget, self.source)
                del prepared  # exact counts can be millions of numbers
        with booking.stands():
            progress("linking columns")
            return booking, self.method.linked(protected, self.source)

    def entered(self, path: str | Path | None, reference: str, name: str, clock: Callable[[], datetime]) -> Booking:
        plan = self.plan
        protected = [f"protects {plan.unit.who}"] if plan.unit != A_ROW else []
        said = [self.method.name, *protected, *(f"{what} accepted" for what in weak(plan, self.method))]
        return Booking.enter(
            path,
            self.opened,
            self.engine,
            epsilon=Fraction(plan.release.epsilon) if self.method.differentially_private else None,
            delta=Fraction(plan.release.delta or 0),
            note=", ".join([*said, *([f"reference {reference}"] if reference else [])]),
            name=plan.publication.title or name,
            population=plan.release.population,
            reading=plan.text_reading,
            clock=clock,
        )


def _target(into: str, out: str | Path | None, *, overwrite: bool) -> Target:
    """Where a table is to go; refused before anything is spent if it cannot go there."""
    if out is None:
        raise OutputError(
            "A table of a database needs a folder beside it, for the certificate.", remedy="Say --out as well."
        )
    return Target.of(into, overwrite=overwrite)


def _expected(plan: Plan, rows: Rows) -> list[ExpectedNote]:
    """What the dry run knows of the noise, for the certificate."""
    return [
        ExpectedNote(column=one.column, question=one.question, answer=one.answer, percent_of_draws=round(100 * MOST))
        for one in expectations(plan, rows.row_count)
    ]


def _check_replicates(method: Method, replicates: int | None) -> None:
    if replicates is None:
        return
    if not method.has_replicates:
        able = ", ".join(name for name, each in METHODS.items() if each.has_replicates)
        raise PlanError(f"The method {method.name} has no replicate weights.", remedy=f"Use the method {able}.")
    if not rules.FEWEST_REPLICATES <= replicates <= rules.MOST_REPLICATES:
        raise PlanError(
            f"{replicates} replicates are asked for.",
            remedy=f"Ask for {rules.FEWEST_REPLICATES} to {rules.MOST_REPLICATES}; 80 do for most.",
        )


def _check_size(rows: int) -> None:
    if rows > rules.MOST_REPLICATED_ROWS:
        raise PlanError(
            f"Replicate weights are made for up to {rules.MOST_REPLICATED_ROWS:,} rows, and the table has {rows:,}.",
            remedy="Release it without replicates.",
        )


def _file_format(run: _Run, *, escape_formulas: bool) -> FileFormat:
    """How the release is written: as the table was, where that can be; refused if that format cannot hold it."""
    plan, table = run.plan, run.opened
    concepts = not run.method.differentially_private  # published methods release inner concepts of taxonomies
    form = FORMATS["parquet"]
    if table.of_texts:
        form = FORMATS["csv"]
    elif table.parts and not run.engine.in_parts:
        found = FORMATS[table.format]
        form = FORMATS[found.released_as or found.name]
    # As many rows come out as go in; where their number is noisy, perhaps more.
    rows = table.expected_rows() if table.parts and not plan.unit.rows_public else None
    columns = released_columns(run.schema, concepts=concepts)
    refused = form.writes.refuse(columns, None if rows is None else rows + _MORE_ROWS)
    if refused is not None:
        raise OutputError(f"The release cannot be written as {form.title}: {refused}.", remedy=_OTHER_FORMAT)
    separator = table.dialect.separator if table.dialect else plan.table.separator or ","
    escaped = escape_formulas and form.name == "csv"  # nothing else is read as formulas
    return FileFormat(form.name, separator, escaped, plan.table.decimal_mark, said_by(plan), concepts)
