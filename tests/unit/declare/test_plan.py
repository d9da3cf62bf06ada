"""The plan: what is accepted, what is refused, and what a refusal says."""

from __future__ import annotations

import datetime
import json
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.certificate import plain
from rankveil.consent import check_consent
from rankveil.declare import Plan, declare_alone, planned
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import Grid, Nominal
from rankveil.declare.reading import day_number, keeps_days, read_days
from rankveil.engines import open_table
from rankveil.errors import GuaranteeError, PlanError, TaxonomyError
from rankveil.measure.budget import Budget, equal_shares
from rankveil.measure.synthetic import counted, measure
from rankveil.noise import SeededSource
from rankveil.release import release
from tests.support import category, integer, plan_text


def column(entry: str, *, folder: Path = Path()) -> Grid | Nominal:
    """The domain that a one-column plan declares."""
    return declare_alone(Plan.parse(plan_text({"a": entry}), folder=folder)).columns[0].domain


def refusal(text: str) -> str:
    with pytest.raises(PlanError) as caught:
        declare_alone(Plan.parse(text))
    assert caught.value.exit_code == 2
    return str(caught.value)


# Every kind


def test_an_integer_column_becomes_a_grid_of_whole_steps() -> None:
    grid = column(integer(10, lower=-5, more="step = 5"))
    assert isinstance(grid, Grid)
    assert (grid.width, grid.lower, grid.step, grid.whole, grid.log) == (3, Decimal(-5), Decimal(5), True, False)


def test_a_number_column_keeps_its_decimal_step_exactly() -> None:
    grid = column('kind = "number"\nlower = 0.1\nupper = 0.7\nstep = 0.1')
    assert isinstance(grid, Grid)
    assert (grid.lower, grid.step) == (Decimal("0.1"), Decimal("0.1"))
    # In binary floating point 0.7 - 0.1 holds only five steps of 0.1.
    assert grid.width == 6
    assert (0.7 - 0.1) // 0.1 == 5


@pytest.mark.parametrize(
    ("lower", "upper", "step"),
    [("0", "1", "0.000001"), ("0", "99999", "0.01"), ("-5", "5", "0.00001"), ("0", "7e9", "1e3")],
)
def test_a_number_column_without_a_step_gets_one_to_ten_million_steps(lower: str, upper: str, step: str) -> None:
    grid = column(f'kind = "number"\nlower = {lower}\nupper = {upper}')
    assert isinstance(grid, Grid)
    assert grid.step == Decimal(step)
    assert 1_000_000 <= grid.width <= 10_000_000


def test_a_logarithmic_column_has_an_axis_of_bounded_width() -> None:
    grid = column(integer(1_000_000, more='scale = "log"'))
    assert isinstance(grid, Grid)
    assert grid.log
    assert grid.axis_width == 1 << 20


def test_a_date_column_counts_days_between_its_bounds() -> None:
    grid = column('kind = "date"\nlower = 2020-01-01\nupper = 2021-01-01\nformat = "%d.%m.%Y"')
    assert isinstance(grid, Grid)
    assert grid.width == 366
    assert grid.date_format == "%d.%m.%Y"
    assert grid.lower == (datetime.date(2020, 1, 1) - datetime.date(1970, 1, 1)).days


def test_an_ordinal_column_keeps_the_order_of_its_labels() -> None:
    grid = column('kind = "ordinal"\ncategories = ["low", "mid", "high"]')
    assert isinstance(grid, Grid)
    assert (grid.labels, grid.width) == (("low", "mid", "high"), 2)


def test_a_boolean_column_has_two_labels() -> None:
    domain = column('kind = "boolean"')
    assert isinstance(domain, Nominal)
    assert domain.taxonomy.labels == ("false", "true")


def test_a_flat_category_column_puts_its_labels_below_one_root() -> None:
    domain = column(category(["a", "b", "*"]))
    assert isinstance(domain, Nominal)
    assert domain.taxonomy.labels == ("a", "b", "*")
    assert domain.taxonomy.node_count == 4


