"""No floating-point number decides an outcome: read from the source, and watched at run time."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import pytest

import rankveil.noise
from rankveil.noise import (
    SeededSource,
    bernoulli_exp,
    discrete_gaussian,
    discrete_laplace,
    exponential_mechanism,
    flip_bits,
    gaussian,
    laplace,
    permute_and_flip,
    randomized_response,
)

PACKAGE = Path(rankveil.noise.__file__).parent
MODULES = sorted(PACKAGE.glob("*.py"))
# Where floats are the stated purpose; nothing else in these may use them.
ALLOWED = {"continuous.py": {"laplace_floats"}, "uniform.py": {"uniform_floats"}, "sampling.py": {"Sampler"}}
FLOAT_MAKERS = {"divide", "exp", "expm1", "linspace", "log", "log1p", "log2", "mean", "random", "sqrt", "true_divide"}


def float_uses(tree: ast.AST) -> Iterator[str]:
    """Literals, divisions and names that make floats. Fractions are built by name, never by '/'."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, float):
            yield f"literal {node.value}"
        if isinstance(node, (ast.BinOp, ast.AugAssign)) and isinstance(node.op, ast.Div):
            yield "true division"
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name.startswith("float") or name in FLOAT_MAKERS:
            yield f"name {name}"


def without_allowed(tree: ast.Module, allowed: set[str]) -> ast.Module:
    body = [
        node for node in tree.body if not (isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in allowed)
    ]
    return ast.Module(body=body, type_ignores=[])


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_module_computes_with_floats_outside_the_functions_named_for_it(path: Path) -> None:
    tree = without_allowed(ast.parse(path.read_text()), ALLOWED.get(path.name, set()))
    assert list(float_uses(tree)) == []


@pytest.mark.parametrize("code", ["x = 0.5", "x = a / b", "x = float(a)", "x = np.exp(-a)", "a /= 2"])
def test_the_reading_of_the_source_notices_floats(code: str) -> None:
    assert list(float_uses(ast.parse(code)))


def is_float(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(is_float(item) for item in value[:3])
    return isinstance(value, (float, np.floating)) or (isinstance(value, np.ndarray) and value.dtype.kind not in "iub")


def floats_seen_while(run: Any) -> list[str]:
    """Local variables of this package's functions that hold floats when the function returns."""
    seen: list[str] = []

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        if event == "return" and Path(frame.f_code.co_filename).parent == PACKAGE:
            where = f"{Path(frame.f_code.co_filename).name}:{frame.f_code.co_name}"
            seen.extend(f"{where}:{name}" for name, value in frame.f_locals.items() if is_float(value))
            if is_float(argument):
                seen.append(f"{where}:return")

    previous = sys.getprofile()
    sys.setprofile(watch)
    try:
        run()
    finally:
        sys.setprofile(previous)
    return seen


def draw_from_everything() -> None:
    for cached in (laplace._sampler, gaussian._sampler, randomized_response._flip_table):
        cached.cache_clear()
    source = SeededSource(1)
    scores = np.arange(300, dtype=np.int64).reshape(50, 6) % 11
    for scale in (Fraction(1, 3), Fraction(10**4, 3)):
        discrete_laplace(scale, 5000, source)
        discrete_gaussian(scale, 5000, source)
        exponential_mechanism(scores, scale, source)
        permute_and_flip(scores, scale, source)
        flip_bits(np.zeros(5000, dtype=np.bool_), scale, source)
        bernoulli_exp(np.arange(5000), scale, source)


def test_no_variable_of_any_exact_sampler_ever_holds_a_float() -> None:
    assert floats_seen_while(draw_from_everything) == []


def test_the_watch_at_run_time_notices_floats() -> None:
    assert floats_seen_while(lambda: rankveil.noise.laplace_floats(1.0, 3, SeededSource(1)))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_the_package_imports_only_numpy_and_the_standard_library(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            assert top == "numpy" or top in sys.stdlib_module_names or name.startswith("rankveil.noise")
            assert top != "random"
            assert not name.startswith("numpy.random")
