"""The flow without a browser: plans on disk, edits from two tabs, refusals in the words of the command line."""

from __future__ import annotations

import json
import re
import zipfile
from fractions import Fraction
from io import BytesIO
from pathlib import Path

import pytest

from rankveil.declare import Plan
from rankveil.declare.unit import Unit
from rankveil.ledger import Identity, Ledger
from rankveil.verify import verify
from rankveil.web.jobs import job_named, releases_of
from rankveil.web.serve import close, remove_left_behind
from rankveil.web.tables import STALE_AFTER, open_path
from tests.web_support import PEOPLE, PEOPLE_PLAN, Visitor, until


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor(tmp_path)


def spends(ledger: Path) -> int:
    with Ledger(ledger) as book:
        return sum(entry.kind == "spend" for entry in book.entries())


def released(visitor: Visitor, plan: str = PEOPLE_PLAN) -> tuple[str, str]:
    """A finished release: ids of the session and of the job."""
    working = visitor.upload(plan=plan)
    form = visitor.release_form(working)
    answer = visitor.post(f"/w/{working.id}/release", form)
    assert answer.status_code == 303, answer.text
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.status().running)
    assert job.status().state == "done", job.status()
    return working.id, job.id


# Sheets of a workbook


def workbook(path: Path) -> Path:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    book = xlsxwriter.Workbook(str(path))
    book.add_worksheet("Read me").write_row(0, 0, ["note"])
    sheet = book.add_worksheet("The data")
    for place, line in enumerate(PEOPLE.splitlines()):
        sheet.write_row(place, 0, [int(cell) if cell.isdigit() else cell for cell in line.split(",")])
    book.close()
    return path


def test_a_workbook_of_several_sheets_is_opened_released_and_given_again_by_the_sheet_that_is_named(
    visitor: Visitor, tmp_path: Path
) -> None:
    path = workbook(tmp_path / "book.xlsx")
    content = path.read_bytes()
    refused = visitor.post("/tables", files={"table": ("book.xlsx", content)}).text
    assert "has 2 sheets" in refused
    assert "write the name of the sheet into its field" in refused
    assert "--sheet" not in refused
    assert "has no sheet" in visitor.post("/tables", {"sheet": "Data"}, files={"table": ("book.xlsx", content)}).text
    working = visitor.upload(content, "book.xlsx", PEOPLE_PLAN, sheet=" The data ")
    assert working.read().rows == 300
    form = visitor.release_form(working)
    assert "&#39;book.xlsx#The data&#39;" in visitor.get(f"/w/{working.id}/release").text
    assert visitor.post(f"/w/{working.id}/release", form).status_code == 303
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.status().running)
    assert job.status().state == "done", job.status()
    close(visitor.home, "test", tmp_path / "door")
    assert not Path(working.read().table).exists()
    again = visitor.post(f"/w/{working.id}/table", files={"table": ("book.xlsx", content)})
    assert again.status_code == 303, again.text
    assert Path(working.read().table).exists()


def test_a_sheet_that_was_named_at_the_start_is_a_session_of_its_own(visitor: Visitor, tmp_path: Path) -> None:
    path = workbook(tmp_path / "book.xlsx")
    opened = open_path(visitor.home, path, None, "test", sheet="The data")
    assert (opened.read().name, opened.read().rows) == ("book.xlsx#The data", 300)
    assert open_path(visitor.home, path, None, "test", sheet="The data").id == opened.id


# Columns


def test_an_upload_is_drafted_and_every_guess_waits_to_be_confirmed(visitor: Visitor) -> None:
    working = visitor.upload()
    plan = working.plan()
    assert set(plan.guesses) == {"name", "age", "city", "smokes"}
    text = visitor.get(f"/w/{working.id}/columns").text
    assert "9 guesses" in text
    assert "left out of the release" in visitor.get(f"/w/{working.id}/columns?open=0").text
    assert "never: a table with missing values is refused" in visitor.get(f"/w/{working.id}/columns?open=1").text
    assert "Internal" in text
    assert working.read().rows == 300


