"""A client of Spark Connect, in a process of its own: counts a table that the server reads, and releases it."""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any


def main() -> None:
    table, plan = sys.argv[1:]
    warnings.simplefilter("ignore")  # PySpark's own
    from pyspark.sql import SparkSession

    import rankveil as rv
    from rankveil.engines.spark import SparkEngine
    from rankveil.noise import SeededSource
    from tests.engines.lost_worker import counts_of

    builder: Any = SparkSession.builder
    spark = builder.remote("local[2]").getOrCreate()
    try:
        frame = spark.read.parquet(table)
        made = rv.release(frame, plan, source=SeededSource(1)).table.toArrow()
        engine = SparkEngine(spark, fan_in=2)
        counts = {name: counts_of(engine, source, plan) for name, source in (("frame", frame), ("file", table))}
        print(json.dumps({"kind": type(frame).__module__, "counts": counts, "made": made.to_pydict()}))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
