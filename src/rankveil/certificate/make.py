"""A certificate made of a plan, of what the mechanisms report about themselves, and of what was written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np

from rankveil._version import __version__
from rankveil.certificate.content import (
    MOST_VALUE_LABELS,
    Certificate,
    ColumnNote,
    ExpectedNote,
    InterestNote,
    LedgerNote,
    ModelNote,
    PlanNote,
    PublicationNote,
    ReleaseNote,
    Settings,
    Share,
    SignerNote,
    TheoremNote,
    UnitNote,
    WeightsNote,
)
from rankveil.certificate.numbers import plain
from rankveil.certificate.odds import meaning_of
from rankveil.certificate.spent import spent_by
from rankveil.consent import weak
from rankveil.declare import Column, Plan
from rankveil.declare.domain import Nominal
from rankveil.declare.unit import A_ROW, Unit
from rankveil.draw.rows import Rows
from rankveil.ledger import Reservation
from rankveil.meaning import in_words, needs_words
from rankveil.measure.accounting import Accounting
from rankveil.measure.budget import Mechanism
from rankveil.methods import Method
from rankveil.privacy import cited
from rankveil.write import FileFormat, Said, Written, said_by
from rankveil.write.swap import WEIGHTS_NAMES

NEIGHBOURS_WITH_PUBLIC = (
    " Columns marked public are known to everyone and released as they are: nobody is protected in them, and"
    " neighbours agree on them."
)
ESCAPED = (
    "Labels and column names that a spreadsheet would run as formulas have an apostrophe before them, which is no part"
    " of them."
)
ORDER_RELEASED = (
    "The order of the rows is released as it is: row r belongs to record r of the table. Where that order says"
    " something about people, as in a table sorted by income or by date of entry, it is not protected; shuffle such a"
    " table first."
)


def certify(
    plan: Plan,
    method: Method,
    rows: Rows,
    form: FileFormat,
    entry: Reservation | None,
    created: datetime,
    written: Written | None,
    replicates: int | None = None,
    *,
    for_release: bool,
    model: Written | None = None,
    expected: Sequence[ExpectedNote] = (),
    signer: SignerNote | None = None,
) -> Certificate:
    """What holds for rows, for the file they were written to, if there is one, and for a model that is kept.

    `expected`: what the dry run knows of the noise. `signer`: whose key is about to sign.
    """
    epsilon, delta = plan.release.epsilon, plan.release.delta
    public = any(not column.protected for column in rows.schema.columns)
    accepted = weak(plan, method) if for_release else []
    remarks = [*rows.remarks]
    remarks += [ORDER_RELEASED] if rows.row_aligned else []
    remarks += [ESCAPED] if form.escape_formulas else []
    remarks += [f"Accepted by whoever released this: {' and '.join(accepted)}."] if accepted else []
    shares = tuple(share_of(note) for note in rows.notes)
    said = said_by(plan)
    columns = tuple(describe(column, said.get(column.name, Said())) for column in rows.schema.columns)
    accounting = next((note.accounting for note in rows.notes if note.rho is not None), None)
    return Certificate(
        rankveil_version=__version__,
        created=created,
        title=plan.publication.title,
        publication=_publication_note(plan),
        method=method.name,
        differentially_private=method.differentially_private,
        for_release=for_release,
        statement=statement_for(method, epsilon, delta, plan.unit, for_release=for_release),
        reason=method.why_not or None,
        theorems=theorems_for(method, shares, columns, delta, accounting, plan.unit),
        neighbours=plan.unit.definition + (NEIGHBOURS_WITH_PUBLIC if public else ""),
        protects=UnitNote.of(plan.unit),
        epsilon=plain(epsilon) if method.differentially_private else None,
        delta=plain(delta or Decimal(0)) if method.differentially_private else None,
        accounting=accounting,
        meaning=meaning_of(epsilon, delta, accounting) if method.differentially_private else None,
        settings=Settings(
            epsilon=plain(epsilon) if method.uses_budget else None,
            k=plan.release.k if method.needs_clusters else None,
        ),
        shares=shares,
        spent=spent_by(shares, [column.name for column in columns]),
        expected=tuple(expected),
        rows=rows.row_count,
        row_aligned=rows.row_aligned,
        linkage=rows.linkage or None,
        rules=tuple(rule.text for rule in rows.schema.stated) or None,
        interest=tuple(InterestNote(target=one.target, columns=one.columns) for one in plan.interest) or None,
        remarks=tuple(remarks),
        columns=columns,
        dropped=_dropped(plan),
        ledger=None if entry is None else LedgerNote(entry=entry.number, receipt=entry.receipt),
        plan=PlanNote(sha256=plan.sha256()),
        release=None if written is None else ReleaseNote.of(written, form),
        model=None if model is None else ModelNote.of(model),
        weights=_weights_note(written, replicates),
        signed=signer,
    )


def _publication_note(plan: Plan) -> PublicationNote | None:
    said = plan.publication.model_dump(exclude={"title"}, exclude_none=True)
    return PublicationNote(**said) if said else None


def _dropped(plan: Plan) -> tuple[str, ...]:
    """Names of columns that are left out; of the one that tells persons apart not even that."""
    names = (name for name, entry in plan.columns.items() if entry.kind == "drop")
    return tuple(name for name in names if name != plan.privacy.person)


def _weights_note(written: Written | None, replicates: int | None) -> WeightsNote | None:
    found = [] if written is None else [each for each in written.beside if each.name in WEIGHTS_NAMES]
    return WeightsNote.of(found[0], replicates) if found and replicates is not None else None


def statement_for(
    method: Method, epsilon: Decimal, delta: Decimal | None, unit: Unit = A_ROW, *, for_release: bool
) -> str:
    """The certificate's first sentence."""
    if not method.differentially_private:
        text = f"NOT differentially private. {method.holds}"
    else:
        amount = f"ε = {plain(epsilon)}" + ("" if delta is None else f" and δ = {plain(delta)}")
        text = f"{method.holds[:-1]} with {amount}, {unit.differ}."
        text += f" {in_words(epsilon, delta)}" if needs_words(epsilon, delta) else ""
    return text if for_release else "NOT FOR RELEASE: drawn from a fixed seed. " + text


