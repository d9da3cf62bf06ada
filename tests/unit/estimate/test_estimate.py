"""Estimates with intervals: what is asked, what comes out, and what is refused."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

import rankveil as rv
from rankveil import rules
from rankveil.errors import EstimateError
from rankveil.estimate import Frame
from rankveil.estimate.asked import asked
from rankveil.estimate.intervals import OBSERVED, student_quantile, values
from rankveil.estimate.statistics import statistic
from rankveil.estimate.values import Values
from rankveil.noise import SeededSource
from rankveil.verify import verify
from tests.support import PAPERS, category, integer, plan_text

COLUMNS = {
    "age": integer(90, lower=18),
    "sex": category(["f", "m"]),
    "pay": 'kind = "integer"\nlower = 0\nupper = 9000\nnull = true\nspecial = [9000]',
    "born": 'kind = "date"\nlower = 1920-01-01\nupper = 2010-12-31',
}
ROWS = 3000


def people() -> pa.Table:
    rng = np.random.default_rng(3)
    age, male = rng.integers(18, 91, ROWS), rng.integers(0, 2, ROWS)
    pay = np.clip(20 * age + 500 * male + rng.normal(0, 300, ROWS), 0, 8999).astype(int)
    return pa.table(
        {
            "age": age,
            "sex": np.array(["f", "m"])[male],
            "pay": [None if at % 20 == 0 else 9000 if at % 20 == 1 else int(x) for at, x in enumerate(pay)],
            "born": pa.array((20000 - 365 * age).astype("datetime64[D]")),
        }
    )


def plan(epsilon: str = "3", method: str = "synthetic") -> rv.Plan:
    return rv.Plan.parse(plan_text(COLUMNS, method=method, epsilon=epsilon))


@pytest.fixture(scope="module")
def made() -> rv.Release:
    return rv.release(people(), plan(), source=SeededSource(1), replicates=30)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("release")
    pacsv.write_csv(people(), place / "people.csv")
    rv.release(place / "people.csv", plan(), out=place / "out", source=SeededSource(1), replicates=30)
    return place / "out"


def test_agreement_of_all_released_rows_is_no_certainty(made: rv.Release) -> None:
    [share] = rv.estimate(made, "share(age >= 50) where age >= 60").each
    assert (share.estimate, share.standard_error, share.supported) == (1.0, 0.0, False)
    assert share.reasons == ("alike",)
    [other] = rv.estimate(made, "share(sex = 'f')").each
    assert other.standard_error > 0 and other.supported


def single(made: rv.Release, ask: str, **more: object) -> float:
    [one] = rv.estimate(made, ask, **more).each  # type: ignore[arg-type]
    return one.estimate


def test_estimates_are_those_of_the_released_rows(made: rv.Release) -> None:
    rows = made.table
    age, sex = rows["age"].to_numpy(), np.array(rows["sex"].to_pylist())
    pay = np.array([np.nan if value is None else value for value in rows["pay"].to_pylist()])
    amount = np.where(pay == 9000, np.nan, pay)  # a special value is no amount
    known = ~np.isnan(amount)
    assert single(made, "mean(age)") == pytest.approx(age.mean())
    assert single(made, "mean(pay) where sex = 'm'") == pytest.approx(np.nanmean(amount[sex == "m"]))
    assert single(made, "total(age) where pay is missing") == age[np.isnan(pay)].sum()
    assert single(made, "count() where pay = 9000") == (pay == 9000).sum()
    assert single(made, "share(age >= 65)") == pytest.approx((age >= 65).mean())
    assert single(made, "median(age)") == np.sort(age)[(ROWS + 1) // 2 - 1]
    assert single(made, "mean(age) where sex = 'm' minus mean(age) where sex = 'f'") == pytest.approx(
        age[sex == "m"].mean() - age[sex == "f"].mean()
    )
    born = rows["born"].to_numpy().astype("datetime64[D]")
    assert single(made, "count() where born < '1980-01-01'") == (born < np.datetime64("1980-01-01")).sum()
    assert single(made, "mean(year(born))") == pytest.approx((born.astype("datetime64[Y]").astype(int) + 1970).mean())
    table = {one.name: one.estimate for one in rv.estimate(made, "table(sex)").each}
    assert table == {"sex = f": (sex == "f").sum(), "sex = m": (sex == "m").sum()}
    x = np.stack([np.ones(ROWS), age, sex == "m"], axis=1)[known]
    fitted = [one.estimate for one in rv.estimate(made, "lm(pay ~ age + sex)").each]
    assert fitted == pytest.approx(np.linalg.lstsq(x, amount[known], rcond=None)[0], rel=1e-5)


def test_logistic_regression_solves_its_score_equations(made: rv.Release) -> None:
    rows = made.table
    age, male = rows["age"].to_numpy(), np.array(rows["sex"].to_pylist()) == "m"
    constant, slope = (one.estimate for one in rv.estimate(made, "logit(sex = 'm' ~ age)").each)
    left = male - 1 / (1 + np.exp(-(constant + slope * age)))
    assert abs(left.mean()) < 1e-6
    assert abs((left * age).mean()) < 1e-4


def test_standard_errors_are_those_of_the_replicates(made: rv.Release) -> None:
    age = made.table["age"].to_numpy()
    assert made.weights is not None
    means = [np.average(age, weights=made.weights[f"rv_w{number}"].to_numpy()) for number in range(1, 31)]
    expected = np.sqrt(4 / 30 * np.sum((np.array(means) - age.mean()) ** 2))
    [one] = rv.estimate(made, "mean(age)").each
    assert one.standard_error == pytest.approx(expected, rel=1e-6)
    far = 2.04227  # Student's quantile, 30 degrees of freedom
    assert (one.low, one.high) == pytest.approx((age.mean() - far * expected, age.mean() + far * expected), rel=1e-4)


def test_an_interval_for_people_is_wider_than_one_for_the_table_of_a_measured_column(made: rv.Release) -> None:
    errors = [
        rv.estimate(made, "mean(age)", target=target).each[0].standard_error for target in ("table", "population")
    ]
    assert errors[0] < errors[1]


def test_what_no_table_has_measured_is_not_supported() -> None:
    low = rv.release(people(), plan("0.02"), source=SeededSource(1), replicates=10)  # too little for any table
    supported = rv.estimate(low, "share(sex = 'f')")
    assert supported.warning is None
    linked = rv.estimate(low, "mean(pay) where sex = 'm' minus mean(pay) where sex = 'f'")
    assert "not supported by what was measured" in str(linked)
    assert linked.each[0].reasons == ("not measured", "hidden")
    assert "No measured table links these columns" in str(linked) and "Ask for a median" in str(linked)
    assert "regressor" not in str(linked) and "agree" not in str(linked)
    [one] = linked.each  # wider than its standard error says: by as much as the warning tells
    assert one.widened > 1.05 and f"{one.widened:.1f} times as wide" in str(linked)
    [measured] = supported.each
    assert measured.widened == 1.0
    lengths = [(each.high - each.low) / each.standard_error for each in (one, measured)]
    assert lengths[0] == pytest.approx(lengths[1] * one.widened)


def test_a_coefficient_without_enough_of_its_own_is_not_supported_however_well_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = rv.release(people(), plan("4"), source=SeededSource(1), replicates=10)
    ask = "lm(age ~ born)"  # the one follows from the other, so their table is always measured
    assert all(one.supported for one in rv.estimate(made, ask).each)
    monkeypatch.setattr(rules, "LEAST_OWN", 2.0)  # more than any column has
    assert {one.reasons for one in rv.estimate(made, ask).each} == {("collinear",)}


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        ("mean(income)", "no column 'income'"),
        ("mean(age) where age > 400", "No released row"),
        ("average(age)", "begins with none of"),
        ("mean(age", "begins with none of"),
        ("mean()", "missing"),
        ("mean(sex)", "numbers, not labels"),
        ("share(age)", "needs a condition"),
        ("mean(age) by pay + 1", "names of columns"),
        ("quantile(age, 2)", "between 0 and 1"),
        ("lm(pay, age)", "one ~"),
        ("lm(pay ~ age + age)", "no single answer"),
        ("logit(age ~ pay)", "needs a condition"),
        ("mean(age) by sex minus mean(age)", "two single numbers"),
        ("mean(age) where where", "more than once"),
        ("mean(age) where sex > 'f'", "without an order"),
        ("mean(age) where born < 'soon'", "is no date"),
        ("mean(age) where age = 'old'", "a number is compared with a text"),
        ("mean(age) where sex = 1", "a label is compared with a number"),
        ("mean(age // (pay - 100))", "may be zero"),
        ("mean(age / 2)", "Use // for division"),
        ("mean(age) where " + "(" * 3000, "not understood"),
        ("count(" + "x" * 5000 + ")", "characters"),
    ],
)
def test_a_question_that_cannot_be_answered_is_refused_in_words(made: rv.Release, ask: str, words: str) -> None:
    with pytest.raises(EstimateError, match=words.replace("(", r"\(")):
        rv.estimate(made, ask)


def test_bad_targets_levels_and_numbers_of_replicates_are_refused(made: rv.Release) -> None:
    with pytest.raises(EstimateError, match="no target"):
        rv.estimate(made, "count()", target="world")  # type: ignore[arg-type]
    with pytest.raises(EstimateError, match="between 0 and 1"):
        rv.estimate(made, "count()", level=95)
    for replicates in (0, 1, 10_000):
        with pytest.raises(rv.RankveilError, match="replicates are asked for"):
            rv.release(people(), plan(), source=SeededSource(1), replicates=replicates)
    with pytest.raises(rv.RankveilError, match="has no replicate weights"):
        rv.release(people().select(["age"]), rv.Plan.parse(plan_text({"age": COLUMNS["age"]})), replicates=80)


def test_a_release_without_weights_says_so(tmp_path: Path) -> None:
    bare = rv.release(people(), plan(), source=SeededSource(1))
    with pytest.raises(EstimateError, match="no replicate weights"):
        rv.estimate(bare, "count()")
    with pytest.raises(EstimateError, match="not the folder of a release"):
        rv.estimate(tmp_path, "count()")


def test_a_folder_gives_what_memory_gives(made: rv.Release, folder: Path) -> None:
    asks = ("mean(pay) by sex", "mean(year(born))", "table(sex)")
    for ask in asks:
        here, there = rv.estimate(made, ask).each, rv.estimate(folder, ask).each
        assert [one.estimate for one in here] == pytest.approx([one.estimate for one in there])
        assert [one.standard_error for one in here] == pytest.approx([one.standard_error for one in there])


def test_a_changed_file_is_noticed(folder: Path, tmp_path: Path) -> None:
    for name in ("weights.csv", "release.csv"):
        changed = shutil.copytree(folder, tmp_path / name)
        assert [
            check
            for check in verify(changed / "certificate.json", changed / "release.csv").checks
            if not check.holds and check.check != "made for release"
        ] == []
        text = (changed / name).read_text()
        (changed / name).write_text(text.replace("1", "2", 1))
        with pytest.raises(EstimateError, match=f"{name} is not the file"):
            rv.estimate(changed, "count()")
        failed = {
            check.check
            for check in verify(changed / "certificate.json", changed / "release.csv").checks
            if not check.holds
        }
        assert ("weights are the certified ones" if name == "weights.csv" else "file is the certified one") in failed
    (changed / "weights.csv").unlink()
    (changed / "release.csv").write_bytes((folder / "release.csv").read_bytes())
    with pytest.raises(EstimateError, match="cannot be read"):
        rv.estimate(changed, "count()")


def test_a_release_without_weights_takes_the_place_of_one_with_them(folder: Path, tmp_path: Path) -> None:
    place = shutil.copytree(folder, tmp_path / "out")
    pacsv.write_csv(people(), tmp_path / "people.csv")
    rv.release(tmp_path / "people.csv", plan(), out=place, source=SeededSource(1), overwrite=True)
    assert sorted(path.name for path in place.iterdir()) == [*PAPERS, "release.csv"]


def test_quotes_and_parentheses_hide_the_words_of_a_question() -> None:
    [one] = asked("mean(`paid by`) by `where` where `minus` = 'a where b minus c'")
    assert one.by == ("where",)
    assert one.columns == {"paid by", "where", "minus"}


def test_a_label_that_no_row_has_counts_none_and_special_values_are_no_amounts(made: rv.Release) -> None:
    assert single(made, "count() where sex = 'x'") == 0
    assert single(made, "count() where sex != 'x'") == ROWS
    assert single(made, "count() where sex in ['x', 'f']") == single(made, "count() where sex = 'f'")
    assert single(made, "mean(pay + 0)") == single(made, "mean(pay)")
    assert single(made, "count() where pay + 0 = 9000") == single(made, "count() where pay = 9000")  # as in rules


def test_quantiles_of_students_law_are_those_of_tables() -> None:
    for level, freedom, expected in ((0.95, 10, 2.2281), (0.95, 80, 1.9901), (0.9, 20, 1.7247), (0.99, 16, 2.9208)):
        assert student_quantile(level, freedom) == pytest.approx(expected, abs=2e-3)


def test_a_mean_that_hidden_records_at_a_far_bound_could_move_is_not_supported() -> None:
    near = rv.release(people(), plan(), source=SeededSource(1), replicates=10)
    columns = COLUMNS | {"pay": COLUMNS["pay"].replace("upper = 9000", "upper = 90000")}
    wide = rv.Plan.parse(plan_text(columns, method="synthetic", epsilon="3"))
    far = rv.release(people(), wide, source=SeededSource(1), replicates=10)
    [here], [there] = (rv.estimate(made, "mean(pay)").each for made in (near, far))
    assert there.hidden > 5 * here.hidden
    assert there.hidden > rules.MOST_HIDDEN * there.standard_error
    assert not there.supported
    [one] = rv.estimate(far, "median(pay)").each  # a median does not care how far they are
    assert one.hidden == 0
    coefficients = rv.estimate(far, "lm(age ~ pay)").each
    assert not coefficients[1].supported


def test_a_coefficient_of_a_column_that_nearly_follows_from_the_others_is_not_supported(made: rv.Release) -> None:
    """All rows say that one column is another and a little: how much that little counts lies inside cells."""
    frame = Frame.of(made)
    rng = np.random.default_rng(5)
    pay = frame.columns["pay"].amounts
    twin = Values.of_numbers(np.rint(pay + rng.normal(0, 0.2 * np.nanstd(pay), len(pay))), 1)
    other = Values.of_numbers(np.rint(pay + rng.normal(0, 2 * np.nanstd(pay), len(pay))), 1)
    frame = replace(frame, columns={**frame.columns, "twin": twin, "other": other})
    found = statistic(asked("lm(age ~ pay + twin + sex)")[0], frame.columns)
    assert found.own is not None
    assert found.names == ("constant", "pay", "twin", "sex = m")
    assert (found.own < rules.LEAST_OWN).tolist() == [False, True, True, False]
    assert [one.supported for one in rv.estimate(frame, "lm(age ~ pay + twin)").each[1:]] == [False, False]
    apart = statistic(asked("lm(age ~ pay + other)")[0], frame.columns)
    assert apart.own is not None
    assert apart.own.min() > rules.LEAST_OWN


def test_values_are_estimates_without_errors(made: rv.Release) -> None:
    frame = Frame.of(made)
    assert values(frame, "mean(age)") == {"all": single(made, "mean(age)")}


_R = """
library(survey)
rows <- read.csv("release.csv"); weights <- read.csv("weights.csv")
replicates <- as.matrix(weights[, paste0("rv_w", 1:30)])
design <- svrepdesign(data = rows, weights = weights$rv_w, repweights = replicates, type = "other",
                      combined.weights = TRUE, scale = 4 / 30, rscales = 1, mse = TRUE)
