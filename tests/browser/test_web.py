"""The local page in a real browser: the whole flow, with the network closed, by mouse, by keyboard, without scripts."""

from __future__ import annotations

import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rankveil.ledger import Ledger
from rankveil.web.jobs import releases_of
from tests.browser.conftest import NEEDS_CHROMIUM
from tests.support import Ran
from tests.web_support import AFTER_THE_SPEND, PEOPLE, PEOPLE_PLAN, REPOSITORY, Server, serving, until, waiting_jobs
from tools.fetch_axe import AXE

pytestmark = [
    NEEDS_CHROMIUM,
    pytest.mark.skipif(sys.platform == "win32", reason="the page needs POSIX locks and signals"),
]
WIDE, NARROW = {"width": 1280, "height": 900}, {"width": 390, "height": 844}

OPENED = "The page was opened. If that was not you: press Ctrl-C, somebody else has used the address."


class Tab:
    """A tab with the network closed. It notes what the console says and what was asked of anybody else."""

    def __init__(self, browser: Any, server: Server, **context: Any) -> None:
        self.context = browser.new_context(viewport=WIDE, accept_downloads=True, **context)
        self.context.route("**/*", self._only_to(server))
        self.said: list[str] = []
        self.elsewhere: list[str] = []
        self.page = self.another()

    def _only_to(self, server: Server) -> Callable[[Any], None]:
        def route(asked: Any) -> None:
            if asked.request.url.startswith(f"http://127.0.0.1:{server.port}/"):
                asked.continue_()
            else:
                self.elsewhere.append(asked.request.url)
                asked.abort()

        return route

    def another(self) -> Any:
        """A second tab of the same browser."""
        page = self.context.new_page()
        page.set_default_timeout(120_000)  # machines are shared; no test is about speed
        page.on("console", lambda message: None if _cut_off(message.text) else self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        return page

    def close(self, *, quiet: bool = True) -> None:
        self.context.close()
        assert self.elsewhere == []
        if quiet:
            assert self.said == []


def _cut_off(text: str) -> bool:
    """What htmx says when a page is left before an answer has come."""
    return text.startswith(("htmx:afterRequest, ", "htmx:sendError, ", "htmx:sendAbort, "))


def check(page: Any, screenshots: Path, name: str) -> None:
    """No violation of serious or critical rank, nothing wider than the screen; pictures of all four looks."""
    for scheme in ("light", "dark"):
        for size in (WIDE, NARROW):
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=screenshots / f"{name}-{size['width']}-{scheme}.png", full_page=True)
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], name
        accessible(page, f"{name}, {scheme}")  # at the narrow size, which is the harder one
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")


def accessible(page: Any, name: str) -> None:
    if not AXE.exists():
        return  # test_axe_is_there says so
    page.evaluate(AXE.read_text() + ";0")
    found = page.evaluate("axe.run(document, {iframes: false})")["violations"]
    bad = [(one["id"], one["nodes"][0]["target"]) for one in found if one["impact"] in ("serious", "critical")]
    assert bad == [], name


def heading(page: Any) -> Any:
    return page.get_by_role("heading", level=1)


def edit(page: Any, name: str, place: int) -> None:
    """Open the form of a column."""
    page.get_by_role("link", name=name, exact=True).click()
    page.get_by_role("link", name=f"Edit {name}").click()
    page.wait_for_selector(f"#column-{place} form.edit")


def step(page: Any, name: str) -> Any:
    return page.get_by_role("navigation", name="Steps").get_by_role("link", name=name)


def until_heading(page: Any, words: str) -> None:
    page.wait_for_selector(f"h1:has-text('{words}')", timeout=120_000)


def spends(server: Server) -> int:
    with Ledger(server.ledger) as book:
        return sum(entry.kind == "spend" for entry in book.entries())


def people(folder: Path) -> tuple[Path, Path]:
    table, plan = folder / "people.csv", folder / "plan.toml"
    table.write_text(PEOPLE)
    plan.write_text(PEOPLE_PLAN)
    return table, plan


