"""What a certificate says: its parts and the whole.

It is made of the plan, of n, and of what the mechanisms report about themselves. No value of the data enters it.
"""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from rankveil.declare.unit import A_ROW, Neighbours, Unit
from rankveil.fragments import Facts, fragment
from rankveil.measure.accounting import Accounting
from rankveil.privacy import Theorem
from rankveil.published_accuracy import AccuracyStatement
from rankveil.write import FileFormat, Written

FORMAT = 2
MOST_VALUE_LABELS = 100  # of a column: longer lists stand in the release, where its format has them, and in the plan

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
        description="Exact share of ε as a decimal or fraction; null if the share is in ρ or not private."
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
    label: str | None = Field(None, description="What the column is about, as the plan says.")
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
    missing: tuple[str, ...] | None = Field(None, description="Labels that stand for missing, as the plan says.")
    value_labels: dict[str, str] | None = Field(
        None,
        description="Which text stands for which value, as the plan says; null if it says nothing, or more than"
        f" {MOST_VALUE_LABELS} texts.",
    )
    derived: str | None = Field(None, description="What the column was computed from; it was not measured.")
    source: str | None = Field(None, description="The public document that the plan's entry was taken from, and where.")


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


class PublicationNote(_Part):
    """Who publishes the release and what for, as the plan says; its `title` stands by itself."""

    curator: str | None = None
    contact: str | None = None
    purpose: str | None = None
    region: str | None = None
    sector: str | None = None
    period: str | None = None
    licence: str | None = None
    notes: str | None = None


class AttackNote(_Part):
    """What a test for one person can reach. Rounded upwards."""

    false_positive_percent: int = Field(description="How often the test says yes although it should not.")
    true_positive_percent: str = Field(description="How often it can say yes, at most, where it should.")


class MeaningNote(_Part):
    """What ε and δ come to. Everything follows from them and from `accounting`, and is rounded upwards."""

    odds_factor: str = Field(description="e^ε: by how much odds about one person change at most, up to δ.")
    best_guess_percent: str = Field(description="How often the better of two guesses is right, where a coin is in 50.")
    attacks: tuple[AttackNote, ...]
    by: Literal["epsilon", "epsilon and delta", "gaussian"] = Field(
        description="What they follow from: ε alone, ε and δ, or all pairs of them that T46 proves."
    )


class SpentNote(_Part):
    """A part of the budget, and what it has bought."""

    what: str
    purpose: Literal["column", "linkage", "bounds", "rows"]
    percent: str = Field(description="Of the whole budget.")


class ExpectedNote(_Part):
    """How much noise there is on one column: of its law, not of the table."""

    column: str
    question: str
    answer: str
    percent_of_draws: int = Field(description="In how many draws of the noise the answer holds, at least.")


class SignerNote(_Part):
    """Whose key has signed the manifest that lists this certificate."""

    algorithm: Literal["Ed25519"]
    key: str = Field(description="SHA-256 of the public key, in DER.")
    name: str | None = Field(None, description="What the key's owner calls himself.")


class PlanNote(_Part):
    sha256: str = Field(description="Of the settings in force, in canonical form.")
    # PRIVACY: a draft's comments follow from exact data, and a fingerprint tells which of some comments they are.
    file_sha256: str | None = Field(None, description="Of the plan file, comments included; in older certificates.")


class LedgerNote(_Part):
    """The entry of the ledger that holds the release."""

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
    format: str = Field(description="The format of the file: csv, parquet, sav and so on.")
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
    """What a release promises, for whom, by which theorem, and how the budget was used: certificate.json, for everyone.

    >>> certificate = rv.release(people, plan).certificate
    >>> certificate.method, certificate.epsilon, certificate.rows
    ('synthetic', '1', 500)
    >>> [column.name for column in certificate.columns]
    ['age', 'sex', 'income']
    """

    certificate_format: Literal[1, 2] = Field(
        2, description="2; a certificate of format 1 is read as well, and cites no theorems."
    )
    rankveil_version: str
    created: datetime
    title: str | None = Field(None, description="What the plan calls the release.")
    publication: PublicationNote | None = Field(None, description="Who publishes the release, where, and what for.")
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
    meaning: MeaningNote | None = Field(
        None,
        description="What ε and δ come to in odds and attacks, of all that this certificate is about: the release and"
        " published accuracy; null without a guarantee, and in older ones.",
    )
    settings: Settings
    shares: tuple[Share, ...]
    spent: tuple[SpentNote, ...] | None = Field(
        None, description="The shares in percent, added up by what they bought; null in older certificates."
    )
    expected: tuple[ExpectedNote, ...] | None = Field(
        None, description="How much noise the dry run says there is; null in older certificates."
    )
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
    dropped: tuple[str, ...] | None = Field(
        None, description="Columns of the table that are not released; the one that tells persons apart is not named."
    )
    ledger: LedgerNote | None = Field(None, description="The ledger's entry; null for tests.")
    plan: PlanNote
    release: ReleaseNote | None
    model: ModelNote | None = Field(None, description="The model that was kept; null if none was.")
    weights: WeightsNote | None = Field(None, description="Replicate weights beside the release, if there are any.")
    signed: SignerNote | None = Field(None, description="Whose key has signed the release; null if nobody's has.")
    published_accuracy: tuple[AccuracyStatement, ...] | None = Field(
        None, description="How far the release is from its table, with noise: what was published of it, and its ε."
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
    def beside(self) -> Fraction:
        """What was spent beside the release, on figures of its accuracy."""
        return sum((Fraction(each.epsilon) for each in self.published_accuracy or ()), Fraction(0))

    @property
    def together(self) -> str | None:
        """The ε of all that was published: of the release, and of figures of its accuracy."""
        return self.published_accuracy[-1].together_epsilon if self.published_accuracy else self.epsilon

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

    @property
    def in_all(self) -> str | None:
        """What figures of accuracy have added to the ε of the release, as a sentence; None without such figures."""
        if not self.published_accuracy:
            return None
        return f"With the figures of its accuracy, which were published as well, it is ε = {self.together} in all."

    def facts(self) -> Facts:
        """The certificate's key lines, for people."""
        rest = self.theorems[1:]
        guarantee = f"ε = {self.epsilon}, δ = {self.delta or 0}" if self.differentially_private else "none"
        facts: Facts = [
            *([("title", self.title)] if self.title else []),
            *([("published by", self.publication.curator)] if self.publication and self.publication.curator else []),
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
        facts += [("signed", f"by the key {self.signed.key}")] if self.signed else []
        for each in self.published_accuracy or ():
            facts += [("accuracy", f"{line}; ε = {each.epsilon}") for line in each.in_words()]
            facts += [("with its accuracy", f"ε = {each.together_epsilon}, δ = {each.together_delta} in all")]
        return facts

    def _repr_html_(self) -> str:
        return fragment("Certificate", warning=self.warning, facts=self.facts())
