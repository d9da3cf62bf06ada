"""Codebooks of every kind: what is taken from them, what stays a guess, and what is refused."""

from __future__ import annotations

import json
import sys
import tracemalloc
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from rankveil import Plan, release
from rankveil.declare.codebooks import read_codebook, together
from rankveil.declare.draft import Draft, draft_of
from rankveil.engines import open_table
from rankveil.errors import CodebookError

ROOT = Path(__file__).parents[3]
XML = '<codeBook xmlns="ddi:codebook:2_5"><dataDscr>{}</dataDscr></codeBook>'


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> tuple[ModuleType, Path]:
    sys.path.insert(0, str(ROOT / "examples" / "survey"))
    try:
        import make_survey
    finally:
        sys.path.pop(0)
    folder = tmp_path_factory.mktemp("survey")
    make_survey.write(folder, count=400)
    return make_survey, folder


def drafted(table: object, *books: Path, **options: Any) -> tuple[Draft, Plan]:
    made = draft_of(open_table(table), codebooks=books, **options)
    names = [column.name for column in made.columns]
    plan = Plan.parse(made.text()).over(names)
    assert plan.columns == made.plan().columns, "lists and patterns mean the same as columns one by one"
    return made, plan


def book(folder: Path, name: str, content: str | dict[str, Any]) -> Path:
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return folder / name


def ddi(folder: Path, *variables: str) -> Path:
    return book(folder, "book.xml", XML.format("".join(variables)))


# Codes as the table writes them


SHEET = (
    "name,type,values,missing\nsex,nominal,1=male; 2=female; 9=no answer,9\nhealth,ordinal,1=bad; 2=fair; 3=good,8\n"
)


def test_codes_are_known_by_their_number_however_the_table_writes_them(tmp_path: Path) -> None:
    sheet = book(tmp_path, "sheet.csv", SHEET)
    decimals = pa.table({"sex": ["1.0", "2.0"] * 9, "health": ["1.0", "3.0", "8.0"] * 6})
    draft, plan = drafted(decimals, sheet)
    assert all(not column.guessed for column in draft.columns)
    assert plan.columns["sex"].categories == ("1.0", "2.0", "9.0")  # type: ignore[union-attr]
    assert plan.columns["sex"].value_labels["9.0"] == "no answer"  # type: ignore[union-attr]
    assert plan.columns["health"].special == (8,)  # type: ignore[union-attr]
    assert plan.columns["health"].value_labels["3"] == "good"  # type: ignore[union-attr]
    release(decimals, plan)
    padded = pa.table({"sex": ["01", "02"] * 9})
    assert drafted(padded, sheet, extract=True)[1].columns["sex"].categories == ("01", "02", "09")  # type: ignore[union-attr]


def test_whole_numbers_that_spss_shows_with_two_places_stay_whole(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"age": [20.0, 41.0, 63.0] * 9, "weight": [50.5, 61.25, 70.0] * 9})
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(frame, str(path), variable_measure={"age": "scale", "weight": "scale"})
    draft, plan = drafted(path, path)
    assert (plan.columns["age"].kind, plan.columns["weight"].kind) == ("integer", "number")
    assert "kind" in {column.name: column for column in draft.columns}["age"].guessed


# Sheets as agencies write them


def test_a_sheet_may_have_a_title_and_headings_in_german(tmp_path: Path) -> None:
    sheet = book(
        tmp_path,
        "buch.csv",
        "Codebuch; Stand 2031\n\nVariablenname;Beschriftung;Typ;Werte;Fehlende Werte;Format\n"
        "sex;Geschlecht;nominal;1=m, 2=w;9;\nage;Alter;numerisch;16 - 110;;\nborn;geboren;Datum;;;TT.MM.JJJJ\n",
    )
    table = pa.table({"sex": ["1", "2", "9"] * 9, "age": [20, 30, 40] * 9, "born": ["01.02.1990"] * 27})
    _, plan = drafted(table, sheet)
    assert (plan.columns["sex"].categories, plan.columns["sex"].missing) == (("1", "2", "9"), ("9",))  # type: ignore[union-attr]
    assert (plan.columns["age"].lower, plan.columns["age"].upper) == (16, 110)  # type: ignore[union-attr]
    assert plan.columns["born"].format == "%d.%m.%Y"  # type: ignore[union-attr]