def test_axe_is_there() -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed (make programs): accessibility was not checked")
    assert "axe.run" in AXE.read_text()


def test_axe_finds_a_field_without_a_label(browser: Any) -> None:
    if not AXE.exists():
        pytest.skip("axe-core is not installed (make programs)")
    page = browser.new_page()
    page.set_content("<!doctype html><html lang=en><title>x</title><main><input></main>")
    with pytest.raises(AssertionError, match="label"):
        accessible(page, "broken twin")
    page.close()


def test_the_whole_flow_on_adult_ends_in_a_release_that_verify_accepts(
    browser: Any, tmp_path: Path, screenshots: Path, run_cli: Callable[..., Ran]
) -> None:
    examples = REPOSITORY / "examples"
    out = tmp_path / "releases"
    with serving(tmp_path, examples / "adult_test.csv.gz", "--plan", examples / "adult.toml", "--out", out) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        assert page.locator("table.columns > tbody").count() == 15
        assert "Everything is confirmed" in page.inner_text("#counter")
        check(page, screenshots, "columns")

        page.get_by_role("link", name="Method and ε").click()
        before = page.inner_text("#dry-run")
        slider = page.get_by_label("ε, on a logarithmic scale")
        slider.wait_for()  # it shows when the page listens to it; pressing a key would not wait for that
        slider.press("PageUp")
        page.wait_for_selector("#dry-run:not(:has-text('with ε = 1,'))")
        assert page.inner_text("#dry-run") != before
        page.fill("#epsilon", "1")
        page.wait_for_selector("#dry-run:has-text('with ε = 1,')")
        check(page, screenshots, "method")
        page.get_by_role("button", name="Keep and go on").click()

        until_heading(page, "Release")
        assert "rankveil release" in page.inner_text("#code-release")
        page.get_by_label("80 replicate weights, for error bars").check()
        page.wait_for_selector("#code-release:has-text('--replicates 80')")
        page.get_by_label("80 replicate weights, for error bars").uncheck()
        page.wait_for_selector("#code-release:not(:has-text('--replicates 80'))")
        page.get_by_label("80 replicate weights, for error bars").check()
        check(page, screenshots, "release")
        page.get_by_role("button", name="Spend ε = 1 and release").click()
        until_heading(page, "Released")
        assert "differentially private with ε = 1" in page.inner_text(".statement")
        page.get_by_text("certificate.html, as others see it").click()
        shown = page.frame_locator("iframe[title='Certificate for people']").locator("h1")
        shown.wait_for()
        page.get_by_role("button", name="Evaluate this release").click()
        page.wait_for_selector("#evaluate iframe", timeout=180_000)
        report = page.frame_locator("#evaluate iframe")
        assert "INTERNAL" in report.locator("body").inner_text()
        assert "Intervals" in report.locator("body").inner_text()
        check(page, screenshots, "result")

        taken = tmp_path / "taken"
        papers = ("certificate.html", "certificate.json", "manifest.json")
        for name in ("release.csv", "weights.csv", *papers, "plan.toml", "evaluation.internal.html"):
            with page.expect_download() as waiting:
                page.get_by_role("link", name=name, exact=True).click()
            waiting.value.save_as(taken / name)
        verified = run_cli("verify", taken / "certificate.json", taken / "release.csv")
        assert verified.code == 0, verified.text
        assert "Verified." in verified.out
        (folder,) = out.iterdir()
        assert (folder / "release.csv").read_bytes() == (taken / "release.csv").read_bytes()
        assert spends(server) == 1
        tab.close()
        assert server.log().splitlines() == [OPENED]