def test_numbers_and_truth_values_among_the_categories_are_read_as_their_text() -> None:
    domain = column('kind = "category"\ncategories = [1, 2.50, true, "x"]')
    assert isinstance(domain, Nominal)
    assert domain.taxonomy.labels == ("1", "2.50", "true", "x")


def test_categories_are_stripped_as_the_texts_of_a_table_are() -> None:
    domain = column('kind = "category"\ncategories = [" a ", "b c"]')
    assert isinstance(domain, Nominal)
    assert domain.taxonomy.labels == ("a", "b c")


def test_a_dropped_column_is_not_part_of_the_schema() -> None:
    schema = declare_alone(Plan.parse(plan_text({"a": integer(1), "secret": 'kind = "drop"'})))
    assert schema.names == ["a"]


def test_a_taxonomy_file_is_looked_for_beside_the_plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "tree.csv").write_text("node,parent\nroot,\nx,root\ny,root\n")
    (folder / "plan.toml").write_text(plan_text({"a": 'kind = "category"\ntaxonomy = "tree.csv"'}))
    monkeypatch.chdir(tmp_path)
    domain = declare_alone(Plan.load(folder / "plan.toml")).columns[0].domain
    assert isinstance(domain, Nominal)
    assert domain.taxonomy.labels == ("x", "y")


def test_options_do_not_move_the_folder_of_the_plan(tmp_path: Path) -> None:
    (tmp_path / "tree.csv").write_text("node,parent\nroot,\nx,root\ny,root\n")
    (tmp_path / "plan.toml").write_text(plan_text({"a": 'kind = "category"\ntaxonomy = "tree.csv"'}))
    plan = Plan.load(tmp_path / "plan.toml").with_(epsilon="2")
    assert declare_alone(plan).names == ["a"]


def test_a_missing_taxonomy_file_is_named_with_where_it_was_looked_for() -> None:
    with pytest.raises(TaxonomyError, match=r"nowhere\.csv cannot be read.*(?s:.*)plan's own folder"):
        column('kind = "category"\ntaxonomy = "nowhere.csv"')


# Numbers


@pytest.mark.parametrize("spelling", ["0.1", '"0.1"', "1e-1", "0.10"])
def test_epsilon_one_tenth_is_exactly_one_tenth(spelling: str) -> None:
    epsilon = Plan.parse(plan_text(epsilon=spelling)).release.epsilon
    assert Fraction(epsilon) == Fraction(1, 10)


def test_shares_of_one_tenth_over_three_columns_add_up_exactly() -> None:
    shares = equal_shares(Decimal("0.1"), ["a", "b", "c"])
    assert sum(shares.values()) == Fraction(1, 10)
    assert set(shares.values()) == {Fraction(1, 30)}


@pytest.mark.parametrize("epsilon", ["nan", "inf", "-inf", "0", "0.0", "-1", '"much"', '""', "true", "[1]", '"nan"'])
def test_an_epsilon_that_is_not_a_positive_number_is_refused(epsilon: str) -> None:
    assert "release.epsilon" in refusal(plan_text(epsilon=epsilon))


@pytest.mark.parametrize("epsilon", ["1e-400", "1e400", "1e999999999", "1e-999999999"])
def test_an_epsilon_nobody_can_compute_with_is_refused_at_once(epsilon: str) -> None:
    assert "release.epsilon" in refusal(plan_text(epsilon=epsilon))


@pytest.mark.parametrize("k", ["0", "-3", "2.5", "true", '"many"', "10000000000000000000000000"])
def test_a_k_that_is_not_a_positive_whole_number_is_refused(k: str) -> None:
    assert "release.k" in refusal(plan_text(k=k))