def test_each_guess_is_confirmed_by_itself(visitor: Visitor) -> None:
    working = visitor.upload()
    place = list(working.plan().columns).index("age")
    data = {"action": "confirm", "version": "0", "entries": "lower,upper"}
    assert visitor.post(f"/w/{working.id}/columns/{place}", data).status_code == 303
    assert working.plan().columns["age"].unconfirmed == ("kind", "null")
    assert "null = false" in working.read().plan, "what is to be confirmed is shown"
    data = {"action": "confirm", "version": "0", "entries": ""}
    assert visitor.post(f"/w/{working.id}/columns/0", data).status_code == 303
    assert set(working.plan().guesses) == {"age", "city", "smokes"}, "leaving a column out is confirmed as well"


def test_how_the_file_is_read_is_confirmed_by_itself(visitor: Visitor) -> None:
    working = visitor.upload("a;b\n1,5;2\n3,25;4\n")
    plan = working.plan()
    assert (plan.table.decimal, plan.guesses["[table]"]) == (",", ("decimal",))
    text = visitor.get(f"/w/{working.id}/columns").text
    assert "How the file is read" in text
    assert "2 columns and how the file is read" in text
    for place in range(2):
        data = {"action": "confirm", "version": "0", "entries": ""}
        assert visitor.post(f"/w/{working.id}/columns/{place}", data).status_code == 303
    assert "1 guess" in visitor.get(f"/w/{working.id}/release").text
    assert visitor.post(f"/w/{working.id}/columns/table", {"version": "0", "decimal": "x"}).status_code == 422
    assert visitor.post(f"/w/{working.id}/columns/table", {"version": "7", "decimal": ","}).status_code == 409
    assert visitor.post(f"/w/{working.id}/columns/table", {"version": "0", "decimal": ","}).status_code == 303
    assert working.plan().guesses == {}
    assert working.plan().table.decimal == ","


def test_a_saved_form_is_what_the_plan_says_and_nothing_of_it_is_a_guess(visitor: Visitor) -> None:
    working = visitor.upload()
    place = list(working.plan().columns).index("age")
    data = {"action": "save", "version": "0", "kind": "integer", "lower": "18", "upper": "99", "null": "on"}
    assert visitor.post(f"/w/{working.id}/columns/{place}", data).status_code == 303
    entry = working.plan().columns["age"]
    assert (entry.kind, entry.lower, entry.upper, entry.null, entry.unconfirmed) == ("integer", 18, 99, True, ())


def test_a_form_that_makes_no_sense_comes_back_as_it_was_filled_in(visitor: Visitor) -> None:
    working = visitor.upload()
    before = working.read().plan
    data = {"action": "save", "version": "0", "kind": "integer", "lower": "77", "upper": "12"}
    answer = visitor.post(f"/w/{working.id}/columns/1", data)
    assert answer.status_code == 422
    assert "The lowest value must be less than the highest." in answer.text
    assert answer.text.count('aria-invalid="true"') == 2
    assert 'value="77"' in answer.text
    assert working.read().plan == before


def test_a_taxonomy_is_kept_beside_the_plan_and_checked(visitor: Visitor) -> None:
    working = visitor.upload()
    place = list(working.plan().columns).index("city")
    data = {"action": "save", "version": "0", "kind": "category", "categories": ""}
    good = "node,parent\nall,\nsouth,all\nUlm,south\nBonn,all\nJena,all\n"
    answer = visitor.post(f"/w/{working.id}/columns/{place}", data, files={"taxonomy": ("../../cities.csv", good)})
    assert answer.status_code == 303, answer.text
    assert working.plan().columns["city"].taxonomy == "cities.csv"
    assert (working.folder / "cities.csv").stat().st_mode & 0o777 == 0o600
    assert "5 concepts" in visitor.get(f"/w/{working.id}/columns?open={place}").text
    bad = "node,parent\na,b\nb,a\n"
    data["version"] = "1"
    answer = visitor.post(f"/w/{working.id}/columns/{place}", data, files={"taxonomy": ("cities.csv", bad)})
    assert answer.status_code == 422
    assert "cycle" in answer.text
    assert (working.folder / "cities.csv").read_text() == good
    assert working.plan().columns["city"].taxonomy == "cities.csv"


