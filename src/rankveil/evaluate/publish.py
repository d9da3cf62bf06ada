"""Accuracy of a release, published: measured with noise, entered in the ledger first, put on the certificate.

Guarantee    The figures are ε-DP for whom the plan protects, beside what the release has cost. The spend is in the
             ledger, under the same identities as a release, before noise is drawn, and is not given back. The
             certificate is replaced as a whole, or not at all, and says everything else as it did.
Argument     T53, T6 and T2; the release is what its certificate says, or nothing is asked.
Refused      Whatever leaves it open what was released of which table: another plan, another file, another number of
             rows where that is public, no certificate, no guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from pathlib import Path

from rankveil.certificate import Certificate, plain
from rankveil.certificate.odds import meaning_of
from rankveil.declare import Plan, Records, Schema, declare, encode
from rankveil.declare.dataset import Dataset
from rankveil.declare.expression import Node, parse
from rankveil.declare.persons import limited
from rankveil.declare.rule import Stated
from rankveil.engines import Engine, RowsDone, engine_for, metered, open_table
from rankveil.errors import BudgetError, GuaranteeError, OutputError, PlanError, SigningError, TableError
from rankveil.evaluate.evaluation import certificate_beside, plan_in_force, release_file, with_columns
from rankveil.ledger import Booking, Head, Ledger, default_ledger_path, lacks
from rankveil.meaning import NEEDS_CONSENT
from rankveil.measure.accuracy import Answer, Conditions, Question, noisy_answers
from rankveil.measure.budget import Budget
from rankveil.noise import RandomSource, SystemSource
from rankveil.published_accuracy import THEOREMS, AccuracyStatement, figure_of, statement_of
from rankveil.sign import SigningKey, papers, signing_key_for
from rankveil.verify.numbers import Fails
from rankveil.verify.release import fingerprint
from rankveil.write import CERTIFICATE_NAME, rewrite_papers

MOST_QUERIES = 100


def publish_accuracy(
    table: object,
    release: str | Path,
    plan: Plan | str | Path,
    *,
    epsilon: Decimal | Fraction | str | int,
    queries: Sequence[str] = (),
    key: str | Path | None = None,
    passphrase: str | None = None,
    engine: Engine | None = None,
    source: RandomSource | None = None,
    ledger: str | Path | None = None,
    reference: str = "",
    name: str = "",
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    progress: Callable[[str], None] = lambda stage: None,
    rows_done: RowsDone | None = None,
) -> Certificate:
    """Measure how far `release` is from `table` with noise worth `epsilon`, and add that to its certificate.

    `release` is a folder that a release was written to, or the file in it. What is published: the mean total variation
    of columns and of pairs, over cells that follow from the release, and for each of `queries`, a condition such as
    "age >= 65 and sex = 'f'", the error of the share of rows that fulfil it. The rest is as for `release`: the ledger
    is written first, and anything but the system's generator as `source` is for tests. The page and the manifest are
    made again; a release that is signed is signed again, with the same key (`key`, or the one beside the ledger).

        rv.evaluate.publish_accuracy("people.csv", "2031-q1", "plan.toml", epsilon="0.1")
    """
    source = SystemSource() if source is None else source
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    price = _epsilon(epsilon)
    file = release_file(Path(release))
    certificate = certificate_beside(file)
    if certificate is None:
        raise TableError(
            f"No certificate of {file.name} lies beside it, so there is nothing that the figures could stand on.",
            remedy="Name a folder that `rankveil release` has written.",
        )
    plan = _plan_of(certificate, plan, source)
    try:
        fingerprint(certificate, file)
    except Fails as failure:
        raise TableError(
            f"{file.name} is not the file that the certificate beside it speaks of: {failure}.",
            remedy="Find out what has changed it: rankveil verify.",
        ) from None
    signing = _same_key(certificate, key, ledger, passphrase)
    engine = engine_for(table) if engine is None else engine
    opened = engine.open(table, separator=plan.table.separator, encoding=plan.table.encoding)
    schema = declare(plan, opened)
    conditions = Conditions(schema, tuple(_condition(text, schema) for text in queries))
    if len(queries) > MOST_QUERIES:
        raise PlanError(f"{len(queries)} queries are asked.", remedy=f"Ask at most {MOST_QUERIES}: they share one ε.")
    progress("reading the release")
    question = Question.about(_released(file, plan, schema), conditions)

    progress("reading the table")
    with limited(Dataset(schema, opened, engine, metered(rows_done)), source) as dataset:
        exact, rows = question.exact(dataset)
    if plan.unit.rows_public and rows != certificate.rows:
        raise TableError(
            f"The table has {rows} rows and the certificate speaks of {certificate.rows}: the release is not one of"
            " this table.",
            remedy="Name the table that was released.",
        )
    if source.releasable:
        _same_ledger(certificate, default_ledger_path() if ledger is None else Path(ledger))
    budget = Budget(price, protects=plan.unit)
    # PRIVACY: the spend is on the disk before any noise is drawn, and nothing takes it back.
    booking = Booking()
    if source.releasable:
        booking = Booking.enter(
            ledger,
            opened,
            engine,
            epsilon=price,
            delta=Fraction(0),
            note=", ".join(["accuracy of a release", *([f"reference {reference}"] if reference else [])]),
            name=plan.publication.title or name,
            population=plan.release.population,
            reading=plan.text_reading,
            clock=clock,
        )
    with booking.stands("The certificate is unchanged."):
        progress("drawing noise")
        head = booking.head()
        answers = noisy_answers(exact, budget, source)
        changed = _rewritten(file.parent, certificate, answers, queries, booking, head, price, clock(), signing)
    with booking.stands("The figures are on the certificate; only a note of that is missing."):
        booking.published("accuracy, on the certificate")
    return changed


def _epsilon(epsilon: Decimal | Fraction | str | int) -> Fraction:
    try:
        read = Fraction(epsilon)
    except (ValueError, ZeroDivisionError, InvalidOperation, OverflowError):
        read = Fraction(0)
    if not Fraction(1, 10**9) <= read <= NEEDS_CONSENT:
        raise PlanError(
            f"ε of published accuracy must be a number above 0 (from 1e-9) and at most {NEEDS_CONSENT}.",
            remedy="0.1 is common: figures of 10,000 rows are then off by about 0.002.",
        )
    return read


def _plan_of(certificate: Certificate, plan: Plan, source: RandomSource) -> Plan:
    """The plan with the settings that were in force, if the release was made by it."""
    if not certificate.differentially_private or certificate.epsilon is None:
        raise GuaranteeError(
            f"The release was made by {certificate.method}, which gives no differential privacy: private figures about"
            " a table that is not protected would only look like protection.",
            remedy="Evaluate it internally: rankveil evaluate without --publish.",
        )
    if source.releasable and not certificate.for_release:
        raise GuaranteeError(
            "The release was drawn from a fixed seed: it is a test, and budget would be spent on it for nothing.",
            remedy="Release the table without a seed first.",
        )
    return plan_in_force(plan, certificate)


def _condition(text: str, schema: Schema) -> Node:
    asked = Stated(f"the query ({text})", parse(text, "The query"))
    schema.scope.check(asked)
    return asked.node


def _released(file: Path, plan: Plan, schema: Schema) -> Records:
    opened = open_table(file, separator=plan.table.separator).unescaped(schema.names)
    return encode(with_columns(opened, schema), schema, released=True)


def _same_key(
    certificate: Certificate, key: str | Path | None, ledger: str | Path | None, passphrase: str | None
) -> SigningKey | None:
    """The key that has signed the release, if one has: other papers need its signature. Before anything is spent."""
    if certificate.signed is None:
        return None
    found = signing_key_for(key, ledger, passphrase)
    if found is None or found.public.fingerprint != certificate.signed.key:
        raise SigningError(
            "The release is signed, and the figures change what was signed: the key that has signed it is needed.",
            remedy="Name it with --key.",
        )
    return found


def _same_ledger(certificate: Certificate, path: Path) -> None:
    """What these figures cost is added to what the release has cost, so they stand in one book, under one cap."""
    if certificate.ledger is None:
        return
    wrong: str | None = f"there is no ledger {path}"
    if path.is_file():
        with Ledger(path) as opened:
            wrong = lacks(opened, certificate.ledger.entry, certificate.ledger.receipt)
    if wrong is not None:
        raise BudgetError(
            f"The ledger is not the one that the release was entered in: {wrong}.",
            remedy="Name that one with --ledger: figures of accuracy add to what the release has cost.",
        )


def _rewritten(
    folder: Path,
    before: Certificate,
    answers: Sequence[Answer],
    queries: Sequence[str],
    booking: Booking,
    head: Head | None,
    price: Fraction,
    now: datetime,
    signing: SigningKey | None,
) -> Certificate:
    """The papers with one statement more, in the place of what they were; all or none."""
    paid, made = booking.reservation, list[Certificate]()

    def changed(folder: Path) -> dict[str, bytes]:
        found = Certificate.model_validate_json((folder / CERTIFICATE_NAME).read_bytes())
        if found.release != before.release:
            raise OutputError(
                f"{CERTIFICATE_NAME} has become that of another release meanwhile.",
                remedy="Publish the accuracy of that one.",
            )
        earlier = found.published_accuracy or ()
        together = sum((Fraction(each.epsilon) for each in earlier), Fraction(found.epsilon or 0) + price)
        statement = AccuracyStatement(
            created=now,
            statement=statement_of(plain(price), found.unit.rows_public),
            epsilon=plain(price),
            together_epsilon=plain(together),
            together_delta=found.delta or "0",
            theorems=THEOREMS,
            ledger_entry=None if paid is None else paid.number,
            ledger_receipt=None if paid is None else paid.receipt,
            figures=tuple(
                figure_of(
                    answer.kind,
                    noisy=answer.noisy,
                    rows=found.rows,
                    tables=answer.tables,
                    epsilon=plain(answer.epsilon),
                    scale=plain(answer.noise.parameter),
                    rows_public=found.unit.rows_public,
                    condition=None if answer.place is None else queries[answer.place],
                )
                for answer in answers
            ),
        )
        beside = together - Fraction(found.epsilon or 0)
        meant = meaning_of(Fraction(found.epsilon or 0), Fraction(found.delta or 0), found.accounting, beside)
        update = {"published_accuracy": (*earlier, statement), "meaning": None if found.meaning is None else meant}
        made[:] = [found.model_copy(update=update)]
        return papers(made[0], head, signing)

    rewrite_papers(folder, changed)
    return made[0]
