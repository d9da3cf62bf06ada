"""What a draft recognises without a codebook: orders, days, codes, special values; and how it says why."""

from __future__ import annotations

import datetime
import random
import statistics
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil import Plan, release
from rankveil.declare.draft import Draft, draft_of
from rankveil.declare.draft.words import ordered, prefixes, yes_and_no
from rankveil.engines import open_table


def made(**columns: list[object]) -> Draft:
    return draft_of(open_table(pa.table(columns)))


def entry(values: list[object], name: str = "x") -> Plan:
    return made(**{name: values}).plan().columns[name]  # type: ignore[return-value]


ORDERS = [
    ["18-24", "25–34", "35-44", "65+"],
    ["under 18", "18 to 24", "25 and over"],
    ["<10", "10-20", ">20"],
    ["<10k", "10k-20k", "20k+"],
    ["$0-$9,999", "$10,000-$19,999", "$20,000 or more"],
    ["0-9 years", "10-19 years", "20 years and over"],
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"],
    ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"],
    ["never", "rarely", "sometimes", "often", "always"],
    ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"],
    ["Very bad", "Bad", "Fair", "Good", "Very good"],
    ["none", "mild", "moderate", "severe"],
    ["low", "medium", "high"],
    ["nie", "selten", "manchmal", "oft", "immer"],
    ["1 - bad", "2 - fair", "3 - good", "10 - best"],
    ["S", "M", "L", "XL"],
    ["2019-11", "2019-12", "2020-01"],
    [f"{year}Q{quarter}" for year, quarter in ((2019, 4), (2020, 1), (2020, 2))],
    [f"Q{quarter} {year}" for year, quarter in ((2019, 4), (2020, 1), (2020, 2))],
    ["12/2019", "01/2020", "02/2020"],
    ["Dez 19", "Jan 20", "Mrz 20"],
    ["2020-W52", "2020-W53", "2021-W01"],
    ["lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."],
    ["segunda-feira", "terça-feira", "quarta-feira", "quinta-feira", "sexta-feira", "sábado", "domingo"],
    ["пн", "вт", "ср", "чт", "пт", "сб", "вс"],
    ["måndag", "tisdag", "onsdag", "torsdag", "fredag", "lördag", "söndag"],
    ["Mon", "Tues", "Wed", "Thurs", "Fri"],
    ["Less than high school", "High school", "Some college", "Bachelor's degree", "Master's degree"],
    ["Never", "Once a month", "Once a week", "Every day"],
    ["stimme gar nicht zu", "stimme eher nicht zu", "teils/teils", "stimme eher zu", "stimme voll zu"],
    ["low risk", "medium risk", "high risk"],
    ["Stage I", "Stage II", "Stage IV"],
    ["I", "II", "III"],
    ["Wave 2", "Wave 9", "Wave 10"],
    ["A+", "A", "A-", "B", "C-"],
    ["0–999 €", "1.000–1.999 €", "2.000 € und mehr"],
    ["None", "1-2", "3 or more"],
    ["< 1 000", "1 000 - 1 999", "2 000+"],
    ["moins de 18 ans", "18 à 24 ans", "25 à 34 ans", "65 ans et plus"],
    ["menos de 1.000 €", "de 1.000 a 2.000 €", "más de 3.000 €"],
    ["unter 18 Jahre", "18 bis unter 25 Jahre", "25 Jahre und älter"],
    ["entre 0 y 5 años", "entre 6 y 12 años", "13 años o más"],
    ["jonger dan 18", "18 t/m 24", "25 jaar en ouder"],
    ["meno di 18", "da 18 a 24", "oltre 24"],
    ["up to 18 years", "19 to 30 years", "31+ years"],
    ["kein Pflegegrad", "Pflegegrad 1", "Pflegegrad 2", "Pflegegrad 3"],
    ["no stage", "Stage I", "Stage II", "Stage III"],
    ["pas du tout satisfait", "peu satisfait", "plutôt satisfait", "très satisfait"],
    ["très mauvais", "mauvais", "assez bon", "bon", "très bon"],
    ["sin estudios", "primaria", "secundaria", "bachillerato", "universidad"],
    ["pequeño", "mediano", "grande"],
    ["Untergewicht", "Normalgewicht", "Übergewicht", "Adipositas"],
    ["sans diplôme", "CAP/BEP", "bac", "bac+2", "bac+5"],
    ["mai", "raramente", "a volte", "spesso", "sempre"],
    ["discordo totalmente", "discordo", "neutro", "concordo", "concordo totalmente"],
    ["1 - Strongly disagree", "2", "3", "4", "5 - Strongly agree"],
    ["W1", "W2", "W10"],
    ["2009/10", "2010/11", "2011/12"],
    ["2018-2019", "2019-2020"],
    ["Small", "Medium", "Large", "X-Large"],
    ["nooit", "zelden", "soms", "vaak", "altijd"],
]


