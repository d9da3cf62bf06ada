"""Neighbouring tables released on Spark with the same answers: files in parts, and frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rankveil.audit.replay.pair import run_pair
from rankveil.audit.replay.plans import made_case
from rankveil.audit.replay.ways import SPARK_WAYS
from rankveil.engines.spark import SparkEngine


def test_a_release_on_spark_depends_on_one_record_through_protected_answers_alone(spark: Any, tmp_path: Path) -> None:
    ways = set()
    for number in range(6):
        folder = tmp_path / str(number)
        folder.mkdir()
        case = made_case(f"spark-{number}", SPARK_WAYS, (12, 40), folder)
        outcome = run_pair(case, folder, SparkEngine(spark) if case.way.file else None)
        assert outcome.problems == (), case.change
        if not outcome.refused:
            ways.add(case.way.name)
    assert ways == {way.name for way in SPARK_WAYS}