def test_a_drafted_plan_is_confirmed_by_keyboard_and_released_and_the_copy_is_removed(
    browser: Any, tmp_path: Path, screenshots: Path
) -> None:
    table, _ = people(tmp_path)
    with serving(tmp_path) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        check(page, screenshots, "start")
        page.set_input_files("#table", table)
        page.get_by_role("button", name="Open").press("Enter")
        page.wait_for_url("**/columns")
        assert "9 guesses" in page.inner_text("#counter")
        check(page, screenshots, "draft")

        step(page, "Release").press("Enter")
        until_heading(page, "Release")
        assert "9 guesses nobody has confirmed" in page.inner_text("main")
        assert page.get_by_role("button", name="Spend").count() == 0
        page.go_back()

        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
        page.get_by_role("link", name="age", exact=True).press("Enter")
        page.wait_for_selector("#column-1 .below button:focus")
        check(page, screenshots, "card")
        page.get_by_role("link", name="Edit age").press("Enter")
        page.wait_for_selector("#column-1 form.edit #kind-1:focus")
        check(page, screenshots, "edit")
        page.select_option("#kind-1", "date")
        page.wait_for_selector("#format-1")
        page.select_option("#kind-1", "integer")
        page.wait_for_selector("#scale-1")
        page.fill("#upper-1", "-5")
        page.press("#upper-1", "Enter")
        page.wait_for_selector("#column-1 [role=alert]:has-text('The lowest value must be less than the highest')")
        assert page.input_value("#upper-1") == "-5"
        page.fill("#upper-1", "120")
        page.press("#upper-1", "Enter")
        page.wait_for_selector("#column-1:not(.open):not(.unsure)")
        assert "0 to 120" in page.inner_text("#column-1")
        page.get_by_role("link", name="city", exact=True).press("Enter")
        page.get_by_role("button", name="Confirm kind of city").press("Enter")
        page.wait_for_selector("#column-2:has-text('2 guesses')")
        page.wait_for_selector("#column-2 button:focus")
        assert "city saved" in page.text_content("#said")
        page.get_by_role("button", name="Confirm all of city").press("Enter")
        page.wait_for_selector("#column-2:not(.open):not(.unsure)")
        page.get_by_role("button", name="Confirm 2 guesses of smokes").press("Enter")
        page.get_by_role("button", name="Confirm 1 guess of name").press("Enter")
        page.wait_for_selector("#counter:has-text('Everything is confirmed')")
        page.locator("#plan-text summary").click()
        assert "unconfirmed" not in page.inner_text("#code-plan")
        page.reload()
        assert "Everything is confirmed" in page.inner_text("#counter")

        page.get_by_role("link", name="Method and ε").press("Enter")
        page.get_by_role("button", name="Keep and go on").press("Enter")
        page.get_by_role("button", name="Spend ε = 1").press("Enter")
        until_heading(page, "Released")
        tab.close()
        (working,) = server.home.workings()
        copy = Path(working.read().table)
        assert copy.exists()
        server.end(signal.SIGTERM)
        assert not copy.exists()
        assert list((server.state / "servers").iterdir()) == []
        assert working.plan().columns["age"].upper == 120  # type: ignore[union-attr]
        assert releases_of(working)[0].release_file() is not None
        assert server.log().splitlines() == [OPENED, "Stopped."]


AS_SOON_AS_DATES_SHOW = """() => new MutationObserver((_, self) => {
  if (!document.getElementById("format-1")) return;
  self.disconnect();
  const kind = document.getElementById("kind-1");
  kind.value = "integer";
  kind.dispatchEvent(new Event("change", { bubbles: true }));
  document.body.classList.add("changed-back");
}).observe(document.body, { childList: true, subtree: true })"""


def test_a_card_listens_from_the_moment_it_shows(browser: Any, tmp_path: Path) -> None:
    table, _ = people(tmp_path)
    with serving(tmp_path, table) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        edit(page, "age", 1)
        page.wait_for_selector("#kind-1:focus")
        page.evaluate(AS_SOON_AS_DATES_SHOW)
        page.select_option("#kind-1", "date")
        page.wait_for_selector(".changed-back #scale-1", timeout=20_000)
        tab.close()