@pytest.mark.parametrize("labels", ORDERS, ids=lambda labels: labels[0])
def test_labels_whose_order_everybody_knows_are_put_into_it(labels: list[str]) -> None:
    found = ordered(sorted(labels, reverse=True))
    assert found is not None
    assert list(found.labels) == labels


def test_months_and_quarters_that_did_not_occur_are_in_the_list() -> None:
    assert ordered(["MAR", "JAN", "DEC"]).labels[:3] == ("JAN", "FEB", "MAR")  # type: ignore[union-attr]
    assert ordered(["miercoles", "lunes", "sabado"]).labels[:3] == ("lunes", "martes", "miercoles")  # type: ignore[union-attr]
    assert ordered(["2020-03", "2019-12"]).labels == ("2019-12", "2020-01", "2020-02", "2020-03")  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "labels",
    [
        ["red", "green", "blue"],
        ["may", "will", "mark"],
        ["never", "often", "refused to say"],
        ["0-10", "5-15", "20+"],
        ["1", "2", "3"],
        ["18-24", "25-34", "unknown"],
        ["mar", "may"],
        ["A-1", "B-2", "C-3"],
        ["2019-13", "2020-01"],
        ["DE", "NO", "SE"],  # countries, and the beginnings of months
        ["MA", "MI", "MO"],
        ["Region 1", "Region 2", "Region 3"],
        ["Type I", "Type II", "Type III"],
        ["C", "X", "V"],
        ["A", "B", "C"],
        ["2021-W52", "2021-W53"],
        ["1a2", "3a4", "5a6"],
        ["1 - bad", "5 - good", "3", "9"],
        ["2018/19", "2018/20"],
        ["no ward", "Ward 1", "Ward 2"],
    ],
)
def test_other_labels_have_no_order(labels: list[str]) -> None:
    assert ordered(labels) is None


@pytest.mark.parametrize(
    ("labels", "pair"),
    [
        (["Yes", "No"], ("No", "Yes")),
        (["ja", "nein"], ("nein", "ja")),
        (["OUI"], ("NON", "OUI")),
        (["Sim", "Não"], ("Não", "Sim")),
        (["Y", "N"], ("N", "Y")),
        (["y"], None),
        (["yes", "no", "perhaps"], None),
        (["yes", "nein"], None),
    ],
)
def test_yes_and_no_in_several_languages(labels: list[str], pair: tuple[str, str] | None) -> None:
    assert yes_and_no(labels) == pair


DAYS = [
    ("%Y-%m-%d", ["2020-01-31", "2021-12-01"]),
    ("%d.%m.%Y", ["31.01.2020", "1.12.2021"]),
    ("%d/%m/%Y", ["31/01/2020", "01/12/2021"]),
    ("%m/%d/%Y", ["01/31/2020", "12/01/2021"]),
    ("%Y%m%d", ["20200131", "20211201"]),
    ("%d %b %Y", ["31 Jan 2020", "01 Dec 2021"]),
    ("%B %d, %Y", ["January 31, 2020", "December 01, 2021"]),
    ("%d%b%Y", ["31JAN2020", "01DEC2021"]),
    ("%Y-%m-%d %H:%M:%S", ["2020-01-31 05:06:07", "2021-12-01 23:59:59"]),
    ("%Y-%m-%dT%H:%M:%SZ", ["2020-01-31T05:06:07Z", "2021-12-01T23:59:59Z"]),
    ("%Y-%m-%d", ["2020-01-31 05:06:07.123456", "2021-12-01 23:59:59.5"]),
    ("%Y-%m-%d", ["2020-01-31T05:06:07.123Z", "2021-12-01T23:59:59+02:00"]),
    ("%m/%d/%Y %I:%M:%S %p", ["01/31/2020 05:06:07 AM", "12/01/2021 11:59:59 PM"]),
    ("%m/%d/%y", ["01/31/20", "12/01/21"]),
    ("%d-%b-%y", ["31-Jan-20", "01-Dec-21"]),
]