def test_a_sheet_may_have_one_row_for_each_value(tmp_path: Path) -> None:
    sheet = book(
        tmp_path,
        "long.csv",
        "Variable,Label,Value,Value label,Missing\nsex,Sex,1,male,\n,,2,female,\n,,9,no answer,x\nage,Age,,,\n"
        "edu,Education,1,low,\nedu,,2,high,\n",
    )
    table = pa.table({"sex": [1, 2, 9] * 9, "age": [20, 30, 40] * 9, "edu": [1, 2, 2] * 9})
    _, plan = drafted(table, sheet)
    sex = plan.columns["sex"]
    assert (sex.label, sex.categories, sex.missing) == ("Sex", ("1", "2", "9"), ("9",))  # type: ignore[union-attr]
    assert plan.columns["edu"].value_labels == {"1": "low", "2": "high"}  # type: ignore[union-attr]
    assert plan.columns["age"].label == "Age"  # type: ignore[union-attr]


def test_limits_without_a_type_do_not_make_whole_numbers(tmp_path: Path) -> None:
    sheet = book(tmp_path, "sheet.csv", "name,min,max\nshare,0,1\n")
    draft, plan = drafted(pa.table({"share": [0.25, 0.5, 1.0] * 9}), sheet)
    assert (plan.columns["share"].kind, plan.columns["share"].upper) == ("number", 1)  # type: ignore[union-attr]
    assert "kind" in draft.columns[0].guessed


def test_a_refusal_names_some_of_many_variables_that_the_table_lacks(tmp_path: Path) -> None:
    sheet = book(tmp_path, "sheet.csv", "name,type\n" + "".join(f"v{n},integer\n" for n in range(900)))
    with pytest.raises(CodebookError) as refused:
        drafted(pa.table({"v7": [1, 2]}), sheet)
    assert "lacks 899" in refused.value.problem and "and 699 more" in refused.value.problem
    assert len(refused.value.problem.splitlines()) == 202


# The survey


def test_a_survey_with_its_ddi_needs_no_confirmation_and_can_be_released(survey: tuple[ModuleType, Path]) -> None:
    _, folder = survey
    made, plan = drafted(folder / "survey.csv", folder / "survey.xml")
    assert plan.guesses == {}
    assert len(plan.columns) == 50
    assert set(made.dropped) == {"respondent_id"}
    assert plan.columns["survey_weight"].role == "weight"
    released = release(folder / "survey.csv", plan)
    sources = {note.name: note.source for note in released.certificate.columns}
    assert sources["age"] == "DDI codebook survey.xml (Survey of Living Together), variable age"
    assert all(sources.values())
    assert '[columns."drug_*"]' in made.text()


@pytest.mark.parametrize("name", ["survey.xml", "codebook.csv", "schema.json", "survey.csv-metadata.json"])
def test_codebooks_of_four_kinds_say_the_same_of_the_survey(survey: tuple[ModuleType, Path], name: str) -> None:
    make_survey, folder = survey
    _, plan = drafted(folder / "survey.csv", folder / name)
    for question in make_survey.questions():
        entry = plan.columns[question.name]
        if question.type == "id":
            continue  # a schema has no word for it
        assert not entry.unconfirmed, question.name
        assert entry.source
        if question.type in ("integer", "number"):
            limits = Decimal(question.low), Decimal(question.high)
            assert (entry.lower, entry.upper) == limits  # type: ignore[union-attr]
            assert {str(value) for value in entry.special} == set(question.missing)  # type: ignore[union-attr]
        elif question.codes and not question.missing:
            assert list(entry.categories) == list(question.codes)  # type: ignore[union-attr]
            assert entry.kind == ("category" if question.type == "nominal" or "metadata" in name else "ordinal")


def test_labels_of_an_spss_file_settle_labels_and_leave_limits_open(survey: tuple[ModuleType, Path]) -> None:
    pytest.importorskip("pyreadstat")
    _, folder = survey
    _, plan = drafted(folder / "survey.csv", folder / "survey.sav")
    assert plan.columns["drug_alcohol"].value_labels == {
        "1": "Yes",
        "2": "No",
        "8": "Don't know",
        "9": "No answer",
    }
    assert not plan.columns["education"].unconfirmed
    assert plan.columns["education"].kind == "ordinal"
    assert plan.columns["age"].unconfirmed == ("lower", "upper")
    assert plan.columns["age"].label == "Age in years"


