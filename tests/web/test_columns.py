"""The table of columns: what it shows of the data, filters, several columns at once, refused forms."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from rankveil.declare import Plan
from rankveil.errors import PlanError
from rankveil.web.home import Working
from rankveil.web.looks import MOST_ROWS, looks
from rankveil.web.words import in_page_words
from tests.web_support import PEOPLE, PEOPLE_PLAN, Visitor


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor(tmp_path)


def shown(text: str) -> list[str]:
    """Names of the columns in the table, in order."""
    bodies = re.findall(r'<tbody class="one[^>]*>.*?</tbody>', text, re.DOTALL)
    there = [body for body in bodies if not re.match(r"<tbody[^>]* hidden>", body)]
    return [re.findall(r'class="opens"[^>]*>([^<]*)</a>', body)[0] for body in there]


def ticks(working: Working, *names: str) -> list[str]:
    """What ticked boxes send, seen as they are now."""
    state, columns = working.read(), list(working.plan().columns)
    return [f"{columns.index(name)}:{state.versions.get(f'column:{name}', 0)}" for name in names or columns]


# What the table holds, beside what the plan says


def test_looks_count_what_is_missing_and_what_does_not_fit_without_touching_the_plan(visitor: Visitor) -> None:
    content = "age,city,day\n" + "".join(
        f"{'' if place % 5 == 0 else place},{('Ulm', 'Bonn', 'Rome')[place % 3]},2031-01-{1 + place % 28:02}\n"
        for place in range(100)
    )
    plan = """