def test_an_edit_from_an_old_tab_is_refused_and_loses_nothing(visitor: Visitor) -> None:
    working = visitor.upload()
    first = {"action": "save", "version": "0", "kind": "integer", "lower": "0", "upper": "110"}
    assert visitor.post(f"/w/{working.id}/columns/1", first).status_code == 303
    second = {**first, "upper": "130"}
    answer = visitor.post(f"/w/{working.id}/columns/1", second)
    assert answer.status_code == 409
    assert "changed in the meantime" in answer.text
    assert 'value="130"' in answer.text  # what was entered
    assert "0 to 110" in answer.text  # what the plan says
    assert working.plan().columns["age"].upper == 110
    version = re.search(r'id="column-1".*?name="version" value="(\d+)"', answer.text, re.DOTALL)
    assert version is not None
    assert visitor.post(f"/w/{working.id}/columns/1", {**second, "version": version[1]}).status_code == 303
    assert working.plan().columns["age"].upper == 130


def test_edits_of_two_columns_from_two_tabs_do_not_disturb_each_other(visitor: Visitor) -> None:
    working = visitor.upload()
    age = {"action": "save", "version": "0", "kind": "integer", "lower": "0", "upper": "110"}
    city = {"action": "save", "version": "0", "kind": "category", "categories": "Ulm\nBonn\nJena\nKiel"}
    assert visitor.post(f"/w/{working.id}/columns/1", age).status_code == 303
    assert visitor.post(f"/w/{working.id}/columns/2", city).status_code == 303
    plan = working.plan()
    assert plan.columns["age"].upper == 110
    assert plan.columns["city"].categories == ("Ulm", "Bonn", "Jena", "Kiel")


def test_a_column_cannot_be_confirmed_from_a_tab_that_shows_other_limits(visitor: Visitor) -> None:
    working = visitor.upload()
    edit = {"action": "save", "version": "0", "kind": "integer", "lower": "0", "upper": "110"}
    visitor.post(f"/w/{working.id}/columns/1", edit)
    answer = visitor.post(f"/w/{working.id}/columns/1", {"action": "confirm", "version": "0", "entries": ""})
    assert answer.status_code == 409


# Method