def test_sdv_metadata_settle_kinds_and_keys_alone(survey: tuple[ModuleType, Path]) -> None:
    _, folder = survey
    _, plan = drafted(folder / "survey.csv", folder / "metadata.json")
    assert (plan.columns["respondent_id"].kind, plan.columns["respondent_id"].unconfirmed) == ("drop", ())
    assert plan.columns["age"].unconfirmed == ("lower", "upper")
    assert "categories" in plan.columns["region"].unconfirmed


def test_a_second_codebook_fills_in_what_the_first_does_not_say(
    survey: tuple[ModuleType, Path], tmp_path: Path
) -> None:
    _, folder = survey
    _, plan = drafted(folder / "survey.csv", folder / "metadata.json", folder / "survey.xml")
    assert plan.guesses == {}
    assert plan.columns["age"].source.count(";") == 1  # type: ignore[union-attr]


def test_codebooks_that_contradict_each_other_are_refused(survey: tuple[ModuleType, Path], tmp_path: Path) -> None:
    _, folder = survey
    other = book(tmp_path, "other.csv", "name,min,max,type\nage,0,99,integer\n")
    with pytest.raises(CodebookError, match="contradict each other:\n  age: lower, upper"):
        drafted(folder / "survey.csv", folder / "survey.xml", other)


# Contradictions with the table


def test_a_codebook_that_the_table_contradicts_is_refused_with_the_whole_list(tmp_path: Path) -> None:
    table = pa.table({"a": ["1", "2", "7"] * 10, "b": [5, 6, 777123] * 10, "c": ["x", None, "y"] * 10})
    said = "name,type,min,max,values,required\na,nominal,,,1=yes;2=no,\nb,integer,0,10,,\nc,nominal,,,x|y,yes\n"
    with pytest.raises(CodebookError) as refused:
        drafted(table, book(tmp_path, "book.csv", said))
    text = str(refused.value)
    assert "column 'a': 10 of 30 values are not among its categories" in text
    assert "column 'b': 10 of 30 values lie outside the declared range 0 to 10" in text
    assert "column 'c': 10 of 30 values are missing" in text
    assert "777123" not in text
    assert refused.value.exit_code == 2


def test_variables_that_the_table_lacks_are_refused_all_of_them_unless_it_is_an_extract(tmp_path: Path) -> None:
    table = pa.table({"a": ["x", "y"] * 10})
    lines = "".join(f"v{place},integer,0,9\n" for place in range(70))
    path = book(tmp_path, "book.csv", f"name,type,min,max\na,text,,\n{lines}")
    with pytest.raises(CodebookError) as refused:
        drafted(table, path)
    assert all(f"  v{place} (book.csv)" in str(refused.value) for place in range(70))
    assert drafted(table, path, extract=True)[1].guesses


def test_an_entry_that_says_nothing_useful_leaves_a_guess(tmp_path: Path) -> None:
    _, plan = drafted(pa.table({"a": ["x", "y"] * 10}), ddi(tmp_path, '<var name="a"><labl>Something</labl></var>'))
    entry = plan.columns["a"]
    assert entry.unconfirmed == ("kind", "categories", "null")
    assert (entry.label, entry.source) == ("Something", None)


# DDI


def test_statistics_of_the_data_are_not_taken_for_public_limits(tmp_path: Path) -> None:
    said = (
        '<var name="a" intrvl="contin" dcml="0"><sumStat type="min">3</sumStat><sumStat type="max">97</sumStat></var>'
    )
    entry = drafted(pa.table({"a": list(range(3, 98))}), ddi(tmp_path, said))[1].columns["a"]
    assert set(entry.unconfirmed) >= {"lower", "upper"}


def test_an_order_with_codes_for_missing_becomes_a_range_with_special_values(tmp_path: Path) -> None:
    codes = "".join(f"<catgry><catValu>{code}</catValu><labl>rung {code}</labl></catgry>" for code in (1, 2, 3))
    missing = '<catgry missing="Y"><catValu>-9</catValu><labl>refused</labl></catgry>'
    path = ddi(tmp_path, f'<var name="a" nature="ordinal">{codes}{missing}</var>')
    entry = drafted(pa.table({"a": ["1", "3", "-9"] * 9}), path)[1].columns["a"]
    assert (entry.kind, entry.lower, entry.upper, entry.special) == ("integer", 1, 3, (-9,))  # type: ignore[union-attr]
    assert entry.value_labels == {"1": "rung 1", "2": "rung 2", "3": "rung 3", "-9": "refused"}