@pytest.mark.parametrize(("lower", "upper"), [("5", "5"), ("6", "5"), ("-1", "-2")])
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_bounds_in_the_wrong_order_are_refused(kind: str, lower: str, upper: str) -> None:
    assert "lower must be less than upper" in refusal(
        plan_text({"a": f'kind = "{kind}"\nlower = {lower}\nupper = {upper}'})
    )


def test_dates_in_the_wrong_order_are_refused() -> None:
    assert "lower must be less than upper" in refusal(
        plan_text({"a": 'kind = "date"\nlower = 2021-01-01\nupper = 2020-01-01'})
    )


def dates(date_format: str, lower: str = "2020-01-01", upper: str = "2029-12-31") -> str:
    return plan_text({"a": f'kind = "date"\nlower = {lower}\nupper = {upper}\nformat = {json.dumps(date_format)}'})


@pytest.mark.parametrize(
    "date_format",
    ["%d.%m.%Y", "%F", "%d %b %Y", "%Y%j", "%Y-%m-%dT%H:%M:%SZ", "%m/%d/%y"],
)
def test_a_format_from_which_every_day_comes_back_is_taken(date_format: str) -> None:
    assert Plan.parse(dates(date_format)).columns["a"].format == date_format  # type: ignore[union-attr]


LOSING = ("", "=", "%", "%%", "%Y", "%m/%Y", "%d.%m.", "%j", "%G-W%V-%u", "%Q", "%-d.%-m.%Y", "%Y-%m-%d %z", "%d-%d-%m")


@pytest.mark.parametrize("date_format", [*LOSING, "\0%Y-%m-%d"])
def test_a_format_that_loses_days_is_refused(date_format: str) -> None:
    assert "does not give back every day from 2020-01-01 to 2029-12-31" in refusal(dates(date_format))


def test_a_format_of_two_digit_years_is_refused_where_they_mean_other_years() -> None:
    assert Plan.parse(dates("%y%m%d", "1969-01-01", "2068-12-31"))
    for lower, upper in (("1968-12-31", "2020-01-01"), ("2000-01-01", "2069-01-01")):
        assert "%y stands for the years 1969 to 2068 only" in refusal(dates("%y%m%d", lower, upper))


def test_a_format_is_judged_by_days_between_the_ends_too() -> None:
    assert refusal(dates("%Y", "2020-01-01", "2030-01-01"))  # both ends would come back
    assert refusal(dates("%d.%m.", "1900-01-01", "1901-12-31"))  # all of the first year would


CODES = st.sampled_from([f"%{code}" for code in "YmdjybBUWwuaCHGVgFDexcn%"])


@settings(max_examples=200)
@given(st.lists(st.tuples(CODES, st.sampled_from(["", "-", " ", "/"])), min_size=1, max_size=4))
def test_a_format_that_is_taken_gives_back_every_single_day(parts: list[tuple[str, str]]) -> None:
    """It is judged by the year of either end."""
    date_format, first, last = "".join(map("".join, parts)), datetime.date(1969, 1, 1), datetime.date(2068, 12, 31)
    if keeps_days(date_format, first, last):
        days = np.arange(day_number(first), day_number(last) + 1)
        texts = pc.strftime(pa.array(days.astype("datetime64[D]")), format=date_format)
        assert np.array_equal(read_days(texts, date_format, ()).numbers, days)


def test_a_format_of_hundreds_of_characters_is_refused() -> None:
    assert "columns.a" in refusal(dates("%Y-%m-%d" + "x" * 93))


