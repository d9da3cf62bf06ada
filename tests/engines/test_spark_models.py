"""Models and replicate weights of a release that Spark has made: the same files as on one machine, and usable."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq

import rankveil as rv
from rankveil.noise import SeededSource
from tests.support import category, integer, plan_text

ROWS = 1500
COLUMNS = {"age": integer(90), "sex": category(["f", "m"])}


def test_a_release_in_parts_has_the_weights_and_the_model_of_a_local_one(spark: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    age = rng.integers(0, 91, ROWS)
    people = pa.table({"age": age, "sex": np.array(["f", "m"])[(rng.random(ROWS) < age / 90).astype(int)]})
    papq.write_table(people, tmp_path / "people.parquet")
    plan = rv.Plan.parse(plan_text(COLUMNS, method="synthetic", epsilon=4))
    frame = spark.read.parquet(str(tmp_path / "people.parquet")).repartition(3)
    for source, out in ((frame, "spark"), (tmp_path / "people.parquet", "local")):
        rv.release(source, plan, out=tmp_path / out, source=SeededSource(3), replicates=10, keep_model=True)
    weights = [papq.read_table(tmp_path / out / "weights.parquet") for out in ("spark", "local")]
    assert weights[0].num_rows == ROWS and weights[0].equals(weights[1])
    models = [
        {path.name: path.read_bytes() for path in (tmp_path / out / "model").iterdir()} for out in ("spark", "local")
    ]
    assert models[0] == models[1]
    for ask in ("mean(age) by sex", "lm(age ~ sex)"):
        assert rv.estimate(tmp_path / "spark", ask).each == rv.estimate(tmp_path / "local", ask).each
    assert rv.Model.load(tmp_path / "spark").sample(10, where="age >= 65").num_rows == 10
