"""Who may import whom, who may draw randomness, and how little `import rankveil` loads."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import rankveil
from tests.support import Ran

PACKAGE = Path(rankveil.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# From the bottom to the top. A module may import its own layer's package and whatever lies below.
LAYERS = (
    ("system",),
    ("errors", "_lazy", "_version", "_arrow_memory", "figure", "fragments", "meaning", "temporary", "rules"),
    ("extras",),
    ("engines.arrays", "engines.decoding", "engines.dialect"),
    ("engines.spelling",),
    ("formats",),
    ("taxonomy", "noise", "engines", "privacy"),
    ("ledger",),
    ("measure.accounting",),
    ("declare",),
    ("measure.budget",),
    ("measure.counts",),
    ("microaggregate",),
    ("fit.simplex",),
    ("fit.cells",),
    ("fit.segments", "fit.strips"),
    ("fit.marginal",),  # what a column by itself looks like: tables are asked in its cells
    ("measure.measurements",),
    ("measure",),
    ("fit",),
    ("measure.synthetic",),  # asks in rounds, and fits what it has been told in between
    ("draw",),
    ("perturb",),
    ("aligned",),
    ("published",),
    ("write",),
    ("model",),
    ("published_accuracy",),
    (
        "methods",
        "consent",
        "certificate",
        "sign",
        "preview",
        "release",
        "evaluate",
        "audit",
        "verify",
        "estimate",
        "books",
        "synthesizer",
        "load",
        "risk",
    ),
    ("report",),
    ("compare",),  # writes a page
    ("reproduce",),
    ("web",),
    ("cli",),
)
TOGETHER = next(layer for layer in LAYERS if "methods" in layer)  # these may import each other
STEPS = ("declare", "measure", "fit", "draw", "write")
ROOMS = (*STEPS, "microaggregate", "perturb", "aligned")  # whatever handles the table of a private method
HEIGHT = {package: height for height, layer in enumerate(LAYERS) for package in layer}


def module_name(path: Path) -> str:
    parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(name: str) -> str | None:
    """The longest package of LAYERS that holds a module; None for `rankveil` itself."""
    matches = [package for package in HEIGHT if name == package or name.startswith(package + ".")]
    return max(matches, key=len, default=None)


def imported(tree: ast.AST) -> Iterator[str]:
    """Modules below `rankveil` that a module names in an import, those under TYPE_CHECKING and in functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute here"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def upward_imports(source: str, name: str) -> list[str]:
    own = layer_of(name)
    assert own is not None, f"{name} has no place in the layers"
    targets = {target.removeprefix("rankveil.") for target in imported(ast.parse(source)) if target[:9] == "rankveil."}
    layers = {layer for layer in map(layer_of, targets) if layer is not None and layer != own}
    return sorted(
        layer
        for layer in layers
        if HEIGHT[layer] > HEIGHT[own] or (HEIGHT[layer] == HEIGHT[own] and own not in TOGETHER)
    )


@pytest.mark.parametrize("path", [path for path in MODULES if module_name(path)], ids=module_name)
def test_imports_point_downward_only(path: Path) -> None:
    assert upward_imports(path.read_text(), module_name(path)) == []


@pytest.mark.parametrize(
    ("source", "name", "caught"),
    [
        ("from rankveil.published.mdav import mdav", "perturb.records", ["published"]),
        ("import rankveil.cli", "errors", ["cli"]),
        ("from rankveil import release", "write", ["release"]),
        ("def f():\n    from rankveil.perturb import Mechanism", "microaggregate.blocks", ["perturb"]),
        ("from rankveil.noise import below", "taxonomy.graph", ["noise"]),
        ("from rankveil.draw.rows import Rows", "measure.counts", ["draw"]),
        ("from rankveil.measure.tables import count_tables", "measure.measurements", ["measure"]),
    ],
)
def test_the_layer_check_catches_an_import_that_points_upward(source: str, name: str, caught: list[str]) -> None:
    assert upward_imports(source, name) == caught


def test_a_step_never_imports_a_later_step() -> None:
    heights = [HEIGHT[step] for step in STEPS]
    assert heights == sorted(set(heights))
    assert {"declare", "measure", "draw", "write"} <= {path.name for path in PACKAGE.iterdir()}


# What a fitted model may be made of: the plan, what was measured, and dice of its own. Neither data nor noise.

_SEEN_BY_FIT = ("fit", "measure.measurements", "declare", "taxonomy", "errors", "rules", "noise.Sampler")
_READS_DATA = ("declare.dataset", "declare.again", "declare.reading", "declare.draft")


