"""Which settings are compared: every method with every ε and, where it forms clusters, every k."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Literal

from rankveil.certificate import plain
from rankveil.declare import Plan
from rankveil.errors import PlanError
from rankveil.methods import Method, method_named

RESAMPLED = "resampled"  # the original drawn again with replacement: what chance alone does
BASELINES = ("laplace", "published:ranking")
MOST_CELLS = 100_000
Role = Literal["asked", "baseline"]


@dataclass(frozen=True)
class Cell:
    """One release to be drawn and measured."""

    method: str
    epsilon: str | None
    delta: str | None
    k: int | None
    run: int
    role: Role = "asked"

    @property
    def key(self) -> str:
        """What makes a cell: two cells with the same key are the same work, whatever they are for."""
        parts = (self.method, self.epsilon, self.delta, self.k, self.run)
        return "|".join("" if part is None else str(part) for part in parts)

    def in_words(self) -> str:
        parts = [("ε", self.epsilon), ("δ", self.delta), ("k", self.k)]
        return ", ".join([self.method, *(f"{name} = {value}" for name, value in parts if value is not None)])


def cells_of(
    plan: Plan,
    methods: Sequence[str],
    epsilons: Sequence[object],
    ks: Sequence[int],
    delta: object,
    runs: int,
    *,
    baselines: bool,
) -> list[Cell]:
    """All cells, those with the same grouping next to each other, baselines last."""
    chosen = [method_named(name) for name in dict.fromkeys(methods)]
    if not chosen:
        raise PlanError("No method is named.", remedy="Name at least one: --methods synthetic,laplace")
    wanted = _epsilons(epsilons, plan)
    sizes = _sizes(ks, plan, chosen)
    if runs < 1:
        raise PlanError(f"{runs} runs cannot be made.", remedy="Give at least one run.")
    given = plan.release.delta if delta is None else _decimal(delta, "δ")
    cells = [
        cell
        for method in chosen
        for cell in _of_method(method, wanted, sizes, None if given is None else plain(given), runs, "asked")
    ]
    if baselines:
        extra = [method_named(name) for name in BASELINES if name not in methods]
        cells += [cell for method in extra for cell in _of_method(method, wanted, sizes or [], None, runs, "baseline")]
        cells += [Cell(RESAMPLED, None, None, None, run, "baseline") for run in range(1, runs + 1)]
    if len(cells) > MOST_CELLS:
        raise PlanError(f"{len(cells):,} cells are too many to compare.", remedy="Name fewer methods, ε or k.")
    return cells


def _of_method(
    method: Method, epsilons: Sequence[str], sizes: Sequence[int], delta: str | None, runs: int, role: Role
) -> Iterable[Cell]:
    for k in sizes if method.needs_clusters else [None]:
        for epsilon in epsilons if method.uses_budget else [None]:
            for run in range(1, (runs if method.uses_budget else 1) + 1):
                # δ is for the methods that know one; the others keep what they promise without it.
                yield Cell(method.name, epsilon, delta if method.uses_delta else None, k, run, role)


def plan_for(plan: Plan, cell: Cell) -> Plan:
    """The plan with the cell's settings in the place of its own."""
    content = plan.model_dump()
    content["release"] |= {
        "method": cell.method,
        "epsilon": Decimal(cell.epsilon) if cell.epsilon is not None else Decimal(1),
        "delta": None if cell.delta is None else Decimal(cell.delta),
        "k": cell.k,
    }
    return Plan.from_dict(content, folder=plan.folder)


def _epsilons(given: Sequence[object], plan: Plan) -> list[str]:
    values = [_decimal(value, "ε") for value in given] or [plan.release.epsilon]
    return [plain(value) for value in sorted(set(values))]


def _decimal(value: object, symbol: str) -> Decimal:
    try:
        number = Decimal(str(value).strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number <= 0:
        raise PlanError(f"{value!r} is no {symbol}.", remedy=f"Give {symbol} as positive numbers, such as 0.1,1,10.")
    return number


def _sizes(given: Sequence[int], plan: Plan, methods: Sequence[Method]) -> list[int]:
    sizes = sorted(set(given)) or ([plan.release.k] if plan.release.k is not None else [])
    if any(size < 1 for size in sizes):
        raise PlanError("A cluster size is less than 1.", remedy="Give k as whole numbers from 1 on: --ks 10,50,200")
    needing = [method.name for method in methods if method.needs_clusters]
    if needing and not sizes:
        raise PlanError(
            f"The method {needing[0]} forms clusters, and no k is given.", remedy="Give --ks, for example --ks 10,50."
        )
    return sizes
