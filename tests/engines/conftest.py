"""A real Spark for the tests: one session on this machine, and a cluster of a master and two workers on loopback."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
# Executors are processes of their own; they import the package and the tests from where this process does.
IMPORT_PATH = os.pathsep.join([str(REPOSITORY / "src"), str(REPOSITORY), os.environ.get("PYTHONPATH", "")])


def needs_spark() -> None:
    if importlib.util.find_spec("pyspark") is None:
        pytest.skip("PySpark is not installed (pip install 'rankveil[spark]')")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("there is no Java on this machine; Spark needs 17 or newer")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One session for all tests of a process: Spark allows no second one."""
    needs_spark()
    from rankveil.engines.spark import start_session

    os.environ["PYTHONPATH"] = IMPORT_PATH
    settings = {
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.driver.memory": "600m",
        "spark.sql.warehouse.dir": "/nonexistent",
        "spark.sql.catalogImplementation": "in-memory",
    }
    with start_session("local[2]", settings) as session:
        yield session.spark


@dataclass
class Cluster:
    """A standalone master and its workers."""

    master: str
    environment: dict[str, str]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Each worker has one core and 512 MB. All processes end with the tests, whatever happens in them."""
    needs_spark()
    import pyspark

    home = Path(pyspark.__file__).parent
    folder = tmp_path_factory.mktemp("cluster")
    (folder / "spark-defaults.conf").write_text(
        "spark.executor.memory 512m\nspark.driver.memory 512m\nspark.driver.host 127.0.0.1\n"
    )
    environment = {
        **os.environ,
        "PYTHONPATH": IMPORT_PATH,
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_CONF_DIR": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_NO_DAEMONIZE": "1",
    }
    environment.pop("SPARK_HOME", None)
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> Path:
        log = folder / f"{name}.log"
        with log.open("wb") as sink:
            started.append(
                subprocess.Popen(
                    [str(home / "bin" / "spark-class"), *arguments],
                    stdout=sink,
                    stderr=sink,
                    env=environment,
                    cwd=folder,
                    start_new_session=True,
                )
            )
        return log

    try:
        log = start(
            "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0"
        )
        port = _awaited(log, r"Successfully started service 'sparkMaster' on port (\d+)")
        master = f"spark://127.0.0.1:{port}"
        workers = [
            start(
                f"worker{number}",
                "org.apache.spark.deploy.worker.Worker",
                *("--host", "127.0.0.1", "--webui-port", "0", "--cores", "1", "--memory", "512m"),
                *("--work-dir", str(folder / f"work{number}"), master),
            )
            for number in (1, 2)
        ]
        for log in workers:
            _awaited(log, r"(Successfully registered with master)")
        yield Cluster(master, environment)
    finally:
        # Workers end their executors when they are asked to; what is left of a process group then is killed.
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(10)


def _awaited(log: Path, pattern: str, seconds: float = 120) -> str:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = re.search(pattern, log.read_text(errors="replace"))
        if found:
            return found.group(1)
        time.sleep(0.1)
    raise AssertionError(f"Spark has not said {pattern!r} within {seconds} s:\n" + log.read_text()[-2000:])
