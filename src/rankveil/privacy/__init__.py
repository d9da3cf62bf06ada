"""The theorems that carry every guarantee, read from the pages beside this file.

One source   The pages are Markdown in this package. `rankveil explain` prints them, certificates quote their
             statements, and `python -m docs.generate` writes docs/privacy/ from them, with links to modules and
             theorems put in.
Form         A theorem begins with `## T12 Title`. Its paragraphs follow: **Statement.**, **Proof.** and whatever
             belongs to it, then **Checked by.** (tests; may be absent) and **Modules.** (under src/rankveil, which name
             it in turn).
Ids          Stable: a theorem that is withdrawn leaves its number unused, for certificates out there cite it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from rankveil.errors import PlanError

PAGES = (
    "setting",
    "basics",
    "noise",
    "counts",
    "units",
    "ranks",
    "rows",
    "methods",
    "refuted",
    "audit",
    "attacks",
    "paper",
)
ID = re.compile(r"\bT\d{1,2}\b")
_FOLDER = Path(__file__).parent
_HEADING = re.compile(r"^## (T\d+) (.+)$", re.MULTILINE)
_FILE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Theorem:
    id: str
    title: str
    statement: str  # one paragraph, as certificates quote it
    proof: str  # Markdown: the proof and remarks
    page: str
    checked_by: tuple[str, ...]  # tests
    modules: tuple[str, ...]  # that rely on it, under src/rankveil

    @property
    def anchor(self) -> str:
        """Of its heading, as Markdown pages are commonly rendered."""
        kept = re.sub(r"[^\w\s-]", "", f"{self.id} {self.title}".lower())
        return kept.replace(" ", "-")

    @property
    def where(self) -> str:
        return f"docs/privacy/{self.page}.md#{self.anchor}"


def page_text(page: str) -> str:
    """The Markdown of a page."""
    return (_FOLDER / f"{page}.md").read_text(encoding="utf-8")


@cache
def theorems() -> dict[str, Theorem]:
    """All of them by id, in the order of the pages."""
    found = [theorem for page in PAGES for theorem in _on_page(page)]
    return {theorem.id: theorem for theorem in found}


def theorem_named(name: str) -> Theorem:
    """By id, by title or by both, as they are listed; upper and lower case are the same."""
    wanted = name.strip().lower()
    both = {f"{theorem.id} {theorem.title}".lower(): theorem for theorem in theorems().values()}
    if wanted in both:
        return both[wanted]
    names = {text.lower(): theorem for theorem in theorems().values() for text in (theorem.id, theorem.title)}
    if wanted in names:
        return names[wanted]
    near = {names[text].id: names[text] for text in get_close_matches(wanted, names, n=3, cutoff=0.5)}
    near |= {theorem.id: theorem for text, theorem in names.items() if len(wanted) > 3 and wanted in text}
    known = "; ".join(f"{theorem.id} {theorem.title}" for theorem in list(near.values())[:5])
    raise PlanError(
        f"There is no theorem {name!r}." + (f" Near it: {known}." if known else ""),
        remedy="`rankveil explain` lists all theorems.",
        cost="",
    )


def cited(ids: Iterable[str]) -> list[Theorem]:
    """The theorems of these ids, each once, in the order given."""
    return [theorems()[one] for one in dict.fromkeys(ids)]


def _on_page(page: str) -> list[Theorem]:
    parts = _HEADING.split(page_text(page))[1:]
    return [_theorem(page, *parts[place : place + 3]) for place in range(0, len(parts), 3)]


def _theorem(page: str, identity: str, title: str, body: str) -> Theorem:
    paragraphs = body.strip().split("\n\n")
    named = dict.fromkeys(("Statement", "Checked by", "Modules"), "")
    proof = []
    for paragraph in paragraphs:
        for key in named:
            if paragraph.startswith(f"**{key}.** "):
                named[key] = " ".join(paragraph.removeprefix(f"**{key}.** ").split())
                break
        else:
            proof.append(paragraph)
    return Theorem(
        identity,
        title.strip(),
        named["Statement"].replace("`", ""),
        "\n\n".join(proof),
        page,
        tuple(_FILE.findall(named["Checked by"])),
        tuple(_FILE.findall(named["Modules"])),
    )