[release]
epsilon = 1
[columns.age]
kind = "integer"
lower = 0
upper = 50
null = true
[columns.city]
kind = "category"
categories = ["Bonn", "Ulm"]
[columns.day]
kind = "date"
lower = 2031-01-01
upper = 2031-12-31
"""
    working = visitor.upload(content, plan=plan)
    before = working.read().plan
    found = looks(working)
    outside = sum(place % 5 != 0 and place > 50 for place in range(100))
    assert (found["age"].missing, found["age"].outside, found["age"].rows) == (20, outside, 100)
    assert found["age"].misfits == (f"{outside} values lie outside",)
    assert found["city"].misfits == ("33 values are not among the labels",)
    assert (found["day"].missing, found["day"].misfits) == (0, ())
    assert found["city"].bars[0] and len(found["city"].bars) == 2, "one bar for each label of the plan"
    text = visitor.get(f"/w/{working.id}/columns").text
    assert f"{outside} values lie outside" in text
    assert text.count('<span class="tag warn">internal</span>') >= 2
    assert "Rome" not in text, "no value is shown that the plan does not name"
    assert working.read().plan == before
    assert (working.folder / "looks.json").stat().st_mode & 0o777 == 0o600


def test_a_look_follows_the_entry_and_says_on_saving_how_many_values_lie_outside(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    assert looks(working)["age"].outside == 0
    data = {"action": "save", "version": "0", "kind": "integer", "lower": "0", "upper": "30"}
    answer = visitor.post(f"/w/{working.id}/columns/1", data, headers={"hx-request": "true"})
    outside = sum(20 + place % 60 > 30 for place in range(300))
    assert f"{outside} values lie outside" in answer.text
    assert looks(working)["age"].outside == outside


def test_looks_are_kept_and_survive_the_removal_of_the_copy_but_not_another_file(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    table, first = Path(working.read().table), looks(working)
    kept = json.loads((working.folder / "looks.json").read_bytes())
    kept["columns"]["age"]["look"]["missing"] = 77
    (working.folder / "looks.json").write_text(json.dumps(kept))
    assert looks(working)["age"].missing == 77, "nothing is read twice"
    content = table.read_bytes()
    table.unlink()
    assert looks(working)["age"].missing == 77
    table.write_bytes(content.replace(b",20,", b",,", 3))
    assert looks(working)["age"].missing == 3
    assert first["city"].bars


def test_large_tables_are_looked_at_in_their_first_rows_and_the_page_says_so(
    visitor: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_ROWS >= 100_000
    monkeypatch.setattr("rankveil.web.looks.MOST_ROWS", 120)
    working = visitor.upload(plan=PEOPLE_PLAN)
    assert (looks(working)["age"].rows, looks(working)["age"].all_rows) == (120, False)
    assert "Of the first 120 rows" in visitor.get(f"/w/{working.id}/columns?open=1").text


def test_a_column_that_cannot_be_read_as_its_kind_is_counted_not_refused(visitor: Visitor) -> None:
    plan = PEOPLE_PLAN.replace(
        '[columns.name]\nkind = "drop"', '[columns.name]\nkind = "integer"\nlower = 0\nupper = 9'
    )
    working = visitor.upload(plan=plan)
    assert looks(working)["name"].misfits == ("300 values do not fit the kind",)
    assert visitor.get(f"/w/{working.id}/columns?show=misfits").status_code == 200
    assert shown(visitor.get(f"/w/{working.id}/columns?show=misfits").text) == ["name"]


def test_a_column_that_is_left_out_is_confirmed_by_htmx_as_well(visitor: Visitor) -> None:
    working = visitor.upload()
    data = {"action": "confirm", "version": "0", "from": "line"}
    answer = visitor.post(f"/w/{working.id}/columns/0", data, headers={"hx-request": "true"})
    assert (answer.status_code, "name saved. 8 guesses left." in answer.text) == (200, True)


# Filter


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["name", "age", "city", "smokes"]),
        ("?q=A", ["name", "age", "city", "smokes"]),  # "labels" has an a as well
        ("?q=ag", ["age"]),
        ("?q=whole+numbers", ["age"]),
        ("?show=drop", ["name"]),
        ("?show=boolean", ["smokes"]),
        ("?show=guesses", ["name", "age", "city", "smokes"]),
        ("?q=zzz", []),
        ("?show=nonsense&edit=x&open=99999", ["name", "age", "city", "smokes"]),
    ],
)
def test_columns_are_filtered_by_name_kind_and_state(visitor: Visitor, query: str, names: list[str]) -> None:
    working = visitor.upload()
    text = visitor.get(f"/w/{working.id}/columns{query}").text
    assert shown(text) == names
    assert f"{len(names)} of 4 columns" in text


def test_without_scripts_all_that_are_shown_are_ticked_by_a_link(visitor: Visitor) -> None:
    working = visitor.upload()
    text = visitor.get(f"/w/{working.id}/columns?q=age&all=1").text
    assert len(re.findall(r'name="c"[^>]* checked', text)) == 1
    assert len(re.findall(r'name="c"[^>]* checked', visitor.get(f"/w/{working.id}/columns?all=1").text)) == 4


# Several at once


def test_all_columns_are_confirmed_in_one_step(visitor: Visitor) -> None:
    working = visitor.upload()
    answer = visitor.post(f"/w/{working.id}/columns/several", {"action": "confirm", "c": ticks(working)})
    assert answer.status_code == 303
    assert answer.headers["location"].endswith("columns?done=4#several")
    assert working.plan().guesses == {}
    assert "4 columns were changed" in visitor.get(f"/w/{working.id}/columns?done=4").text


def test_several_columns_are_changed_together_and_what_is_not_said_stays_a_guess(visitor: Visitor) -> None:
    content = "q1,q2,q3\n" + "".join(f"{place % 5},{place % 4},{place % 9}\n" for place in range(60))
    working = visitor.upload(content)
    form = {"action": "change", "c": ticks(working, "q1", "q2"), "all_lower": "1", "all_upper": "7", "all_clamp": "yes"}
    assert visitor.post(f"/w/{working.id}/columns/several", form).status_code == 303
    columns = working.plan().columns
    for name in ("q1", "q2"):
        entry = columns[name]
        assert (entry.lower, entry.upper, entry.clamp, entry.unconfirmed) == (1, 7, True, ("kind", "null"))  # type: ignore[union-attr]
    assert "lower" in columns["q3"].unconfirmed
    form = {"action": "change", "c": ticks(working), "all_kind": "drop"}
    assert visitor.post(f"/w/{working.id}/columns/several", form).status_code == 303
    assert {entry.kind for entry in working.plan().columns.values()} == {"drop"}


def test_columns_that_become_labels_get_those_of_the_data_as_a_guess(visitor: Visitor) -> None:
    content = "q1,q2\n" + "".join(f"{place % 12},{place % 2}\n" for place in range(60))
    working = visitor.upload(content)
    form = {"action": "change", "c": ticks(working), "all_kind": "ordinal"}
    assert visitor.post(f"/w/{working.id}/columns/several", form).status_code == 303
    entry = working.plan().columns["q1"]
    assert entry.categories == tuple(map(str, range(12)))  # type: ignore[union-attr]
    assert "categories" in entry.unconfirmed and "kind" not in entry.unconfirmed
    form = {"action": "change", "c": ticks(working), "all_labels": "no\nyes"}
    assert visitor.post(f"/w/{working.id}/columns/several", form).status_code == 303
    assert working.plan().columns["q2"].categories == ("no", "yes")  # type: ignore[union-attr]
    assert "categories" not in working.plan().columns["q2"].unconfirmed


def test_a_change_that_one_column_refuses_changes_none_and_names_it(visitor: Visitor) -> None:
    working = visitor.upload()
    before = working.read().plan
    form = {"action": "change", "c": ticks(working), "all_kind": "integer", "all_lower": "9", "all_upper": "1"}
    answer = visitor.post(f"/w/{working.id}/columns/several", form)
    assert answer.status_code == 422
    assert "age: The lowest value must be less than the highest." in answer.text
    assert 'name="all_lower" value="9"' in answer.text, "as it was filled in"
    assert len(re.findall(r'name="c"[^>]* checked', answer.text)) == 4
    assert working.read().plan == before


def test_several_columns_are_not_changed_from_an_old_view_of_one_of_them(visitor: Visitor) -> None:
    working = visitor.upload()
    old = ticks(working)
    edit = {"action": "save", "version": "0", "kind": "integer", "lower": "0", "upper": "110"}
    assert visitor.post(f"/w/{working.id}/columns/1", edit).status_code == 303
    before = working.read().plan
    answer = visitor.post(f"/w/{working.id}/columns/several", {"action": "confirm", "c": old})
    assert answer.status_code == 409
    assert "&#39;age&#39;: changed in the meantime" in answer.text
    assert working.read().plan == before


@pytest.mark.parametrize(
    ("form", "words"),
    [
        ({"action": "confirm"}, "No column is ticked."),
        ({"action": "confirm", "c": ["x", "1:", ":1", "99:0", "-1:0"]}, "No column is ticked."),
        ({"action": "change", "c": ["1:0"]}, "Nothing was filled in."),
        ({"action": "change", "c": ["1:0"], "all_kind": "poem"}, "There is no such kind."),
    ],
)
def test_a_form_for_several_columns_that_says_nothing_is_refused(
    visitor: Visitor, form: dict[str, object], words: str
) -> None:
    working = visitor.upload()
    answer = visitor.post(f"/w/{working.id}/columns/several", form)
    assert (answer.status_code, words in answer.text) == (422, True)


def test_a_thousand_columns_are_confirmed_by_one_form(visitor: Visitor, tmp_path: Path) -> None:
    names = [f"q{place}" for place in range(1000)]
    content = "\n".join(
        [",".join(names), *(",".join(str((row + place) % 7) for place in range(1000)) for row in range(9))]
    )
    visitor = Visitor(tmp_path / "wide", limit=1 << 24)
    working = visitor.upload(content + "\n")
    files = {"none": ("", b"")}  # as a browser sends it: in parts
    answer = visitor.post(f"/w/{working.id}/columns/several", {"action": "confirm", "c": ticks(working)}, files=files)
    assert answer.status_code == 303
    assert not any(entry.unconfirmed for entry in working.plan().columns.values())


# Forms that were refused


def test_a_refused_form_is_answered_by_a_redirection_so_that_back_sends_nothing_again(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    here = f"{visitor.door.path}/w/{working.id}"
    headers = {"origin": "http://127.0.0.1:8722"}
    data = {"method": "synthetic", "epsilon": "zero", "version": "0"}
    answer = visitor.client.post(f"{here}/method", data=data, headers=headers)
    assert answer.status_code == 303
    again = visitor.client.get(answer.headers["location"])
    assert (again.status_code, 'value="zero"' in again.text) == (422, True)
    assert visitor.client.get(answer.headers["location"]).text == again.text, "also after a reload"
    forgotten = visitor.client.get(f"{here}/method?again=0123456789abcdef")
    assert (forgotten.status_code, 'value="zero"' in forgotten.text) == (200, False)


@pytest.mark.parametrize(
    ("content", "words", "field"),
    [
        ({"kind": "integer", "lower": "1.5", "upper": 9}, "The lowest value must be a whole number.", "lower"),
        (
            {"kind": "number", "lower": 0, "upper": "a"},
            "The highest value must be a number, written with a point.",
            "upper",
        ),
        (
            {"kind": "integer", "lower": 0},
            "The highest value is missing. Give it, or let the limits be found.",
            "upper",
        ),
        (
            {"kind": "date", "lower": "1.2.2031", "upper": "2031-02-03"},
            "The lowest value must be a day such as",
            "lower",
        ),
        (
            {"kind": "integer", "lower": 0, "upper": 9, "step": 0},
            "The step must be a whole number of at least 1.",
            "step",
        ),
        ({"kind": "number", "bounds": "private"}, "Limits can be found only in steps: give a step.", "step"),
        ({"kind": "category", "categories": ["a", "a"]}, "A label is listed twice.", "categories"),
        ({"kind": "category"}, "Give the labels, one per line, or a taxonomy that lists them.", "categories"),
        ({"kind": "ordinal"}, "The list of labels is missing.", "categories"),
    ],
)
def test_what_the_validator_finds_is_said_in_the_words_of_the_form(
    content: dict[str, object], words: str, field: str
) -> None:
    with pytest.raises(PlanError) as caught:
        Plan.from_dict({"release": {"epsilon": 1}, "columns": {"a": content}})
    said = in_page_words(caught.value)
    assert words in said.problem
    assert field in said.fields  # type: ignore[attr-defined]
    assert not re.search(r"columns\.|Input should|pydantic", said.problem)


def test_a_change_of_kind_to_labels_proposes_those_of_the_data_and_keeping_them_is_a_guess(visitor: Visitor) -> None:
    working = visitor.upload(PEOPLE)
    card = visitor.get(f"/w/{working.id}/columns/1?edit&kind=category", headers={"hx-request": "true"}).text
    labels = re.search(r'name="categories"[^>]*>([^<]*)</textarea>', card)
    mark = re.search(r'name="proposed" value="([0-9a-f]+)"', card)
    assert labels and mark and labels[1].split("\n") == [str(age) for age in range(20, 80)]
    assert "Internal: these were read from your data" in card
    form = {"action": "save", "version": "0", "kind": "category", "categories": labels[1], "proposed": mark[1]}
    assert visitor.post(f"/w/{working.id}/columns/1", form).status_code == 303
    assert working.plan().columns["age"].unconfirmed == ("categories",)
    form |= {"version": "1", "categories": labels[1] + "\n80"}
    assert visitor.post(f"/w/{working.id}/columns/1", form).status_code == 303
    assert working.plan().columns["age"].unconfirmed == ()


def test_limits_are_shown_with_separators_and_edited_without(visitor: Visitor) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN.replace("upper = 120", "upper = 1500000"))
    assert "0 to 1,500,000" in visitor.get(f"/w/{working.id}/columns").text
    assert 'value="1500000"' in visitor.get(f"/w/{working.id}/columns?edit=1").text


# Every guess can be seen


def test_every_guess_is_shown_and_can_be_confirmed_by_itself(visitor: Visitor) -> None:
    rows = "".join(f"{age},{2031 - age},{('I21.0', 'I21.4', 'E11.9')[age % 3]}\n" for age in [*range(20, 60), 999] * 9)
    working = visitor.upload("age,year,code\n" + rows)
    entries = {name: set(entry.unconfirmed) for name, entry in working.plan().columns.items()}
    assert "special" in entries["age"]
    text = visitor.get(f"/w/{working.id}/columns").text
    assert "special 999" in text
    for place in range(3):
        card = visitor.get(f"/w/{working.id}/columns?open={place}").text
        sent = re.findall(r'name="entries" value="([^"]+)"', card)
        shown_of = {entry for each in sent for entry in each.split(",")}
        name = list(entries)[place]
        assert entries[name] <= shown_of, name


def test_a_column_that_was_left_out_says_why(visitor: Visitor) -> None:
    working = visitor.upload("mail,y\n" + "".join(f"a{n}@example.org,{n % 7}\n" for n in range(300)))
    assert "mail addresses, which say who somebody is" in visitor.get(f"/w/{working.id}/columns").text
    assert "<dt>Why</dt>" in visitor.get(f"/w/{working.id}/columns?open=0").text


def test_a_year_is_written_without_a_comma(visitor: Visitor) -> None:
    working = visitor.upload("year,pay\n" + "".join(f"{2000 + n % 30},{n * 100}\n" for n in range(300)))
    text = visitor.get(f"/w/{working.id}/columns").text
    assert re.search(r"\b19\d\d to 20\d\d\b", text)
    assert "30,000" in text
