"""The evaluation's page in a real browser: nothing blocked, nothing wider than a telephone, dark where it should be."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankveil.report.evaluation import as_page
from tests.browser.conftest import NEEDS_CHROMIUM
from tests.report_cases import released

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    plan, made, found = released("published:individual-ranking", k=20)
    path: Path = tmp_path_factory.mktemp("page") / "evaluation.internal.html"
    path.write_text(as_page(found, plan, made.certificate), encoding="utf-8")
    return path.as_uri()


def opened(browser: Any, address: str, **context: Any) -> tuple[Any, list[str], list[str]]:
    """The page, what its console says, and what it asked for besides itself."""
    page = browser.new_context(**context).new_page()
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(address)
    return page, said, asked


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_draws_without_a_complaint_and_asks_for_nothing(browser: Any, address: str, scheme: str) -> None:
    page, said, asked = opened(browser, address, color_scheme=scheme)
    assert said == []
    assert asked == [address]
    assert page.locator("figure svg").count() == 13
    assert page.evaluate("document.querySelectorAll('figure svg')[0].getBoundingClientRect().height") > 50
    # The style sheet was let through by its hash.
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(255, 255, 255)" if scheme == "light" else "rgb(20, 25, 31)")
    page.context.close()


def test_the_console_check_sees_a_style_that_the_policy_forbids(browser: Any, address: str, tmp_path: Path) -> None:
    text = Path(address.removeprefix("file://")).read_text()
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("<style>", "<style>p { color: red }"))
    page, said, _ = opened(browser, broken.as_uri())
    assert any("Content Security Policy" in line for line in said)
    page.context.close()


@pytest.mark.parametrize("width", [390, 768, 1280])
def test_no_page_is_wider_than_its_window(browser: Any, address: str, width: int) -> None:
    page, _, _ = opened(browser, address, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_of_charts_is_readable_on_its_ground(browser: Any, address: str, scheme: str) -> None:
    page, _, _ = opened(browser, address, color_scheme=scheme)
    colours = page.evaluate(
        "[...new Set([...document.querySelectorAll('figure text')].map(text => getComputedStyle(text).fill))]"
    )
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours
    assert all(contrast(colour, ground) >= 4.5 for colour in colours), colours
    page.context.close()


def test_paper_is_light_even_where_the_screen_is_dark(browser: Any, address: str) -> None:
    page, _, _ = opened(browser, address, color_scheme="dark")
    page.emulate_media(media="print")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert page.locator("nav.contents").is_hidden()
    page.context.close()


def contrast(first: str, second: str) -> float:
    """WCAG's contrast of two colours written as rgb(r, g, b)."""
    lightness = []
    for colour in (first, second):
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        red, green, blue = (part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        lightness.append(0.2126 * red + 0.7152 * green + 0.0722 * blue)
    return (max(lightness) + 0.05) / (min(lightness) + 0.05)


def test_the_contrast_check_knows_black_from_grey() -> None:
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == pytest.approx(21)
    assert contrast("rgb(123, 135, 148)", "rgb(255, 255, 255)") < 4.5
