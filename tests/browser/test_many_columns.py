"""Fifty to five hundred columns in a real browser: few interactions, keys alone, no scripts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.browser.test_web import Tab, check, people, pytestmark, until_heading  # noqa: F401 - pytestmark
from tests.web_support import REPOSITORY, serving


def survey(folder: Path) -> Path:
    """Fifty columns with their codebook, made by the project."""
    made = folder / "survey"
    maker = REPOSITORY / "examples" / "survey" / "make_survey.py"
    subprocess.run([sys.executable, str(maker), str(made)], check=True, stdout=subprocess.DEVNULL)
    return made


def wide(folder: Path, columns: int) -> Path:
    path = folder / "wide.csv"
    lines = [",".join(f"q{place}" for place in range(columns))]
    lines += [",".join(str((row * 7 + place) % 5) for place in range(columns)) for row in range(60)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_survey_of_fifty_columns_with_its_codebook_is_confirmed_in_three_interactions(
    browser: Any,
    tmp_path: Path,
    screenshots: Path,
) -> None:
    made = survey(tmp_path)
    with serving(tmp_path) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        page.set_input_files("#table", made / "survey.csv")  # 1
        page.set_input_files("#codebook", made / "survey.xml")  # 2
        page.get_by_role("button", name="Open").click()  # 3
        page.wait_for_selector("#counter:has-text('Everything is confirmed')")
        assert page.locator("table.columns > tbody").count() == 50
        check(page, screenshots, "survey")
        tab.close()
        (working,) = server.home.workings()
        assert working.plan().guesses == {}


def test_fifty_columns_without_a_codebook_are_confirmed_in_four_interactions(
    browser: Any,
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        page.set_input_files("#table", wide(tmp_path, 50))  # 1
        page.get_by_role("button", name="Open").click()  # 2
        page.get_by_label("Tick all columns that are shown").check()  # 3
        page.get_by_role("button", name="Confirm 50 ticked columns").click()  # 4
        page.wait_for_selector("#counter:has-text('Everything is confirmed')")
        tab.close()


def test_keys_alone_move_tick_open_filter_and_confirm(browser: Any, tmp_path: Path) -> None:
    table, _ = people(tmp_path)
    with serving(tmp_path, table) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        page.wait_for_selector("#keys:visible")
        focused = "document.activeElement.textContent.trim()"
        page.keyboard.press("j")
        page.keyboard.press("ArrowDown")
        assert page.evaluate(focused) == "age"
        page.keyboard.press("k")
        assert page.evaluate(focused) == "name"
        page.keyboard.press("c")  # nothing is ticked: this one
        page.wait_for_selector("#column-0:not(.unsure)")
        page.keyboard.press("/")
        page.keyboard.type("city")
        page.wait_for_selector("#shown-count:has-text('1 of 4')")
        page.keyboard.press("Escape")
        assert page.evaluate(focused) == "city"
        page.keyboard.press("Enter")
        page.wait_for_selector("#column-2 .below button:focus")
        page.keyboard.press("Escape")
        page.wait_for_selector("#column-2:not(.open)")
        page.keyboard.press("/")
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        page.keyboard.press("Escape")
        page.keyboard.press("Space")
        page.wait_for_selector("#ticked-count:has-text('1 ticked')")
        page.keyboard.press("a")
        page.wait_for_selector("#ticked-count:has-text('4 ticked')")
        page.keyboard.press("c")
        page.wait_for_selector("#counter:has-text('Everything is confirmed')")
        tab.close()


def test_five_hundred_columns_are_filtered_changed_and_confirmed_by_one_request_each(
    browser: Any,
    tmp_path: Path,
) -> None:
    with serving(tmp_path, wide(tmp_path, 500)) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        posts: list[str] = []
        page.on("request", lambda asked: posts.append(asked.url) if asked.method == "POST" else None)
        page.fill("#filter", "q49")
        page.wait_for_selector("#shown-count:has-text('11 of 500')")  # q49 and q490 to q499
        page.get_by_label("Tick all columns that are shown").check()
        page.locator("#several-edit summary").click()
        page.fill("#all-upper", "9")
        page.get_by_role("button", name="Change the ticked columns").click()
        page.wait_for_selector("#several:has-text('11 columns were changed')")
        page.fill("#filter", "")
        page.get_by_label("Tick all columns that are shown").check()
        page.get_by_role("button", name="Confirm 500 ticked columns").click()
        page.wait_for_selector("#counter:has-text('Everything is confirmed')")
        assert len(posts) == 2
        tab.close()
        columns = server.home.workings()[0].plan().columns
        assert columns["q490"].upper == 9  # type: ignore[union-attr]


def test_back_after_a_wrong_epsilon_sends_nothing_again(browser: Any, tmp_path: Path) -> None:
    table, plan = people(tmp_path)
    with serving(tmp_path, table, "--plan", plan) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        page.get_by_role("link", name="Method and ε").click()
        page.get_by_label("ε, on a logarithmic scale").wait_for()
        page.fill("#epsilon", "0")
        assert page.input_value("#epsilon-slider") == "-2"
        page.get_by_role("button", name="Keep and go on").click()
        page.wait_for_selector("[role=alert]:has-text('ε must be a number above 0')")
        page.reload()
        page.wait_for_selector("[role=alert]:has-text('ε must be a number above 0')")
        page.get_by_role("link", name="Compare methods and ε").click()
        until_heading(page, "Compare")
        page.go_back()
        page.wait_for_selector("[role=alert]:has-text('ε must be a number above 0')")
        tab.close(quiet=False)  # the page that shows a refused form says so in its status