def test_a_range_with_labels_at_its_ends_is_a_range_and_a_list_of_codes_is_a_list(tmp_path: Path) -> None:
    def code(value: int, label: str, more: str = "") -> str:
        return f"<catgry{more}><catValu>{value}</catValu><labl>{label}</labl></catgry>"

    def var(name: str, ends: tuple[int, int], *codes: str, more: str = "") -> str:
        limits = f'<valrng><range min="{ends[0]}" max="{ends[1]}"/></valrng>'
        return f'<var name="{name}" intrvl="discrete"{more}>{limits}{"".join(codes)}</var>'

    agree = var("agree", (1, 7), code(1, "not at all"), code(7, "fully"))
    age = var("age", (18, 97), code(97, "97 and older"), code(99, "no answer", ' missing="Y"'))
    party = var("party", (1, 9), code(1, "A"), code(2, "B"), code(9, "C"), more=' nature="nominal"')
    sex = var("sex", (1, 2), code(1, "m"), code(2, "f"))
    table = {"agree": [*range(1, 8)] * 10, "age": [18, 40, 97, 99, 20, 21, 22] * 10}
    table |= {"party": [1, 2, 9, 1, 1, 1, 1] * 10, "sex": [1, 2, 1, 2, 1, 2, 1] * 10}
    made, plan = drafted(pa.table(table), ddi(tmp_path, agree, age, party, sex))
    agree_said, age_said = plan.columns["agree"], plan.columns["age"]
    assert (agree_said.kind, agree_said.lower, agree_said.upper) == ("integer", 1, 7)
    assert (age_said.kind, age_said.lower, age_said.upper, age_said.special) == ("integer", 18, 97, (99,))
    assert (plan.columns["party"].kind, plan.columns["sex"].kind) == ("category", "category")
    assert not any(column.guessed for column in made.columns)


def test_the_title_of_the_study_and_labels_with_markup_are_read_as_archives_write_them(tmp_path: Path) -> None:
    head = "<citation><titlStmt><titl>{}</titl></titlStmt></citation>"
    about = f"<docDscr>{head.format('DDI of it')}</docDscr><stdyDscr>{head.format('The Study')}</stdyDscr>"
    label = "<labl>Age <emph>in years</emph>, at <hi>birthday</hi></labl>"
    cube = '<nCube name="c"><labl>by sex</labl><dmns rank="1" varRef="V1"/></nCube>'
    group = (
        '<catgryGrp catgry="C1" missing="Y"><labl>asked</labl></catgryGrp><catgry ID="C1"><labl>no code</labl></catgry>'
    )
    ends = '<valrng><range UNITS="INT" minExclusive="0" maxExclusive="120"/></valrng>'
    var = f'<var ID="V1" name="age" intrvl="contin" dcml="0">{label}{ends}{group}</var>'
    found = book(tmp_path, "book.xml", XML.replace("<dataDscr>", about + "<dataDscr>").format(cube + var))
    read = read_codebook(found, ["age"]).variables["age"]
    assert read.label == "Age in years, at birthday"
    assert (read.lower, read.upper, read.codes) == (0, 120, ())
    assert "The Study" in read.place and "DDI of it" not in read.place


def test_a_table_that_holds_labels_in_the_place_of_codes_gets_labels(tmp_path: Path) -> None:
    codes = "".join(
        f"<catgry><catValu>{code}</catValu><labl>{word}</labl></catgry>" for code, word in ((1, "f"), (2, "m"))
    )
    path = ddi(tmp_path, f'<var name="SEX">{codes}</var>')
    entry = drafted(pa.table({"sex": ["f", "m"] * 9}), path)[1].columns["sex"]
    assert entry.categories == ("f", "m")  # type: ignore[union-attr]