@pytest.mark.parametrize(("spelled", "texts"), DAYS, ids=lambda each: each if isinstance(each, str) else "")
def test_days_of_all_common_forms_are_read_and_can_be_released(spelled: str, texts: list[str]) -> None:
    draft = made(day=texts * 20, y=[1, 2] * 20)
    plan = Plan.parse("\n".join(line for line in draft.text().split("\n") if not line.startswith("unconfirmed")))
    column = plan.columns["day"]
    assert (column.kind, column.format) == ("date", spelled)  # type: ignore[union-attr]
    assert column.lower == datetime.date(2020, 1, 1)  # type: ignore[union-attr]
    release(pa.table({"day": texts * 20, "y": [1, 2] * 20}), plan)
    if ":" in texts[0]:
        assert "the time of day is not kept" in draft.text()


def test_days_that_can_be_read_in_two_ways_are_not_guessed() -> None:
    draft = made(day=["01/02/2020", "03/04/2021"] * 20)
    assert draft.plan().columns["day"].kind == "drop"
    assert "%d/%m/%Y and as %m/%d/%Y" in draft.dropped["day"]


def test_whole_numbers_that_look_like_days_stay_numbers() -> None:
    assert entry([20200131, 20211201] * 9).kind == "integer"  # type: ignore[attr-defined]


SHAPES = [
    ("times of day", [f"{n // 60:02}:{n % 60:02}" for n in range(900)]),
    ("€ beside each", [f"{n},50 €" for n in range(900)]),
    (
        "in several ways",
        [f"2020-01-{n % 31 + 1:02}" if n % 2 else f"{n % 31 + 1}.1.{1900 + n % 90}" for n in range(900)],
    ),
    ("days in words", [f"{n % 28 + 1}. März {1900 + n % 90}" for n in range(900)]),
    ("mail addresses", [f"a{n}@example.org" for n in range(900)]),
    ("decimal comma", [f"{n},25" for n in range(900)]),
    ("two numbers in one", [f"{90 + n % 70}/{50 + n % 47}" for n in range(900)]),
]


@pytest.mark.parametrize(("why", "texts"), SHAPES, ids=lambda each: each if isinstance(each, str) else "")
def test_texts_of_a_known_shape_are_not_called_names(why: str, texts: list[object]) -> None:
    assert why in made(x=texts, y=[f"{n}.5" for n in range(900)], z=[f"{n}.5" for n in range(900)]).dropped["x"]


def test_few_numbers_with_a_unit_are_put_into_their_order() -> None:
    column = entry([f"{n * 5}%" for n in range(21)] * 2)
    assert (column.kind, column.categories[:3]) == ("ordinal", ("0%", "5%", "10%"))  # type: ignore[attr-defined]


def test_prices_of_six_digits_are_no_numbers_of_files() -> None:
    normal = statistics.NormalDist(400_000, 90_000)
    prices = [round(normal.inv_cdf((n + 0.5) / 900)) for n in range(900)]
    assert entry(prices, "price").kind == "integer"  # type: ignore[attr-defined]
    assert entry([100_000 + n * 997 for n in range(900)], "x").kind == "drop"  # type: ignore[attr-defined]


def test_answers_that_are_none_stand_behind_the_others_and_are_named() -> None:
    column = entry(["agree", "disagree", "neutral", "Don't know"] * 9)
    assert column.kind == "category"  # type: ignore[attr-defined]
    assert column.categories == ("disagree", "neutral", "agree", "Don't know")  # type: ignore[attr-defined]
    assert column.missing == ("Don't know",)  # type: ignore[attr-defined]
    assert entry(["ja", "nein", "k.A."] * 9).categories == ("nein", "ja", "k.A.")  # type: ignore[attr-defined]


def test_codes_that_a_program_has_written_with_a_fraction_are_codes() -> None:
    assert entry(["1.0", "2.0", None] * 9, "sex").categories == ("1.0", "2.0")  # type: ignore[attr-defined]
    assert entry(["1.0", "2.0", "3.0", "4.0", "9.0"] * 9).special == (9,)  # type: ignore[attr-defined]


