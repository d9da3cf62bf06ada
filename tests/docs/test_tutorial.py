"""The tutorial notebook is the one that docs/make_tutorial.py describes, it still runs, and what it shows is clean."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from docs import make_tutorial

NOTEBOOK = json.loads(make_tutorial.NOTEBOOK.read_text(encoding="utf-8"))
CODE = [source for kind, source in make_tutorial.cells() if kind == "code"]


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
        exec(compile(ast.parse(source), f"cell {place}", "exec"), namespace)
    assert namespace["made"].certificate.differentially_private
    written: Path = namespace["folder"] / "evaluation.internal.html"
    assert written.read_text(encoding="utf-8").startswith("<!-- INTERNAL")