def share_of(note: Mechanism) -> Share:
    return Share(
        column=note.column,
        mechanism=note.name,
        epsilon=None if note.epsilon is None else plain(note.epsilon),
        rho=None if note.rho is None else plain(note.rho),
        scale=None if note.scale is None else plain(note.scale),
        scale_in_units=note.scale_in_units,
        sensitivity=note.sensitivity,
        clusters=note.clusters,
        theorems=note.theorems,
    )


def theorems_for(
    method: Method,
    shares: Sequence[Share],
    columns: Sequence[ColumnNote],
    delta: Decimal | Fraction | None,
    accounting: Accounting | None = None,
    unit: Unit = A_ROW,
) -> tuple[TheoremNote, ...]:
    """What a certificate cites: the method's own, then those of its shares, each once."""
    ids = [*method.theorems, *(one for share in shares for one in share.theorems)]
    ids += ["T50"] if unit != A_ROW else []
    ids += ["T51"] if unit.person is not None else []
    ids += ["T46" if accounting == "gaussian" else "T4"] if method.differentially_private and delta else []
    ids += ["T28"] if method.differentially_private and any(column.role == "public" for column in columns) else []
    return tuple(map(TheoremNote.of, cited(ids)))


def describe(column: Column, said: Said) -> ColumnNote:
    domain = column.domain
    derived = None if column.derived is None else column.derived.said
    note = partial(
        ColumnNote,
        name=column.name,
        label=said.label,
        kind=column.kind,
        role=column.role,
        null=column.allows_null,
        derived=derived,
        source=column.source,
        missing=said.missing or None,
        value_labels=dict(said.value_labels) if 0 < len(said.value_labels) <= MOST_VALUE_LABELS else None,
    )
    if isinstance(domain, Nominal):
        labels, taxonomy = domain.label_count, domain.taxonomy
        return note(categories=labels, concepts=taxonomy.node_count, taxonomy_sha256=taxonomy.sha256)
    if domain.labels is not None:
        return note(categories=domain.width + 1)
    ends = domain.decode(np.array([0, domain.width]))
    return note(
        lower=str(ends[0].as_py()),
        upper=str(ends[1].as_py()),
        step=None if domain.date_format else plain(domain.step),
        scale="log" if domain.log else "linear",
        format=domain.date_format,
        special=tuple(map(plain, domain.special)) or None,
    )