def test_lists_in_a_frame_are_left_out() -> None:
    frame = pd.DataFrame({"lists": [[1, 2], [3]] * 20, "y": [1, 2] * 20})
    assert draft_of(open_table(frame)).dropped == {"lists": "neither numbers nor text"}


def test_the_levels_of_a_categorical_are_its_labels_in_their_order() -> None:
    steps = pd.Categorical(["b", "c", "b"] * 9, categories=["c", "a", "b"], ordered=True)
    codes = pd.Categorical([3, 7, 3] * 9, categories=[3, 5, 7])
    frame = pd.DataFrame({"steps": steps, "codes": codes})
    columns = draft_of(open_table(frame)).plan().columns
    assert (columns["steps"].kind, columns["steps"].categories) == ("ordinal", ("c", "a", "b"))  # type: ignore[union-attr]
    assert (columns["codes"].kind, columns["codes"].categories) == ("category", ("3", "5", "7"))  # type: ignore[union-attr]
    release(frame, rv.draft(frame).confirm())


def test_lists_of_polars_are_labels_and_enums_are_in_their_order() -> None:
    steps = pl.Series(["b", "c", "b"] * 9, dtype=pl.Enum(["c", "a", "b"]))
    words = pl.Series(["x", None, "y"] * 9, dtype=pl.Categorical)
    person = pl.Series([f"p{row // 2:02}" for row in range(27)], dtype=pl.Categorical)
    ages = pl.Series(["30", "41", "30"] * 9, dtype=pl.Categorical)
    frame = pl.DataFrame({"steps": steps, "words": words, "person": person, "age": ages})
    columns = draft_of(open_table(frame)).plan().columns
    assert (columns["steps"].kind, columns["steps"].categories) == ("ordinal", ("c", "a", "b"))  # type: ignore[union-attr]
    assert (columns["words"].kind, columns["words"].categories) == ("category", ("x", "y"))  # type: ignore[union-attr]
    said = {"steps": columns["steps"], "words": columns["words"], "person": {"kind": "drop"}}
    content = {
        name: each if isinstance(each, dict) else each.model_dump(exclude_none=True) for name, each in said.items()
    }
    for entry in content.values():
        entry.pop("unconfirmed", None)
    content["age"] = {"kind": "integer", "lower": 0, "upper": 120}
    plan = rv.Plan(release={"epsilon": 1}, privacy={"person": "person", "rows_per_person": 2}, columns=content)
    made = release(frame, plan).table
    assert made.columns == ["steps", "words", "age"]


def test_a_mark_or_nothing_says_something() -> None:
    assert "says nothing" not in made(x=["X", None] * 20).text()
    assert "says nothing" in made(x=["X", "X"] * 20).text()


SPECIAL = [
    ([*range(18, 90), -9, 999], (-9, 999)),
    ([*range(1, 6), 8, 9] * 5, (8, 9)),
    ([*range(11), 77, 88, 99] * 5, (77, 88, 99)),
    ([*range(100, 200), -1], (-1,)),
    ([-1, 0, 1] * 9, ()),
    ([*range(-3, 30)], ()),
    ([-12, -3, 0, 5, 9], ()),
    ([*range(100)], ()),
    ([1, 2, 3, 4, 5, 6, 7, 8, 9] * 3, ()),
]


@pytest.mark.parametrize(("values", "special"), SPECIAL)
def test_special_values_lie_apart_from_all_others(values: list[object], special: tuple[int, ...]) -> None:
    assert getattr(entry(values), "special", ()) == special


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("sex", [1, 2] * 20, "category"),
        ("q7", [1, 2, 8, 9] * 20, "category"),
        ("region", [1, 2, 3, 4] * 20, "category"),
        ("rooms", [1, 2, 3, 4] * 20, "integer"),
        ("treated", [0, 1] * 20, "integer"),
        ("zip", [10115, 80331] * 20, "category"),
        ("plz", ["01067", "80331"] * 20, "category"),
        ("n", ["1.0", "2.0", "30.0"] * 20, "integer"),
    ],
)
def test_codes_are_told_from_numbers(name: str, values: list[object], kind: str) -> None:
    assert entry(values, name).kind == kind  # type: ignore[attr-defined]


