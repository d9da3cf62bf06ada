"""What is asked of the tables of the coverage runs, and what the truth is."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import rankveil as rv
from benchmarks.tables import TABLES, Source, labels, whole
from rankveil.estimate import Frame
from rankveil.estimate.intervals import values as values_of

NAMES = ("adult", "nltcs", "diamonds", "made")
KINDS = ("one-way", "amounts", "two-way", "three-way", "regression")
WANTED = {"one-way": 40, "amounts": 40, "two-way": 50, "three-way": 40, "regression": 30}
LEAST_SHARE = 0.01  # of the records that a count is about
MADE_ROWS, POPULATION = 20_000, 1_000_000

Truth = tuple[str, str, dict[str, float]]  # kind, question, name -> value


# The made population: every column depends on others, one pair of them only through a third.

_MADE = {
    "age": whole(18, 90),
    "region": labels("north", "east", "south", "west", "centre"),
    "sex": labels("f", "m"),
    "school": whole(4, 20),
    "work": labels("none", "part", "full"),
    "income": whole(0, 20000, step=10),
    "ill": labels("no", "yes"),
}


@cache
def population() -> pa.Table:
    draw = np.random.default_rng(18)
    size = POPULATION
    age = np.clip(draw.gamma(6, 8, size) + 10, 18, 90).astype(int)
    sex = draw.integers(0, 2, size)
    region = draw.choice(5, size, p=[0.35, 0.25, 0.2, 0.15, 0.05])
    school = np.clip(draw.normal(13 - (age - 40) / 25 + 0.7 * (region == 1), 2.5), 4, 20).round().astype(int)
    score = 0.3 * (school - 12) - 0.002 * (age - 42) ** 2 - 0.5 * (sex == 0) * (age < 45) + draw.logistic(size=size)
    work = np.digitize(score, [-1.0, 0.2])
    income = np.exp(draw.normal(6.4 + 0.06 * school + 0.4 * work + 0.15 * sex, 0.5))
    income = np.where((work == 0) & (draw.random(size) < 0.5), 0, np.clip(income, 0, 20000) // 10 * 10).astype(int)
    ill = draw.random(size) < 1 / (1 + np.exp(3.5 - 0.05 * (age - 30) + 0.0003 * (income - 1500) / 3))
    text = {name: np.array(_MADE[name]["categories"]) for name in ("region", "sex", "work", "ill")}
    return pa.table(
        {
            "age": age,
            "region": text["region"][region],
            "sex": text["sex"][sex],
            "school": school,
            "work": text["work"][work],
            "income": income,
            "ill": text["ill"][ill.astype(int)],
        }
    )


def source_of(name: str) -> Source:
    if name == "made":
        return Source("made", "made population", "reports", _MADE, "ill", "classification", population)
    return TABLES[name]


def table_of(name: str, seed: int) -> pa.Table:
    """What is released: the table, or people drawn from the made population."""
    if name != "made":
        return source_of(name).table
    return population().take(pa.array(np.random.default_rng(1000 + seed).integers(0, POPULATION, MADE_ROWS)))


# What is asked


def questions(name: str) -> dict[str, list[str]]:
    """By kind; fixed for a table."""
    source, draw = source_of(name), np.random.default_rng(7)
    table = source.table
    size = table.num_rows
    conditions: dict[str, list[str]] = {}
    numbers: list[str] = []
    for column, entry in source.columns.items():
        quoted = f"`{column}`"
        if entry["kind"] in ("integer", "number"):
            numbers.append(quoted)
            present = np.array(pc.drop_null(table[column]).to_numpy(), dtype=np.float64)
            cuts = np.unique([float(f"{cut:.2g}") for cut in np.quantile(present, [0.25, 0.5, 0.75])])
            found = [f"{quoted} <= {cut:.12g}" for cut in cuts]
        else:
            counts = pc.value_counts(pc.drop_null(table[column].cast(pa.string()))).to_pylist()
            counts.sort(key=lambda each: -each["counts"])
            text = [
                str(each["values"]).replace("'", "''") for each in counts[:4] if each["counts"] > LEAST_SHARE * size
            ]
            found = [f"{quoted} = '{label}'" for label in text]
        conditions[column] = found
    names = [column for column, found in conditions.items() if found]

    def some(count: int) -> list[str]:
        picked = draw.choice(len(names), count, replace=False)
        return [str(draw.choice(conditions[names[place]])) for place in picked]

    one = [f"share({each})" for found in conditions.values() for each in found]
    amounts = [f"{what}({x})" for x in numbers for what in ("mean", "median")]
    amounts += [f"quantile({x}, 0.9)" for x in numbers]
    while len(amounts) < WANTED["amounts"]:
        value, given = some(2)
        asked = (
            f"mean({numbers[int(draw.integers(len(numbers)))]})"
            if numbers and draw.random() < 0.7
            else f"share({value})"
        )
        amounts.append(f"{asked} where {given} minus {asked} where not ({given})")
    several = {
        kind: [f"share({' and '.join(some(count))})" for _ in range(4 * WANTED[kind])]
        for kind, count in (("two-way", 2), ("three-way", 3))
    }
    regressions = []
    for _ in range(8):
        few = [each for each in names if len(source.columns[each].get("categories", ())) <= 8]
        picked = [few[place] for place in draw.choice(len(few), 3, replace=False)]
        right = " + ".join(f"`{each}`" for each in picked[1:])
        if f"`{picked[0]}`" in numbers:
            regressions.append(f"lm(`{picked[0]}` ~ {right})")
        else:
            regressions.append(f"logit({conditions[picked[0]][0]} ~ {right})")
    one = [one[place] for place in draw.permutation(len(one))[: WANTED["one-way"]]]
    return {"one-way": one, "amounts": amounts[: WANTED["amounts"]], **several, "regression": regressions}


def truths(columns: Frame, name: str) -> Iterator[Truth]:
    """Questions that are about enough records, and what the truth is: kind, question, name -> value."""
    for kind, asked in questions(name).items():
        kept = 0
        for ask in dict.fromkeys(asked):
            try:
                found = values_of(columns, ask)
            except rv.RankveilError:
                continue
            if kind in ("two-way", "three-way") and next(iter(found.values())) < LEAST_SHARE:
                continue
            kept += len(found)
            if kept > WANTED[kind]:
                break
            yield kind, ask, found


def without_weights(table: pa.Table, certificate: rv.Certificate) -> Frame:
    """A table as if it were a release: estimates are what they are."""
    one = pa.table(
        {"rv_w1": np.ones(table.num_rows), "rv_p1": np.ones(table.num_rows), "rv_s1": np.ones(table.num_rows)}
    )
    return Frame.made([table], one, certificate.model_copy(update={"rows": table.num_rows}))
