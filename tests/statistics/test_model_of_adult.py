"""A kept model of Adult: small, quick to read, and rows drawn from it are as good as those of the release."""

from __future__ import annotations

from benchmarks.model import EXAMPLES, Distances, adult_plan, measured


def test_rows_of_a_kept_model_are_as_near_to_the_table_as_the_release() -> None:
    plan = adult_plan()
    found = measured(1, plan, Distances(EXAMPLES / "adult.csv.gz", plan))
    assert found["bytes"] < 5_000_000
    # Draws from one model differ by about 0.001 % (one-way) and 0.02 % (two-way).
    assert abs(found["one-way, sample of 1 n"] - found["one-way, release"]) < 0.05
    assert abs(found["two-way, sample of 1 n"] - found["two-way, release"]) < 0.1
    assert found["two-way, sample of 10 n"] < found["two-way, release"] + 0.1
    assert found["one-way, release"] < 2 and found["two-way, release"] < 5
