"""A Spark session that says nothing unless it is asked, and errors that say what to do.

Spark, its launcher and the JVM write to standard error whatever they like, values of the data among it. A session that
rankveil starts writes all of that to a log file that only its owner can read.
"""

from __future__ import annotations

import os
import socket
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankveil.errors import RankveilError, TableError
from rankveil.extras import need

_OURS: Mapping[str, str] = {
    "spark.app.name": "rankveil",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "WARN",
    # Spark's default of 10,000 rows spends more time on batches than on rows.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}


_LOOK_AT_LOG = "Look at Spark's own log; its text is not shown here because it may quote data."


@dataclass(frozen=True)
class Session:
    """A session that rankveil has started, and will stop."""

    spark: Any
    log: Path

    def __enter__(self) -> Session:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """End it. The log stays where an error points to it."""
        with suppress(Exception):
            self.spark.stop()
        if isinstance(error, RankveilError) and _LOOK_AT_LOG in error.remedy:
            error.remedy += f" It is {self.log}."
        else:
            self.log.unlink(missing_ok=True)


def start_session(master: str | None = None, settings: Mapping[str, str] | None = None) -> Session:
    """Start Spark, with `master` if one is given, else as Spark's own configuration says, else on this machine.

    `settings` are Spark properties; those of spark-defaults.conf hold as well.
    """
    need("--engine spark", "spark", "pandas", "pyspark")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)  # the workers run the driver's interpreter
    if (master or "").startswith("local") or not _has_address():
        # Spark does not start where the machine's own name means nothing; and nothing needs to reach a local Spark.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    handle, name = tempfile.mkstemp(prefix="rankveil-spark-", suffix=".log")
    log = Path(name)
    try:
        with _quiet(handle):
            spark = _started(master, {**_OURS, **(settings or {})})
    except Exception as error:
        if isinstance(error, RankveilError):
            raise
        raise TableError(
            f"Spark could not be started{f' with the master {master}' if master else ''}.",
            remedy=f"It needs Java 17 or newer, and a master that can be reached. Its own words are in {log}.",
        ) from None
    finally:
        os.close(handle)
    return Session(spark, log)


def _has_address() -> bool:
    try:
        return bool(socket.gethostbyname(socket.gethostname()))
    except OSError:
        return False


def _started(master: str | None, settings: Mapping[str, str]) -> Any:
    from pyspark.sql import SparkSession

    builder: Any = SparkSession.builder
    if master is not None and master.startswith("sc://"):
        builder = builder.remote(master)
        settings = {key: value for key, value in settings.items() if key.startswith("spark.sql.")}
    elif master is not None:
        builder = builder.master(_with_retries(master))
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _with_retries(master: str) -> str:
    """`local[2]` would give up at the first failed task; a cluster tries four times, and so does this."""
    return f"{master[:-1]},4]" if master.startswith("local[") and "," not in master else master


@contextmanager
def _quiet(log: int) -> Iterator[None]:
    """Standard error goes to `log`; a JVM that is started meanwhile keeps it there."""
    sys.stderr.flush()
    try:
        kept = os.dup(2)
    except OSError:  # no standard error at all: nothing to keep quiet
        kept = None
    try:
        if kept is not None:
            os.dup2(log, 2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PySpark warns of pandas 3, which is not used here
            yield
    finally:
        if kept is not None:
            os.dup2(kept, 2)
            os.close(kept)


def parallelism(spark: Any) -> int:
    """How many tasks can run at once, as far as Spark knows."""
    context = getattr(spark, "_sc", None)
    if context is not None:
        return int(context.defaultParallelism)
    # Spark Connect has no context; the partitions of a range tell.
    from pyspark.sql.functions import spark_partition_id

    return int(spark.range(0, 1 << 16).select(spark_partition_id().alias("part")).distinct().count())


@contextmanager
def spark_errors(what: str, refusal: type[RankveilError]) -> Iterator[None]:
    """Spark's errors without their text, which may quote data."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*pandas.*", category=FutureWarning)
            yield
    except RankveilError:
        raise
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in ("pyspark", "py4j", "grpc"):
            raise
        text = str(error)
        if "ModuleNotFoundError" in text and "rankveil" in text:
            raise refusal(
                f"{what}: the executors cannot import rankveil.",
                remedy="Install rankveil on every worker, or ship an environment that holds it (docs/scaling.md).",
            ) from None
        raise refusal(f"{what}: Spark reports {_kind(error)}.", remedy=_LOOK_AT_LOG) from None


def _kind(error: Exception) -> str:
    """The name of Spark's error class, which is public, or of the Python one."""
    getter = getattr(error, "getCondition", None)
    condition = None
    with suppress(Exception):
        condition = getter() if getter is not None else None
    return f"{type(error).__name__} ({condition})" if condition else type(error).__name__
