"""The certificate: what holds for a release, for whom, why, and at what price. Written for the public.

It is made of the plan, of n, and of what the mechanisms report about themselves. No value of the data enters it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from rankveil._version import __version__
from rankveil.consent import weak
from rankveil.declare import Column, Plan
from rankveil.declare.domain import Nominal
from rankveil.declare.unit import A_ROW, Neighbours, Unit
from rankveil.draw.rows import Rows
from rankveil.fragments import Facts, fragment
from rankveil.ledger import Reservation
from rankveil.meaning import in_words, needs_words
from rankveil.measure.accounting import Accounting
from rankveil.measure.budget import Mechanism
from rankveil.methods import Method
from rankveil.privacy import Theorem, cited
from rankveil.published_accuracy import AccuracyStatement
from rankveil.write import FileFormat, Written
from rankveil.write.swap import WEIGHTS_NAMES

FORMAT = 2
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


ACCOUNTINGS: dict[Accounting, str] = {
    "gaussian": "shares of ρ = μ²/2 of Gaussian differential privacy, which imply ε and δ by T46",
    "concentrated": "shares of ρ of zero-concentrated differential privacy, which imply ε and δ by T4",
}


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Share(_Part):
    """One entry of the budget."""

    column: str
    mechanism: str
    epsilon: str | None = Field(
        description="Exact share of ε as a decimal or fraction; null if paid in ρ or not private."
    )
    rho: str | None = Field(description="Exact share of ρ, with a δ only; what ρ is says `accounting`.")
    scale: str | None = Field(description="Exact scale of the noise on the column's axis (labels: semantic distance).")
    scale_in_units: float | None = Field(description="The same in the column's own units, where that makes sense.")
    sensitivity: str
    clusters: int | None
    theorems: tuple[str, ...] = Field(description="Ids of the theorems that carry this share, among `theorems` below.")


class TheoremNote(_Part):
    """A theorem as the certificate cites it."""

    id: str
    title: str
    sentence: str = Field(description="The statement itself.")
    where: str = Field(description="Its page and heading in rankveil's documentation, where the proof stands.")

    @classmethod
    def of(cls, theorem: Theorem) -> TheoremNote:
        return cls(id=theorem.id, title=theorem.title, sentence=theorem.statement, where=theorem.where)


class ColumnNote(_Part):
    """What the plan declares about one column."""

    name: str
    kind: str
    role: Literal["protected", "public", "weight"]
    null: bool
    lower: str | None = None
    upper: str | None = None
    step: str | None = None
    scale: Literal["linear", "log"] | None = None
    format: str | None = Field(None, description="How a text file spells days.")
    categories: int | None = Field(None, description="Number of labels the plan declares.")
    concepts: int | None = Field(None, description="Number of nodes of the taxonomy, labels included.")
    taxonomy_sha256: str | None = Field(None, description="Fingerprint of the labels and of the taxonomy over them.")
    special: tuple[str, ...] | None = Field(
        None, description="Values with a meaning of their own, in the range or not."
    )
    derived: str | None = Field(None, description="What the column was computed from; it was not measured.")


class Settings(_Part):
    """The settings the release was made with. They promise nothing by themselves."""

    epsilon: str | None
    k: int | None


class UnitNote(_Part):
    """Who is protected, where that is not a row replaced by another."""

    neighbours: Neighbours = Field(description="'replace' by another one, or 'add-remove': there or not.")
    persons: bool = Field(description="All rows of a person together, not a row by itself.")
    rows: int = Field(ge=1, description="How many rows of a person are used at most; 1 for rows by themselves.")

    @classmethod
    def of(cls, unit: Unit) -> UnitNote | None:
        if unit == A_ROW:
            return None
        return cls(neighbours=unit.neighbours, persons=unit.person is not None, rows=unit.rows)

    @property
    def unit(self) -> Unit:
        """The same, but for the name of the column that says whose a row is: that is nobody's business."""
        return Unit(self.neighbours, "" if self.persons else None, self.rows)


class InterestNote(_Part):
    """What the plan is interested in: a target, or columns that go together."""

    target: str | None = Field(None, description="A column whose dependence on all others matters most.")
    columns: tuple[str, ...] | None = Field(None, description="Columns whose joint tables matter most.")

    def in_words(self) -> str:
        return (
            f"{self.target} given all others"
            if self.target is not None
            else ", ".join(self.columns or ()) + " together"
        )


class PlanNote(_Part):
    sha256: str = Field(description="Of the settings in force, in canonical form.")
    file_sha256: str | None = Field(description="Of the plan file as it was read, before options changed it.")


class LedgerNote(_Part):
    """The entry that paid for the release."""

    entry: int
    receipt: str | None = Field(None, description="Drawn at random and noted with the entry.")
    seal: str | None = Field(None, description="In format 1, in the place of the receipt.")


class PartNote(_Part):
    """One file of a release in parts."""

    name: str
    sha256: str
    bytes: int


