"""A page along the differential privacy pyramid of NIST SP 800-226 (March 2025), from a certificate.

Every block is answered from the certificate, or marked as the organisation's to answer; most lower blocks are both.
The names of the blocks are NIST's, the questions and answers ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from rankveil.certificate.content import ACCOUNTINGS, Certificate
from rankveil.certificate.page import document
from rankveil.certificate.page.pieces import bullets, section

TO_ANSWER = "For the organisation to answer"


@dataclass(frozen=True)
class Block:
    """One block of the pyramid."""

    level: str
    name: str
    answered: tuple[str, ...]  # from the certificate
    asked: tuple[str, ...] = ()  # what only the organisation knows

    @property
    def state(self) -> str:
        if not self.asked:
            return "Answered by the certificate"
        return "Answered in part" if self.answered else TO_ANSWER


def blocks(certificate: Certificate) -> list[Block]:
    """From the top of the pyramid to its base."""
    return [*_top(certificate), *_middle(certificate), *_base(certificate)]


def nist_page(certificate: Certificate) -> str:
    found = blocks(certificate)
    title = f"{certificate.title or 'A release'}: along the pyramid of NIST SP 800-226"
    warning = f'<p class="verdict bad" role="note">{escape(certificate.warning)}</p>' if certificate.warning else ""
    header = (
        f'<header>\n{warning}\n<h1>{escape(title)}</h1>\n<p class="quiet">From the certificate of'
        f" {certificate.created.date().isoformat()}. What protects depends on every block below it.</p>\n</header>"
    )
    levels = list(dict.fromkeys(block.level for block in found))
    parts = [_level(level, [block for block in found if block.level == level]) for level in levels]
    open_blocks = sum(bool(block.asked) for block in found)
    end = f"{open_blocks} of {len(found)} blocks have questions that only the organisation can answer."
    return document(title, header, "\n".join(parts), f'<footer><p class="quiet">{escape(end)}</p></footer>')


def _level(level: str, found: list[Block]) -> str:
    parts = []
    for block in found:
        inner = f"<h3>{escape(block.name)} <span>{escape(block.state)}</span></h3>"
        inner += bullets(block.answered) if block.answered else ""
        if block.asked:
            inner += f'<div class="asked"><p>{TO_ANSWER}:</p>{bullets(block.asked)}</div>'
        parts.append(f'<div class="block">{inner}</div>')
    return section(level.split()[0].lower(), level, *parts)


def _top(certificate: Certificate) -> list[Block]:
    attacks = [] if certificate.meaning is None else certificate.meaning.attacks
    accounting = ACCOUNTINGS[certificate.accounting] if certificate.accounting else "ε adds up to ε"
    parameters = (
        certificate.statement,
        *([certificate.in_all] if certificate.in_all else []),
        f"Accounting: {accounting}.",
        *(
            f"With {one.false_positive_percent} % false positives a test has at most {one.true_positive_percent} % true"
            " positives."
            for one in attacks
        ),
    )
    who = f"Protected: {certificate.unit.who}." if certificate.differentially_private else "Nobody is protected."
    several = () if certificate.unit.person is not None else ("Does anybody have more than one row in the table?",)
    return [
        Block("Top: the guarantee", "Privacy parameters", parameters, ("Why this ε, and who decided it?",)),
        Block("Top: the guarantee", "Unit of privacy", (who, certificate.neighbours), several),
    ]


def _middle(certificate: Certificate) -> list[Block]:
    theorems = ", ".join(f"{one.id} {one.title}" for one in certificate.theorems)
    correct = (
        f"Method {certificate.method} of rankveil {certificate.rankveil_version}.",
        f"Theorems: {theorems}." if certificate.differentially_private else certificate.reason or "No theorem.",
        "Every share of the budget is on the certificate, and rankveil verify adds them up exactly.",
        "Audits attack every method, and replay whole releases of neighbouring tables: rankveil audit.",
    )
    utility = (
        *(f"{one.column}: {one.question}: {one.answer}." for one in certificate.expected or ()),
        "These widths are of the noise, for every table of this size; what is made of it can be better or worse.",
        *(
            f"Measured, with noise: {line}."
            for each in certificate.published_accuracy or ()
            for line in each.in_words()
        ),
    )
    bias = (
        "Noise weighs more on small groups than on large ones: what is said of few people is less accurate.",
        *(
            ["The rows hold no counts below zero, so that rare values can come out too often."]
            if certificate.method == "synthetic"
            else []
        ),
    )
    return [
        Block("Middle: what was done", "Algorithms and correctness", correct),
        Block("Middle: what was done", "Utility", utility, ("Is that enough for the intended use?",)),
        Block(
            "Middle: what was done",
            "Bias",
            bias,
            ("Whom does the table leave out, or show wrongly?", "Which small groups matter for the intended use?"),
        ),
    ]


def _base(certificate: Certificate) -> list[Block]:
    entry = "" if certificate.ledger is None else f" It is entry {certificate.ledger.entry}."
    private = certificate.differentially_private
    signed = "The files are signed: a change shows." if certificate.signed else "Nobody has signed the files."
    floating = (
        "Noise is drawn with integers and rational numbers: how numbers are rounded cannot show exact values."
        if private
        else "The method is as printed: its noise is drawn in floating point, which can show exact values."
    )
    return [
        Block(
            "Base: where it was done",
            "Security and access control",
            (
                "The release is in the publisher's ledger, which adds up all releases, and keeps a cap where one was"
                f" set.{entry}",
                signed,
            ),
            ("How is the table stored, and who may read it?", "Who may release, and who holds the key and the ledger?"),
        ),
        Block(
            "Base: where it was done",
            "Trust model",
            ("Central: the curator holds the table. Readers of the release are not trusted with anything.",),
            ("Why may the people in the table trust the curator?",),
        ),
        Block(
            "Base: where it was done",
            "Side channels",
            (
                floating,
                "Readers get files and cannot ask, so how long an answer takes is not seen.",
                "Error messages hold no value of the data.",
                *(["Types, order and sizes of files follow from the plan and from noise."] if private else []),
            ),
            ("Does anybody outside see how long a release took, how much memory it used, or that it failed?",),
        ),
        Block(
            "Base: where it was done",
            "Data collection exposure",
            (),
            (
                "Was more collected than is needed, and how long is it kept?",
                "What happens to the original after the release?",
            ),
        ),
    ]