def test_the_dry_run_follows_the_settings_and_saves_nothing(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    before = working.read().plan
    small = visitor.get(f"/w/{working.id}/dry-run?method=synthetic&epsilon=0.1").text
    large = visitor.get(f"/w/{working.id}/dry-run?method=synthetic&epsilon=10").text
    assert "ε = 0.1" in small
    assert "ε = 10" in large
    assert "300 rows" in large
    assert working.read().plan == before


@pytest.mark.parametrize("epsilon", ["", "0", "-1", "nan", "1e999", "abc", "1,5"])
def test_an_epsilon_that_is_none_is_refused_in_words(visitor: Visitor, epsilon: str) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    answer = visitor.get(f"/w/{working.id}/dry-run", params={"method": "synthetic", "epsilon": epsilon})
    assert answer.status_code == 200
    assert "ε must be a number above 0, such as 1 or 0.5" in answer.text
    assert "release.epsilon" not in answer.text
    data = {"method": "synthetic", "epsilon": epsilon, "version": "0"}
    assert visitor.post(f"/w/{working.id}/method", data).status_code == 422
    assert working.plan().release.epsilon == 1


def test_settings_from_an_old_tab_are_refused(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    data = {"method": "synthetic", "epsilon": "2", "version": "0"}
    assert visitor.post(f"/w/{working.id}/method", data).status_code == 303
    assert visitor.post(f"/w/{working.id}/method", {**data, "epsilon": "9"}).status_code == 409
    assert working.plan().release.epsilon == 2


# Release


def test_a_plan_with_guesses_is_not_released(visitor: Visitor, ledger_of_this_test: Path) -> None:
    working = visitor.upload()
    state = working.read()
    form = {"release_id": state.next_release, "plan_sha256": working.plan().sha256()}
    assert "release_id" not in visitor.get(f"/w/{working.id}/release").text
    answer = visitor.post(f"/w/{working.id}/release", form)
    assert answer.status_code == 422
    assert "guesses taken from the data that nobody has confirmed" in answer.text
    assert spends(ledger_of_this_test) == 0
    assert not releases_of(working)


def test_a_published_method_needs_consent_on_the_page_too(visitor: Visitor, ledger_of_this_test: Path) -> None:
    plan = PEOPLE_PLAN.replace('"synthetic"', '"published:individual-ranking"\nk = 10')
    working = visitor.upload(plan=plan)
    form = visitor.release_form(working)
    answer = visitor.post(f"/w/{working.id}/release", form)
    assert answer.status_code == 422
    assert "does not give differential privacy" in answer.text
    assert spends(ledger_of_this_test) == 0


def test_a_release_can_be_verified_downloaded_and_evaluated(visitor: Visitor, tmp_path: Path) -> None:
    working_id, job_id = released(visitor)
    here = f"/w/{working_id}/releases/{job_id}"
    page = visitor.get(here).text
    assert "The released table is differentially private with ε = 1" in page
    assert "verified" in page
    for name in ("release.csv", "certificate.json", "plan.toml"):
        (tmp_path / name).write_bytes(visitor.get(f"{here}/files/{name}").content)
    assert verify(tmp_path / "certificate.json", tmp_path / "release.csv").verified
    assert (
        Plan.load(tmp_path / "plan.toml").sha256()
        == json.loads((tmp_path / "certificate.json").read_text())["plan"]["sha256"]
    )
    with zipfile.ZipFile(BytesIO(visitor.get(f"{here}/files/release.zip").content)) as bundle:
        papers = ["certificate.html", "certificate.json", "manifest.json"]
        assert sorted(bundle.namelist()) == ["plan.toml", *(f"release/{name}" for name in [*papers, "release.csv"])]
    assert visitor.get(f"{here}/report/evaluation.internal.html").status_code == 404
    for name in ("job.json", "result.json", "..%2f..%2fworking.json", "pid", "working.json", "lock"):
        assert visitor.get(f"{here}/files/{name}").status_code == 404
    assert visitor.post(f"{here}/evaluate").status_code == 303
    report = until(
        lambda: (found := visitor.get(f"{here}/report/evaluation.internal.html")).status_code == 200 and found
    )
    assert report.headers["content-security-policy"].startswith("default-src 'none'; style-src 'unsafe-inline'")
    assert "script-src" not in report.headers["content-security-policy"]
    assert report.headers["cache-control"] == "no-store"
    assert "INTERNAL" in report.text


def test_a_form_sent_again_and_again_is_one_release(visitor: Visitor, ledger_of_this_test: Path) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    form, other_tab = visitor.release_form(working), visitor.release_form(working)
    assert form == other_tab
    answers = [visitor.post(f"/w/{working.id}/release", form) for _ in range(4)]
    assert {answer.headers["location"] for answer in answers} == {
        f"{visitor.door.path}/w/{working.id}/releases/{form['release_id']}"
    }
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.status().running)
    assert visitor.post(f"/w/{working.id}/release", form).status_code == 303
    assert spends(ledger_of_this_test) == 1
    assert len(releases_of(working)) == 1
    assert visitor.release_form(working) != form


def test_a_release_of_a_plan_that_another_tab_has_changed_is_refused(
    visitor: Visitor, ledger_of_this_test: Path
) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    form = visitor.release_form(working)
    visitor.post(f"/w/{working.id}/method", {"method": "synthetic", "epsilon": "5", "version": "0"})
    answer = visitor.post(f"/w/{working.id}/release", form)
    assert answer.status_code == 409
    assert "changed in another tab" in answer.text
    assert "Spend ε = 5" in answer.text
    assert spends(ledger_of_this_test) == 0


def test_a_refused_release_says_so_in_the_words_of_the_command_line(
    visitor: Visitor, ledger_of_this_test: Path
) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN.replace("upper = 120", "upper = 30"))
    form = visitor.release_form(working)
    visitor.post(f"/w/{working.id}/release", form)
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.status().running)
    text = visitor.get(f"/w/{working.id}/releases/{job.id}").text
    assert "lie outside the declared range" in text
    assert "No budget was spent" in text
    assert spends(ledger_of_this_test) == 0