def test_cards_confirmed_in_quick_succession_leave_the_keyboard_alone_and_are_counted_in_order(
    browser: Any, tmp_path: Path
) -> None:
    table, _ = people(tmp_path)
    with serving(tmp_path, table) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        held: list[Any] = []

        def sent(number: int) -> Any:
            for _ in range(1200):
                if len(held) >= number:
                    return held[number - 1]
                page.wait_for_timeout(100)
            raise AssertionError(f"request {number} was not sent")

        page.route(re.compile(r"/columns/\d$"), lambda asked: held.append(asked))
        for name in ("age", "city"):
            page.get_by_role("button", name=re.compile(rf"guesses? of {name}$")).press("Enter")
        first = sent(1)
        page.get_by_role("button", name=re.compile("guesses? of smokes$")).focus()
        assert len(held) == 1, "the second waits for the answer to the first"
        first.continue_()
        second = sent(2)
        page.wait_for_selector("#column-1:not(.unsure)")
        assert "smokes" in page.evaluate("document.activeElement.textContent")
        second.continue_()
        page.wait_for_selector("#column-2:not(.unsure)")
        assert "2 columns" in page.inner_text("#counter")
        tab.close()


def test_a_large_epsilon_is_explained_and_confirmed_and_a_cap_is_set(
    browser: Any, tmp_path: Path, screenshots: Path
) -> None:
    table, plan = people(tmp_path)
    with serving(tmp_path, table, "--plan", plan) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        page.get_by_role("link", name="Method and ε").click()
        page.fill("#epsilon", "12")
        page.wait_for_selector("#epsilon-meaning.warn-text:has-text('hardly a limit')")
        page.fill("#epsilon", "1000")
        page.wait_for_selector("#epsilon-meaning:has-text('no meaningful limit')")
        assert "Infinity" not in page.inner_text("main")
        page.get_by_text("Published methods, for comparison").click()
        page.check("#method-published-ranking")
        page.wait_for_selector("#epsilon-meaning:has-text('promises nothing')")
        page.check("#method-synthetic")
        page.wait_for_selector("#epsilon-meaning:has-text('no meaningful limit')")
        check(page, screenshots, "large-epsilon")
        page.get_by_role("button", name="Keep and go on").click()
        until_heading(page, "Release")
        page.locator("details.cap summary").click()
        check(page, screenshots, "cap")
        page.fill("#cap-epsilon", "1500")
        page.check("#set-once")
        page.get_by_role("button", name="Set the cap").click()
        page.wait_for_selector(".budget:has-text('1500')")
        page.get_by_role("button", name="Spend").click()
        assert page.locator("#accept-large:invalid").count() == 1, "the browser asks for the tick"
        page.check("#accept-large")
        page.get_by_role("button", name="Spend").click()
        until_heading(page, "Released")
        assert "no meaningful limit" in page.inner_text(".statement.warn")
        tab.close()