def not_for_a_fit(source: str) -> list[str]:
    targets = {name.removeprefix("rankveil.") for name in imported(ast.parse(source)) if name[:9] == "rankveil."}

    def within(name: str, packages: tuple[str, ...]) -> bool:
        return any(f"{name}.".startswith(f"{package}.") for package in packages)

    return sorted(
        name
        for name in targets - {"measure", "noise"}  # of which one thing or another is named
        if within(name, _READS_DATA) or not within(name, _SEEN_BY_FIT)
    )


def test_a_fit_sees_measurements_and_neither_data_nor_noise() -> None:
    fit = [path for path in MODULES if module_name(path).partition(".")[0] == "fit"]
    assert {path: not_for_a_fit(path.read_text()) for path in fit} == {path: [] for path in fit}


@pytest.mark.parametrize(
    "source",
    [
        "from rankveil.noise import RandomSource",
        "from rankveil.noise import discrete_laplace",
        "from rankveil.engines import Engine",
        "from rankveil.measure.counts import Counts",
        "from rankveil.measure import budget",
        "from rankveil.declare.dataset import Dataset",
        "from rankveil.declare import dataset",
        "from rankveil.draw.rows import Rows",
        "import rankveil.ledger",
    ],
)
def test_the_check_of_the_fit_catches_whatever_reads_data_or_draws(source: str) -> None:
    assert not_for_a_fit(source)


def test_the_check_of_the_fit_lets_measurements_and_the_plan_through() -> None:
    assert not_for_a_fit("from rankveil.measure.measurements import Measurements") == []
    assert not_for_a_fit("from rankveil.declare import Schema\nfrom rankveil.fit import Model") == []
    assert not_for_a_fit("from rankveil.noise import Sampler") == []


# Randomness

_RANDOM_MODULES = {"random", "secrets", "uuid", "numpy.random"}


