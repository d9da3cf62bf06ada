"""The notebook is the one that docs/make_tutorial.py describes; it and the tutorials run and show what they say."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from docs import make_tutorial

NOTEBOOK = json.loads(make_tutorial.NOTEBOOK.read_text(encoding="utf-8"))
CODE = [source for kind, source in make_tutorial.cells() if kind == "code"]
TUTORIALS = sorted((make_tutorial.EXAMPLES.parent / "docs" / "tutorials").glob("*.md"))
README = make_tutorial.EXAMPLES.parent / "README.md"
BLOCK = re.compile(r"^```(sh|python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NEEDS = {"pandas": ["pandas", "vl_convert"], "rules-and-people": ["pandas"], "for-the-officer": ["cryptography"]}


def test_the_notebook_holds_the_cells_of_its_script_in_order() -> None:
    saved = [(cell["cell_type"], "".join(cell["source"])) for cell in NOTEBOOK["cells"]]
    assert saved == make_tutorial.cells()


def test_every_code_cell_was_run_and_none_ended_in_an_error() -> None:
    cells = [cell for cell in NOTEBOOK["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    kinds = [output["output_type"] for cell in cells for output in cell["outputs"]]
    assert "error" not in kinds
    assert not any(output.get("name") == "stderr" for cell in cells for output in cell["outputs"])


def test_the_notebook_is_small_and_names_no_folder_of_any_machine() -> None:
    text = make_tutorial.NOTEBOOK.read_text(encoding="utf-8")
    assert len(text.encode()) < make_tutorial.LARGEST
    assert not re.search(r"/(home|root|work|usr|tmp|Users)/|[A-Z]:\\\\", text)


def test_plans_releases_and_evaluations_show_themselves_as_html() -> None:
    shown = [
        "".join(output["data"]["text/html"])
        for cell in NOTEBOOK["cells"]
        for output in cell.get("outputs", ())
        if "text/html" in output.get("data", {})
    ]
    titles = [re.findall(r'rv-title">(\w+)', text)[0] for text in shown]
    assert titles == ["Plan", "Release", "Evaluation"]


def test_the_cells_still_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(make_tutorial.EXAMPLES)
    namespace: dict[str, Any] = {}
    for place, source in enumerate(CODE, 1):
        run_python(source, f"cell {place}", namespace)
    assert namespace["made"].certificate.differentially_private
    written: Path = namespace["folder"] / "evaluation.internal.html"
    assert written.read_text(encoding="utf-8").startswith("<!-- INTERNAL")


def run_python(source: str, place: str, namespace: dict[str, Any]) -> str:
    """What a piece of Python prints."""
    said = io.StringIO()
    with redirect_stdout(said):
        exec(compile(ast.parse(source), place, "exec"), namespace)
    return said.getvalue()


def run_shell(source: str, place: str) -> str:
    """What commands print, on both streams; the first one that fails ends the test."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", source],
        env={**os.environ, "PATH": path, "PYTHONUTF8": "1", "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{place}:\n{done.stdout}"
    return done.stdout


def run_page(text: str) -> int:
    """Run the blocks of a page in order. A block `text` right after one shows lines of what that one has printed.

    Gives the number of lines that were compared.
    """
    namespace: dict[str, Any] = {}
    said, end, compared = "", 0, 0
    for number, block in enumerate(BLOCK.finditer(text), 1):
        kind, source = block.groups()
        if kind != "text":
            said = (run_shell(source, f"block {number}") if kind == "sh" else
                    run_python(source, f"block {number}", namespace))  # fmt: skip
            said, end = " ".join(said.split()), block.end()
        elif not text[end : block.start()].strip():
            for line in source.splitlines():
                assert " ".join(line.split()) in said, f"block {number} shows {line!r}, and this was printed:\n{said}"
                compared += 1
    return compared


@pytest.mark.skipif(shutil.which("bash") is None, reason="commands of tutorials are run by bash")
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_the_blocks_of_a_tutorial_run_and_print_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in NEEDS.get(page.stem, []):
        pytest.importorskip(library)
    (tmp_path / "examples").symlink_to(make_tutorial.EXAMPLES)
    monkeypatch.chdir(tmp_path)
    assert run_page(page.read_text(encoding="utf-8"))


@pytest.mark.skipif(shutil.which("bash") is None, reason="commands of the README are run by bash")
def test_the_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "examples").symlink_to(make_tutorial.EXAMPLES)
    monkeypatch.chdir(tmp_path)
    run_page(README.read_text(encoding="utf-8"))
    assert {"release.csv", "certificate.json", "certificate.html"} <= {
        path.name for path in (tmp_path / "adult").iterdir()
    }


@pytest.mark.skipif(shutil.which("bash") is None, reason="commands of tutorials are run by bash")
def test_a_page_whose_commands_fail_or_print_something_else_is_noticed() -> None:
    assert run_page("```sh\necho one\necho two\n```\n\n```text\ntwo\n```\n") == 1
    for wrong in ("```sh\nfalse\ntrue\n```", "```python\nprint(1)\n```\n\n```text\n2\n```"):
        with pytest.raises(AssertionError):
            run_page(wrong)
