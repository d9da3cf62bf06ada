"""Repeated runs of the published methods on one prepared table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

from rankveil.declare import Records
from rankveil.measure.budget import equal_shares
from rankveil.microaggregate import by_distance, individual_ranking
from rankveil.noise import RandomSource
from rankveil.published.centroids import algorithm_1_and_2, no_noise, own_cluster, predecessor


def _predecessor_order(records: Records, cluster_size: int) -> Any:
    """Which order the predecessor used is not printed; this one fits Table 1 and the overlap at m = 1."""
    return by_distance(records, cluster_size, weigh_by_deviation=True)


# Short names of the paper -> (how records are grouped, how centroids are protected)
STEPS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "IR": (individual_ranking, algorithm_1_and_2),
    "MV": (_predecessor_order, predecessor),
    "ranking": (individual_ranking, no_noise),
    "mdav-insensitive": (_predecessor_order, no_noise),
    # Plain Laplace as the paper means it is its own method with clusters of one: noise on every value.
    "laplace": (lambda records, cluster_size: individual_ranking(records, 1), algorithm_1_and_2),
}
NOISELESS = ("ranking", "mdav-insensitive")


def repeated(
    records: Records, method: str, cluster_size: int, epsilon: str, runs: int, source: RandomSource
) -> Iterator[Records]:
    """Released tables, one per run. Grouping is deterministic and done once."""
    group, protect = STEPS[method]
    grouped = group(records, cluster_size)
    shares = equal_shares(Decimal(epsilon), [column.name for column in records.schema.protected])
    for _ in range(runs):
        rows = own_cluster(protect(grouped, shares, source))
        yield Records(records.schema, rows.collected(), rows.row_count)