def test_the_flow_works_without_scripts(browser: Any, tmp_path: Path) -> None:
    table, _ = people(tmp_path)
    with serving(tmp_path) as server:
        tab = Tab(browser, server, java_script_enabled=False)
        page = tab.page
        page.goto(server.address)
        page.set_input_files("#table", table)
        page.get_by_role("button", name="Open").click()
        edit(page, "age", 1)
        page.select_option("#kind-1", "date")
        page.get_by_role("button", name="Show its fields").click()
        page.get_by_label("First day", exact=True).wait_for()
        page.fill("#lower-1", "2031-12-31")
        page.fill("#upper-1", "2031-01-01")
        page.get_by_role("button", name="Save").click()
        page.wait_for_selector("#column-1 [role=alert]")
        assert page.input_value("#lower-1") == "2031-12-31"
        page.get_by_role("link", name="Leave as it was").click()
        page.fill("#filter", "city")
        page.get_by_role("button", name="Filter", exact=True).click()
        assert page.locator("table.columns > tbody:visible").count() == 1
        page.get_by_role("button", name="Tick all that are shown").click()
        page.get_by_role("button", name="Confirm the ticked columns").click()
        assert "1 column was changed" in page.inner_text("#several")
        page.fill("#filter", "")
        page.get_by_role("button", name="Filter", exact=True).click()
        page.get_by_role("button", name="Confirm 3 guesses of age").click()
        page.get_by_role("button", name="Tick all that are shown").click()
        page.get_by_role("button", name="Confirm the ticked columns").click()
        assert "Everything is confirmed" in page.inner_text("#counter")
        page.get_by_role("link", name="Method and ε").click()
        page.fill("#epsilon", "3")
        page.get_by_role("button", name="Show the dry run").click()
        assert "with ε = 3," in page.inner_text("#dry-run")
        page.get_by_role("button", name="Keep and go on").click()
        page.get_by_role("button", name="Spend ε = 3").click()
        until_heading(page, "Released")
        tab.close(quiet=False)  # a refused form is shown by a page that says so, also in its status


def test_two_clicks_and_two_tabs_are_one_release(browser: Any, tmp_path: Path) -> None:
    table, plan = people(tmp_path)
    with serving(tmp_path, table, "--plan", plan) as server:
        tab = Tab(browser, server)
        first, second = tab.page, tab.another()
        first.goto(server.address)
        step(first, "Release").click()
        second.goto(first.url)
        first.get_by_role("button", name="Spend").dblclick(no_wait_after=True)
        second.get_by_role("button", name="Spend").click()
        second.wait_for_url("**/releases/*")
        until_heading(second, "Released")
        until_heading(first, "Released")
        assert first.url == second.url
        first.reload()
        second.reload()
        assert spends(server) == 1
        tab.close()


def test_an_edit_in_an_old_tab_is_refused_with_both_versions_in_sight(browser: Any, tmp_path: Path) -> None:
    table, plan = people(tmp_path)
    with serving(tmp_path, table, "--plan", plan) as server:
        tab = Tab(browser, server)
        first, second = tab.page, tab.another()
        first.goto(server.address)
        second.goto(first.url)
        for page, upper in ((first, "110"), (second, "130")):
            edit(page, "age", 1)
            page.fill("#upper-1", upper)
        first.get_by_role("button", name="Save").click()
        first.wait_for_selector("#column-1:not(.open)")
        second.get_by_role("button", name="Save").click()
        second.wait_for_selector("#column-1 [role=alert]")
        assert "changed in the meantime" in second.inner_text("#column-1")
        assert "0 to 110" in second.inner_text("#column-1 .now")
        assert second.input_value("#upper-1") == "130"
        second.get_by_role("button", name="Save").click()
        second.wait_for_selector("#column-1:not(.open)")
        assert "0 to 130" in second.inner_text("#column-1")
        tab.close()


def test_a_page_killed_in_the_middle_of_a_release_goes_on_after_a_restart(browser: Any, tmp_path: Path) -> None:
    table, plan = people(tmp_path)
    environment, go_on = waiting_jobs(tmp_path, AFTER_THE_SPEND)
    with serving(tmp_path, table, "--plan", plan, env=environment) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        step(page, "Release").click()
        page.get_by_role("button", name="Spend").click()
        page.wait_for_selector(".progress:has-text('The budget is spent: entry 1')")
        address = page.url
        server.end(signal.SIGKILL)
        server.start()
        page.goto(address)  # the same tab, its cookie still good
        assert "Releasing" in heading(page).inner_text()
        assert "The budget is spent: entry 1" in page.inner_text(".progress")
        go_on.touch()
        until_heading(page, "Released")
        assert "entry 1 of the ledger" in page.inner_text("main")
        assert spends(server) == 1
        tab.close(quiet=False)  # while the page was down, the browser said so