class ReleaseNote(_Part):
    file: str = Field(description="The file, or the folder of a release in parts.")
    format: Literal["csv", "parquet"]
    decimal: Literal[".", ","] = Field(".", description="The decimal mark of a text file.")
    sha256: str = Field(
        description="Of the file. Of a release in parts: of the lines that the command sha256sum prints for its parts."
    )
    bytes: int = Field(description="The size of the file, or of all parts together.")
    parts: tuple[PartNote, ...] | None = Field(
        None, min_length=1, description="The files of a release in parts, in their order."
    )

    @classmethod
    def of(cls, written: Written, form: FileFormat) -> ReleaseNote:
        parts = tuple(PartNote(name=part.name, sha256=part.sha256, bytes=part.size) for part in written.parts)
        return cls(
            file=written.name,
            format=form.name,
            decimal=form.decimal,
            sha256=written.sha256,
            bytes=written.size,
            parts=parts or None,
        )


class ModelNote(_Part):
    """The model that lies beside the release."""

    folder: str
    sha256: str = Field(description="Of the lines that the command sha256sum prints for its files.")
    bytes: int = Field(description="The size of all files together.")
    parts: tuple[PartNote, ...] = Field(min_length=1, description="Its files.")

    @classmethod
    def of(cls, written: Written) -> ModelNote:
        parts = tuple(PartNote(name=part.name, sha256=part.sha256, bytes=part.size) for part in written.parts)
        return cls(folder=written.name, sha256=written.sha256, bytes=written.size, parts=parts)


class WeightsNote(_Part):
    """Replicate weights of the released rows."""

    file: str
    sha256: str
    bytes: int
    replicates: int = Field(ge=2, description="Of each kind: rv_w1 ... for the table, rv_p1 ... for the population.")

    @classmethod
    def of(cls, written: Written, replicates: int) -> WeightsNote:
        return cls(file=written.name, sha256=written.sha256, bytes=written.size, replicates=replicates)


