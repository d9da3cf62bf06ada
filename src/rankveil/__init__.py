"""rankveil: publish a differentially private version of a whole table, with a certificate that says what holds.

import rankveil as rv

plan = rv.Plan.load("plan.toml")
made = rv.release("people.csv", plan, out="2031-q1")
rv.evaluate("people.csv", "2031-q1/release.csv", plan)
"""

from __future__ import annotations

import importlib
import sys
import types

from rankveil._arrow_memory import take_memory_from_the_system
from rankveil._version import __version__

take_memory_from_the_system()

TYPE_CHECKING = False  # without `typing`, which takes longer to load than all the rest here
if TYPE_CHECKING:
    from typing import Any

    from rankveil.audit.attack import attack
    from rankveil.certificate import Certificate
    from rankveil.compare import Comparison, compare
    from rankveil.declare import Plan
    from rankveil.errors import RankveilError
    from rankveil.estimate import estimate
    from rankveil.evaluate import Evaluation, evaluate
    from rankveil.methods import METHODS
    from rankveil.model import Model
    from rankveil.preview import preview
    from rankveil.release import Release, fit, release
    from rankveil.risk import Risk, risk
    from rankveil.taxonomy import Taxonomy

# Loaded when first used, so that `import rankveil` stays quick.
_HOMES = {
    "Certificate": "rankveil.certificate",
    "Comparison": "rankveil.compare",
    "Evaluation": "rankveil.evaluate",
    "METHODS": "rankveil.methods",
    "Model": "rankveil.model",
    "Plan": "rankveil.declare",
    "RankveilError": "rankveil.errors",
    "Release": "rankveil.release",
    "Risk": "rankveil.risk",
    "Taxonomy": "rankveil.taxonomy",
    "attack": "rankveil.audit.attack",
    "compare": "rankveil.compare",
    "estimate": "rankveil.estimate",
    "evaluate": "rankveil.evaluate",
    "fit": "rankveil.release",
    "preview": "rankveil.preview",
    "release": "rankveil.release",
    "risk": "rankveil.risk",
}

__all__ = [
    "METHODS",
    "Certificate",
    "Comparison",
    "Evaluation",
    "Model",
    "Plan",
    "RankveilError",
    "Release",
    "Risk",
    "Taxonomy",
    "__version__",
    "attack",
    "compare",
    "estimate",
    "evaluate",
    "fit",
    "preview",
    "release",
    "risk",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'rankveil' has no attribute {name!r}")


class _Package(types.ModuleType):
    """Importing the submodule `rankveil.evaluate` would put it in the place of the function `rankveil.evaluate`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
