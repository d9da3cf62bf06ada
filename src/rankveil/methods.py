"""The methods: what each makes of a table in three steps, and what holds for the table that comes out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from rankveil.aligned.rows import marginals_for_rows, planned_for_aligned, rows_through_channel
from rankveil.declare import Column, Plan, Records, Schema, declare_alone
from rankveil.declare.dataset import Dataset
from rankveil.draw.rows import Rows
from rankveil.draw.synthetic import draw
from rankveil.errors import PlanError
from rankveil.fit.model import Model, fit
from rankveil.measure.budget import Budget, Mechanism, equal_shares
from rankveil.measure.measurements import Measurements
from rankveil.measure.synthetic import counted, measure, planned
from rankveil.microaggregate import by_distance, individual_ranking, single_records
from rankveil.microaggregate.unaligned import order_every_row, rank_every_row
from rankveil.noise import RandomSource, Sampler
from rankveil.perturb.centroids import planned_ranked, planned_records, protect_ranked, protect_records
from rankveil.perturb.records import perturb_records
from rankveil.perturb.records import planned as planned_for_records
from rankveil.perturb.shuffle import shuffled_columns, shuffled_rows
from rankveil.published.centroids import (
    algorithm_1_and_2,
    no_noise,
    own_cluster,
    planned_by_paper,
    planned_by_predecessor,
    planned_without_noise,
    predecessor,
)
from rankveil.published.mdav import mdav

Shares = Mapping[str, Fraction]


@dataclass(frozen=True)
class FittedTable:
    """What was measured of a table, and the model that was fitted to it."""

    measured: Measurements
    model: Model
    dataset: Dataset  # INTERNAL: for its public columns, which rows of the release keep


@dataclass(frozen=True)
class Method:
    """A method is a declaration: what it reads of a table, how that is protected, which rows come of it."""

    name: str
    summary: str
    prepare: Callable[[Dataset, int], Any]  # the table and k: exact, and before anything is spent
    protect: Callable[[Any, Budget, RandomSource], Any]
    rows: Callable[[Any, Budget, RandomSource], Rows]  # of what was protected or, with a `fit`, of what that gave
    planned: Callable[[Plan], list[Mechanism]]  # what `protect` will draw, as far as the plan alone tells
    differentially_private: bool
    theorems: tuple[str, ...]  # ids: what carries the guarantee as a whole, or what refutes the claim
    holds: str  # one sentence for people
    why_not: str = ""  # for methods without a guarantee: the reason, in words
    needs_clusters: bool = True  # k must be given
    uses_budget: bool = True  # ε matters
    uses_delta: bool = False  # a δ is allowed
    finds_bounds: bool = False  # bounds = "private" is understood
    row_aligned: bool = False  # row r of the release belongs to record r of the table
    has_replicates: bool = False  # its rows can have replicate weights
    folds_only: bool = False  # reads counts of the table and never a record by itself, so that any engine will do
    columns_in_table: tuple[str, str, str] = ("", "", "")  # the three steps in words
    fit: Callable[[Any, RandomSource], FittedTable] | None = None  # a model in between, which can be kept

    def linked(self, protected: Any, source: RandomSource) -> Any:
        """What `rows` are made of."""
        return protected if self.fit is None else self.fit(protected, source)

    def drawn(self, prepared: Any, budget: Budget, source: RandomSource) -> Rows:
        """The rows that come of a prepared table. INTERNAL: no ledger knows of what is drawn here.

        PRIVACY: a caller that lets anybody see these rows must have entered them in the ledger before this call, as
        `release` does. A caller that has not (a comparison, an audit) keeps rows and what follows from them inside.
        """
        return self.rows(self.linked(self.protect(prepared, budget, source), source), budget, source)

    def reads_records(self, schema: Schema) -> str | None:
        """What about a release by this method needs every record by itself, if anything does."""
        if not self.folds_only:
            return f"The method {self.name}"
        return "A plan with public columns" if any(not column.protected for column in schema.columns) else None


def budget_of(plan: Plan) -> Budget:
    """All that a release by this plan may spend."""
    delta = plan.release.delta
    return Budget(Fraction(plan.release.epsilon), None if delta is None else Fraction(delta), protects=plan.unit)


def _on_records(step: Callable[[Records, int], Any]) -> Callable[[Dataset, int], Any]:
    """For methods that need all rows in memory."""
    return lambda dataset, cluster_size: step(dataset.records(), cluster_size)


def _with_equal_shares(
    step: Callable[[Any, Shares, RandomSource], Any],
) -> Callable[[Any, Budget, RandomSource], Any]:
    """For methods that give every protected column the same part of ε."""

    def protect(grouped: Any, budget: Budget, source: RandomSource) -> Any:
        return step(grouped, equal_shares(budget.epsilon, [c.name for c in grouped.schema.protected]), source)

    return protect


def _measured(given: Any, budget: Budget, source: RandomSource) -> Any:
    return measure(given, budget, source), given.dataset


def _fitted(given: Any, source: RandomSource) -> FittedTable:
    measured, dataset = given
    return FittedTable(measured, fit(measured, Sampler(source)), dataset)


def _drawn(given: FittedTable, budget: Budget, source: RandomSource) -> Rows:
    return draw(given.model, given.measured, given.dataset, source)


def _without_budget(step: Callable[[Any], Rows]) -> Callable[[Any, Budget, RandomSource], Rows]:
    """For ways of linking that draw nothing."""
    return lambda protected, budget, source: step(protected)


def _without_price(step: Callable[[Any, RandomSource], Rows]) -> Callable[[Any, Budget, RandomSource], Rows]:
    """For ways of linking that draw but read no more data."""
    return lambda protected, budget, source: step(protected, source)


def _planned_with_shares(
    of_column: Callable[[Column, Shares, int], list[Mechanism]],
) -> Callable[[Plan], list[Mechanism]]:
    def planned(plan: Plan) -> list[Mechanism]:
        columns = declare_alone(plan).protected
        shares = equal_shares(plan.release.epsilon, [column.name for column in columns])
        return [note for column in columns for note in of_column(column, shares, plan.release.k or 1)]

    return planned


def _without_noise(name: str, summary: str, group: Callable[[Records, int], Any], holds: str, in_words: str) -> Method:
    """Microaggregation alone, every row with the value of its cluster."""
    return Method(
        name=name,
        summary=summary,
        prepare=_on_records(group),
        protect=_with_equal_shares(no_noise),
        rows=_without_budget(own_cluster),
        planned=_planned_with_shares(planned_without_noise),
        differentially_private=False,
        theorems=("T41",),
        holds=holds,
        why_not="No noise is added: the release is a deterministic function of the table.",
        uses_budget=False,
        row_aligned=True,
        columns_in_table=(in_words, "none", "own cluster"),
    )


_SHARES_CLUSTER = (
    "Which rows share a cluster is visible, exactly, from which rows show equal values; one person's value decides it,"
    " so two neighbouring tables can be distinguished with certainty whatever ε is."
)

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="synthetic",
            summary="fresh rows from noisy marginals and a noisy model of dependence",
            prepare=counted,
            protect=_measured,
            fit=_fitted,
            rows=_drawn,
            planned=planned,
            differentially_private=True,
            theorems=("T29", "T2"),
            holds="The released table is differentially private.",
            needs_clusters=False,
            uses_delta=True,
            finds_bounds=True,
            has_replicates=True,
            folds_only=True,
            columns_in_table=(
                "per column: counts of values, cells and cells with large counts",
                "discrete Laplace, or discrete Gaussian with δ",
                "noisy two- and three-way tables, parities or sign products; fresh rows",
            ),
        ),
        Method(
            name="aligned",
            summary="row r belongs to record r: its cells go through one joint channel",
            prepare=counted,
            protect=marginals_for_rows,
            rows=rows_through_channel,
            planned=planned_for_aligned,
            differentially_private=True,
            theorems=("T30", "T3", "T26", "T27"),
            holds="The released table is differentially private.",
            needs_clusters=False,
            finds_bounds=True,
            row_aligned=True,
            columns_in_table=(
                "per column: counts of values, cells and cells with large counts",
                "discrete Laplace",
                "own row: its cells through one joint channel per record",
            ),
        ),
        Method(
            name="laplace",
            summary="noise on every value, no grouping",
            prepare=single_records,
            protect=_with_equal_shares(perturb_records),
            rows=_without_budget(lambda rows: rows),
            planned=_planned_with_shares(lambda column, shares, k: planned_for_records(column, shares[column.name])),
            differentially_private=True,
            theorems=("T31", "T3", "T2"),
            holds="The released table is differentially private.",
            needs_clusters=False,
            row_aligned=True,
            columns_in_table=("none (k = 1)", "discrete Laplace mΔ/ε; exponential mechanism", "own row"),
        ),
        Method(
            name="unlinked",
            summary="the paper's centroids, every column shuffled by itself",
            prepare=_on_records(rank_every_row),
            protect=_with_equal_shares(protect_ranked),
            rows=_without_price(shuffled_columns),
            planned=planned_ranked,
            differentially_private=True,
            theorems=("T32", "T24", "T2"),
            holds="The released table is differentially private.",
            columns_in_table=(
                "individual ranking",
                "discrete Laplace mD/ε on sums of k; Algorithm 2 for the path length",
                "every column shuffled",
            ),
        ),
        Method(
            name="multivariate",
            summary="the predecessor's centroids with the factor m, rows shuffled",
            prepare=_on_records(order_every_row),
            protect=_with_equal_shares(protect_records),
            rows=_without_price(shuffled_rows),
            planned=planned_records,
            differentially_private=True,
            theorems=("T33", "T24", "T2"),
            holds="The released table is differentially private.",
            columns_in_table=(
                "public order of records",
                "discrete Laplace mJD/ε on sums of k; exponential mechanism",
                "whole rows shuffled",
            ),
        ),
        Method(
            name="published:individual-ranking",
            summary="the paper: Algorithm 1, and Algorithm 2 for labels",
            prepare=_on_records(individual_ranking),
            protect=_with_equal_shares(algorithm_1_and_2),
            rows=_without_budget(own_cluster),
            planned=_planned_with_shares(planned_by_paper),
            differentially_private=False,
            theorems=("T34", "T35"),
            holds="Nothing for the table. The centroid lists of numeric columns, without the rows, would be ε-DP.",
            why_not=_SHARES_CLUSTER
            + " For columns of labels, moreover, Algorithm 2 is calibrated to one cluster and not to the list (T35).",
            row_aligned=True,
            columns_in_table=(
                "individual ranking",
                "Laplace mΔ/(kε), one draw per cluster; Algorithm 2",
                "own cluster",
            ),
        ),
        Method(
            name="published:multivariate",
            summary="the predecessor: whole records in clusters, then noise",
            prepare=_on_records(by_distance),
            protect=_with_equal_shares(predecessor),
            rows=_without_budget(own_cluster),
            planned=_planned_with_shares(planned_by_predecessor),
            differentially_private=False,
            theorems=("T34", "T36"),
            holds="Nothing for the table. The list of centroids, without the rows, would be mε-DP.",
            why_not=_SHARES_CLUSTER + " The printed scale, moreover, leaves out the number of columns m (T36).",
            row_aligned=True,
            columns_in_table=(
                "insensitive order of records",
                "Laplace (n/k)(Δ/k)/ε; Algorithm 2",
                "own cluster",
            ),
        ),
        _without_noise(
            "published:ranking",
            "individual ranking alone",
            individual_ranking,
            "No formal guarantee; not even k-anonymity of records.",
            "individual ranking",
        ),
        _without_noise(
            "published:mdav-insensitive",
            "the predecessor's microaggregation alone",
            by_distance,
            "k-anonymity of the protected columns; no differential privacy.",
            "insensitive order of records",
        ),
        _without_noise(
            "published:mdav",
            "plain MDAV alone",
            mdav,
            "k-anonymity of the protected columns; no differential privacy.",
            "MDAV",
        ),
    )
}


def method_named(name: str) -> Method:
    try:
        return METHODS[name]
    except KeyError:
        raise PlanError(
            f"There is no method {name!r}.",
            remedy="`rankveil methods` lists them: " + ", ".join(METHODS) + ".",
        ) from None