def test_a_cap_is_shown_and_kept(visitor: Visitor, ledger_of_this_test: Path) -> None:
    working_id, _ = released(visitor)
    working = visitor.home.working(working_id)
    assert working is not None
    with Ledger(ledger_of_this_test) as book:
        (account,) = book.accounts()
        book.cap([Identity(account.kind, account.identity, account.name)], Fraction(3, 2), Fraction(0))
    text = visitor.get(f"/w/{working_id}/release").text
    assert f"Budget of the table {working.read().name}" in text
    assert account.name == working.read().name
    assert "The budget does not allow this release" in text
    assert "1.5" in text
    form = {"release_id": working.read().next_release, "plan_sha256": working.plan().sha256()}
    visitor.post(f"/w/{working_id}/release", form)
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.status().running)
    assert job.status().state == "refused"
    assert spends(ledger_of_this_test) == 1


# Uploads


def test_an_upload_beyond_the_limit_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    visitor = Visitor(tmp_path, limit=1 << 20)
    answer = visitor.post("/tables", files={"table": ("big.csv", b"a\n" * (1 << 20))})
    assert answer.status_code == 413
    assert "larger than 1 MiB" in answer.text
    assert "--upload-limit" in answer.text
    assert visitor.home.workings() == []


def test_a_table_that_cannot_be_read_is_refused_and_leaves_nothing(visitor: Visitor) -> None:
    answer = visitor.post("/tables", files={"table": ("bad.parquet", b"PAR1 but no more")})
    assert answer.status_code == 422
    assert "cannot be read" in answer.text
    assert list(visitor.home.workings_folder.iterdir()) == []


def test_a_copy_is_private_and_removed_when_the_page_closes_while_the_plan_stays(visitor: Visitor) -> None:
    working = visitor.upload()
    copy = Path(working.read().table)
    assert copy.read_text() == PEOPLE
    assert copy.stat().st_mode & 0o777 == 0o600
    assert visitor.home.folder.stat().st_mode & 0o777 == 0o700
    close(visitor.home, "test", tmp_file := visitor.home.servers_folder / "door-1.json")
    assert not copy.exists()
    assert not tmp_file.exists()
    assert set(working.plan().guesses) == {"name", "age", "city", "smokes"}
    text = visitor.get(f"/w/{working.id}/table").text
    assert "The same table once more" in text


