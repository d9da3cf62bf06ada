"""The Python API as its users meet it: every public name has an example that runs, and types are what they say."""

from __future__ import annotations

import doctest
import inspect
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pandas as pd
import pytest

import rankveil as rv
from docs import generate
from rankveil.declare.plan_file import plan_toml
from rankveil.release import steps

ROOT = Path(generate.__file__).parents[1]
NAMES = [name for name in rv.__all__ if name not in ("__version__", "METHODS")]
EXAMPLES = list(generate.examples())


# For rankveil itself.
WITHOUT = {"Plan.parse", "Plan.from_dict", "Plan.sha256", "Plan.model_post_init", "Books.capped", "Books.checked",
           "Books.rows", "Model.of", "Model.public_files", "Model.draw", "Model.files"}  # fmt: skip


def people() -> pd.DataFrame:
    """The frame of the examples: 500 made-up people."""
    chance = np.random.default_rng(7)
    age = chance.integers(18, 95, 500)
    income = (chance.gamma(3, 700, 500) * (1 + age / 100)).round(-1).clip(0, 19_000).astype(int)
    return pd.DataFrame({"age": age, "sex": chance.choice(["f", "m"], 500), "income": income})


def plan() -> rv.Plan:
    return rv.Plan(
        release={"epsilon": 1, "expected_rows": 500},
        columns={
            "age": {"kind": "integer", "lower": 0, "upper": 120},
            "sex": {"kind": "category", "categories": ["f", "m"]},
            "income": {"kind": "integer", "lower": 0, "upper": 20_000, "step": 10},
        },
    )


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RANKVEIL_LEDGER", str(tmp_path / "own-ledger.sqlite"))
    people().to_csv("people.csv", index=False)
    Path("plan.toml").write_text(plan_toml(plan()), encoding="utf-8")
    yield {"rv": rv, "people": people(), "plan": plan(), "Path": Path}


@pytest.mark.parametrize(("name", "text"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_the_example_of_a_public_name_gives_what_it_says(name: str, text: str, place: dict[str, Any]) -> None:
    pytest.importorskip("vl_convert")
    test = doctest.DocTestParser().get_doctest(text, place, name, None, 0)
    assert test.examples
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test, out=said.append)
    assert not said, "".join(said)


def test_every_public_name_and_its_own_methods_have_an_example() -> None:
    shown = {name for name, _ in EXAMPLES}
    assert set(NAMES) <= shown
    for owner in (rv.Plan, rv.Figure, rv.Books, rv.Synthesizer, rv.Model):
        own = {
            f"{owner.__name__}.{name}"
            for name, each in vars(owner).items()
            if callable(getattr(owner, name)) and name[0] != "_" and not isinstance(each, property)
        }
        assert own - shown <= WITHOUT, owner


def test_examples_are_really_run() -> None:
    """A broken twin: an example that is wrong is found out."""
    broken = doctest.DocTestParser().get_doctest(">>> 1 + 1\n3\n", {}, "broken", None, 0)
    said: list[str] = []
    doctest.DocTestRunner().run(broken, out=said.append)
    assert said


# Types

SNIPPET = """
import polars
import pandas
import rankveil as rv

plan = rv.Plan.load("plan.toml")
reveal_type(rv.release(polars.DataFrame(), plan).table)
reveal_type(rv.release(pandas.DataFrame(), plan, epsilon=1).table)
reveal_type(rv.release("people.csv", plan).table)
reveal_type(rv.release("people.csv", plan, out="x").table)
reveal_type(rv.release(polars.DataFrame(), plan, out="x").table)
reveal_type(rv.evaluate)
rv.release("people.csv", plan, epsylon=1)
"""
ANY = "from typing import Any\ndef __getattr__(name: str) -> Any: ...\n"
STUBS = {
    "pandas/__init__.pyi": f"""{ANY}
class DataFrame:
    @property
    def shape(self) -> tuple[int, int]: ...
    def to_dict(self, orient: str = ...) -> Any: ...
""",
    "pyarrow/__init__.pyi": f"""{ANY}
class Table:
    def __getattr__(self, name: str) -> Any: ...
""",
}


def test_a_type_checker_knows_that_what_went_in_comes_out(tmp_path: Path) -> None:
    """pandas and Arrow carry no types of their own; stubs stand in for those that users install."""
    pytest.importorskip("mypy")
    for name, text in STUBS.items():
        (tmp_path / "stubs" / name).parent.mkdir(parents=True)
        (tmp_path / "stubs" / name).write_text(text, encoding="utf-8")
    (tmp_path / "snippet.py").write_text(SNIPPET, encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(ROOT / ".mypy_cache" / "users"), "snippet.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": f"{ROOT / 'src'}{os.pathsep}{tmp_path / 'stubs'}"},
        capture_output=True,
        text=True,
    )
    said = [line.partition(": ")[2] for line in ran.stdout.splitlines() if line.startswith("snippet.py")]
    revealed = [re.findall(r'"(.*)"', line)[0] for line in said if "Revealed type" in line]
    frame = "polars.dataframe.frame.DataFrame"
    assert revealed[:5] == [frame, "pandas.DataFrame", "pyarrow.Table", "None", "None"], ran.stdout[-2000:]
    assert revealed[5].startswith("def (table: ")
    assert any('did you mean "epsilon"' in line for line in said)


def test_what_type_checkers_are_told_about_a_release_is_its_signature() -> None:
    parameters = inspect.signature(rv.release).parameters
    typed = get_type_hints(steps._How)
    assert set(typed) == {name for name, each in parameters.items() if each.kind is each.KEYWORD_ONLY} - {"out"}
    hints = get_type_hints(rv.release)
    assert {name: hints[name] for name in typed} == typed
    for name in get_type_hints(steps._Who):
        assert get_type_hints(rv.fit)[name] == typed[name]
