"""A model that is kept: what its files hold, that they read back as they were, and what is refused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

import rankveil as rv
from rankveil.errors import ModelError, OutputError, PlanError
from rankveil.ledger import Ledger
from rankveil.noise import SeededSource
from tests.support import PAPERS, category, files_in, integer, plan_text

ROWS = 4000
COLUMNS = {
    "age": integer(99, more="null = true"),
    "pay": 'kind = "integer"\nlower = 0\nupper = 90000\nspecial = [99999]',
    "sex": category(["f", "m"]),
    "job": 'kind = "category"\ntaxonomy = "jobs.csv"',
    "band": 'kind = "ordinal"\ncategories = ["young", "grown"]\nnull = true\n'
    'derived = { from = ["age"], bands = [0, 30] }',
    "sector": 'kind = "category"\ncategories = ["land", "town"]\nderived = { from = ["job"], by = "sectors.csv" }',
    "note": 'kind = "drop"',
}
RULE = '\n[[rule]]\nwhen = "job = \'farmer\'"\nthen = "pay <= 40000"\n'
MEASURED = ("measurements.parquet", "measurements.json")


def people(rows: int = ROWS) -> pa.Table:
    rng = np.random.default_rng(1)
    age, job = rng.integers(0, 100, rows), rng.choice(["farmer", "smith", "baker"], rows, p=[0.5, 0.3, 0.2])
    pay = np.where(job == "farmer", rng.integers(0, 40_001, rows), rng.integers(20_000, 90_001, rows))
    missing = rng.random(rows) < 0.05
    return pa.table(
        {
            "age": pa.array(age, mask=missing),
            "pay": np.where(rng.random(rows) < 0.1, np.where(job == "farmer", 0, 99_999), pay),
            "sex": np.where(rng.random(rows) < 0.2 + 0.6 * (job == "smith"), "m", "f"),
            "job": job,
            "band": pa.array(np.where(age < 30, "young", "grown"), mask=missing),
            "sector": np.where(job == "farmer", "land", "town"),
            "note": [f"secret {number}" for number in range(rows)],
        }
    )


@pytest.fixture
def plan(tmp_path: Path) -> rv.Plan:
    (tmp_path / "jobs.csv").write_text("node,parent\nany,\nland,any\nfarmer,land\nsmith,any\nbaker,any\n")
    (tmp_path / "sectors.csv").write_text(
        "job,remark,sector\nfarmer,not for others,land\nsmith,hush,town\nbaker,hush,town\n"
    )
    text = plan_text(COLUMNS, method="synthetic", epsilon=4, expected_rows=1234, table='null_values = ["hidden"]')
    return rv.Plan.parse(text + RULE, folder=tmp_path)


@pytest.fixture
def made(plan: rv.Plan, tmp_path: Path) -> rv.Release:
    return rv.release(people(), plan, out=tmp_path / "out", keep_model=True, source=SeededSource(1))


def kept(made: rv.Release) -> rv.Model:
    assert made.model is not None
    return made.model


# What is written


def test_the_model_lies_beside_the_release_with_every_file_on_the_certificate(made: rv.Release) -> None:
    assert made.folder is not None and made.certificate.model is not None
    for part in made.certificate.model.parts:
        content = (made.folder / "model" / part.name).read_bytes()
        assert (part.sha256, part.bytes) == (hashlib.sha256(content).hexdigest(), len(content))
    assert {f"model/{part.name}" for part in made.certificate.model.parts} | {
        *PAPERS,
        "release.parquet",
    } == set(files_in(made.folder))


def test_a_release_is_the_same_whether_its_model_is_kept_or_not(
    made: rv.Release, plan: rv.Plan, tmp_path: Path
) -> None:
    rv.release(people(), plan, out=tmp_path / "other", source=SeededSource(1))
    assert files_in(tmp_path / "other") == [*PAPERS, "release.parquet"]
    assert (tmp_path / "other" / "release.parquet").read_bytes() == (tmp_path / "out" / "release.parquet").read_bytes()


def test_nothing_of_a_model_tells_how_the_table_was_read_or_what_was_left_out(made: rv.Release) -> None:
    for name, content in kept(made).files().items():
        for word in (b"secret", b"note", b"hidden", b"expected", b"hush", b"not for others"):
            assert word not in content, (name, word)


def test_measurements_say_what_was_asked_in_the_words_of_the_plan(made: rv.Release) -> None:
    model = kept(made)
    assert made.folder is not None
    lines = papq.read_table(made.folder / "model" / "measurements.parquet").to_pylist()
    said = json.loads((made.folder / "model" / "measurements.json").read_text())
    of_sex = [line for line in lines if line["columns"] == ["sex"]]
    assert [line["cell"] for line in of_sex] == [["f"], ["m"]]
    assert {line["kind"] for line in lines} == {"column level", "table"}
    assert {line["law"] for line in lines} == {"discrete Laplace"}
    assert [line["noisy"] for line in of_sex] == model.measurements.asked["sex"].levels[0].noisy.tolist()
    assert {line["cell"][0] for line in lines if line["columns"] == ["age"]} >= {"0", "99", "missing"}
    assert "99999 (special)" in {line["cell"][0] for line in lines if line["columns"] == ["pay"]}
    assert [each["cells"] for each in said["measurements"]] == np.bincount(
        [line["measurement"] for line in lines]
    ).tolist()
    assert sum(map(float, (price["epsilon"].split("/")[0] for price in said["prices"]))) > 0
    assert len(said["prices"]) == len(made.certificate.shares)


# Back again


def test_a_model_reads_back_as_it_was(made: rv.Release) -> None:
    before = kept(made)
    assert made.folder is not None
    after = rv.Model.load(made.folder)
    assert after.files() == before.files()
    one, other = before.measurements, after.measurements
    assert (one.rows, one.linkage, one.notes) == (other.rows, other.linkage, other.notes)
    for name, marginal in one.columns.items():
        again = other.columns[name]
        assert vars(again).keys() == vars(marginal).keys()
        for key, part in vars(marginal).items():
            assert np.array_equal(part, vars(again)[key]), (name, key)
    for first, second in zip(one.tables, other.tables, strict=True):
        assert np.array_equal(first.noisy, second.noisy) and first.deviation == second.deviation
        assert all(map(np.array_equal, first.groups, second.groups))
    assert before.sample(500, source=SeededSource(2)).equals(after.sample(500, source=SeededSource(2)))


def test_a_fit_to_measurements_that_were_read_back_is_the_same_fit(made: rv.Release, tmp_path: Path) -> None:
    from rankveil.fit.model import fit
    from rankveil.noise import Sampler

    read = rv.Model.load(tmp_path / "out").measurements
    one, other = (fit(each, Sampler(SeededSource(3))) for each in (kept(made).measurements, read))
    assert np.array_equal(one.weights, other.weights) and all(map(np.array_equal, one.cells, other.cells))


def test_rows_that_are_drawn_again_obey_rules_and_hold_derived_columns(made: rv.Release) -> None:
    rows = kept(made).sample(3000, source=SeededSource(2)).to_pandas()
    assert (rows.pay[rows.job == "farmer"] <= 40_000).all()
    assert ((rows.job == "farmer") == (rows.sector == "land")).all()
    known = rows[rows.age.notna()]
    assert ((known.age < 30) == (known.band == "young")).all()
    assert rows.band[rows.age.isna()].isna().all()
    assert len(rows) == 3000


def test_fitting_gives_the_model_that_a_release_would_keep_and_is_entered_in_the_ledger(
    made: rv.Release, plan: rv.Plan, tmp_path: Path
) -> None:
    assert rv.fit(people(), plan, source=SeededSource(1)).files() == kept(made).files()
    model = rv.fit(people(), plan, ledger=tmp_path / "ledger.sqlite", name="people")
    assert model.for_release
    entries = Ledger(tmp_path / "ledger.sqlite").entries()
    assert [entry.epsilon for entry in entries if entry.kind == "spend"] == ["4"]
    assert "a model in memory" in entries[-1].note
    model.save(tmp_path / "saved")
    assert rv.Model.load(tmp_path / "saved").sample(7).num_rows == 7


def test_bounds_that_were_found_and_persons_survive(tmp_path: Path) -> None:
    columns = {"pay": 'kind = "integer"\nbounds = "private"', "sex": category(["f", "m"]), "who": 'kind = "drop"'}
    text = plan_text(columns, method="synthetic", epsilon=4) + '\n[privacy]\nperson = "who"\nrows_per_person = 2\n'
    rng = np.random.default_rng(1)
    table = pa.table(
        {"pay": rng.integers(0, 900, 2000), "sex": rng.choice(["f", "m"], 2000), "who": [f"p{i}" for i in range(2000)]}
    )
    model = rv.fit(table, rv.Plan.parse(text), source=SeededSource(1))
    assert not any(b"who" in content for content in model.files().values())
    model.save(tmp_path / "saved")
    again = rv.Model.load(tmp_path / "saved")
    assert again.schema.columns[0].domain == model.schema.columns[0].domain
    assert (again.schema.unit.rows, again.schema.unit.who) == (2, model.schema.unit.who)


def test_public_columns_go_with_the_model(tmp_path: Path) -> None:
    columns = {"age": integer(9), "town": category(["x", "y"], more='role = "public"')}
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(0, 10, 3000), "town": rng.choice(["x", "y"], 3000)})
    model = rv.fit(table, rv.Plan.parse(plan_text(columns, method="synthetic", epsilon=4)), source=SeededSource(1))
    model.save(tmp_path / "saved")
    again = rv.Model.load(tmp_path / "saved")
    assert again.files() == model.files()
    counts = again.table(["town"])
    assert counts.source == "public"
    assert counts.counts.tolist() == [table["town"].to_pylist().count(town) for town in ("x", "y")]
    assert again.sample(100, where="town = 'x'")["town"].unique().to_pylist() == ["x"]


# What is refused


@pytest.mark.parametrize("name", ["rows.parquet", "measurements.parquet", "marginals.json", "plan.toml"])
def test_a_changed_file_is_noticed(name: str, made: rv.Release, tmp_path: Path) -> None:
    path = tmp_path / "out" / "model" / name
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(ModelError, match=f"{name} has changed"):
        rv.Model.load(tmp_path / "out")


def changed(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    content = json.loads((folder / "model.json").read_text())
    change(content)
    (folder / "model.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda content: content.update(model_format=2, rankveil_version="9.1"), "format 2, written by rankveil 9.1"),
        (lambda content: content["files"].pop(), "not those of a model"),
        (lambda content: content.pop("files"), "cannot be read"),
        (lambda content: content["files"][0].update(name="../../release.parquet"), "no proper name"),
        (lambda content: content["files"][0].update(name="nothing.csv"), "is missing"),
        (lambda content: content.update(bounds=7), "not those of a model"),
        (lambda content: content.update(protects={"neighbours": "replace"}), "not those of a model"),
    ],
)
def test_a_model_of_another_version_or_a_damaged_list_is_refused(
    change: Callable[[dict[str, Any]], None], said: str, made: rv.Release, tmp_path: Path
) -> None:
    changed(tmp_path / "out" / "model", change)
    with pytest.raises(ModelError, match=said) as refused:
        rv.Model.load(tmp_path / "out")
    assert refused.value.exit_code == 3


@pytest.mark.parametrize("column", ["weight", "cell of sex"])
def test_numbers_that_no_model_has_are_refused_though_their_fingerprint_fits(
    column: str, made: rv.Release, tmp_path: Path
) -> None:
    folder = tmp_path / "out" / "model"
    rows = papq.read_table(folder / "rows.parquet")
    wrong = pa.array([-1.0 if column == "weight" else 9] * rows.num_rows, rows.schema.field(column).type)
    papq.write_table(rows.set_column(rows.column_names.index(column), column, wrong), folder / "rows.parquet")
    list_as_it_is(folder, "rows.parquet")
    with pytest.raises(ModelError, match="not those of a model"):
        rv.Model.load(folder)


def list_as_it_is(folder: Path, name: str) -> None:
    digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()

    def fits(content: dict[str, Any]) -> None:
        next(each for each in content["files"] if each["name"] == name)["sha256"] = digest

    changed(folder, fits)


@pytest.mark.parametrize("wrong", [10**9, -1])
def test_a_cell_that_there_is_not_is_refused_and_takes_no_memory(wrong: int, made: rv.Release, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "model"
    marginals = json.loads((folder / "marginals.json").read_text())
    marginals["sex"]["label_cells"][0] = wrong
    (folder / "marginals.json").write_text(json.dumps(marginals))
    list_as_it_is(folder, "marginals.json")
    with pytest.raises(ModelError, match="not those of a model"):
        rv.Model.load(folder)


def test_a_deviation_that_no_count_of_a_column_has_is_refused_at_once(made: rv.Release, tmp_path: Path) -> None:
    folder = tmp_path / "out" / "model"
    said = json.loads((folder / "measurements.json").read_text())
    level = next(each for each in said["measurements"] if each.get("with_apart"))
    level["low"] = [place + 1 for place in level["low"]]  # no level covers the column any more
    (folder / "measurements.json").write_text(json.dumps(said))
    list_as_it_is(folder, "measurements.json")
    with pytest.raises(ModelError, match="not those of a model"):
        rv.Model.load(folder)


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="no folder of a model"):
        rv.Model.load(tmp_path)
    (tmp_path / "model.json").write_text("[1, 2")
    with pytest.raises(ModelError, match="cannot be read"):
        rv.Model.load(tmp_path)


def test_other_methods_refuse_to_keep_a_model_before_anything_is_spent(plan: rv.Plan, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.sqlite"
    simple = rv.Plan.parse(plan_text({"a": integer(9)}, method="laplace"))
    table = pa.table({"a": [1, 2, 3]})
    for refuse in (lambda: rv.release(table, simple, keep_model=True, ledger=ledger), lambda: rv.fit(table, simple)):
        with pytest.raises(PlanError, match="laplace has no model"):
            refuse()
    assert not ledger.exists()


def test_a_folder_called_model_that_is_not_ours_is_never_replaced(plan: rv.Plan, tmp_path: Path) -> None:
    mine = tmp_path / "out" / "model" / "thesis.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("precious")
    with pytest.raises(OutputError, match="no model of rankveil's"):
        rv.release(people(50), plan, out=tmp_path / "out", overwrite=True, source=SeededSource(1))
    assert mine.read_text() == "precious"


def test_a_release_that_is_replaced_takes_its_model_with_it(made: rv.Release, plan: rv.Plan, tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="already holds"):
        rv.release(people(), plan, out=tmp_path / "out", source=SeededSource(2))
    rv.release(people(), plan, out=tmp_path / "out", overwrite=True, source=SeededSource(2))
    assert files_in(tmp_path / "out") == [*PAPERS, "release.parquet"]
    rv.release(people(), plan, out=tmp_path / "out", overwrite=True, keep_model=True, source=SeededSource(2))
    assert rv.Model.load(tmp_path / "out").rows == ROWS


def test_saving_replaces_nothing(made: rv.Release, tmp_path: Path) -> None:
    kept(made).save(tmp_path / "there")
    with pytest.raises(OutputError, match="already there"):
        kept(made).save(tmp_path / "there")


def test_places_inside_cells_are_rounded_far_finer_than_draws_jitter_them(made: rv.Release) -> None:
    from rankveil.model.stored import rounded

    fitted = kept(made).fitted
    moved = replace(fitted, latent=fitted.latent + 0.011)
    assert np.abs(rounded(moved).latent - fitted.latent).max() <= 1 / 32