@pytest.mark.parametrize(
    "entry",
    [
        'kind = "number"\nlower = nan\nupper = 1',
        'kind = "number"\nlower = 0\nupper = inf',
        'kind = "integer"\nlower = 0.5\nupper = 2',
        'kind = "integer"\nlower = "low"\nupper = 2',
        'kind = "integer"\nlower = false\nupper = true',
        'kind = "integer"\nlower = 0\nupper = 5\nstep = 0',
        'kind = "number"\nlower = 0\nupper = 5\nstep = -1',
        'kind = "number"\nlower = 0\nupper = 5\nstep = 6',
        'kind = "integer"\nlower = 0\nupper = 5\nstep = 6',
        'kind = "number"\nlower = 0\nupper = 1e30\nstep = 0.001',
        'kind = "number"\nlower = 0\nupper = 1e999999999',
        'kind = "integer"\nlower = 0\nupper = 1180591620717411303424\nstep = 1099511627776',
        'kind = "integer"\nlower = 9007199254740990\nupper = 9007199254740999',
        'kind = "date"\nlower = "soon"\nupper = 2021-01-01',
    ],
)
def test_bounds_and_steps_that_make_no_grid_are_refused(entry: str) -> None:
    assert refusal(plan_text({"a": entry}))


def test_a_bound_of_ten_thousand_digits_is_refused() -> None:
    assert refusal(plan_text({"a": f'kind = "integer"\nlower = 0\nupper = {"9" * 10_000}'}))


# Entries


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (plan_text() + "[extra]\nx = 1\n", "extra: unknown entry"),
        (plan_text().replace("[release]", "[release]\ngamma = 1e-6"), "release.gamma: unknown entry"),
        (plan_text({"a": integer(5, more="lenght = 3")}), "columns.a.lenght: unknown entry"),
        (plan_text(table="delimiter = ';'"), "table.delimiter: unknown entry"),
        (plan_text({"a": category(["x"], more="lower = 1")}), "columns.a.lower: unknown entry"),
        (plan_text({"a": "lower = 1"}), "columns.a: kind is missing"),
        (plan_text({"a": 'kind = "float"'}), "columns.a: kind must be one of"),
        (plan_text({"a": 'kind = "integer"\nlower = 0'}), "upper is missing"),
        (plan_text({"a": integer(5, more='role = "secret"')}), "columns.a.role"),
        (plan_text({"a": integer(5, more='scale = "sqrt"')}), "columns.a.scale"),
        (plan_text({}), "columns: is missing"),
        (plan_text(table='separator = "ab"'), "table.separator"),
        (plan_text(table="separator = '\"'"), "table.separator"),
        (plan_text(table='separator = "\\n"'), "table.separator"),
        (plan_text(table='separator = "é"'), "table.separator"),
        (plan_text(table='decimal = ";"'), "table.decimal"),
    ],
)
def test_a_wrong_entry_is_named_by_its_place_in_the_plan(text: str, place: str) -> None:
    assert place in refusal(text).replace(".upper: is missing", ": upper is missing")


@pytest.mark.parametrize(
    "entry",
    [
        category(["x", "y", "x"]),
        'kind = "category"\ncategories = ["x", " x"]',
        'kind = "category"\ncategories = [1, "1"]',
        'kind = "ordinal"\ncategories = ["x", "x"]',
    ],
)
def test_a_category_listed_twice_is_refused(entry: str) -> None:
    assert "a category is listed twice" in refusal(plan_text({"a": entry}))


@pytest.mark.parametrize(
    "entry",
    [
        'kind = "category"',
        'kind = "category"\ncategories = []',
        'kind = "category"\ncategories = "abc"',
        'kind = "category"\ncategories = ["a"]\ntaxonomy_labels = "l.csv"',
        'kind = "ordinal"\ncategories = ["only"]',
    ],
)
def test_a_column_of_labels_needs_labels(entry: str) -> None:
    assert "columns.a" in refusal(plan_text({"a": entry}))


@pytest.mark.parametrize("text", ["[release", "a = " + "[" * 5000, "epsilon = 1 2", "\0"])
def test_text_that_is_not_toml_is_refused(text: str) -> None:
    assert "is not valid TOML" in refusal(text)


def test_a_plan_that_protects_no_column_is_refused() -> None:
    assert "protects no column" in refusal(plan_text({"a": integer(5, more='role = "public"'), "b": 'kind = "drop"'}))


