"""Makes the tables of this folder: people in households as a census would record them, and their visits to a hospital.

    python examples/rules/make_people.py FOLDER

Nobody in them exists. A fixed seed makes the same tables each time, with numpy and pyarrow only.

people.csv   20,000 people in 8,000 households, one row each: household_id, person_id and 20 further columns. A census's
             rules hold in every row: who is under 15 has no marital status, no work and no income; who does not work
             has no industry and no hours; children are fewer than the members of their household; institutions and
             dormitories have no tenure. age_group, birth_year, minor, education_years and sector follow from other
             columns. hours = 99 means "varies", income = -9 "refused". weight is a survey weight.
visits.csv   0 to 8 visits of each person, one row each: person_id, admitted, discharged, days, ward, cost.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

SEED, PEOPLE, HOUSEHOLDS, YEAR = 17, 20_000, 8_000, 2025

REGIONS = [f"region {number:02d}" for number in range(1, 13)]
EDUCATION = ["none", "primary", "lower secondary", "upper secondary", "vocational", "bachelor", "master", "doctorate"]
YEARS = np.array([0, 6, 9, 12, 13, 16, 18, 21])
INDUSTRIES = {
    "crops": "primary", "livestock": "primary", "forestry": "primary", "mining": "primary",
    "food": "industry", "textiles": "industry", "machines": "industry", "energy": "industry", "building": "industry",
    "retail": "services", "transport": "services", "hotels": "services", "media": "services", "finance": "services",
    "property": "services", "advice": "services",
    "administration": "public", "schools": "public", "health": "public", "arts": "public",
}  # fmt: skip
WARDS = ["emergency", "surgery", "medicine", "maternity", "paediatrics"]


def people(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """One row per person; None and NaN are missing."""
    sizes = _household_sizes(rng)
    home = np.repeat(np.arange(HOUSEHOLDS), sizes)
    first = np.r_[True, home[1:] != home[:-1]]
    place = np.arange(PEOPLE) - np.repeat(np.flatnonzero(first), sizes)  # in the household
    size = np.repeat(sizes, sizes)

    region = rng.choice(12, HOUSEHOLDS, p=_falling(12, 0.85))
    shared = rng.choice(2, HOUSEHOLDS, p=[0.97, 0.03]) == 1  # institution or dormitory
    housing = np.where(shared, rng.choice(["institution", "dormitory"], HOUSEHOLDS, p=[0.6, 0.4]), "")
    in_flat = rng.random(HOUSEHOLDS) < np.where(region < 3, 0.7, 0.35)
    housing = np.where(shared, housing, np.where(in_flat, "flat", "house"))
    owns = rng.random(HOUSEHOLDS) < np.where(housing == "house", 0.75, 0.35)
    tenure = np.where(shared, "none", np.where(owns, "owner", "renter"))
    wealth = rng.normal(0, 1, HOUSEHOLDS) + 0.6 * owns

    head_age = np.clip(rng.gamma(9, 5.6, HOUSEHOLDS) + 4, 18, 95).astype(int)
    paired = (sizes > 1) & (rng.random(HOUSEHOLDS) < 0.78) & ~shared
    adults_more = np.where(rng.random(HOUSEHOLDS) < 0.15, 1, 0)
    partner = (place == 1) & paired[home]
    head = (place == 0) & ~shared[home]
    child = ~head & ~partner & ~shared[home] & (place >= 1 + paired[home] + adults_more[home] * (size > 2))
    role = np.select([head, partner, child, shared[home]], ["head", "partner", "child", "resident"], "other")
    gap = rng.normal(29, 5, PEOPLE)
    young = rng.integers(0, 24, PEOPLE)
    age = np.select(
        [head, partner, child, role == "resident"],
        [
            head_age[home],
            np.clip(head_age[home] + rng.normal(-1, 4, PEOPLE), 18, 98),
            np.clip(np.where(head_age[home] > 45, head_age[home] - gap, young), 0, np.minimum(head_age[home] - 16, 45)),
            np.where(housing[home] == "institution", np.clip(rng.normal(80, 12, PEOPLE), 16, 100), young % 12 + 17),
        ],
        np.clip(head_age[home] + rng.normal(5, 20, PEOPLE), 16, 100),
    ).astype(int)
    children = np.bincount(home, child & (age < 25), minlength=HOUSEHOLDS)[home].astype(int)
    sex = np.where(rng.random(PEOPLE) < 0.51 + 0.002 * (age - 45), "f", "m")

    adult = age >= 15
    marital = np.where(partner | (head & paired[home]), rng.choice(["married", "union"], PEOPLE, p=[0.8, 0.2]), "")
    alone = np.where(age > 68, "widowed", np.where((age > 35) & (rng.random(PEOPLE) < 0.4), "divorced", "single"))
    marital = np.where(marital == "", alone, marital)

    level = np.clip(rng.normal(3.6 + 0.7 * wealth[home] - 0.02 * np.abs(age - 38), 1.4), 0, 7).round().astype(int)
    reachable = np.searchsorted(YEARS + 6, age, side="right") - 1
    level = np.minimum(level, np.maximum(reachable, 0))
    education = np.where(age >= 6, np.array(EDUCATION)[level], None)

    chance = np.interp(age, [15, 18, 25, 55, 62, 67, 75], [0.05, 0.35, 0.78, 0.8, 0.55, 0.1, 0.02])
    works = adult & (rng.random(PEOPLE) < chance * (0.85 + 0.04 * level)) & (role != "resident")
    seeks = adult & ~works & (age < 66) & (rng.random(PEOPLE) < 0.18)
    status = np.where(works, "employed", np.where(seeks, "unemployed", "inactive"))
    industry = _industry(level, region[home], sex, rng)
    hours = np.clip(rng.normal(np.where(sex == "f", 34, 40), 8), 1, 80).round()
    hours = np.where(rng.random(PEOPLE) < 0.3, 40, hours)
    hours = np.where(rng.random(PEOPLE) < 0.06, 99, hours)
    earned = np.exp(9.3 + 0.16 * level + 0.3 * wealth[home] + 0.012 * np.minimum(age, 55) + rng.normal(0, 0.45, PEOPLE))
    other = np.exp(8.6 + 0.4 * wealth[home] + 0.006 * age + rng.normal(0, 0.6, PEOPLE))
    income = np.where(works, earned, np.where(rng.random(PEOPLE) < 0.25, 0, other))
    income = np.where(rng.random(PEOPLE) < 0.05, -9, np.minimum(np.round(income / 10) * 10, 500_000))

    weight = 1.0 + 0.12 * region[home] + np.where(age < 30, 0.4, 0.0) + np.where(housing[home] == "flat", 0.3, 0.0)
    weight = np.round(weight * rng.choice([0.95, 1.0, 1.05], PEOPLE), 2)
    bands = np.array(["0-14", "15-24", "25-44", "45-64", "65+"])
    sector = np.array([INDUSTRIES[name] for name in industry])
    return {
        "household_id": home + 1,
        "person_id": rng.permutation(PEOPLE) + 100_000,
        "region": np.array(REGIONS)[region[home]],
        "housing": housing[home],
        "tenure": tenure[home],
        "household_size": size,
        "children": children,
        "role": role,
        "sex": sex,
        "age": age,
        "age_group": bands[np.digitize(age, [15, 25, 45, 65])],
        "birth_year": YEAR - age,
        "minor": np.where(age < 18, "true", "false"),
        "marital": np.where(adult, marital, None),
        "education": education,
        "education_years": np.where(age >= 6, YEARS[level], np.nan),
        "status": np.where(adult, status, None),
        "industry": np.where(works, industry, None),
        "sector": np.where(works, sector, None),
        "hours": np.where(works, hours, np.nan),
        "income": np.where(adult, income, np.nan),
        "weight": weight,
    }


def visits(table: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Old and very young people come more often."""
    age = table["age"]
    count = np.minimum(rng.poisson(0.4 + 1.8 * (age > 70) + 0.8 * (age < 3)), 8)
    who = np.repeat(np.arange(PEOPLE), count)
    order = rng.permutation(len(who))
    who = who[order]
    ward = np.where(age[who] < 15, 4, rng.choice(3, len(who), p=[0.4, 0.25, 0.35]))
    birth = (table["sex"][who] == "f") & (age[who] > 20) & (age[who] < 42) & (rng.random(len(who)) < 0.4)
    ward = np.where(birth, 3, ward)
    days = np.minimum(rng.geometric(np.array([0.7, 0.2, 0.25, 0.35, 0.4])[ward]) - 1, 60)
    admitted = np.datetime64(f"{YEAR - 1}-01-01") + rng.integers(0, 366, len(who)).astype("timedelta64[D]")
    return {
        "person_id": table["person_id"][who],
        "admitted": admitted,
        "discharged": admitted + days.astype("timedelta64[D]"),
        "days": days,
        "ward": np.array(WARDS)[ward],
        "cost": np.round(np.exp(rng.normal(6.2, 0.5, len(who))) * (1 + days), -1),
    }


