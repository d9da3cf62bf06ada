"""What does each rule buy? Errors without it over errors with it, where constants were chosen and where they were not.

    python -m benchmarks.ablation [--runs 3] [--rules NAME ...] [--tables adult census] [--epsilons 0.1 1 10] [--json]

`rankveil.rules.ABLATIONS` names every rule and says which constants take which values when it is removed:

    ABLATIONS: dict[str, dict[str, object]] = {"second round": {"SECOND_ROUND_SHARE": 0}, ...}

Here the named constants are given those values, in `rankveil.rules` and in every module that imported them by name, for
the time of a release. The figure of a rule is the geometric mean, over tables and ε, of
(error without + floor) / (error with + floor), floor 0.001 as on the peers' page: above 1 the rule pays. Same seeds on
both sides. δ = 1e-9.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import mean
from types import ModuleType
from typing import Any

from benchmarks.measures import Figures, Ruler, release
from benchmarks.runs import Runs, grid, means, parser, shown
from benchmarks.tables import TABLES, Role, Source

EPSILONS = ("0.1", "1", "10")
DELTA = "1e-9"
FLOOR = 0.001
ROLES: tuple[Role, Role] = ("chooses", "reports")
NOTHING = "nothing"  # is removed

Changes = Mapping[str, object]


def rules() -> ModuleType:
    try:
        return importlib.import_module("rankveil.rules")
    except ModuleNotFoundError:
        sys.exit("This version of rankveil has no rankveil/rules.py, so there is no rule to remove.")


@contextmanager
def removed(changes: Changes, module: ModuleType) -> Iterator[None]:
    """The constants of `module` changed, there and wherever in rankveil they were imported by name."""
    old = {name: getattr(module, name) for name in changes}  # a rule that names no constant is an error
    _replace(old, changes)
    try:
        yield
    finally:
        _replace(changes, old)  # a module that was first loaded meanwhile is put right as well


def _replace(old: Changes, new: Changes) -> None:
    for place in _modules():
        for name, value in old.items():
            if place.__dict__.get(name) is value:
                setattr(place, name, new[name])


def _modules() -> list[ModuleType]:
    return [module for name, module in list(sys.modules.items()) if name.startswith("rankveil.") and module is not None]


def measure(source: Source, ruler: Ruler, epsilon: str, seed: int, changes: Changes, module: ModuleType) -> Figures:
    with removed(changes, module):
        table = release(source, ruler.parts.released, seed, epsilon, DELTA)
    return ruler.read(table).errors()


def ratios(without: Figures, with_it: Figures) -> Figures:
    return {name: (without[name] + FLOOR) / (with_it[name] + FLOOR) for name in with_it}


def geometric_means(found: Sequence[Figures]) -> Figures:
    """Measure by measure over the cells that have it, and of all."""
    names = list(dict.fromkeys(name for each in found for name in each))
    logs = {name: [math.log(each[name]) for each in found if name in each] for name in names}
    every = [value for values in logs.values() for value in values]
    return {**{name: math.exp(mean(values)) for name, values in logs.items()}, "all": math.exp(mean(every))}


def run(
    module: ModuleType, chosen: Sequence[str], names: Sequence[str], epsilons: Sequence[str], runs: int, store: Runs
) -> dict[str, Any]:
    cells: dict[tuple[str, str, str], Figures] = {}
    for source in (TABLES[name] for name in names):
        ruler = Ruler(source)
        for rule in (NOTHING, *chosen):
            changes = {} if rule == NOTHING else module.ABLATIONS[rule]
            for epsilon in epsilons:
                found = []
                for seed in range(1, runs + 1):
                    asked = {"table": source.name, "epsilon": epsilon, "removed": rule, "seed": seed}
                    found.append(
                        store.get(
                            asked,
                            lambda t=source, r=ruler, e=epsilon, s=seed, c=changes: measure(t, r, e, s, c, module),
                        )
                    )
                cells[source.name, epsilon, rule] = means(found)
    lines = []
    for rule in chosen:
        by_role: dict[str, Figures] = {}
        for role in ROLES:
            compared = [
                ratios(cells[name, epsilon, rule], cells[name, epsilon, NOTHING])
                for name in names
                for epsilon in epsilons
                if TABLES[name].role == role
            ]
            if compared:
                by_role[role] = geometric_means(compared)
        lines.append({"rule": rule, "constants": {n: repr(v) for n, v in module.ABLATIONS[rule].items()}, **by_role})
    tables = {role: [name for name in names if TABLES[name].role == role] for role in ROLES}
    return {
        "runs": runs,
        "delta": DELTA,
        "epsilons": list(epsilons),
        "code": store.code,
        "tables": tables,
        "lines": lines,
    }


def summary(result: dict[str, Any]) -> str:
    names = list(dict.fromkeys(n for line in result["lines"] for role in ROLES for n in line.get(role, {})))
    rows = [
        [
            line["rule"],
            *(f"{line[role][name]:.3f}" if name in line.get(role, {}) else "" for role in ROLES for name in names),
        ]
        for line in result["lines"]
    ]
    where = "; ".join(f"{role}: {', '.join(result['tables'][role])}" for role in ROLES if result["tables"][role])
    return (
        f"Error without / with, geometric mean over ε = {', '.join(result['epsilons'])} and tables ({where}); mean of"
        f" {result['runs']} run(s). Above 1 the rule pays.\n\n"
        + grid(["rule", *(f"{role}, {name}" for role in ROLES for name in names)], rows)
    )


def main(arguments: Sequence[str] | None = None) -> None:
    module = rules()
    made = parser("ablation", __doc__, runs=3, epsilons=EPSILONS, tables=list(TABLES))
    made.add_argument(
        "--rules", nargs="+", default=list(module.ABLATIONS), choices=list(module.ABLATIONS), metavar="NAME"
    )
    options = made.parse_args(arguments)
    result = run(module, options.rules, options.tables, options.epsilons, options.runs, Runs(options.cache))
    shown(result, summary, as_json=options.json)


if __name__ == "__main__":
    main()