def test_only_the_same_table_can_take_the_place_of_a_removed_copy(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    close(visitor.home, "test", visitor.home.servers_folder / "door-1.json")
    other = PEOPLE.replace("person 7,", "person 8,")
    answer = visitor.post(f"/w/{working.id}/table", files={"table": ("people.csv", other)})
    assert answer.status_code == 422
    assert "not the table" in answer.text
    assert not Path(working.read().table).exists()
    assert visitor.post(f"/w/{working.id}/table", files={"table": ("again.csv", PEOPLE)}).status_code == 303
    assert Path(working.read().table).read_text() == PEOPLE


def test_a_copy_that_a_killed_page_left_is_removed_at_a_later_start(visitor: Visitor) -> None:
    working = visitor.upload()
    written = (working.folder / "working.json").stat().st_mtime
    remove_left_behind(visitor.home, now=written + STALE_AFTER - 60)
    assert Path(working.read().table).exists()  # a page that is started again at once goes on with it
    remove_left_behind(visitor.home, now=written + STALE_AFTER + 60)
    assert not Path(working.read().table).exists()


def test_removing_a_session_removes_everything_but_the_ledger(visitor: Visitor, ledger_of_this_test: Path) -> None:
    working_id, _ = released(visitor)
    assert visitor.post(f"/w/{working_id}/remove").status_code == 303
    assert list(visitor.home.workings_folder.iterdir()) == []
    assert spends(ledger_of_this_test) == 1


def test_a_table_named_at_the_start_is_gone_on_with_if_nothing_has_changed(visitor: Visitor, tmp_path: Path) -> None:
    table, plan = tmp_path / "people.csv", tmp_path / "plan.toml"
    table.write_text(PEOPLE)
    plan.write_text(PEOPLE_PLAN)
    first = open_path(visitor.home, table, plan, "one")
    assert open_path(visitor.home, table, plan, "two").id == first.id
    plan.write_text(PEOPLE_PLAN.replace("120", "130"))
    assert open_path(visitor.home, table, plan, "three").id != first.id
    assert open_path(visitor.home, table, None, "four").id != first.id


def test_texts_of_the_table_and_its_names_are_escaped(visitor: Visitor) -> None:
    nasty = '<script>alert("x")</script>'
    lines = [f'"{nasty.replace(chr(34), chr(34) * 2)}",b', *(f"{nasty.replace(chr(34), '')},1" for _ in range(5))]
    working = visitor.upload("\n".join(lines) + "\n", name="<b>.csv")
    for step in ("table", "columns", "columns?edit=0", "method", "release"):
        text = visitor.get(f"/w/{working.id}/{step}").text
        assert "<script>alert" not in text
        assert "<b>" not in text


def test_a_bug_is_shown_and_logged_without_its_text(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*arguments: object) -> None:
        raise ValueError("person 17 is 42 years old")

    monkeypatch.setattr("rankveil.web.views.table._summary", broken)
    visitor.upload()
    answer = visitor.get("/")
    assert answer.status_code == 500
    assert "This is a bug in rankveil: ValueError" in answer.text
    assert "person 17" not in answer.text + caplog.text
    assert "Traceback" not in answer.text + caplog.text
    assert "ValueError at test_flow.py" in caplog.text


@pytest.mark.parametrize("path", ["/w/nonsense/columns", "/w/0123456789abcdef/columns", "/x"])
def test_what_does_not_exist_is_said_not_to(visitor: Visitor, path: str) -> None:
    assert visitor.get(path).status_code == 404


def test_a_table_that_is_read_in_place_is_never_written_to(visitor: Visitor, tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    table.write_text(PEOPLE)
    working = open_path(visitor.home, table, None, "test")
    assert visitor.post(f"/w/{working.id}/table", files={"table": ("people.csv", "a\n1\n")}).status_code == 422
    assert table.read_text() == PEOPLE


def test_a_card_for_htmx_holds_no_button_for_pages_without_scripts(visitor: Visitor) -> None:
    working = visitor.upload()
    card = visitor.get(f"/w/{working.id}/columns/1?edit=1", headers={"hx-request": "true"}).text
    assert "noscript" not in card
    assert "noscript" in visitor.get(f"/w/{working.id}/columns?edit=1").text


# Large ε, and the cap


def test_a_large_epsilon_is_said_in_words_and_released_by_consent_only(
    visitor: Visitor, ledger_of_this_test: Path
) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN.replace("epsilon = 1", "epsilon = 1000"))
    part = visitor.get(f"/w/{working.id}/dry-run?method=synthetic&epsilon=1000", headers={"hx-request": "true"}).text
    for text in (part, visitor.get(f"/w/{working.id}/method").text, visitor.get(f"/w/{working.id}/release").text):
        assert "no meaningful limit" in text
        assert "Infinity" not in text
    assert 'hx-swap-oob="true"' in part
    form = visitor.release_form(working)
    assert "accept_large_epsilon" in visitor.get(f"/w/{working.id}/release").text
    assert visitor.post(f"/w/{working.id}/release", form).status_code == 422
    with Ledger(ledger_of_this_test) as book:
        assert book.entries() == []
    assert visitor.post(f"/w/{working.id}/release", {**form, "accept_large_epsilon": "on"}).status_code == 303
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.alive())
    assert job.status().state == "done"
    text = visitor.get(f"/w/{working.id}/releases/{job.id}").text
    assert "no meaningful limit" in text
    assert "Accepted by whoever released this: ε above 20" in text


def test_the_dry_run_of_the_page_is_for_the_rows_of_its_table_and_weighs_delta(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN.replace("epsilon = 1", "epsilon = 1\nexpected_rows = 77"))
    text = visitor.get(f"/w/{working.id}/method").text
    assert "300 rows" in text
    assert "with ε alone" in text