def _household_sizes(rng: np.random.Generator) -> np.ndarray:
    """8,000 sizes from 1 to 9 that add up to 20,000."""
    sizes = rng.choice(np.arange(1, 10), HOUSEHOLDS, p=[0.31, 0.29, 0.15, 0.14, 0.06, 0.03, 0.01, 0.006, 0.004])
    while sizes.sum() != PEOPLE:
        more = int(np.sign(PEOPLE - sizes.sum()))
        able = np.flatnonzero((sizes + more >= 1) & (sizes + more <= 9))
        sizes[rng.choice(able, min(abs(PEOPLE - sizes.sum()), len(able)), replace=False)] += more
    return sizes


def _industry(level: np.ndarray, region: np.ndarray, sex: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """By education, region and sex."""
    names = np.array(list(INDUSTRIES))
    learned = np.array([2, 2, 2, 3, 3, 3, 4, 5, 3, 3, 3, 3, 5, 6, 5, 6, 5, 6, 5, 6])
    score = -0.4 * np.abs(level[:, None] - learned) + rng.gumbel(size=(PEOPLE, len(names)))
    score[:, :4] += np.where(region > 7, 1.2, -0.8)[:, None]
    score[:, 16:19] += np.where(sex == "f", 0.9, -0.2)[:, None]
    score[:, 6:9] += np.where(sex == "f", -0.9, 0.3)[:, None]
    return names[score.argmax(axis=1)]


def _falling(count: int, factor: float) -> np.ndarray:
    shares = factor ** np.arange(count)
    return shares / shares.sum()


def tables() -> tuple[pa.Table, pa.Table]:
    """people and visits."""
    rng = np.random.default_rng(SEED)
    made = people(rng)
    return _arrow(made), _arrow(visits(made, rng))


def _arrow(columns: dict[str, np.ndarray]) -> pa.Table:
    def array(values: np.ndarray) -> pa.Array:
        if values.dtype == np.float64 and not np.any(np.nan_to_num(values) % 1):
            return pa.array([None if np.isnan(value) else int(value) for value in values], pa.int64())
        return pa.array(values.tolist() if values.dtype == object else values)

    return pa.table({name: array(values) for name, values in columns.items()})


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    folder.mkdir(parents=True, exist_ok=True)
    for name, table in zip(("people.csv", "visits.csv"), tables(), strict=True):
        pyarrow.csv.write_csv(table, folder / name)
        sys.stdout.write(f"{folder / name}: {table.num_rows} rows, {table.num_columns} columns\n")
