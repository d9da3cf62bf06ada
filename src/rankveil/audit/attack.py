"""The attack view: what somebody who knows everyone else learns about one record, method by method.

For every method a release is made in memory, with production code, and attacked: rows of the table are sampled, and for
each of their cells it is worked out what an attacker who knows all the rest of the table still has to guess. Nothing is
written and nothing is entered in the ledger, for nothing leaves this process but the attack's own result, which is
computed from the original and internal.

Each number says what it is:
    exact         which values the equality pattern leaves possible, and which not; the noise is not even used
    computed      Bayes' rule with the exact law of what was drawn; the attacker gets at least what the release shows
    upper bound   no attacker learns more, by the method's ε; what they do learn may be far less
    lower bound   this attacker learns it; another one may learn more
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rankveil.aligned.grouping import link
from rankveil.audit import attack_lists, attack_pattern, attack_rows
from rankveil.audit.attack_belief import (
    LEVEL,
    Attacker,
    Belief,
    Floats,
    before,
    bounded,
    by_likelihood,
    candidate_count,
    is_number,
)
from rankveil.audit.watch import Watch
from rankveil.certificate import plain
from rankveil.declare import Column, Plan, declare, planned
from rankveil.declare.dataset import Dataset
from rankveil.declare.domain import Codes, Grid
from rankveil.declare.unit import A_ROW
from rankveil.engines import open_table
from rankveil.errors import PlanError, RankveilError, TableError
from rankveil.evaluate.results import INTERNAL
from rankveil.measure.budget import Budget, equal_shares
from rankveil.methods import METHODS, Method, budget_of, method_named
from rankveil.microaggregate import by_distance, individual_ranking
from rankveil.microaggregate.unaligned import order_every_row, rank_every_row
from rankveil.noise import RandomSource, SystemSource, permutation

Basis = Literal["exact", "computed", "upper bound", "lower bound"]

_MOST_LABELS = 5  # shown for a single row
_ORDERS = {  # published methods whose clusters follow a public order
    "published:individual-ranking": individual_ranking,
    "published:ranking": individual_ranking,
    "published:multivariate": by_distance,
    "published:mdav-insensitive": by_distance,
}


@dataclass(frozen=True)
class Left:
    """What remains of one cell, in the column's own words."""

    low: str | None = None  # numbers: nothing is left below
    high: str | None = None
    or_missing: bool = False
    labels: tuple[tuple[str, float], ...] = ()  # labels: the likeliest ones and their chances
    more_labels: int = 0

    def __str__(self) -> str:
        parts = [f"{label} {100 * chance:.3g} %" for label, chance in self.labels]
        if self.more_labels:
            parts.append(f"and {self.more_labels} more")
        if self.low is not None:
            parts.append(self.low if self.low == self.high else f"{self.low} to {self.high}")
        return ", ".join(parts + ["missing"] * self.or_missing)


@dataclass(frozen=True)
class ColumnAttack:
    """`range`: 95 % range left, as a share of the one before. `chance`: of the true label. See attack_belief."""

    name: str
    kind: str
    measure: Literal["range", "chance"]
    values: int  # how many the public domain holds, missing among them where it is allowed
    before: float
    after: float  # median range, or mean chance, over the rows that were attacked
    worst: float  # the smallest range, or the largest chance
    basis: Basis
    bound: float | None = None  # what ε allows at most, whoever attacks and however; methods with a guarantee only
    left: Left | None = None  # when one row is looked at


@dataclass(frozen=True)
class MethodAttack:
    method: str
    differentially_private: bool
    basis: Basis
    says: str
    columns: tuple[ColumnAttack, ...]
    was_attacked: bool = True  # else `after` is the bound itself, and no attack was run


@dataclass(frozen=True)
class Attack:
    """Results of all methods, and what was asked."""

    rows: int
    attacked_rows: int
    row: int | None  # the single row that was attacked, counted from 1
    epsilon: str
    delta: str | None
    k: int | None
    methods: tuple[MethodAttack, ...]
    skipped: dict[str, str] = field(default_factory=dict)  # method -> why it does not fit the plan
    level: float = LEVEL
    note: str = INTERNAL

    def as_dict(self) -> dict[str, Any]:
        return {"note": self.note, **{key: value for key, value in asdict(self).items() if key != "note"}}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)