def test_a_scale_from_zero_or_one_keeps_its_ends() -> None:
    for values, ends in (([0, 1], (0, 1)), ([1, 2, 3, 4, 5], (1, 5)), (list(range(11)), (0, 10))):
        found = entry(values * 9, "answer")  # type: ignore[arg-type]
        assert (found.lower, found.upper) == ends  # type: ignore[attr-defined]


def test_a_heavy_tail_gets_a_logarithmic_scale() -> None:
    values = [10 * n for n in range(1, 200)] + [250_000]
    draft = made(income=values, age=list(range(20, 80)) * 3 + [30] * 20)
    assert draft.plan().columns["income"].scale == "log"  # type: ignore[union-attr]
    assert draft.plan().columns["age"].scale == "linear"  # type: ignore[union-attr]
    assert "powers of ten" in draft.text()
    assert 'bounds = "private"' in draft.text()


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([number / 8 for number in range(80)], "0.001"),  # three decimals, as written
        ([number / 16 for number in range(160)], "0.0001"),
        ([number / 3 for number in range(300)], "0.001"),  # computed: 10^5 steps of 100
        ([number / 3_000_000 for number in range(300)], "0.000000001"),
        ([number / 3 for number in range(1, 300)] + [10**6 / 3], "0.0001"),  # a long tail: amounts of money, say
        ([number * 10_000 / 3 for number in range(300)], "1"),
    ],
)
def test_decimals_that_were_computed_are_no_steps(values: list[float], step: str) -> None:
    assert entry(values).step == Decimal(step)  # type: ignore[arg-type,union-attr]


ICD = [f"I{stem}.{place}" for stem in (10, 21, 25) for place in range(5)] + ["J45", "J44.1"]


def test_codes_like_those_of_icd_get_a_taxonomy_of_their_first_characters() -> None:
    assert prefixes(ICD) == (1, 3)
    table = pa.table({"diagnosis": ICD * 10, "y": [1, 2] * 85})
    draft = draft_of(open_table(table))
    assert draft.plan().columns["diagnosis"].prefixes == (1, 3)  # type: ignore[union-attr]
    plan = Plan.parse("\n".join(line for line in draft.text().split("\n") if not line.startswith("unconfirmed")))
    note = release(table, plan).certificate.columns[0]
    assert note.categories == len(ICD)
    assert note.concepts == len(ICD) + 1 + 2 + 4, "the root, two letters, I10 I21 I25 and J44"


def test_more_codes_than_labels_may_be_are_kept_where_their_first_characters_group_them() -> None:
    codes = [f"{letter}{number:02}.{place}" for letter in "ABC" for number in range(30) for place in range(5)]
    assert entry(codes * 3, "code").kind == "category"  # type: ignore[attr-defined]


def test_many_postal_codes_are_grouped_by_their_first_digits_and_other_digits_are_left_out() -> None:
    codes = [f"{number:05}" for number in range(1067, 99000, 331)]
    column = entry(codes * 3, "plz")
    assert (column.kind, column.prefixes) == ("category", (2,))  # type: ignore[attr-defined]
    assert entry(codes[:150] * 3, "plz").prefixes == ()  # type: ignore[attr-defined]
    assert entry([code[:-1] + "x" for code in codes] * 3, "code").kind == "drop"  # type: ignore[attr-defined]


def test_a_hundred_points_end_at_a_hundred() -> None:
    assert entry(list(range(101)) * 5, "score").upper == 100  # type: ignore[attr-defined]
    assert entry(list(range(100)) * 5, "score").upper == 100  # type: ignore[attr-defined]
    assert entry(list(range(102)) * 5, "score").upper > 101  # type: ignore[attr-defined]


def test_bands_follow_from_ages_also_where_another_column_has_marks_between_thousands() -> None:
    ages = [*range(18, 78)] * 30
    bands = ["18-24" if age < 25 else "25-44" if age < 45 else "45-77" for age in ages]
    pay = [f"{n % 900 + 1}.{n % 900 + 100},50" for n in range(1800)]
    plan = made(age=list(map(str, ages)), band=bands, pay=pay).plan()  # type: ignore[arg-type]
    assert plan.table.thousands == "."
    assert plan.columns["band"].derived is not None  # type: ignore[union-attr]


