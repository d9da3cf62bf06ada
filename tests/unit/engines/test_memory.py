"""Arrow's memory comes from the system, unless somebody has chosen."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pytest

AFTER = "import rankveil.engines, pyarrow as pa; print(pa.default_memory_pool().backend_name)"


def pool_of(code: str, chosen: str | None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    if chosen is not None:
        environment["ARROW_DEFAULT_MEMORY_POOL"] = chosen
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_memory_comes_from_the_system() -> None:
    assert pool_of(AFTER, None) == "system"


@pytest.mark.parametrize("chosen", ["mimalloc", "system"])
def test_a_choice_in_the_environment_is_kept(chosen: str) -> None:
    assert pool_of(AFTER, chosen) == chosen


def test_a_choice_in_the_process_is_kept() -> None:
    if "jemalloc" not in pa.supported_memory_backends():
        pytest.skip("this build of Arrow has no third allocator to choose")
    assert pool_of(f"import pyarrow as pa; pa.set_memory_pool(pa.jemalloc_memory_pool()); {AFTER}", None) == "jemalloc"
