"""Noise on the values of records or of clusters, and the rows that come of them.

results.py     what comes out, and what was drawn for which column, for the certificate
records.py     every record perturbed by itself, with no grouping before (method `laplace`)
centroids.py   the values of clusters (methods `unlinked` and `multivariate`)
rows.py        each value in the row it belongs to
shuffle.py     columns, or whole rows, in an order of their own
"""

from rankveil.measure.budget import Mechanism
from rankveil.perturb.records import perturb_records
from rankveil.perturb.results import NoisyCentroids, PerturbedRecords

__all__ = ["Mechanism", "NoisyCentroids", "PerturbedRecords", "perturb_records"]