BOMB = '<!DOCTYPE codeBook [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><codeBook>&b;</codeBook>'
OUTSIDE = '<!DOCTYPE codeBook [<!ENTITY a SYSTEM "file:///etc/passwd">]><codeBook><dataDscr/>&a;</codeBook>'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (BOMB, "declares entities"),
        (OUTSIDE, "declares entities"),
        ("<codeBook><dataDscr>", "not well-formed"),
        ("<html><body/></html>", "not of DDI-Codebook"),
        ("<codeBook>" + "<a>" * 300 + "</a>" * 300 + "</codeBook>", "nested too deeply"),
        (XML.format(""), "describes no variable"),
        (
            XML.format('<var name="a" dcml="0"><valrng><range min="0" max="9"/></valrng></var><var name="a"/>'),
            "more than once, differently",
        ),
        (XML.format('<var name="a" dcml="0"><valrng><range min="9" max="0"/></valrng></var>'), "makes no plan"),
    ],
)
def test_xml_that_is_no_sound_codebook_is_refused(tmp_path: Path, content: str, said: str) -> None:
    with pytest.raises(CodebookError, match=said):
        drafted(pa.table({"a": [1, 2]}), book(tmp_path, "book.xml", content))


def test_a_codebook_of_twenty_thousand_variables_is_read_without_keeping_them(tmp_path: Path) -> None:
    one = "".join(f"<catgry><catValu>{code}</catValu><labl>answer number {code}</labl></catgry>" for code in range(9))
    path = tmp_path / "big.xml"
    with path.open("w") as file:
        before, after = XML.split("{}")
        file.write(before)
        for place in range(20_000):
            file.write(f'<var name="v{place}" nature="nominal">{one if place % 10 == 0 else ""}</var>')
        file.write(after)
    tracemalloc.start()
    found = read_codebook(path, ["v10", "v19990"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(found.variables) == {"v10", "v19990"}
    assert len(found.absent) == 19_998
    assert peak < 3 << 20, "names alone, and not what is said of them"


# JSON and sheets


def test_a_data_package_of_several_tables_is_read_by_the_name_of_the_file(tmp_path: Path) -> None:
    fields = [{"name": "a", "type": "integer", "constraints": {"minimum": 0, "maximum": 9, "required": True}}]
    resources = [{"path": "other.csv", "schema": {"fields": []}}, {"path": "t.csv", "schema": {"fields": fields}}]
    (tmp_path / "t.csv").write_text("a,b\n" + "1,x\n2,y\n" * 10)
    path = book(tmp_path, "datapackage.json", {"resources": resources})
    entry = drafted(tmp_path / "t.csv", path)[1].columns["a"]
    assert (entry.lower, entry.upper, entry.null) == (0, 9, False)  # type: ignore[union-attr]
    with pytest.raises(CodebookError, match="describes 2 tables"):
        drafted(pa.table({"a": [1, 2]}), path)


@pytest.mark.parametrize("schema", ["https://example.org/schema.json", "../schema.json", "nowhere.json"])
def test_a_data_package_is_followed_within_its_folder_and_nowhere_else(tmp_path: Path, schema: str) -> None:
    (tmp_path / "schema.json").write_text('{"fields": []}')
    (tmp_path / "in").mkdir()
    path = book(tmp_path / "in", "datapackage.json", {"resources": [{"path": "t.csv", "schema": schema}]})
    with pytest.raises(CodebookError, match="does not lie beside it"):
        drafted(pa.table({"a": [1, 2]}), path)


def test_missing_values_of_a_schema_become_those_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,x\n-,y\n" * 10)
    said = {"fields": [{"name": "a", "type": "integer", "constraints": {"minimum": 0, "maximum": 9}}, {"name": "b"}]}
    _, plan = drafted(tmp_path / "t.csv", book(tmp_path, "s.json", {**said, "missingValues": ["", "-"]}))
    assert plan.table.null_values == ("", "-")
    assert not plan.table.unconfirmed
    assert plan.columns["a"].null


def test_csvw_names_columns_by_their_titles_and_spells_days_and_truth(tmp_path: Path) -> None:
    columns = [
        {"name": "born", "titles": ["Date of birth"], "datatype": {"base": "date", "format": "dd.MM.yyyy",
         "minimum": "1900-01-01", "maximum": "2030-12-31"}, "required": True},
        {"name": "member", "titles": {"en": "Member"}, "datatype": {"base": "boolean", "format": "Y|N"}},
    ]  # fmt: skip
    path = book(tmp_path, "m.json", {"@context": "http://www.w3.org/ns/csvw", "tableSchema": {"columns": columns}})
    table = pa.table({"Date of birth": ["31.12.1999", "01.02.2000"] * 9, "Member": ["Y", "N"] * 9})
    plan = drafted(table, path)[1]
    assert plan.guesses == {}
    assert plan.columns["Date of birth"].format == "%d.%m.%Y"  # type: ignore[union-attr]
    assert plan.columns["Member"].categories == ("N", "Y")  # type: ignore[union-attr]


def test_sdv_metadata_of_one_table_among_tables_and_a_sequence_key(tmp_path: Path) -> None:
    columns = {
        "who": {"sdtype": "id"},
        "x": {"sdtype": "categorical", "order": ["lo", "hi"]},
        "mail": {"sdtype": "email"},
    }
    path = book(tmp_path, "m.json", {"tables": {"visits": {"columns": columns, "sequence_key": "who"}}})
    table = pa.table({"who": [f"p{n}" for n in range(40)] * 2, "x": ["lo", "hi"] * 40, "mail": ["a@b"] * 80})
    _, plan = drafted(table, path)
    assert plan.privacy.person == "who"
    assert plan.privacy.unconfirmed == ("rows_per_person",)
    assert (plan.columns["x"].kind, plan.columns["mail"].kind) == ("ordinal", "drop")
    assert set(plan.guesses) == {"[privacy]"}


def test_a_workbook_may_have_variables_on_one_sheet_and_their_values_on_another(tmp_path: Path) -> None:
    xlsxwriter = pytest.importorskip("xlsxwriter")
    sheets: dict[str, list[list[object]]] = {
        "Read me": [["Our study"]],
        "Variables": [
            ["name", "label", "type", "min", "max"],
            ["sex", "Sex", "nominal"],
            ["age", "Age", "integer", 0, 120],
        ],
        "Values": [["variable", "code", "label"], ["sex", 1, "male"], ["", 2, "female"]],
    }
    with xlsxwriter.Workbook(str(tmp_path / "book.xlsx")) as written:
        for name, rows in sheets.items():
            sheet = written.add_worksheet(name)
            for place, row in enumerate(rows):
                sheet.write_row(place, 0, row)
    made, plan = drafted(pa.table({"sex": [1, 2] * 20, "age": [20, 30] * 20}), tmp_path / "book.xlsx")
    assert not any(column.guessed for column in made.columns)
    assert plan.columns["sex"].categories == ("1", "2")  # type: ignore[union-attr]
    assert plan.columns["sex"].value_labels == {"1": "male", "2": "female"}
    assert (plan.columns["age"].lower, plan.columns["age"].upper) == (0, 120)  # type: ignore[union-attr]


def test_sdv_metadata_of_several_tables_are_read_by_the_name_of_the_file(tmp_path: Path) -> None:
    guests = {"primary_key": "mail", "columns": {"mail": {"sdtype": "email"}, "hotel": {"sdtype": "id"}}}
    hotels = {"columns": {"hotel": {"sdtype": "id"}, "mail": {"sdtype": "email"}, "city": {"sdtype": "categorical"}}}
    content = {"METADATA_SPEC_VERSION": "V1", "tables": {"guests": guests, "hotels": hotels}, "relationships": []}
    path = book(tmp_path, "v1.json", content)
    read = read_codebook(path, ["mail", "hotel", "later"], table="guests.csv.gz")
    assert {name: each.why for name, each in read.variables.items()} == {
        "mail": "SDV metadata call it a key",
        "hotel": "SDV metadata call it an identifier",
    }
    with pytest.raises(CodebookError, match="describe 2 tables"):
        read_codebook(path, ["mail", "hotel", "later"], table="other.csv")


def test_a_data_dictionary_of_redcap_is_read_as_its_export_is_written(tmp_path: Path) -> None:
    head = (
        "Variable / Field Name,Field Type,Field Label,"
        '"Choices, Calculations, OR Slider Labels",Text Validation Type OR Show Slider Number,'
        "Text Validation Min,Text Validation Max,Identifier?,Required Field?\n"
    )
    lines = (
        "record_id,text,Number,,,,,y,\nintro,descriptive,Welcome,,,,,,\nage,text,Age,,integer,0,120,,y\n"
        "born,text,Born,,date_dmy,1900-01-01,2020-12-31,,\npain,slider,Pain,none | | worst,,0,100,,\n"
        'meds,checkbox,Drugs,"1, Aspirin | B, Beta blocker",,,,,\nsex,radio,Sex,"1, male | 2, female",,,,,\n'
    )
    path = book(tmp_path, "dictionary.csv", head + lines)
    days = pa.array(["1950-03-04", "1980-12-31"] * 20)
    table = {"record_id": range(40), "age": [3, 99] * 20, "born": days, "pain": [5, 100] * 20}
    table |= {"meds___1": [0, 1] * 20, "meds___b": [0, 0] * 20, "sex": [1, 2] * 20}
    made, plan = drafted(pa.table({name: list(each) for name, each in table.items()}), path)
    assert not any(column.guessed for column in made.columns)
    kinds = {name: entry.kind for name, entry in plan.columns.items()}
    assert kinds == {
        **{"record_id": "drop", "age": "integer", "born": "date", "pain": "integer", "sex": "category"},
        **{"meds___1": "category", "meds___b": "category"},
    }
    assert plan.columns["meds___b"].label == "Drugs: Beta blocker"


def test_an_excel_sheet_is_read_like_a_csv_one(tmp_path: Path) -> None:
    writer = pytest.importorskip("xlsxwriter")
    pytest.importorskip("python_calamine")
    with writer.Workbook(tmp_path / "book.xlsx") as workbook:
        notes, sheet = workbook.add_worksheet("notes"), workbook.add_worksheet("variables")
        notes.write_row(0, 0, ["read me"])
        for place, row in enumerate(
            [
                ("name", "type", "min", "max", "values"),
                ("a", "integer", 0, 9, ""),
                ("b", "nominal", "", "", "1=yes\n2=no"),
            ]
        ):
            sheet.write_row(place, 0, row)
    table = pa.table({"a": [1, 2] * 9, "b": [1, 2] * 9})
    plan = drafted(table, tmp_path / "book.xlsx")[1]
    assert plan.guesses == {}
    assert plan.columns["b"].source == "book.xlsx, sheet variables, row 3"
    assert plan.columns["b"].value_labels == {"1": "yes", "2": "no"}


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("b.json", "{", "no JSON"),
        ("b.json", "[1, 2]", "no Table Schema"),
        ("b.json", '{"fields": [3]}', "field 1 is not an object"),
        ("b.csv", "first,second\n1,2\n", "no format that rankveil knows"),
        ("b.csv", "name,type\na,nonsense\n", "type 'nonsense' is not known"),
        ("b.xlsx", "no workbook", "no Excel file"),
        ("b.doc", "text", "no format that rankveil knows"),
    ],
)
def test_documents_that_are_no_codebooks_are_refused(tmp_path: Path, name: str, content: str, said: str) -> None:
    with pytest.raises(CodebookError, match=said):
        drafted(pa.table({"a": [1, 2]}), book(tmp_path, name, content))


