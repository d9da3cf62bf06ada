"""Attacks find what is planted and nothing where nothing is; who is attacked, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.declare import Plan, Records, encode
from rankveil.declare.domain import MISSING
from rankveil.engines import open_table
from rankveil.errors import PlanError, TableError
from rankveil.noise import Sampler, SeededSource
from rankveil.risk.attacks import _held, _membership
from rankveil.risk.criteria import inference, linkability, right, singling_out
from rankveil.risk.distances import Space, far
from rankveil.risk.limits import Limits
from rankveil.risk.parts import Sides, one_of_each, picked, split
from rankveil.risk.rates import Rate, beyond, risk_between
from rankveil.risk.rows import of_rows
from rankveil.risk.shadows import _Pair
from tests.support import category, integer, plan_text

COLUMNS = {
    "age": integer(99),
    "sex": category(["f", "m"]),
    "pay": integer(100_000, more="null = true"),
    "job": category([f"j{number}" for number in range(12)]),
    "zip": integer(5000),
}


def people(rows: int, seed: int) -> pa.Table:
    """People whose columns go together a little."""
    draw = Sampler(SeededSource(seed))
    age, job = draw.below(90, rows), draw.below(12, rows)
    pay = (age * 500 + job * 3000 + draw.below(20_000, rows)).astype(object)
    pay[draw.below(20, rows) == 0] = None
    sex = draw.below(2, rows)
    return pa.table(
        {
            "age": age,
            "sex": ["fm"[each] for each in sex],
            "pay": pa.array(pay.tolist(), pa.int64()),
            "job": [f"j{each}" for each in job],
            "zip": draw.below(5001, rows),
        }
    )


def plan(method: str = "synthetic", **more: object) -> Plan:
    return Plan.parse(plan_text(COLUMNS, method=method, **more))  # type: ignore[arg-type]


def records(rows: int, seed: int) -> Records:
    return _held(people(rows, seed), plan()).records()


def sampler(seed: int = 7) -> Sampler:
    return Sampler(SeededSource(seed))


# Rates


def test_a_risk_is_what_members_suffer_beyond_others_and_its_interval_holds_it() -> None:
    assert beyond(0.6, 0.2) == pytest.approx(0.5)
    low, high = risk_between(Rate(600, 1000), Rate(200, 1000))
    assert -1 <= low < 0.5 < high <= 1
    assert risk_between(Rate(0, 10), Rate(10, 10))[0] == -1
    assert Rate(0, 0).between() == (0, 1)


def test_distances_are_those_of_gower() -> None:
    both = records(50, 1)
    space = Space(both.schema, both)
    places = space.places(both)
    age, pay = both.codes["age"], both.codes["pay"]
    one, other = 3, 8
    spans = {name: both.codes[name][both.codes[name] != MISSING] for name in ("age", "pay", "zip")}
    away = abs(age[one] - age[other]) / (spans["age"].max() - spans["age"].min())
    missing = (pay[one] == MISSING) != (pay[other] == MISSING)
    away += 1 if missing else abs(pay[one] - pay[other]) / (spans["pay"].max() - spans["pay"].min())
    zips = both.codes["zip"]
    away += abs(zips[one] - zips[other]) / (zips.max() - zips.min())
    away += sum(both.codes[name][one] != both.codes[name][other] for name in ("sex", "job"))
    found = far(places[:, [one]], places[:, [other]], range(space.count))[0, 0]
    assert found == pytest.approx(float(away), abs=1e-5)


def test_guesses_are_right_by_the_rule_of_their_kind() -> None:
    schema = records(5, 1).schema
    numbers, labels = schema.columns[0], schema.columns[1]
    codes = [np.array(each) for each in ([91, 89, MISSING, 3], [95, 95, MISSING, MISSING])]
    assert right(numbers, *codes).tolist() == [True, False, True, False]
    assert right(labels, np.array([0, 1]), np.array([0, 0])).tolist() == [True, False]


# What is planted is found


def sides(released: Records, members: Records, others: Records) -> Sides:
    return Sides(released, members, others, on_file=True)


def test_a_copy_of_the_table_links_and_infers_its_members_and_hardly_anybody_else() -> None:
    members, others = records(400, 1), records(400, 2)
    on = sides(picked(members, sampler().permutation(400)), members, others)
    space = Space(members.schema, members, others)
    linked = linkability(on, space, None, sampler())
    assert linked.risk > 0.9 and linked.between[0] > 0.8 and not linked.weak
    secrets = {each.column: each for each in inference(on, space, None, sampler())}
    assert secrets["job"].risk > 0.9 and secrets["zip"].risk > 0.9
    singled = {each.attack: each for each in singling_out(on, 400, None, sampler())}
    assert singled["a value of one column"].between[0] > 0.3


def test_other_people_of_the_same_kind_give_nobody_away() -> None:
    """The broken twin's original: with 95 % intervals, none of the seven may lie above 0 for these seeds."""
    members, others, released = records(400, 1), records(400, 2), records(800, 3)
    on = sides(released, members, others)
    space = Space(members.schema, members, others, released)
    limits = Limits(1.0)
    found = [linkability(on, space, limits, sampler()), *inference(on, space, limits, sampler())]
    found += singling_out(on, 400, limits, sampler())
    assert len(found) == 8
    for each in found:
        assert each.between[0] <= 0 <= each.limit  # type: ignore[operator]
        assert each.risk < 0.2


