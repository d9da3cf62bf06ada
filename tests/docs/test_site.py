"""The documentation as a site: builds without a warning, loads nothing from elsewhere, explains every term."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from docs import generate
from rankveil.methods import METHODS
from tools import site_hook

ROOT = generate.ROOT
DOCS = ROOT / "docs"
# What a browser fetches by itself; <a> is followed by people only.
FETCHED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data",
           "embed": "src", "video": "src", "audio": "src"}  # fmt: skip
pytest.importorskip("material", reason="mkdocs-material is not installed")


def built(source: Path, out: Path) -> subprocess.CompletedProcess[str]:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    return subprocess.run(
        [*build, "--config-file", source / "mkdocs.yml", "--site-dir", out],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    done = built(ROOT, out)
    assert done.returncode == 0, done.stdout + done.stderr
    return out


class Page(HTMLParser):
    """What a page fetches, where it leads, and which places in it can be led to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.fetches: set[str] = set()
        self.leads: set[str] = set()
        self.places: set[str] = set()
        self.in_header: set[str] = set()
        self._header = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        self._header |= tag == "header"
        where = given.get(FETCHED.get(tag, ""))
        if where and not (tag == "link" and given.get("rel") in ("canonical", "prev", "next")):
            self.fetches.add(where)
        if tag == "a" and given.get("href"):
            self.leads.add(str(given["href"]))
            if self._header:
                self.in_header.add(str(given["href"]))
        if given.get("id"):
            self.places.add(str(given["id"]))

    def handle_endtag(self, tag: str) -> None:
        self._header &= tag != "header"


def page(path: Path) -> Page:
    return Page(path.read_text(encoding="utf-8"))


def from_elsewhere(where: str) -> bool:
    return bool(urlsplit(where).netloc)


def test_no_page_fetches_anything_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 60
    for path in pages:
        found = page(path)
        assert [each for each in found.fetches if from_elsewhere(each)] == [], path.name
        assert "mermaid" not in path.read_text(encoding="utf-8"), "the theme would fetch a library for it"
    for path in [*site.rglob("*.css"), *site.rglob("*.svg"), *pages]:
        assert not re.search(r"(url\(|@import)\s*[\"']?(https?:)?//", path.read_text(encoding="utf-8")), path.name


@pytest.mark.parametrize("tag", ['<script src="https://x.org/a.js">', '<link rel="stylesheet" href="//x.org/a.css">'])
def test_the_check_of_what_is_fetched_notices_other_hosts(tag: str) -> None:
    assert any(map(from_elsewhere, Page(tag).fetches))


def test_a_link_that_leads_nowhere_stops_the_build(tmp_path: Path) -> None:
    for name in ("docs", "tools"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    (tmp_path / "docs" / "windows.md").write_text("# Windows\n\n[gone](nowhere.md)\n", encoding="utf-8")
    done = built(tmp_path, tmp_path / "out")
    assert done.returncode != 0
    assert "nowhere.md" in done.stdout + done.stderr


# Parts


def paths(nav: site_hook.Nav) -> list[str]:
    entries = [entry for each in nav for entry in each.values()]
    return [path for entry in entries for path in ([entry] if isinstance(entry, str) else paths(entry))]


def test_every_page_has_its_place_in_one_of_the_parts() -> None:
    nav = site_hook.nav(DOCS)
    parts = [name for each in nav for name in each]
    wanted = [part for part in site_hook.PARTS if part != "Tutorials" or (DOCS / "tutorials").is_dir()]
    assert parts == ["Start", *wanted]
    pages = [path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")]
    assert sorted(paths(nav)) == sorted(pages)


def test_tutorials_are_picked_up_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "tutorials").mkdir()
    for name in ("pandas", "first-release", "another"):
        (tmp_path / "tutorials" / f"{name}.md").write_text(f"# The {name}\n", encoding="utf-8")
    found = next(each["Tutorials"] for each in site_hook.nav(tmp_path) if "Tutorials" in each)
    assert [next(iter(each.values())) for each in found] == [
        f"tutorials/{name}.md" for name in ("first-release", "pandas", "another")
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[steps](../src/rankveil/methods.py)", "steps"),
        ("[src/rankveil/methods.py](../src/rankveil/methods.py#L3)", "`src/rankveil/methods.py`"),
        ("[`methods.py`](../src/rankveil/methods.py)", "`methods.py`"),
        ("[limits](limits.md)", "[limits](limits.md)"),
        ("[proofs](privacy)", "[proofs](privacy/README.md)"),
        ("[gone](../src/rankveil/gone.py)", "[gone](../src/rankveil/gone.py)"),
        ("`[x](../src/rankveil/methods.py)`", "`[x](../src/rankveil/methods.py)`"),
        ("![picture](figures/attack.svg)", "![picture](figures/attack.svg)"),
    ],
)
def test_links_to_files_of_the_repository_become_their_names(before: str, after: str) -> None:
    assert site_hook.without_repository_links(before, "promise.md", DOCS) == after


def test_lists_get_the_blank_line_that_markdown_wants() -> None:
    assert site_hook.with_blank_lines("So:\n- a\n- b") == "So:\n\n- a\n- b"
    assert site_hook.with_blank_lines("```\nx\n- a\n```") == "```\nx\n- a\n```"
    assert site_hook.with_blank_lines("- a\n  more\n- b") == "- a\n  more\n- b"