def test_a_codebook_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CodebookError, match="cannot be read"):
        drafted(pa.table({"a": [1, 2]}), tmp_path / "nothing.xml")


def test_names_that_differ_in_capitals_alone_are_told_apart_where_they_must(tmp_path: Path) -> None:
    path = book(tmp_path, "b.csv", "name,type,min,max\nAGE,integer,0,9\n")
    assert read_codebook(path, ["age"]).variables.keys() == {"age"}
    assert read_codebook(path, ["age", "AGE"]).variables.keys() == {"AGE"}
    assert read_codebook(path, ["age", "Age"]).absent == ("AGE",)
    assert together([read_codebook(path, ["age"])], ["age", "x"]).keys() == {"age"}


def test_the_command_takes_several_codebooks_and_says_what_is_left(
    cli: Callable[..., Any], survey: tuple[ModuleType, Path], tmp_path: Path
) -> None:
    _, folder = survey
    done = cli("init", folder / "survey.csv", "--codebook", folder / "survey.xml", "--out", tmp_path / "p.toml")
    assert done.code == 0, done.err
    assert "50 of them from the codebook, 0 with guesses" in done.out
    assert "Left out: respondent_id" in done.out
    assert cli("release", folder / "survey.csv", "--plan", tmp_path / "p.toml", "--out", tmp_path / "out").code == 0
    wrong = book(tmp_path, "w.csv", "name,type,min,max\nage,integer,0,9\n")
    refused = cli("init", folder / "survey.csv", "--codebook", wrong, "--out", tmp_path / "q.toml")
    assert refused.code == 2
    assert "contradicts its codebook" in refused.err
    assert not (tmp_path / "q.toml").exists()