def test_a_plan_of_more_than_a_thousand_columns_is_refused() -> None:
    assert "1001 columns" in refusal(plan_text({f"c{i}": integer(1) for i in range(1001)}))


@pytest.mark.parametrize(
    ("content", "words"), [(b"\xff\xfe\x00", "not UTF-8"), (b"#" * ((8 << 20) + 1), "larger than 8 MiB")]
)
def test_a_plan_file_that_is_no_plan_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "plan.toml").write_bytes(content)
    with pytest.raises(PlanError, match=words):
        Plan.load(tmp_path / "plan.toml")


def test_a_plan_that_does_not_exist_says_how_to_draft_one(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="rankveil init"):
        Plan.load(tmp_path / "plan.toml")


def test_a_plan_cannot_be_changed_after_it_was_read() -> None:
    plan = Plan.parse(plan_text())
    with pytest.raises(ValueError, match="frozen"):
        plan.release.epsilon = Decimal(5)


def test_many_mistakes_are_counted_and_the_first_twenty_shown() -> None:
    said = refusal(plan_text({f"c{i}": "" for i in range(30)}))
    assert "30 mistakes" in said
    assert said.count("kind is missing") == 20


# Options


def test_options_replace_release_settings_and_nothing_else() -> None:
    plan = Plan.parse(plan_text({"a": integer(5, more="null = true")}, k=3))
    changed = planned(plan, epsilon="0.1", method="published:ranking", k=None)
    assert (changed.release.epsilon, changed.release.method, changed.release.k) == (
        Decimal("0.1"),
        "published:ranking",
        3,
    )
    assert changed.columns == plan.columns
    assert plan.release.epsilon == 1
    assert plan.with_(k=None).release.k is None  # taken back


@pytest.mark.parametrize("wrong", [{"k": 0}, {"epsilon": "nan"}, {"epsilon": "-1"}, {"epsilon": "one"}, {"gamma": 1}])
def test_options_are_checked_like_the_plan(wrong: dict[str, object]) -> None:
    with pytest.raises(PlanError):
        Plan.parse(plan_text()).with_(**wrong)


# Fingerprints


def test_two_spellings_of_one_plan_have_one_fingerprint() -> None:
    first = Plan.parse(plan_text({"a": 'kind = "number"\nlower = 0\nupper = 10'}, epsilon="1"))
    second = Plan.parse(plan_text({"a": 'kind="number"\nlower = 0.0 # zero\nupper = 1e1'}, epsilon="1.00"))
    assert first.sha256() == second.sha256()


@pytest.mark.parametrize(
    "other",
    [
        plan_text(epsilon="2"),
        plan_text(k=5),
        plan_text(method="published:ranking"),
        plan_text({"a": integer(101)}),
        plan_text({"a": integer(100, more="null = true")}),
        plan_text({"a": integer(100, more="clamp = true")}),
        plan_text({"a": integer(100, more='role = "public"')}),
        plan_text({"b": integer(100)}),
        plan_text(table='decimal = ","'),
        plan_text({"a": 'kind = "date"\nlower = 2020-01-01\nupper = 2020-02-01'}),
    ],
)
def test_another_plan_has_another_fingerprint(other: str) -> None:
    assert Plan.parse(other).sha256() != Plan.parse(plan_text()).sha256()


# Guesses


def test_a_release_refuses_guesses_and_says_how_to_confirm_them() -> None:
    guessed = 'unconfirmed = ["kind", "upper"]'
    plan = Plan.parse(plan_text({"a": integer(5, more=guessed), "b": integer(5)}))
    with pytest.raises(GuaranteeError) as caught:
        release("no-such-table.csv", plan)
    said = str(caught.value)
    assert "a: kind, upper" in said
    assert "delete the column's line `unconfirmed" in said
    assert "  b:" not in said


def test_a_method_that_forms_clusters_needs_k() -> None:
    plan = Plan.parse(plan_text(method="published:ranking"))
    with pytest.raises(PlanError, match="sets no k"):
        check_consent(plan, accept_no_guarantee=True)