# Terms


def terms() -> list[str]:
    return re.findall(r"^### (.+)$", (DOCS / "glossary.md").read_text(encoding="utf-8"), flags=re.MULTILINE)


def test_every_term_is_one_click_from_every_page(site: Path) -> None:
    glossary = page(site / "glossary.html")
    assert len(terms()) > 50
    assert terms() == sorted(set(terms()), key=lambda term: re.sub(r".*\((\w+)\)", r"\1", term).lower())
    contents = {unquote(urlsplit(each).fragment) for each in glossary.leads if each.startswith("#")}
    headings = [each for each in glossary.places if each in contents and not each.startswith("__")]
    assert len(set(headings) - {"glossary"}) == len(terms())
    for path in site.rglob("*.html"):
        leads = {(path.parent / unquote(urlsplit(each).path)).resolve() for each in page(path).in_header}
        if path.name != "404.html":  # its links begin at the root of the site
            assert (site / "glossary.html").resolve() in leads, path.name


def test_every_term_is_found_by_the_search(site: Path) -> None:
    index = json.loads((site / "search" / "search_index.json").read_text(encoding="utf-8"))
    found = {each["title"] for each in index["docs"] if each["location"].startswith("glossary.html#")}
    assert set(terms()) <= found


WANTED = ("ε (epsilon)", "δ (delta)", "Budget", "Share", "Unit of protection", "Neighbours", "Base cell", "Parity",
          "Spike", "Two-way table", "Prior", "Posterior mean", "Replicate weights", "Ledger", "Certificate",
          "Manifest")  # fmt: skip


def test_terms_of_the_field_and_our_own_are_explained() -> None:
    assert set(WANTED) <= set(terms())


# The front door


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_readme_is_short_and_begins_with_two_commands_and_one_picture() -> None:
    text = readme()
    assert len(text.splitlines()) <= 90
    assert len(re.findall(r"!\[", text)) == 1
    before_example = text[: text.index("## An example")]
    assert [line.split("#")[0].strip() for line in before_example.splitlines() if line.startswith("make")] == [
        "make demo",
        "make test",
    ]
    assert before_example.index("make demo") < before_example.index("![")


def test_every_link_of_the_readme_leads_to_a_file() -> None:
    targets = [to for to in re.findall(r"\]\(([^)]+)\)", readme()) if "://" not in to]
    assert len(targets) > 20
    assert [to for to in targets if not (ROOT / to.partition("#")[0]).exists()] == []


def test_the_readme_lists_every_sound_method_with_its_guarantee() -> None:
    listed = dict(re.findall(r"^\| `(\w+)`[^|]*\|[^|]*\| ([^|]+) \|$", readme(), flags=re.MULTILINE))
    assert set(listed) == {name for name, method in METHODS.items() if method.differentially_private}
    assert {name for name, said in listed.items() if "δ" in said} == {n for n in listed if METHODS[n].uses_delta}


def test_every_extra_of_the_readme_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    install = readme().partition("## Install")[2].partition("## More")[0]
    named = set(re.findall(r"`(\w+)`", install)) | {
        each for group in re.findall(r"'\.\[([\w,]+)\]'", install) for each in group.split(",")
    }
    assert named <= set(extras)
    assert set(extras) - {"dev", "bench"} <= named


def test_every_picture_has_its_place_on_the_page_of_charts() -> None:
    text = (DOCS / "charts.md").read_text(encoding="utf-8")
    drawn = {path.name for path in (DOCS / "figures").glob("chart-*")}
    assert drawn == set(re.findall(r"figures/(chart-[\w.-]+)", text))
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        assert all(f"**{word}" in section for word in ("Shows", "Read", "Do")), section.splitlines()[0]


# The newcomer, and decisions


def test_ten_questions_each_have_an_answer_one_click_away(site: Path) -> None:
    text = (DOCS / "newcomer.md").read_text(encoding="utf-8")
    questions = re.split(r"^\d+\. ", text, flags=re.MULTILINE)[1:]
    assert len(questions) == 10
    for each in questions:
        targets = re.findall(r"\]\(([^)]+)\)", each.replace("\n", " "))
        assert targets
        assert all((DOCS / target.partition("#")[0]).is_file() for target in targets)
    assert "newcomer.html" in page(site / "index.html").leads


DECISIONS = sorted(path for path in generate.DECISIONS.glob("[0-9]*.md"))


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_every_decision_has_a_date_and_a_status(path: Path) -> None:
    title, blank, said = path.read_text(encoding="utf-8").split("\n")[:3]
    assert title.startswith(f"# {int(path.name[:4])}. ")
    assert blank == ""
    assert generate._DATED.fullmatch(said), 'the third line is to be "Date: 2031-01-31. Status: accepted."'


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.stem)
def test_a_decision_is_about_one_screen(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 65, "details go to docs/decisions/appendix"


def test_the_index_of_decisions_says_what_they_say() -> None:
    """Decisions that are newer than the index are let through: `python -m docs.generate` adds them."""
    rows = (generate.DECISIONS / "README.md").read_text(encoding="utf-8").splitlines()
    made = generate.decisions_index().splitlines()
    assert len(rows) > 40
    assert rows == made[: len(rows)], "run: python -m docs.generate"