cat(SE(svymean(~age, design)), SE(svyglm(age ~ sex, design))[2])
"""


def test_the_recipe_for_r_gives_our_standard_errors(folder: Path) -> None:
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    if subprocess.run(["Rscript", "-e", "library(survey)"], capture_output=True, check=False).returncode:
        pytest.skip("R's package survey is not installed (Debian: r-cran-survey)")
    done = subprocess.run(["Rscript", "-e", _R], cwd=folder, capture_output=True, text=True, check=True)
    ours = [rv.estimate(folder, "mean(age)").each[0], rv.estimate(folder, "lm(age ~ sex)").each[1]]
    assert [float(word) for word in done.stdout.split()] == pytest.approx(
        [one.standard_error for one in ours], rel=1e-4
    )


def test_the_certificate_names_the_weights(folder: Path) -> None:
    certificate = json.loads((folder / "certificate.json").read_text())
    assert certificate["weights"]["file"] == "weights.csv"
    assert certificate["weights"]["replicates"] == 30


def test_several_rows_of_a_person_are_no_sample_of_rows(made: rv.Release) -> None:
    frame = Frame.of(made)
    several = replace(frame, of_persons=True)
    assert rv.estimate(several, "mean(age)").each == rv.estimate(frame, "mean(age)").each
    with pytest.raises(EstimateError, match="several rows"):
        rv.estimate(several, "mean(age)", target="population")


def test_noise_on_the_number_of_rows_is_in_the_error_of_totals() -> None:
    unit = (
        plan_text({"age": COLUMNS["age"]}, method="synthetic", epsilon="0.2") + '[privacy]\nneighbours = "add-remove"\n'
    )
    made = rv.release(people().select(["age"]), rv.Plan.parse(unit), source=SeededSource(1), replicates=60)
    [one] = rv.estimate(made, "count()").each
    deviation = np.sqrt(2) / (0.2 * float(rules.FOR_ROWS))  # Laplace noise for a fiftieth of the budget
    assert 0.7 * deviation < one.standard_error < 1.4 * deviation


def test_a_public_number_of_rows_is_certain_even_where_noise_falls_on_labels_of_no_row() -> None:
    rng = np.random.default_rng(4)
    town = np.minimum(rng.exponential(20, 400).astype(int), 199)
    few = pa.table({"town": [f"t{place}" for place in town], "age": rng.integers(18, 91, 400), "land": ["x"] * 400})
    columns = {"town": category([f"t{place}" for place in range(200)]), "age": COLUMNS["age"], "land": category(["x"])}
    made = rv.release(few, rv.Plan.parse(plan_text(columns, method="synthetic")), source=SeededSource(1), replicates=10)
    for ask in ("count()", "table(land)"):
        for target in ("table", "population"):
            [one] = rv.estimate(made, ask, target=target).each  # type: ignore[arg-type]
            assert (one.estimate, one.standard_error, one.supported) == (400, 0, True)
    assert rv.estimate(made, "count(age < 50)").each[0].standard_error > 1


def test_estimates_of_dates_are_dates(made: rv.Release) -> None:
    days = np.array(made.table["born"].to_numpy(), "datetime64[D]").astype(int)
    for ask in ("mean(born) by sex", "median(born)", "quantile(born, 0.9)"):
        found = rv.estimate(made, ask)
        said = found.as_dict()
        assert said["unit"] == "days since 1970-01-01" and isinstance(said["estimates"][0]["estimate"], float)
        for one, (_, value, error, interval, _) in zip(found.each, found.lines(), strict=True):
            assert value == str(np.datetime64(round(one.estimate), "D"))
            assert error.endswith(" days")
            low, high = interval.split(" to ")
            assert np.datetime64(low) <= np.datetime64(value) <= np.datetime64(high)
            assert str(np.datetime64(round(one.low), "D")) in found._repr_html_()
    assert single(made, "mean(born)") == pytest.approx(days.mean())
    assert rv.estimate(made, "mean(born) where sex = 'm' minus mean(born) where sex = 'f'").as_dict()["unit"] is None
    assert rv.estimate(made, "mean(year(born))").as_dict()["unit"] is None
    with pytest.raises(EstimateError, match="not dates"):
        rv.estimate(made, "total(born)")


def test_noise_may_hide_dates_far_away_as_it_may_hide_numbers() -> None:
    columns = {"born": COLUMNS["born"].replace("1920", "1000")}
    far = rv.release(
        people().select(["born"]),
        rv.Plan.parse(plan_text(columns, method="synthetic", epsilon="0.2")),
        source=SeededSource(1),
        replicates=10,
    )
    [mean], [median] = (rv.estimate(far, f"{what}(born)").each for what in ("mean", "median"))
    assert mean.hidden > 365 and median.hidden == 0
    years = rv.estimate(far, "mean(year(born))").each[0].hidden
    assert years == pytest.approx(mean.hidden / 365.25, rel=0.01)


def test_numbers_are_shown_as_people_write_them(made: rv.Release) -> None:
    [total] = rv.estimate(made, "total(pay)", level=0.999).lines()
    assert "e+" not in " ".join(total) and "," in total[2]
    assert "99.9% intervals" in rv.estimate(made, "total(pay)", level=0.999).about


def test_means_of_rows_that_all_agree_are_no_certainty_either(made: rv.Release) -> None:
    [one] = rv.estimate(made, "mean(age) where age = 47").each
    assert (one.estimate, one.standard_error, one.widened) == (47, 0, 1)
    assert "alike" in one.reasons


def test_public_columns_have_hardly_an_error_and_weights_change_no_row() -> None:
    columns = {**COLUMNS, "sex": category(["f", "m"], more='role = "public"')}
    public = rv.Plan.parse(plan_text(columns, method="synthetic", epsilon="3"))
    made = rv.release(people(), public, source=SeededSource(1), replicates=20)
    assert all(one.standard_error < one.naive_error / 3 for one in rv.estimate(made, "count() by sex").each)
    assert made.table.equals(rv.release(people(), public, source=SeededSource(1)).table)
    assert made.weights is not None
    assert all(abs(float(np.mean(column.to_numpy())) - 1) < 1e-3 for column in made.weights.columns)


def test_what_is_said_of_coverage_is_what_was_measured() -> None:
    """By table and target over all ε, of estimates without the warning, as docs/estimates.md lists them."""
    found: dict[tuple[str, str, str], list[tuple[float, int]]] = {}
    kinds = {"one-way": "counts", "two-way": "counts", "three-way": "counts", "amounts": "numbers"}
    results = Path(__file__).parents[3] / "benchmarks" / "results" / "coverage.json"
    for cell in json.loads(results.read_text(encoding="utf-8"))["cells"]:
        if cell["supported"] and cell["kind"] != "all" and cell["estimates"]:
            place = (cell["table"], cell["target"], cell["kind"])
            found.setdefault(place, []).append((cell["coverage 95"], cell["estimates"]))
    covered: dict[str, list[int]] = {}
    for (_, _, kind), cells in found.items():
        mean = sum(share * count for share, count in cells) / sum(count for _, count in cells)
        covered.setdefault(kinds.get(kind, "regressions"), []).append(round(100 * mean))
    assert {kind: (min(each), max(each)) for kind, each in covered.items()} == OBSERVED