def test_an_unknown_method_is_refused_with_the_list_of_methods() -> None:
    with pytest.raises(PlanError, match="published:individual-ranking"):
        check_consent(Plan.parse(plan_text(method="magic")), accept_no_guarantee=False)


# Exact numbers as text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (Decimal("0.1"), "0.1"),
        (Fraction(1, 3), "1/3"),
        (Fraction(1, 1 << 40), "0.0000000000009094947017729282379150390625"),
        (Decimal("1e20"), "100000000000000000000"),
        (Fraction(-3, 20), "-0.15"),
        (Fraction(0), "0"),
    ],
)
def test_exact_numbers_are_written_without_rounding(number: Decimal | Fraction, text: str) -> None:
    assert plain(number) == text
    assert Fraction(plain(number)) == Fraction(number)


# What a plan is interested in


def interested(entry: object, *, method: str = "synthetic", **columns: object) -> Plan:
    known = {"a": {"kind": "boolean"}, "b": {"kind": "boolean"}, "c": {"kind": "drop"}, **columns}
    return Plan.from_dict({"release": {"method": method, "epsilon": 1}, "interest": [entry], "columns": known})


@pytest.mark.parametrize(
    "entry",
    [{}, {"target": "a", "columns": ["a", "b"]}, {"columns": ["a"]}, {"columns": ["a", "a"]}, {"aim": "a"}],
    ids=["nothing", "both", "one column", "one column twice", "unknown entry"],
)
def test_an_interest_says_one_thing(entry: dict[str, object]) -> None:
    with pytest.raises(PlanError, match="interest"):
        interested(entry)


@pytest.mark.parametrize("entry", [{"target": "x"}, {"columns": ["a", "x"]}, {"target": "c"}, {"columns": ["a", "c"]}])
def test_an_interest_in_a_column_that_is_unknown_or_dropped_is_refused(entry: dict[str, object]) -> None:
    with pytest.raises(PlanError, match="An entry of `interest` names"):
        declare_alone(interested(entry))


def test_only_synthetic_looks_at_what_a_plan_is_interested_in() -> None:
    check_consent(interested({"target": "a"}), accept_no_guarantee=False)
    for method in ("laplace", "aligned"):
        with pytest.raises(PlanError, match="does not look at `interest`"):
            check_consent(interested({"target": "a"}, method=method), accept_no_guarantee=False)


def test_an_interest_covers_tables_with_its_target_or_of_its_columns_alone() -> None:
    (target,) = declare_alone(interested({"target": "a"})).interest
    assert target.covers(("a", "b")) and target.covers(("z", "y", "a")) and not target.covers(("b", "z"))
    (columns,) = declare_alone(interested({"columns": ["a", "b"]})).interest
    assert columns.covers(("b", "a")) and not columns.covers(("a", "z")) and not columns.covers(("a", "b", "z"))


def test_an_interest_stays_where_bounds_are_looked_for_and_stands_on_the_certificate() -> None:
    plan = interested({"target": "n"}, n={"kind": "integer", "bounds": "private"})
    table = pa.table({"a": [True, False] * 100, "b": [True] * 200, "c": [0] * 200, "n": list(range(200))})
    made = release(table, plan, source=SeededSource(1))
    assert json.loads(made.certificate.to_json())["interest"] == [{"target": "n", "columns": None}]
    assert ("kept best", "n given all others") in made.certificate.facts()
    given = counted(Dataset(declare_alone(plan), open_table(table)), 1)
    found = measure(given, Budget(Fraction(1)), SeededSource(1))
    assert [one.target for one in found.schema.interest] == ["n"]
    nothing = release(table, Plan.from_dict({**plan.model_dump(), "interest": []}), source=SeededSource(1)).certificate
    assert nothing.interest is None
    assert "kept best" not in dict(nothing.facts())
