"""Arrow's memory comes from the system, unless somebody has chosen; importing rankveil chooses nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pyarrow as pa
import pytest

CHOSEN = "print(pa.default_memory_pool().backend_name)"
OPENED = "from rankveil.engines import open_table; open_table(pa.table({'a': [1]}))"
PROGRAM = "from rankveil._arrow_memory import choose_for_a_process_of_ours as choose; choose()"
STARTED = f"{PROGRAM}; import pyarrow as pa"
USED = f"import rankveil, pyarrow as pa; {OPENED}"
HAS_MIMALLOC = "mimalloc" in pa.supported_memory_backends()


def said(code: str, chosen: str | None = None) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "ARROW_DEFAULT_MEMORY_POOL"}
    if chosen is not None:
        environment["ARROW_DEFAULT_MEMORY_POOL"] = chosen
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return ran.stdout.strip()


def test_importing_rankveil_and_loading_all_its_names_chooses_nothing() -> None:
    names = "import rankveil as rv; [getattr(rv, name) for name in dir(rv)]"
    assert said(f"{names}; import pyarrow as pa; {CHOSEN}") == said(f"import pyarrow as pa; {CHOSEN}")


@pytest.mark.parametrize("order", [USED, STARTED], ids=["a table was opened", "a program of ours"])
def test_memory_comes_from_the_system(order: str) -> None:
    assert said(f"{order}; {CHOSEN}") == "system"


def test_the_command_line_is_a_program_of_ours() -> None:
    """Its process chooses before Arrow is loaded, which reaches what Arrow allocates by itself."""
    code = (
        "import sys; sys.argv = ['rankveil', 'methods', '--json']\nfrom rankveil.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "import os; print('chose', os.environ['ARROW_DEFAULT_MEMORY_POOL'])"
    )
    assert said(code).endswith("chose system")


@pytest.mark.skipif(not HAS_MIMALLOC, reason="this build of Arrow has no mimalloc")
def test_what_arrow_allocates_by_itself_comes_from_the_system_in_a_program_of_ours() -> None:
    """Writing Parquet uses Arrow's own pool, whatever pool Python's calls are given."""
    table = "pa.table({'a': list(range(100_000))})"
    write = f"import pyarrow.parquet as papq; papq.write_table({table}, pa.BufferOutputStream())"
    code = f"import pyarrow as pa; {write}; print(pa.mimalloc_memory_pool().max_memory() > 0)"
    assert said(f"{PROGRAM}; {code}") == "False"
    assert said(code, "mimalloc") == "True"


@pytest.mark.parametrize("order", [USED, STARTED], ids=["a table was opened", "a program of ours"])
@pytest.mark.parametrize("chosen", ["mimalloc", "system"])
def test_a_choice_in_the_environment_is_kept(order: str, chosen: str) -> None:
    if chosen not in pa.supported_memory_backends():
        pytest.skip(f"this build of Arrow has no {chosen}")
    assert said(f"{order}; {CHOSEN}", chosen) == chosen


def test_a_choice_in_the_process_is_kept() -> None:
    if "jemalloc" not in pa.supported_memory_backends():
        pytest.skip("this build of Arrow has no third allocator to choose")
    choose = "import pyarrow as pa; pa.set_memory_pool(pa.jemalloc_memory_pool())"
    assert said(f"{choose}; {OPENED}; {CHOSEN}") == "jemalloc"


@pytest.mark.skipif(not HAS_MIMALLOC, reason="this build of Arrow has no mimalloc")
def test_a_choice_made_after_the_first_table_is_kept() -> None:
    later = "pa.set_memory_pool(pa.mimalloc_memory_pool())"
    assert said(f"{USED}; {later}; open_table(pa.table({{'b': [1]}})); {CHOSEN}") == "mimalloc"