class Certificate(_Part):
    certificate_format: Literal[1, 2] = Field(
        2, description="2; a certificate of format 1 is read as well, and cites no theorems."
    )
    rankveil_version: str
    created: datetime
    title: str | None = Field(None, description="What the plan calls the release.")
    method: str
    differentially_private: bool
    for_release: bool = Field(description="False if the randomness was fixed by a seed: a test, not a release.")
    statement: str
    reason: str | None = Field(description="Why the release is not differentially private, where it is not.")
    theorems: tuple[TheoremNote, ...] = Field(
        description="What carries the guarantee, the method's own theorem first; or what refutes a claimed one."
    )
    neighbours: str
    protects: UnitNote | None = Field(None, description="Whom, if not a row that is replaced by another.")
    epsilon: str | None = Field(description="The proven ε; null if there is none.")
    delta: str | None
    accounting: Accounting | None = Field(
        None,
        description="What shares of ρ are: μ²/2 of Gaussian, or ρ of zero-concentrated differential privacy. Null"
        " without a δ; null with one in older certificates, and then zero-concentrated.",
    )
    settings: Settings
    shares: tuple[Share, ...]
    rows: int
    row_aligned: bool = Field(description="Row r of the release belongs to record r of the table.")
    linkage: str | None = Field(None, description="How columns were linked, where a public rule decided it.")
    rules: tuple[str, ...] | None = Field(
        None, description="What every row obeys, as the plan states it; null if it states nothing."
    )
    interest: tuple[InterestNote, ...] | None = Field(
        None, description="What the plan wants to be kept best; null if it says nothing, and in older certificates."
    )
    remarks: tuple[str, ...] = Field((), description="What the method asks readers to know, such as lower bounds.")
    columns: tuple[ColumnNote, ...]
    ledger: LedgerNote | None = Field(None, description="The ledger's entry; null for tests.")
    plan: PlanNote
    release: ReleaseNote | None
    model: ModelNote | None = Field(None, description="The model that was kept; null if none was.")
    weights: WeightsNote | None = Field(None, description="Replicate weights beside the release, if there are any.")
    published_accuracy: tuple[AccuracyStatement, ...] | None = Field(
        None, description="How far the release is from its table, with noise: what was published of it, and its price."
    )

    @model_validator(mode="before")
    @classmethod
    def _of_format_1(cls, content: Any) -> Any:
        """Format 1 named a theorem in a text for which there were no pages. It is read as citing none."""
        if not isinstance(content, dict) or content.get("certificate_format") != 1 or "theorem" not in content:
            return content
        shares = content.get("shares")
        if isinstance(shares, list):
            shares = [{"theorems": [], **share} if isinstance(share, dict) else share for share in shares]
        rest = {name: value for name, value in content.items() if name != "theorem"}
        return {"theorems": [], **rest, "shares": shares}

    @property
    def rho_accounting(self) -> Accounting:
        """How shares of ρ are counted; certificates from before there was a choice say nothing."""
        return self.accounting or "concentrated"

    @property
    def unit(self) -> Unit:
        return A_ROW if self.protects is None else self.protects.unit

    def to_json(self) -> str:
        return self.model_dump_json(indent=2) + "\n"

    @property
    def warning(self) -> str | None:
        """What a reader must know before anything else; None for a release that holds what it claims."""
        if not self.differentially_private:
            return "NOT differentially private: nobody in this table is protected by a theorem. " + (self.reason or "")
        return None if self.for_release else "NOT FOR RELEASE: drawn from a fixed seed."

    def facts(self) -> Facts:
        """The certificate's key lines, for people."""
        rest = self.theorems[1:]
        guarantee = f"ε = {self.epsilon}, δ = {self.delta or 0}" if self.differentially_private else "none"
        facts: Facts = [
            *([("title", self.title)] if self.title else []),
            ("statement", self.statement),
            ("method", self.method),
            ("guarantee", guarantee),
            *([("accounting", ACCOUNTINGS[self.accounting])] if self.accounting else []),
            *([("protected", self.unit.who)] if self.differentially_private else []),
            ("neighbours", self.neighbours),
            *(("theorem", f"{one.id} {one.title}. {one.sentence}") for one in self.theorems[:1]),
            *([("it rests on", ", ".join(f"{one.id} {one.title}" for one in rest))] if rest else []),
            ("rows", f"{self.rows:,}, " + ("row r belongs to record r" if self.row_aligned else "fresh or shuffled")),
        ]
        facts += [("linkage", self.linkage)] if self.linkage else []
        facts += [("rules", f"{len(self.rules)}, which every row obeys")] if self.rules else []
        computed = [column.name for column in self.columns if column.derived]
        facts += [("computed, not measured", ", ".join(computed))] if computed else []
        facts += [("kept best", "; ".join(one.in_words() for one in self.interest))] if self.interest else []
        facts += [("remark", remark) for remark in self.remarks]
        facts += [("ledger", f"entry {self.ledger.entry}")] if self.ledger else []
        facts += [("file", f"{self.release.file}, SHA-256 {self.release.sha256}")] if self.release else []
        facts += [("model", f"{self.model.folder}/, SHA-256 {self.model.sha256}")] if self.model else []
        facts += (
            [("weights", f"{self.weights.replicates} replicates in {self.weights.file}, SHA-256 {self.weights.sha256}")]
            if self.weights
            else []
        )
        for each in self.published_accuracy or ():
            facts += [("accuracy", f"{line}; ε = {each.epsilon}") for line in each.in_words()]
            facts += [("with its accuracy", f"ε = {each.together_epsilon}, δ = {each.together_delta} in all")]
        return facts

    def _repr_html_(self) -> str:
        return fragment("Certificate", warning=self.warning, facts=self.facts())


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
) -> Certificate:
    """What holds for rows, for the file they were written to, if there is one, and for a model that is kept."""
    epsilon, delta = plan.release.epsilon, plan.release.delta
    public = any(not column.protected for column in rows.schema.columns)
    accepted = weak(plan, method) if for_release else []
    remarks = [*rows.remarks]
    remarks += [ORDER_RELEASED] if rows.row_aligned else []
    remarks += [ESCAPED] if form.escape_formulas else []
    remarks += [f"Accepted by whoever released this: {' and '.join(accepted)}."] if accepted else []
    shares = tuple(share_of(note) for note in rows.notes)
    columns = tuple(describe(column) for column in rows.schema.columns)
    accounting = next((note.accounting for note in rows.notes if note.rho is not None), None)
    return Certificate(
        rankveil_version=__version__,
        created=created,
        title=plan.publication.title,
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
        settings=Settings(
            epsilon=plain(epsilon) if method.uses_budget else None,
            k=plan.release.k if method.needs_clusters else None,
        ),
        shares=shares,
        rows=rows.row_count,
        row_aligned=rows.row_aligned,
        linkage=rows.linkage or None,
        rules=tuple(rule.text for rule in rows.schema.stated) or None,
        interest=tuple(InterestNote(target=one.target, columns=one.columns) for one in plan.interest) or None,
        remarks=tuple(remarks),
        columns=columns,
        ledger=None if entry is None else LedgerNote(entry=entry.number, receipt=entry.receipt),
        plan=PlanNote(sha256=plan.sha256(), file_sha256=plan.file_sha256),
        release=None if written is None else ReleaseNote.of(written, form),
        model=None if model is None else ModelNote.of(model),
        weights=_weights_note(written, replicates),
    )


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


def describe(column: Column) -> ColumnNote:
    domain = column.domain
    derived = None if column.derived is None else column.derived.said
    note = partial(
        ColumnNote, name=column.name, kind=column.kind, role=column.role, null=column.allows_null, derived=derived
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


def plain(number: Decimal | Fraction) -> str:
    """Exactly: a decimal where the number has a finite one, a fraction otherwise."""
    fraction = Fraction(number)
    rest = fraction.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        return str(fraction)
    return f"{_as_decimal(fraction):f}"


def _as_decimal(fraction: Fraction) -> Decimal:
    places = 0
    while (fraction * 10**places).denominator != 1:
        places += 1
    # Built from its digits, so that no context precision rounds it.
    return Decimal((int(fraction < 0), tuple(map(int, str(abs(int(fraction * 10**places))))), -places))
