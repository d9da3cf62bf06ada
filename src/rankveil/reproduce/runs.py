"""Repeated runs of the published methods on one prepared table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from rankveil.declare import Records
from rankveil.draw.rows import Rows
from rankveil.measure.budget import equal_shares
from rankveil.microaggregate import by_distance, individual_ranking
from rankveil.noise import RandomSource
from rankveil.perturb.rows import own_cluster
from rankveil.published.centroids import algorithm_1_and_2, no_noise, predecessor


def _predecessor_order(records: Records, cluster_size: int) -> Any:
    """Which order the predecessor used is not printed; this one fits Table 1 and the overlap at m = 1."""
    return by_distance(records, cluster_size, weigh_by_deviation=True)


# Short names of the paper -> (microaggregate, protect, relink)
STEPS: dict[str, tuple[Callable[..., Any], Callable[..., Any], Callable[..., Rows]]] = {
    "IR": (individual_ranking, algorithm_1_and_2, own_cluster),
    "MV": (_predecessor_order, predecessor, own_cluster),
    "ranking": (individual_ranking, no_noise, own_cluster),
    "mdav-insensitive": (_predecessor_order, no_noise, own_cluster),
    # Plain Laplace as the paper means it is its own method with clusters of one: noise on every value.
    "laplace": (lambda records, cluster_size: individual_ranking(records, 1), algorithm_1_and_2, own_cluster),
}
NOISELESS = ("ranking", "mdav-insensitive")


def repeated(
    records: Records, method: str, cluster_size: int, epsilon: str, runs: int, source: RandomSource
) -> Iterator[Records]:
    """Released tables, one per run. Grouping is deterministic and done once."""
    microaggregate, protect, relink = STEPS[method]
    grouped = microaggregate(records, cluster_size)
    shares = equal_shares(Decimal(epsilon), [column.name for column in records.schema.protected])
    for _ in range(runs):
        rows = relink(protect(grouped, shares, source))
        yield Records(records.schema, rows.collected(), rows.row_count)