def test_equal_rows_single_people_out_in_the_papers_grouping_and_not_under_noise() -> None:
    table = people(600, 4)
    grouped = plan("published:ranking", k=5)
    original = _held(table, grouped).records()
    made = rv.release(table, grouped, accept_no_guarantee=True, source=SeededSource(1)).table
    released = _held(made, grouped).records()
    first = next(of_rows(original, released, 300, None, sampler()))
    assert (first.attack, first.others.hits) == ("equal rows", 0)
    assert first.between[0] > 0.5
    noisy = rv.release(table, plan("laplace"), source=SeededSource(1)).table
    limits = Limits(1.0)
    for each in of_rows(original, _held(noisy, plan("laplace")).records(), 300, limits, sampler()):
        assert each.between[0] <= each.limit  # type: ignore[operator]


def test_own_rows_of_a_table_that_is_released_as_it_is_tell_everything() -> None:
    original = records(200, 5)
    found = {each.column: each for each in of_rows(original, original, 100, None, sampler()) if each.column}
    assert found["zip"].risk > 0.95 and found["zip"].members.value == 1


# Who is attacked


def test_units_are_split_whole_and_one_row_of_each_is_attacked() -> None:
    units = np.repeat(np.arange(100), 3)
    inside, outside = split(units, 0.2, sampler())
    assert len(outside) == 60 and not set(units[inside]) & set(units[outside])
    rows = one_of_each(units, sampler())
    assert len(rows) == 100 and len(set(units[rows].tolist())) == 100


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_persons_with_several_rows_are_attacked_as_units(neighbours: str) -> None:
    table = people(600, 6)
    table = table.append_column("who", pa.array([row // 2 for row in range(600)]))
    text = plan_text({**COLUMNS, "who": 'kind = "drop"'}, method="synthetic", epsilon="2")
    text += f'[privacy]\nneighbours = "{neighbours}"\nperson = "who"\nrows_per_person = 2\n'
    protected = Plan.parse(text)
    made = rv.release(table, protected, source=SeededSource(1)).table
    found = rv.risk(table, made, protected, targets=50, shadows=40, shadow_rows=40, control_share=0.4)
    assert found.members == 50
    assert found.membership is not None and found.membership.neighbours == neighbours
    assert not found.membership.contradicts
    expected = 2 if neighbours == "replace" else 4
    assert found.nearest.limit == pytest.approx(Limits(expected).share())


def test_the_same_seed_gives_the_same_result_and_says_on_what() -> None:
    table = people(300, 8)
    made = rv.release(table, plan(), source=SeededSource(1)).table
    one, other = (rv.risk(table, made, plan(), targets=50, shadows=0, control_share=0.3) for _ in range(2))
    assert one.to_json() == other.to_json()
    assert "not the released file" in one.tested and not one.nearest.on_file
    held = rv.risk(table, made, plan(), targets=50, shadows=0, held_out=people(300, 9))
    assert "released file itself" in held.tested and held.nearest.on_file
    assert "INTERNAL" in held._repr_html_() and held.membership is None


# Public columns, in which nobody is protected and neighbours agree


def with_public(method: str, epsilon: str = "0.1", rules: str = "") -> Plan:
    columns = {**COLUMNS, "zip": integer(5000, more='role = "public"')}
    return Plan.parse(plan_text(columns, method=method, epsilon=epsilon) + rules)


@pytest.mark.parametrize("method", ["synthetic", "laplace"])
def test_public_columns_neither_single_out_nor_contradict_a_method_that_keeps_its_claim(method: str) -> None:
    """Each of these people has a place of their own, which is released as it is: that breaks no promise."""
    draw = sampler().permutation(5001)
    table = people(200, 1).set_column(4, "zip", pa.array(draw[:200]))
    others = people(200, 2).set_column(4, "zip", pa.array(draw[200:400]))
    made = rv.release(table, with_public(method), source=SeededSource(1)).table
    found = rv.risk(table, made, with_public(method), held_out=others, targets=100, shadows=80, shadow_rows=30)
    assert found.membership is not None and not found.membership.contradicts
    assert found.membership.advantage_between[0] <= found.membership.advantage_limit  # type: ignore[operator]
    one_value = next(each for each in found.attacks if each.attack == "a value of one column")
    assert one_value.between[0] <= 0.1, "zip alone would find nearly everybody"
    assert abs(found.nearest.share - 0.5) < 0.3
    assert "Public columns" in found.tested
    of_others = [each for each in found.attacks if each.attack not in ("own row", "equal rows")]
    assert [each.limit for each in of_others] == [None] * len(of_others)
    assert found.nearest.limit is None
    assert {each.column for each in found.of("inference")} == set(COLUMNS) - {"zip"}


def test_who_is_there_instead_keeps_the_public_values_and_the_rules() -> None:
    rule = '\n[[rule]]\nwhen = "zip >= 2500"\nthen = "sex = \'f\'"\n'
    plan = with_public("synthetic", rules=rule)
    table = people(300, 3)
    obeying = table.filter([row["sex"] == "f" or row["zip"] < 2500 for row in table.to_pylist()])
    pair = _Pair.of(_held(obeying, plan), plan, 40, sampler())
    assert pair is not None
    one, other = (world.held.rows for world in (pair.with_target, pair.without))
    assert one["zip"].to_pylist() == other["zip"].to_pylist()
    assert one.drop(["zip"]).to_pylist() != other.drop(["zip"]).to_pylist()
    encode(open_table(other), pair.without.held.schema)  # it obeys the plan


def test_membership_is_left_out_where_nobody_could_be_there_instead() -> None:
    rule = '\n[[rule]]\nthen = "pay = zip"\n'
    plan = with_public("synthetic", rules=rule)
    zips = list(range(100))
    table = people(100, 3).set_column(2, "pay", pa.array(zips)).set_column(4, "zip", pa.array(zips))
    skipped: dict[str, str] = {}
    assert _membership(_held(table, plan), plan, 40, 20, 0, skipped, lambda stage: None) is None
    assert "rules" in skipped["membership"]


# Refused


@pytest.mark.parametrize(
    "wrong",
    [
        {"targets": 5},
        {"control_share": 0.0},
        {"control_share": 0.7},
        {"control_share": 0.2, "held_out": "x"},
        {"shadows": 7},
        {"shadow_rows": 3},
        {"seed": -1},
    ],
    ids=str,
)
def test_settings_that_mean_nothing_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(PlanError):
        rv.risk(people(100, 1), people(100, 2), plan(), **wrong)  # type: ignore[arg-type]


def test_too_few_people_the_table_itself_as_held_out_and_missing_columns_are_refused() -> None:
    table, release = people(100, 1), people(100, 2)
    with pytest.raises(TableError, match="records outside the release"):
        rv.risk(table, release, plan(), shadows=0)
    with pytest.raises(TableError, match="are those of the table"):
        rv.risk(table, release, plan(), held_out=table)
    with pytest.raises(TableError, match="lacks 1 column"):
        rv.risk(table, release.drop(["zip"]), plan())
    with pytest.raises(TableError, match="which the table"):
        rv.risk(table, release, plan(), held_out=table.drop(["zip"]))
    with pytest.raises(TableError, match="said to belong together"):
        rv.risk(people(400, 1), release, plan("laplace"), shadows=0)


def test_a_release_of_another_plan_is_refused(tmp_path: Path) -> None:
    table = people(300, 1)
    rv.release(table, plan(), out=tmp_path / "out", source=SeededSource(1))
    other = Plan.parse(plan_text({**COLUMNS, "age": integer(98)}, method="synthetic"))
    with pytest.raises(PlanError, match="another plan"):
        rv.risk(table, tmp_path / "out", other)
    assert rv.risk(table, tmp_path / "out", plan(epsilon="1"), shadows=0, targets=40).epsilon == 1
