"""Arrow's memory comes from the system, unless somebody has chosen."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pytest

CHOSEN = "print(pa.default_memory_pool().backend_name)"
EARLY = f"import rankveil, pyarrow as pa; {CHOSEN}"
LATE = f"import pyarrow as pa; import rankveil; {CHOSEN}"


def pool_of(code: str, chosen: str | None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    if chosen is not None:
        environment["ARROW_DEFAULT_MEMORY_POOL"] = chosen
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


@pytest.mark.parametrize("order", [EARLY, LATE])
def test_memory_comes_from_the_system(order: str) -> None:
    assert pool_of(order, None) == "system"


def test_what_arrow_allocates_by_itself_comes_from_the_system() -> None:
    """Writing Parquet uses Arrow's own pool, whatever pool Python's calls are given."""
    table = "pa.table({'a': list(range(100_000))})"
    write = f"import pyarrow.parquet as papq; papq.write_table({table}, pa.BufferOutputStream())"
    code = f"import pyarrow as pa; {write}; print(pa.mimalloc_memory_pool().max_memory() > 0)"
    if "mimalloc" not in pa.supported_memory_backends():
        pytest.skip("this build of Arrow has no mimalloc")
    assert pool_of(f"import rankveil; {code}", None) == "False"
    assert pool_of(code, "mimalloc") == "True"


@pytest.mark.parametrize("order", [EARLY, LATE])
@pytest.mark.parametrize("chosen", ["mimalloc", "system"])
def test_a_choice_in_the_environment_is_kept(order: str, chosen: str) -> None:
    assert pool_of(order, chosen) == chosen


def test_a_choice_in_the_process_is_kept() -> None:
    if "jemalloc" not in pa.supported_memory_backends():
        pytest.skip("this build of Arrow has no third allocator to choose")
    choose = "import pyarrow as pa; pa.set_memory_pool(pa.jemalloc_memory_pool())"
    assert pool_of(f"{choose}; import rankveil; {CHOSEN}", None) == "jemalloc"