def test_a_cancelled_release_says_what_it_cost(browser: Any, tmp_path: Path, screenshots: Path) -> None:
    table, plan = people(tmp_path)
    environment, _ = waiting_jobs(tmp_path, AFTER_THE_SPEND)
    with serving(tmp_path, table, "--plan", plan, env=environment) as server:
        tab = Tab(browser, server)
        page = tab.page
        page.goto(server.address)
        step(page, "Release").click()
        page.get_by_role("button", name="Spend").click()
        page.wait_for_selector(".progress:has-text('The budget is spent: entry 1')")
        page.screenshot(path=screenshots / "progress.png")
        accessible(page, "progress")
        page.get_by_role("button", name="Cancel the release").click()
        until_heading(page, "Cancelled")
        assert "No release was written. Its budget is spent: entry 1 of the ledger." in page.inner_text("main")
        (job,) = releases_of(server.home.workings()[0])
        until(lambda: not job.alive())
        assert [path.name for path in job.out.iterdir()] == []
        accessible(page, "cancelled")
        tab.close()


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_upload_that_is_too_large_is_refused_in_words(browser: Any, tmp_path: Path, scripts: bool) -> None:
    large = tmp_path / "large.csv"
    large.write_text("a\n" + "1234567\n" * 400_000)
    with serving(tmp_path, "--upload-limit", "1") as server:
        tab = Tab(browser, server, java_script_enabled=scripts)
        tab.page.goto(server.address)
        tab.page.set_input_files("#table", large)
        tab.page.get_by_role("button", name="Open").click()
        tab.page.wait_for_selector("[role=alert]:visible:has-text('larger than 1 MiB')")
        assert server.home.workings() == []
        tab.close(quiet=scripts)  # without scripts the answer is an error, which the console notes


def test_a_used_address_and_another_host_open_nothing(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        tab = Tab(browser, server)
        tab.page.goto(server.address)
        assert heading(tab.page).inner_text() == "Open a table"
        assert "open/" not in tab.page.url
        stranger = Tab(browser, server)
        assert stranger.page.goto(f"{server.base}/").status == 403
        # A page of another site cannot make this browser, which holds the cookie, change anything.
        tab.page.goto("about:blank")
        tab.page.set_content(
            f'<form method="post" action="{server.base}/tables" enctype="multipart/form-data"><button>x</button></form>'
        )
        with tab.page.expect_response("**/tables") as answer:
            tab.page.click("button")
        assert answer.value.status == 403
        assert tab.page.goto(f"{server.base}/").status == 200
        assert stranger.page.goto(server.address).status == 403
        assert "used before" in stranger.page.inner_text("body")
        assert tab.page.goto(f"{server.base}/").status == 403, "whoever was first is locked out as well"
        stranger.close(quiet=False)
        tab.close(quiet=False)


def test_the_private_file_leads_to_the_page_and_is_gone_once_it_was_used(browser: Any, tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        (way_in,) = server.state.glob("servers/*/open.html")
        assert (way_in.stat().st_mode & 0o777, way_in.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        tab = Tab(browser, server)
        tab.context.unroute("**/*")  # it lets nothing pass but the page, and this is a file
        tab.page.goto(way_in.as_uri())
        tab.page.wait_for_url(f"{server.base}/")
        assert heading(tab.page).inner_text() == "Open a table"
        assert not way_in.exists()
        tab.close()


def test_the_plan_and_the_command_can_be_copied(browser: Any, tmp_path: Path) -> None:
    table, plan = people(tmp_path)
    with serving(tmp_path, table, "--plan", plan) as server:
        tab = Tab(browser, server, permissions=["clipboard-read", "clipboard-write"])
        tab.page.goto(server.address)
        step(tab.page, "Release").click()
        tab.page.get_by_role("button", name="Copy Commands").click()
        tab.page.wait_for_selector("#said:has-text('Copied')", state="attached")
        copied = tab.page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("rankveil release")
        assert copied == tab.page.inner_text("#code-release")
        tab.close()
