"""Take the pictures of the page and of the report that the documentation shows: `python -m docs.make_screenshots`.

Needs Chromium. The page runs with a private folder and a ledger of its own, on the example data.
"""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from tests.web_support import REPOSITORY, Server, serving

FIGURES = Path(__file__).parent / "figures"
_ROWS = 2000


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        _of_a_draft(browser, Path(folder))
        _of_adult(browser, Path(folder))
        browser.close()


def _opened(browser: Any, server: Server, scheme: str = "light") -> Any:
    page = browser.new_context(viewport={"width": 1200, "height": 780}, color_scheme=scheme).new_page()
    page.set_default_timeout(120_000)
    page.goto(server.address)
    return page


def _of_a_draft(browser: Any, folder: Path) -> None:
    """Columns with guesses, from a part of Adult without its plan."""
    with gzip.open(REPOSITORY / "examples" / "adult.csv.gz", "rt") as file:
        lines = [line for _, line in zip(range(_ROWS), file, strict=False)]
    table = folder / "adult-part.csv"
    table.write_text("".join(lines))
    own = folder / "draft"
    own.mkdir()
    with serving(own) as server:
        page = _opened(browser, server)
        page.set_input_files("#table", table)
        page.get_by_role("button", name="Open").click()
        page.get_by_role("button", name="Confirm 3 guesses of age").click()
        page.wait_for_selector("#column-0:not(.unsure)")
        _take(page, "web-columns")
        page.context.close()


def _of_adult(browser: Any, folder: Path) -> None:
    examples = REPOSITORY / "examples"
    own = folder / "adult"
    own.mkdir()
    with serving(own, examples / "adult.csv.gz", "--plan", examples / "adult.toml") as server:
        page = _opened(browser, server)
        page.get_by_role("link", name="Method and ε").click()
        page.wait_for_selector("#dry-run .rv-expect")
        _take(page, "web-method", below=".dry-run")
        page.get_by_role("button", name="Keep and go on").click()
        page.get_by_role("button", name="Spend").click()
        page.wait_for_selector("h1:has-text('Released')")
        page.emulate_media(color_scheme="dark")
        _take(page, "web-result-dark")
        page.get_by_role("button", name="Evaluate this release").click()
        page.wait_for_selector("#evaluate iframe")
        page.goto(f"http://127.0.0.1:{server.port}" + page.get_attribute("#evaluate iframe", "src"))
        page.emulate_media(color_scheme="light")
        _take(page, "report-evaluation")
        page.context.close()


def _take(page: Any, name: str, *, below: str = "body") -> None:
    """A picture of the screen, scrolled to a place (less the room that ε takes on top of it)."""
    page.evaluate(f"scrollTo(0, document.querySelector('{below}').offsetTop - 160)")
    path = FIGURES / f"{name}.png"
    page.screenshot(path=path)
    sys.stdout.write(f"{path.relative_to(REPOSITORY)}  {path.stat().st_size >> 10} KiB\n")


if __name__ == "__main__":
    main()