def test_bands_of_a_number_follow_from_it_though_few_rows_have_each_number() -> None:
    ages = [18 + (row * 7) % 80 for row in range(400)]
    bands = ["18-29" if age < 30 else "30-59" if age < 60 else "60+" for age in ages]
    chance = ["north" if age % 2 else "south" for age in ages]
    plan = made(age=ages, band=bands, part=chance).plan()  # type: ignore[arg-type]
    assert plan.columns["band"].derived is not None  # type: ignore[union-attr]
    assert plan.columns["part"].derived is None  # type: ignore[union-attr]


def test_neighbours_decide_each_other_also_in_wide_tables() -> None:
    rng = random.Random(1)
    columns: dict[str, list[object]] = {f"q{n}": [rng.randrange(4) for _ in range(400)] for n in range(80)}
    columns |= {"rank": [row % 4 for row in range(400)], "word": ["nwes"[row % 4] for row in range(400)]}
    plan = made(**columns).plan()
    assert plan.columns["rank"].derived or plan.columns["word"].derived  # type: ignore[union-attr]


def test_words_for_missing_among_numbers_are_noticed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n" + "1,x\n.,y\n3,-\n" * 10)
    plan = draft_of(open_table(tmp_path / "t.csv")).plan()
    assert plan.columns["a"].kind == "integer"
    assert plan.columns["a"].null
    assert "-" in plan.columns["b"].categories  # type: ignore[union-attr]
    assert plan.table.null_values == ("", "?", "NA", "N/A", "null", "NULL", ".")
    assert "null_values" in plan.table.unconfirmed


def test_labels_with_a_number_each_in_another_column_take_their_order() -> None:
    words = ["zero", "one", "two", "three"]
    plan = made(level=words * 30, rank=[0, 1, 2, 3] * 30).plan()
    assert plan.columns["level"].categories == tuple(words)  # type: ignore[union-attr]
    assert plan.columns["rank"].derived is not None


def test_every_column_that_is_left_out_is_explained_in_the_plan_and_by_the_draft() -> None:
    draft = made(
        note=[f"remark {n} of someone" for n in range(300)],
        empty=[None] * 300,
        nested=[[1]] * 300,
        person_id=[f"p{n:04}" for n in range(300)],
        name=[f"{'ab'[n % 2]}{chr(97 + n % 26)} {n}" for n in range(300)],
        x=[1, 2, 3] * 100,
    )
    dropped = {name for name, each in draft.plan().columns.items() if each.kind == "drop"}
    assert dropped == set(draft.dropped) == {"note", "empty", "nested", "person_id", "name"}
    text = " ".join(draft.text().replace("\n#", "").split())
    assert all(" ".join(why.split()) in text for why in draft.dropped.values())


def test_questions_named_by_one_letter_and_a_number_are_one_pattern() -> None:
    columns: dict[str, list[object]] = {f"q{n}": [1, 2, 3, 4, 5] * 9 for n in range(1, 41)}
    draft = made(**columns, quality=["a", "b", "c"] * 15)
    text = draft.text()
    assert text.count("[columns.") == 2
    assert Plan.parse(text).over([*columns, "quality"]).columns == draft.plan().columns


def test_repeated_lists_and_stems_are_written_once_and_mean_the_same() -> None:
    colours = ["red", "green", "blue"]
    columns = {f"like_{n}": [colours[(row * row + row // (n + 2)) % 3] for row in range(90)] for n in range(12)}
    columns |= {"other": [colours[row // 30] for row in range(90)], "age": [20 + row // 3 for row in range(90)]}  # type: ignore[misc]
    draft = made(**columns)  # type: ignore[arg-type]
    short, long = draft.text(), draft.text(short=False)
    assert short.count('"green"') == 1 < long.count('"green"')
    assert '[columns."like_*"]' in short
    assert Plan.parse(short).over(columns).columns == Plan.parse(long).columns


def test_frames_that_cannot_be_read_are_refused_by_what_is_wrong_with_them() -> None:
    twice = pd.DataFrame([[1, 2]] * 30, columns=["a", "a"])
    strange = pd.DataFrame({"a": [1] * 30, "b": [1 + 2j] * 30})
    for frame, said in (
        (twice, "columns 1 and 2 have the same name"),
        (strange, "column 2 is of the type complex128"),
        (strange["a"], "A Series cannot be read as a table"),
        (pl.Series("a", [1, 2]), "A Series cannot be read as a table"),
    ):
        with pytest.raises(rv.RankveilError, match=said):
            rv.draft(frame)