def test_a_cap_is_set_once_on_the_page_and_then_keeps(visitor: Visitor, ledger_of_this_test: Path) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    form = {"plan_sha256": working.plan().sha256(), "cap_epsilon": "0.5", "cap_delta": ""}
    cap = f"/w/{working.id}/cap"
    assert "Set a cap" in visitor.get(f"/w/{working.id}/release").text
    for wrong in ({}, {"set_once": "on", "cap_epsilon": "x"}, {"set_once": "on", "cap_epsilon": "0"}):
        assert visitor.post(cap, {**form, **wrong}).status_code == 422
    assert visitor.post(cap, {**form, "set_once": "on", "plan_sha256": "of another tab"}).status_code == 409
    assert visitor.post(cap, {**form, "set_once": "on"}).status_code == 303
    text = visitor.get(f"/w/{working.id}/release").text
    assert "Set a cap" not in text
    assert "The budget does not allow this release." in text
    assert visitor.post(cap, {**form, "set_once": "on", "cap_epsilon": "9"}).status_code == 409
    with Ledger(ledger_of_this_test) as book:
        assert [(entry.kind, entry.epsilon) for entry in book.entries()] == [("cap", "1/2")]


# Rules, derived columns, special values


def test_a_plan_with_rules_is_released_by_the_page_and_the_form_keeps_what_it_does_not_show(visitor: Visitor) -> None:
    rows = "".join(
        f"{place % 90},{'yes' if place % 90 < 18 else 'no'},{99 if place % 7 == 0 else place % 40}\n"
        for place in range(400)
    )
    plan = """
[release]
epsilon = 1
[[rule]]
when = "age >= 18"
then = "hours >= 0"
[columns.age]
kind = "integer"
lower = 0
upper = 120
[columns.minor]
kind = "boolean"
derived = { by = "age < 18" }
[columns.hours]
kind = "integer"
lower = 0
upper = 80
special = [99]
role = "weight"
"""
    working = visitor.upload("age,minor,hours\n" + rows, plan=plan)
    assert visitor.get(f"/w/{working.id}/columns").status_code == 200
    form = {"version": "0", "kind": "integer", "lower": "0", "upper": "90"}
    assert visitor.post(f"/w/{working.id}/columns/2", form).status_code == 303
    entry = working.plan().columns["hours"]
    assert (entry.upper, entry.special, entry.role) == (90, (99,), "weight")  # type: ignore[union-attr]
    assert visitor.post(f"/w/{working.id}/columns/1", {"version": "0", "kind": "boolean"}).status_code == 303
    assert working.plan().columns["minor"].derived is not None
    assert working.plan().rule[0].then == "hours >= 0"
    sent = visitor.release_form(working)
    assert visitor.post(f"/w/{working.id}/release", sent).status_code == 303
    job = job_named(working, sent["release_id"])
    assert job is not None
    until(lambda: not job.status().running)
    assert job.status().state == "done", job.status()


# Who is protected


def test_who_is_protected_is_confirmed_and_changed_on_the_columns_page(visitor: Visitor) -> None:
    lines = [f"p{number % 40},{number % 7}" for number in range(100)]
    working = visitor.upload("patient_id,ward\n" + "\n".join(lines) + "\n")
    assert working.plan().guesses["[privacy]"] == ("person", "rows_per_person")
    text = visitor.get(f"/w/{working.id}/columns").text
    assert "Who is protected: any one person, with up to 3 rows" in text
    assert "2 columns and who is protected" in text
    here = f"/w/{working.id}/columns/privacy"
    said = {"version": "0", "neighbours": "replace", "person": "patient_id", "rows_per_person": "2"}
    assert visitor.post(here, said | {"rows_per_person": "0"}).status_code == 422
    assert visitor.post(here, said | {"person": "ward"}).status_code == 422
    assert visitor.post(here, said | {"version": "3"}).status_code == 409
    assert visitor.post(here, said).status_code == 303
    assert working.plan().unit == Unit("replace", "patient_id", 2)
    assert "[privacy]" not in working.plan().guesses
    assert visitor.post(here, {"version": "1", "neighbours": "add-remove", "person": ""}).status_code == 303
    assert working.plan().unit == Unit("add-remove")


def test_the_plan_beside_a_release_does_not_say_how_many_rows_were_counted_where_that_is_protected(
    visitor: Visitor,
) -> None:
    said = PEOPLE_PLAN.replace("epsilon = 1", "epsilon = 1\nexpected_rows = 77")
    for plan, expected in ((said, 77), (said + '\n[privacy]\nneighbours = "add-remove"\n', None)):
        working_id, job_id = released(visitor, plan)
        text = visitor.get(f"/w/{working_id}/releases/{job_id}/files/plan.toml").text
        assert Plan.parse(text).release.expected_rows == expected
