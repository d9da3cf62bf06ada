"""The certificate's page in a real browser: accessible, narrow, dark, and on two sheets of paper."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rankveil import Plan, release
from rankveil.certificate import Certificate
from rankveil.certificate.nist import nist_page
from rankveil.certificate.page import page
from tests.browser.conftest import NEEDS_CHROMIUM
from tests.certificates import PUBLICATION, certificate_of
from tools.fetch_axe import AXE

pytestmark = NEEDS_CHROMIUM
EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
PAGES = ("synthetic", "persons there or not", "published:individual-ranking", "all papers", "nist")


def opened(browser: Any, path: Path, **context: Any) -> tuple[Any, list[str], list[str]]:
    """The page, what its console says, and what it asked for besides itself."""
    shown = browser.new_context(**context).new_page()
    said: list[str] = []
    asked: list[str] = []
    shown.on("console", lambda message: said.append(message.text))
    shown.on("pageerror", lambda error: said.append(str(error)))
    shown.on("request", lambda request: asked.append(request.url))
    shown.goto(path.as_uri())
    return shown, said, asked


def written(name: str, tmp_path: Path) -> Path:
    path = tmp_path / "certificate.html"
    path.write_text(nist_page(certificate_of("delta")) if name == "nist" else page(certificate_of(name)))
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_accessible_says_nothing_and_asks_for_nothing(
    browser: Any, tmp_path: Path, name: str, scheme: str
) -> None:
    path = written(name, tmp_path)
    shown, said, asked = opened(browser, path, color_scheme=scheme, bypass_csp=True)
    ground = shown.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 25, 31)")
    if AXE.exists():
        shown.add_script_tag(path=str(AXE))
        found = shown.evaluate("axe.run(document)")["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert (said, asked[:1], len(asked)) == ([], [path.as_uri()], 1)
    shown.context.close()


def test_axe_is_there() -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed (make programs): accessibility was not checked")


def test_axe_finds_a_page_that_does_not_name_its_language(browser: Any, tmp_path: Path) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed (make programs)")
    path = written("synthetic", tmp_path)
    path.write_text(path.read_text().replace('<html lang="en">', "<html>"))
    shown, _, _ = opened(browser, path, bypass_csp=True)
    shown.add_script_tag(path=str(AXE))
    assert [one["id"] for one in shown.evaluate("axe.run(document)")["violations"]] == ["html-has-lang"]
    shown.context.close()


@pytest.mark.parametrize("width", [390, 768, 1280])
@pytest.mark.parametrize("name", PAGES)
def test_no_page_is_wider_than_its_window(browser: Any, tmp_path: Path, name: str, width: int) -> None:
    shown, said, _ = opened(browser, written(name, tmp_path), viewport={"width": width, "height": 800})
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    assert said == [], "the policy lets the style through"
    shown.context.close()


def test_the_warning_is_red_and_comes_first(browser: Any, tmp_path: Path) -> None:
    shown, _, _ = opened(browser, written("published:individual-ranking", tmp_path), color_scheme="light")
    assert shown.evaluate("getComputedStyle(document.querySelector('body p')).color") == "rgb(166, 27, 27)"
    assert shown.evaluate("document.querySelector('body p').innerText").startswith("NOT PROTECTED.")
    shown.context.close()


def sheets(browser: Any, path: Path) -> int:
    shown, _, _ = opened(browser, path, color_scheme="dark")
    content = shown.pdf(prefer_css_page_size=True, format="A4")
    assert shown.evaluate("matchMedia('print').matches") is False
    shown.context.close()
    plain = content + b"".join(_unpacked(content))
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", plain))


def _unpacked(content: bytes) -> Iterator[bytes]:
    for packed in re.findall(rb"stream\r?\n(.*?)endstream", content, flags=re.DOTALL):
        try:
            yield zlib.decompress(packed)
        except zlib.error:
            continue


@pytest.mark.parametrize("delta", [None, "1e-9"])
def test_adults_fifteen_columns_print_on_two_sheets(browser: Any, tmp_path: Path, delta: str | None) -> None:
    content = (EXAMPLES / "adult.toml").read_text()
    publication = "\n".join(f"{name} = '{value}'" for name, value in PUBLICATION.items())
    (tmp_path / "plan.toml").write_text(f"{content}\n[publication]\n{publication}\n")
    for taxonomy in EXAMPLES.glob("*.csv"):
        (tmp_path / taxonomy.name).write_bytes(taxonomy.read_bytes())
    plan = Plan.load(tmp_path / "plan.toml").with_(delta=delta)
    made = release(EXAMPLES / "adult.csv.gz", plan, out=tmp_path / "out")
    said = {"source": "the survey's handbook", "label": "What this one is about"}
    columns = [column.model_copy(update=said) for column in made.certificate.columns]
    (tmp_path / "page.html").write_text(page(made.certificate.model_copy(update={"columns": tuple(columns)})))
    assert sheets(browser, tmp_path / "page.html") == 2


def wide(columns: int, *, long: bool) -> Certificate:
    """A certificate with all papers and everything that a plan may say, for a table of so many columns."""
    made, names = certificate_of("all papers"), [f"household_income_{place:02d}" for place in range(columns)]
    said = {"source": "Codebook of 2031, page 17", "label": "What was said about the income, by its source"}
    note = made.columns[0].model_copy(update=said if long else {})
    expected, spent = (made.expected or ())[0], (made.spent or ())[0]
    return made.model_copy(
        update={
            "columns": tuple(note.model_copy(update={"name": name}) for name in names),
            "expected": tuple(expected.model_copy(update={"column": name}) for name in names),
            "spent": (*(spent.model_copy(update={"what": name}) for name in names), *(made.spent or ())[3:]),
        }
    )


def smallest_letters(browser: Any, path: Path) -> float:
    """On paper, in points."""
    shown, _, _ = opened(browser, path)
    shown.emulate_media(media="print")
    of_all = "[...document.querySelectorAll('body *')].map(e => parseFloat(getComputedStyle(e).fontSize))"
    zoom = float(shown.evaluate("getComputedStyle(document.body).zoom"))
    smallest: float = min(shown.evaluate(of_all)) * zoom * 0.75
    shown.context.close()
    return smallest


@pytest.mark.parametrize(("columns", "letters"), [(5, 1), (5, 3), (15, 3), (50, 3), (5, 200), (15, 200), (50, 200)])
def test_long_texts_of_the_publication_print_on_two_sheets_as_well(
    browser: Any, tmp_path: Path, columns: int, letters: int
) -> None:
    """All that a plan may say of its publication, each text as long as it may be, or the two long ones alone."""
    made = wide(columns, long=True)
    assert made.publication is not None
    text = "Some words of a long text " * 40
    said = dict.fromkeys(type(made.publication).model_fields, text[:letters]) | {"purpose": text[:1000]}
    said |= {"notes": text[:1000]} if letters > 1 else {}
    said = {name: one.strip() for name, one in said.items()}
    long = made.model_copy(update={"publication": type(made.publication)(**said), "title": text[:letters].strip()})
    (tmp_path / "page.html").write_text(page(long))
    assert sheets(browser, tmp_path / "page.html") <= 2
    assert smallest_letters(browser, tmp_path / "page.html") > 4.7, "points"


@pytest.mark.parametrize(("columns", "long"), [(15, True), (24, True), (50, False), (50, True)])
def test_everything_a_page_may_say_prints_on_two_sheets_up_to_fifty_columns(
    browser: Any, tmp_path: Path, columns: int, long: bool
) -> None:
    (tmp_path / "page.html").write_text(page(wide(columns, long=long)))
    assert sheets(browser, tmp_path / "page.html") <= 2
    assert smallest_letters(browser, tmp_path / "page.html") > 4.7, "points"


def test_the_count_of_sheets_sees_a_third_one(browser: Any, tmp_path: Path) -> None:
    path = written("synthetic", tmp_path)
    path.write_text(path.read_text().replace("</main>", "<p>more</p>" * 400 + "</main>"))
    assert sheets(browser, path) > 2


def test_paper_is_light_even_where_the_screen_is_dark(browser: Any, tmp_path: Path) -> None:
    shown, _, _ = opened(browser, written("synthetic", tmp_path), color_scheme="dark")
    shown.emulate_media(media="print")
    assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shown.context.close()
