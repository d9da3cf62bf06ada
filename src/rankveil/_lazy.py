"""Names of a package that are loaded when they are first asked for (PEP 562), so that importing it costs nothing.

Some packages of rankveil have the name of a public function: `rankveil.evaluate` is a package, and `rv.evaluate` is a
function. Importing a package binds it in its parent, once, when it is loaded. So `rankveil/__init__.py` loads these
packages first, takes their names back, and gives them to the functions (docs/decisions/0034-a-plain-module.md). That is
cheap only as long as their own `__init__` loads nothing: they list what they offer with `lazily`.
"""

from __future__ import annotations

import importlib
import sys

TYPE_CHECKING = False  # without `typing`, which takes longer to load than all the rest here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def lazily(package: str, **homes: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package; `homes`: a module of the package, and its names that are offered."""
    modules = {name: module for module, names in homes.items() for name in names.split()}

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(f"{package}.{modules[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    def listed() -> list[str]:
        # Dunders first come from the module itself; submodules that happen to be loaded are nobody's business.
        own = [name for name in vars(sys.modules[package]) if name.startswith("__")]
        return sorted({*own, *modules})

    return load, listed