def attack(
    table: object,
    plan: Plan | str | Path,
    *,
    methods: Sequence[str] | None = None,
    row: int | None = None,
    sample: int = 20,
    epsilon: object = None,
    k: int | None = None,
    source: RandomSource | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> Attack:
    """What an attacker who knows everyone else learns about one record of `table` under each method.

        >>> found = rv.attack(people, plan, methods=["laplace", "published:individual-ranking"], k=5, sample=5)
        >>> [method.method for method in found.methods]
        ['laplace', 'published:individual-ranking']
        >>> "INTERNAL" in found.note
        True

    By default all methods that fit the plan, on `sample` random rows; `row` (the first one is 1) looks at one row and
    says what is left of its values. `epsilon` and `k` replace those of the plan. The result is internal.
    """
    plan = planned(plan, epsilon=epsilon, k=k)
    source = SystemSource() if source is None else source
    opened = open_table(table, separator=plan.table.separator, encoding=plan.table.encoding)
    plan = plan.over(opened.schema.names)
    dataset = Dataset(declare(plan, opened), opened)
    row_count = dataset.records().row_count
    if row is not None and not 1 <= row <= row_count:
        raise TableError(f"The table has no row {row}: rows count from 1 to {row_count}.", remedy="Choose another row.")
    if sample < 1:
        raise PlanError("At least one row has to be attacked.", remedy="Give a sample of 1 or more.")
    targets = permutation(source, row_count)[:sample].tolist() if row is None else [row - 1]
    results, skipped = [], {}
    for name in METHODS if methods is None else methods:
        progress(f"attacking {name}")
        try:
            results.append(_attacked(method_named(name), plan, dataset, targets, source, single=row is not None))
        except RankveilError as error:
            if methods is not None:
                raise
            skipped[name] = error.problem
    return Attack(
        rows=row_count,
        attacked_rows=len(targets),
        row=row,
        epsilon=plain(plan.release.epsilon),
        delta=None if plan.release.delta is None else plain(plan.release.delta),
        k=plan.release.k,
        methods=tuple(results),
        skipped=skipped,
    )


def _attacked(
    method: Method, plan: Plan, dataset: Dataset, targets: list[int], source: RandomSource, *, single: bool
) -> MethodAttack:
    made = _prepared(method, plan, dataset, source)
    by_row = [[made.attacker(target, column) for column in made.columns] for target in targets]
    columns = []
    for column, beliefs in zip(made.columns, zip(*by_row, strict=True), strict=True):
        values = np.array([belief.value for belief in beliefs])
        number = is_number(column)
        columns.append(
            ColumnAttack(
                column.name,
                column.kind,
                "range" if number else "chance",
                candidate_count(column),
                before(column),
                float(np.median(values) if number else values.mean()),
                float(values.min() if number else values.max()),
                made.basis,
                bounded(column, _odds(plan)).value if method.differentially_private else None,
                _left(column, beliefs[0]) if single else None,
            )
        )
    return MethodAttack(
        method.name, method.differentially_private, made.basis, made.says, tuple(columns), made.was_attacked
    )


def _odds(plan: Plan) -> float:
    """The logarithm of what odds about a value are multiplied by at most, but for an outcome of probability δ."""
    twice = plan.unit.neighbours == "add-remove"  # another value is one row less and one row more
    return float(plan.release.epsilon) * (2 if twice else 1)


def _left(column: Column, belief: Belief) -> Left:
    if not isinstance(column.domain, Grid):
        shown = belief.labels[:_MOST_LABELS]
        names = column.domain.decode(np.array([code for code, _ in shown], np.int64)).to_pylist()
        labels = tuple(
            ("missing" if name is None else str(name), chance) for name, (_, chance) in zip(names, shown, strict=True)
        )
        return Left(labels=labels, more_labels=len(belief.labels) - len(shown))
    ends = column.domain.decode(np.array([belief.low, belief.high], np.int64)).to_pylist()
    low, high = (None if end is None else str(end) for end in ends)
    return Left(low, high, or_missing=belief.may_be_missing)


# One attacker per family of methods


@dataclass(frozen=True)
class _Prepared:
    """A release that has been made, and somebody who attacks it."""

    attacker: Attacker
    columns: tuple[Column, ...]
    basis: Basis
    says: str
    was_attacked: bool = True


def _prepared(method: Method, plan: Plan, dataset: Dataset, source: RandomSource) -> _Prepared:
    _refuse_misfit(method, plan)
    whole = budget_of(plan)
    budget = whole if method.uses_delta else Budget(whole.epsilon)
    if method.name == "laplace":
        return _laplace(method, dataset, budget, source)
    if method.name == "aligned":
        return _aligned(method, dataset, budget, source)
    if method.name in ("unlinked", "multivariate"):
        return _lists(method, dataset, plan.release.k or 1, budget, source)
    if not method.differentially_private:
        return _published(method, dataset, plan.release.k or 1, budget, source)
    twice, epsilon = plan.unit.neighbours == "add-remove", _odds(plan)
    caveat = "" if budget.delta is None else " With a δ, an outcome whose probability is about δ may say more."
    says = f"Not attacked: by its ε no attacker can multiply odds by more than {'e^2ε' if twice else 'e^ε'}.{caveat}"
    attacker: Attacker = lambda row, column: bounded(column, epsilon)  # noqa: E731
    return _Prepared(attacker, dataset.schema.protected, "upper bound", says, was_attacked=False)


def _refuse_misfit(method: Method, plan: Plan) -> None:
    if plan.unit != A_ROW and method.name != "synthetic":
        raise PlanError(f"The method {method.name} does not protect {plan.unit.who}.", remedy="Attack synthetic.")
    columns = plan.columns.values()
    special = any(getattr(entry, "special", ()) or entry.derived is not None for entry in columns)
    if (plan.rule or plan.impossible or special) and method.name != "synthetic":
        raise PlanError(
            f"The method {method.name} does not keep to rules, derived columns or special values.",
            remedy="Attack synthetic.",
        )
    if method.needs_clusters and plan.release.k is None:
        raise PlanError(f"The method {method.name} forms clusters and no k is given.", remedy="Give a k.")
    unbounded = [name for name, entry in plan.columns.items() if getattr(entry, "bounds", "public") == "private"]
    if unbounded and not method.finds_bounds:
        raise PlanError(
            f"The method {method.name} cannot find private bounds, which column {unbounded[0]!r} asks for.",
            remedy="Give the column public limits (lower and upper), or attack synthetic or aligned.",
        )


def _laplace(method: Method, dataset: Dataset, budget: Budget, source: RandomSource) -> _Prepared:
    records = dataset.records()
    released = method.drawn(method.prepare(dataset, 1), budget, source).collected()
    shares = equal_shares(budget.epsilon, [column.name for column in records.schema.protected])

    def log_likelihood(row: int, column: Column, codes: Codes) -> Floats:
        shown = int(released[column.name][row])
        return attack_rows.laplace_log_likelihood(column, shares[column.name], codes, shown)

    says = "Bayes' rule on the record's own row; no other row depends on the record."
    return _Prepared(by_likelihood(records, log_likelihood), records.schema.protected, "computed", says)


def _aligned(method: Method, dataset: Dataset, budget: Budget, source: RandomSource) -> _Prepared:
    protected = method.protect(method.prepare(dataset, 1), budget, source)
    price = protected.budget.part(protected.budget.left)
    linkage = link(protected.marginals, price.amount)
    released = method.rows(protected, budget, source).collected()
    records = protected.dataset.records()  # with released bounds, where the plan leaves them open
    law = partial(attack_rows.aligned_log_likelihood, records, released, protected.marginals, linkage)
    spare = float(budget.epsilon - price.amount)  # the ε that marginals (and bounds) have cost
    says = f"Bayes' rule on the record's own row, and the marginals counted with their whole share, ε = {spare:.3g}."
    return _Prepared(by_likelihood(records, law, spare=spare), records.schema.protected, "upper bound", says)


def _lists(method: Method, dataset: Dataset, k: int, budget: Budget, source: RandomSource) -> _Prepared:
    records, ranked = dataset.records(), method.name == "unlinked"
    clustered, watch = method.prepare(dataset, k), Watch(source)
    method.protect(clustered, budget, watch)
    lists = attack_lists.drawn_lists(clustered, watch.draws, ranked=ranked)
    group = rank_every_row if ranked else order_every_row
    attacker = attack_lists.attacker(records, clustered, lists, group, ranked=ranked)
    says = "Bayes' rule on the noisy list in the order of its clusters, which is more than the shuffled rows show."
    return _Prepared(attacker, records.schema.protected, "computed", says)


def _published(method: Method, dataset: Dataset, k: int, budget: Budget, source: RandomSource) -> _Prepared:
    records = dataset.records()
    clustered = method.prepare(dataset, k)
    codes = method.drawn(clustered, budget, source).collected()
    order = _ORDERS.get(method.name)
    release = attack_pattern.Release(
        records, clustered, codes, order, by_column=order is individual_ranking, noisy=method.uses_budget
    )
    mates = "Rows with equal values share a cluster, and all records of a cluster but one are known"
    basis: Basis = "exact" if method.uses_budget and k > 1 else "lower bound"
    how = "the order brackets the value" if order is not None else ""
    if basis == "exact":
        says = f"{mates}: {how}, whatever ε is."
    else:
        how += "" if method.uses_budget else (" and " if how else "") + "the centroid gives away their sum"
        says = f"{mates}: {how}. There may be better attacks."
    return _Prepared(attack_pattern.attacker(release), records.schema.protected, basis, says)
