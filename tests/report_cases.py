"""A small release with every kind of column, and its page: shared by the tests of reports and by those in a browser."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa

from rankveil import Plan, evaluate, release
from rankveil.evaluate import Evaluation
from rankveil.noise import SeededSource
from rankveil.release import Release
from tests.support import category, integer, plan_text

ROWS = 400
EVIL = "<script>alert(1)</script>"
ODD = 'it\'s "quoted" & <b>bold</b>'
COLUMNS = {
    "age": integer(90, lower=17),
    "gain": integer(99_999, more='scale = "log"'),
    "weight": 'kind = "number"\nlower = 0\nupper = 200\nstep = 0.1\nnull = true',
    "seen": 'kind = "date"\nlower = 2020-01-01\nupper = 2021-12-31',
    "level": 'kind = "ordinal"\ncategories = ["low", "middle", "high"]',
    "job": category([EVIL, ODD, "cook", "a very long label that no chart has room for at all"], more="null = true"),
    "country": category([f"country {number}" for number in range(25)]),
    "member": 'kind = "boolean"',
    "<img src=x onerror=alert(2)>": integer(5),
}


def table() -> pa.Table:
    rng = np.random.default_rng(7)
    labels = [EVIL, ODD, "cook", "a very long label that no chart has room for at all"]
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(day)) for day in rng.integers(0, 730, ROWS)]
    return pa.table(
        {
            "age": np.clip(rng.normal(40, 15, ROWS).astype(int), 17, 90),
            "gain": np.where(rng.random(ROWS) < 0.7, 0, rng.integers(1, 99_999, ROWS)),
            "weight": [
                None if value < 20 else float(round(value, 1)) for value in rng.normal(70, 30, ROWS).clip(0, 200)
            ],
            "seen": pa.array(days),
            "level": rng.choice(["low", "middle", "high"], ROWS),
            "job": [None if draw == 4 else labels[draw] for draw in rng.integers(0, 5, ROWS)],
            "country": [f"country {min(24, int(draw))}" for draw in rng.exponential(4, ROWS)],
            "member": rng.random(ROWS) < 0.3,
            "<img src=x onerror=alert(2)>": rng.integers(0, 6, ROWS),
        }
    )


def plan(method: str = "synthetic", **more: object) -> Plan:
    return Plan.parse(plan_text(COLUMNS, method=method, epsilon="3", **more))


def released(method: str = "synthetic", **more: object) -> tuple[Plan, Release, Evaluation]:
    """A plan, a release by a fixed seed, and its evaluation."""
    own = plan(method, **more)
    made = release(table(), own, source=SeededSource(5), accept_no_guarantee=True)
    return own, made, evaluate(table(), made.table, own, row_aligned=made.certificate.row_aligned)