def randomness_in(source: str) -> list[str]:
    """Where a module reaches for randomness by itself."""
    tree = ast.parse(source)
    found = [
        name for name in imported(tree) if any(name == bad or name.startswith(bad + ".") for bad in _RANDOM_MODULES)
    ]
    found += [
        ast.unparse(node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and ast.unparse(node) in ("os.urandom", "os.getrandom", "np.random", "numpy.random")
    ]
    return found + [name for name in imported(tree) if name in ("os.urandom", "os.getrandom")]


@pytest.mark.parametrize("path", [path for path in MODULES if path.parent.name != "noise"], ids=module_name)
def test_only_the_noise_package_touches_randomness(path: Path) -> None:
    assert randomness_in(path.read_text()) == []


# What meets exact data is asked through `RandomSource.answer`, by laws that are defined where these may be imported.
_SAMPLERS = {
    "bernoulli_exp",
    "discrete_gaussian",
    "discrete_laplace",
    "exponential_mechanism",
    "flip_bits",
    "permute_and_flip",
    "RationalCoins",
    "below",
}
_LAWS = ("measure.budget", "aligned.channel")


def samplers_in(source: str) -> list[str]:
    """Mechanisms that a module reaches for without asking."""
    return [
        name
        for name in imported(ast.parse(source))
        if name.startswith("rankveil.noise") and name.rpartition(".")[2] in _SAMPLERS
    ]


@pytest.mark.parametrize(
    "path", [path for path in MODULES if module_name(path).partition(".")[0] in ROOMS], ids=module_name
)
def test_data_meet_noise_through_one_door(path: Path) -> None:
    assert module_name(path) in _LAWS or samplers_in(path.read_text()) == []


def test_the_check_of_the_door_catches_a_mechanism_that_is_not_asked() -> None:
    assert samplers_in("from rankveil.noise import discrete_laplace, RandomSource") == [
        "rankveil.noise.discrete_laplace"
    ]
    assert samplers_in("from rankveil.noise.coins import RationalCoins") == ["rankveil.noise.coins.RationalCoins"]


@pytest.mark.parametrize(
    "source",
    [
        "import os\nos.urandom(4)",
        "from os import urandom",
        "import numpy as np\nnp.random.default_rng()",
        "from numpy.random import default_rng",
        "import secrets",
        "from random import choice",
    ],
)
def test_the_randomness_check_catches_every_usual_source(source: str) -> None:
    assert randomness_in(source)


def test_the_system_source_is_where_randomness_comes_from() -> None:
    assert randomness_in((PACKAGE / "noise" / "source.py").read_text()) == ["os.urandom"]


# Loading

HEAVY = ("pyarrow", "pydantic", "rich", "numpy", "pandas", "polars", "scipy", "vl_convert")


def _loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sorted(name for name in {HEAVY!r} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_importing_rankveil_loads_none_of_the_heavy_libraries() -> None:
    assert _loaded_after("import rankveil") == set()


def test_using_a_name_of_the_public_api_loads_what_it_needs_and_no_data_frame_library() -> None:
    loaded = _loaded_after("import rankveil\nrankveil.Plan")
    assert "pydantic" in loaded
    assert not loaded & {"pandas", "polars", "scipy", "vl_convert", "rich"}


def test_releasing_a_file_loads_no_data_frame_library(tmp_path: Path) -> None:
    plan = {
        "release": {"method": "synthetic", "epsilon": 1},
        "columns": {
            "age": {"kind": "integer", "lower": 0, "upper": 99, "null": True},
            "sex": {"kind": "category", "categories": ["f", "m"]},
            "here": {"kind": "boolean"},
            "born": {"kind": "date", "lower": "1900-01-01", "upper": "2020-12-31"},
        },
    }
    rows = "".join(f"{age or ''},{'fm'[age % 2]},{age % 3 == 0},19{age:02}-05-06\n" for age in range(60))
    (tmp_path / "people.csv").write_text("age,sex,here,born\n" + rows, encoding="utf-8")
    code = (
        f"import rankveil as rv\nplan = rv.Plan.from_dict({plan!r})\n"
        f"rv.release({str(tmp_path / 'people.csv')!r}, plan, out={str(tmp_path / 'out')!r},"
        f" ledger={str(tmp_path / 'ledger.sqlite')!r})"
    )
    assert not _loaded_after(code) & {"pandas", "polars", "scipy"}
    assert (tmp_path / "out" / "release.csv").exists()


def test_every_name_of_the_public_api_exists() -> None:
    assert all(getattr(rankveil, name) is not None for name in rankveil.__all__)
    assert {"release", "evaluate", "compare", "Comparison", "preview", "Plan"} <= set(rankveil.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = rankveil.nonsense


def _runs(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_importing_rankveil_changes_neither_the_environment_nor_the_class_of_a_module() -> None:
    _runs(
        "import os, sys, types\nbefore = dict(os.environ)\nimport rankveil as rv\n"
        "[getattr(rv, name) for name in dir(rv)]\nassert dict(os.environ) == before\n"
        "assert {type(each) for name, each in sys.modules.items() if name.startswith('rankveil')} == {types.ModuleType}"
    )


# Every package or module of the top level whose name a public function has.
COLLIDING = sorted({path.stem for path in PACKAGE.iterdir()} & set(rankveil.__all__))


def test_functions_of_the_public_api_stay_functions_after_modules_of_their_name_were_imported() -> None:
    assert {"audit", "compare", "evaluate", "fit", "ledger", "preview", "release", "verify"} <= set(COLLIDING)
    inner = [f"import rankveil.{name}" for name in map(module_name, MODULES) if name.partition(".")[0] in COLLIDING]
    functions = ", ".join(COLLIDING)
    for order in (["import rankveil as rv", *inner], [*inner, "import rankveil as rv"], ["import rankveil as rv"]):
        _runs(
            "\n".join(order) + f"\nfrom rankveil import {functions}\nimport types\n"
            f"for name, each in dict({', '.join(f'{name}={name}' for name in COLLIDING)}).items():\n"
            "    assert callable(each) and getattr(rv, name) is each and not isinstance(each, types.ModuleType)\n"
        )


def test_the_names_that_tab_completion_shows_are_the_public_ones_whatever_was_imported() -> None:
    _runs(
        "import rankveil as rv\nimport rankveil.cli.run, rankveil.evaluate.measures\n"
        "assert [name for name in dir(rv) if name[0] != '_'] == sorted(set(rv.__all__) - {'__version__'})"
    )


def test_help_shows_every_public_name() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "import rankveil; help(rankveil)"], capture_output=True, text=True, check=True
    )
    for name in set(rankveil.__all__) - {"__version__"}:
        assert name in done.stdout.partition("PACKAGE CONTENTS")[2].partition("CLASSES")[2], name


@pytest.mark.parametrize("package", COLLIDING)
def test_a_package_offers_what_it_says_and_what_type_checkers_see(package: str) -> None:
    """`__all__`, what is imported for type checkers and what is loaded when asked for are one list."""
    module = importlib.import_module(f"rankveil.{package}")
    if package == "fit":  # offers nothing
        return
    tree = ast.parse((PACKAGE / package / "__init__.py").read_text())
    typed = {
        alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert sorted(typed) == sorted(module.__all__) == [name for name in dir(module) if name[:2] != "__"]
    for name, home in typed.items():
        assert getattr(module, name) is getattr(importlib.import_module(str(home)), name)


def test_help_lists_the_commands_and_the_exit_codes(run_cli: Callable[..., Ran]) -> None:
    shown = run_cli("--help")
    assert shown.code == 0
    assert all(command in shown.out for command in ("init", "release", "evaluate", "methods"))
    assert "3 data outside the plan" in shown.out
