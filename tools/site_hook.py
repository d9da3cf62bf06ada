"""What mkdocs is told beyond mkdocs.yml: the four parts of the site, and what becomes of links into the repository.

Pages are ordinary Markdown that a code host shows as well. There a link to ../src/… leads to a file; here it becomes
the name of that file. A link to a file that does not exist stays, and `mkdocs build --strict` refuses it.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Nav = list[Any]

# Pages in the order in which they are shown. A page that is not named here comes at the end of its part.
TUTORIALS = ("first-release", "survey-with-codebook", "rules-and-people", "error-bars", "pandas", "large-tables",
             "for-the-officer")  # fmt: skip
HOW_TO = ("web", "charts", "codebooks", "formats", "rules", "units", "dry-run", "evaluation", "estimates", "comparing",
          "risk", "attack-view", "certificate-page", "signing", "replay", "scaling", "windows")  # fmt: skip
REFERENCE = ("plan", "cli", "python", "certificate", "exit-codes", "model", "spreadsheets")
PROMISE = ("how-it-works", "promise", "limits", "architecture")
PAPER = ("why-algorithm-1-is-not-dp", "reproduction")
PROOFS = ("README", "setting", "basics", "noise", "counts", "ranks", "rows", "units", "methods", "attacks", "audit",
          "refuted", "paper")  # fmt: skip
FRONT = ("index", "newcomer", "glossary")
PARTS = ("Tutorials", "How-to", "Reference", "Explanation")

_LINK = re.compile(
    r"(?P<code>^```.*?^```|``[^`]+``|`[^`\n]+`(?!\]))"  # stays as it is
    r"|!?\[(?P<text>(?:[^][]|\[[^]]*\])*)\]\((?P<to>[^)\s]+)\)",
    re.DOTALL | re.MULTILINE,
)
_LIST = re.compile(r"<!-- pages: (?P<part>[A-Za-z-]+) -->")
_ITEM = re.compile(r"^(?:[-*]|\d+\.) ")


def on_config(config: Any) -> Any:
    config.nav = nav(Path(config.docs_dir))
    return config


def nav(docs: Path) -> Nav:
    """Every page of the folder, each in one of the parts."""
    tutorials = _pages(docs, "tutorials", TUTORIALS)
    explained = [
        *_pages(docs, "", PROMISE, only=PROMISE),
        {"Proofs": _pages(docs, "privacy", PROOFS)},
        {"The paper": _pages(docs, "", PAPER, only=PAPER)},
        *_pages(docs, "", ("benchmarks",), only=("benchmarks",)),
        *_pages(docs, "explanation", ()),
        {"Decisions": [*_pages(docs, "decisions", ("README",)), *_pages(docs, "decisions/appendix", ())]},
    ]
    tasks = _pages(docs, "", HOW_TO, but=(*FRONT, *PROMISE, *PAPER, "benchmarks"))
    parts = {
        "Tutorials": tutorials,
        "How-to": [*tasks, *_pages(docs, "how-to", ())],
        "Reference": _pages(docs, "reference", REFERENCE),
        "Explanation": explained,
    }
    front: Nav = [{"Start": _pages(docs, "", FRONT, only=FRONT)}]
    return [*front, *({part: pages} for part, pages in parts.items() if pages)]


def _pages(
    docs: Path, folder: str, first: Sequence[str], *, only: Sequence[str] | None = None, but: Sequence[str] = ()
) -> Nav:
    """The pages of a folder under their titles, some of them first."""
    found = {path.stem for path in (docs / folder).glob("*.md")} - set(but)
    ordered = [name for name in first if name in found] + sorted(found - set(first))
    paths = [posixpath.join(folder, f"{name}.md") for name in ordered if only is None or name in only]
    return [{title(docs / path): path} for path in paths]


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    docs, here = Path(config.docs_dir), page.file.src_uri
    if here == "glossary.md":
        page.meta["search"] = {"boost": 5}  # what a word means comes before where it occurs
    markdown = _LIST.sub(lambda found: _listed(config.nav, found["part"]), markdown)
    return with_blank_lines(without_repository_links(markdown, here, docs))


def without_repository_links(markdown: str, here: str, docs: Path) -> str:
    """Links to files of the repository that are no pages, as their text alone."""

    def kept_or_named(found: re.Match[str]) -> str:
        to = found["to"]
        if found["code"] or not to or re.match(r"[a-z]+:|#|/", to):
            return found.group()
        path, _, anchor = to.partition("#")
        target = posixpath.normpath(posixpath.join("docs", posixpath.dirname(here), path))
        there = docs.parent / target
        if there.is_dir() and (there / "README.md").is_file() and target.startswith("docs/"):
            return found.group().replace(to, posixpath.join(path, "README.md") + (f"#{anchor}" if anchor else ""))
        outside = not target.startswith("docs/") or target.endswith(".py")
        return _in_words(found["text"]) if outside and there.exists() else found.group()

    return _LINK.sub(kept_or_named, markdown)


def _in_words(text: str) -> str:
    """The text of a link that leads nowhere here; names of files look like code."""
    return f"`{text}`" if re.fullmatch(r"[\w.-]*[./][\w./-]*", text) else text


def with_blank_lines(markdown: str) -> str:
    """A blank line before every list: code hosts do without, Python's Markdown does not."""
    lines: list[str] = []
    fenced = False
    for line in markdown.split("\n"):
        fenced ^= line.startswith("```")
        before = lines[-1] if lines else ""
        starts = _ITEM.match(line) and not fenced and before.strip() and not before.startswith((" ", "|", "#"))
        if starts and not _ITEM.match(before):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _listed(nav: Nav, part: str) -> str:
    """The pages of a part; of pages that belong together the first."""
    entries = next((each[part] for each in nav if part in each), [])
    named = [(name, pages) for each in entries for name, pages in each.items()]
    return "\n".join(
        f"- [{name}]({pages if isinstance(pages, str) else next(iter(pages[0].values()))})" for name, pages in named
    )


def title(path: Path) -> str:
    """The first heading of a page, without marks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return next((line[2:].replace("`", "") for line in lines if line.startswith("# ")), path.stem)
