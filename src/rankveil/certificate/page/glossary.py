"""Every technical word of the page, explained in common ones. Words that a page does not use are left out of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from rankveil.certificate.page.pieces import section


@dataclass(frozen=True)
class Term:
    name: str
    forms: tuple[str, ...]  # how it occurs, in small letters
    meaning: str


TERMS = (
    Term("accuracy", ("accuracy",), "how near the release is to the table that it was made from."),
    Term(
        "attacker", ("attacker", "attackers"), "anyone who tries to learn from the release what one person's row says."
    ),
    Term(
        "budget",
        ("budget",),
        "how much of ε there is to spend; each count that is made takes a part of it.",
    ),
    Term(
        "certificate",
        ("certificate",),
        "this paper: what holds for a release. certificate.json says the same for programs.",
    ),
    Term("column", ("column", "columns"), "one thing that the table says of everyone, such as the age."),
    Term("computed", ("computed", "compute", "computes"), "worked out from other numbers, or from other columns."),
    Term(
        "differentially private",
        ("differentially private", "differential privacy"),
        "made at random in such a way that no single row changes by much what may come out; ε says by how much.",
    ),
    Term("digit", ("digit", "digits"), "one of the ten signs that numbers are made of."),
    Term(
        "dry run", ("dry run",), "a look at what a plan would do, before a release and without the values of the table."
    ),
    Term("draw", ("draw", "draws", "drawn"), "one throw of the dice that noise comes from."),
    Term("entry", ("entry",), "a line of the ledger."),
    Term(
        "ε (epsilon)",
        ("ε", "epsilon"),
        "the limit on what one row can change. At 0 nothing; a small number is a strong limit.",
    ),
    Term("δ (delta)", ("δ", "delta"), "a small probability with which the limit that ε sets may not hold."),
    Term("factor", ("factor",), "what a number is multiplied by."),
    Term(
        "fingerprint, SHA-256",
        ("fingerprint", "fingerprints", "sha-256"),
        "a long number that follows from the content of a file: other content, other number.",
    ),
    Term(
        "key",
        ("key",),
        "a secret number that only its owner has, and a public one with which everyone can check a signature.",
    ),
    Term("label", ("label", "labels"), "a value that is a word and not a number, such as a town."),
    Term("ledger", ("ledger",), "the publisher's book of all releases and of what each has spent."),
    Term("limits", ("limits", "limit"), "of a column: the smallest and the largest value it may have."),
    Term("manifest.json", ("manifest.json",), "the list of all files of the release with their fingerprints."),
    Term("mean", ("the mean",), "the sum of some values, divided by how many there are."),
    Term("method", ("method", "methods"), "the way in which the release was made from the table."),
    Term("noise, noisy", ("noise", "noisy"), "a random number that is added, so that nobody can tell the exact one."),
    Term("odds", ("odds",), "how likely one guess is beside another: 1 to 1 if both are the same."),
    Term(
        "neighbours",
        ("neighbours", "neighbour"),
        "of a table: one that is the same but for one row, or one person; of a value: those next to it in order.",
    ),
    Term("percent (%)", ("%", "percent"), "in so many of a hundred cases."),
    Term("plan", ("plan",), "the public file that says how the release is made: columns, limits, ε."),
    Term("probability", ("probability",), "how often something happens in the long run, as a part of all cases."),
    Term("protected", ("protected",), "released only through noise: the limit that ε sets holds for it."),
    Term("publisher, curator", ("publisher", "publisher's", "curator"), "who makes the release and answers for it."),
    Term("random", ("random",), "as dice fall: nobody knows before."),
    Term("record", ("record", "records"), "one row of the table that was protected."),
    Term(
        "release", ("release", "releases", "released"), "the table that is given out, instead of the one that is kept."
    ),
    Term("row", ("row", "rows"), "one line of a table; here what it says of one person."),
    Term(
        "signed, signature", ("signed", "signature"), "marked with the secret number of a key, so that a change shows."
    ),
    Term("terminal", ("terminal",), "the window of a computer in which one types commands."),
    Term(
        "theorem",
        ("theorem", "theorems", "proof", "proofs"),
        "a sentence of mathematics that has been shown to be true.",
    ),
    Term("verify", ("verify",), "the command of rankveil that makes these checks, without the table."),
    Term("weight", ("weight",), "a column that says for how many people a row stands."),
    Term(
        "wrongly, rightly",
        ("wrongly", "rightly", "false positive", "true positive"),
        "a test that says yes where it should not is a false positive; where it should, a true positive.",
    ),
)
_TAG = re.compile(r"<[^>]+>")


def used(html: str) -> list[Term]:
    """Terms that a text uses, and those that their own explanations use."""
    seen = _TAG.sub(" ", html).lower()
    found: list[Term] = []
    while True:
        more = [term for term in TERMS if term not in found and any(_occurs(form, seen) for form in term.forms)]
        if not more:
            return [term for term in TERMS if term in found]
        found += more
        seen += " ".join(term.meaning for term in more).lower()


def glossary(html: str) -> str:
    entries = "".join(f"<div><dt>{escape(term.name)}</dt><dd>{escape(term.meaning)}</dd></div>" for term in used(html))
    return section("words", "The words", f'<dl class="glossary">{entries}</dl>')


def _occurs(form: str, text: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(form)}(?!\w)", text) is not None
