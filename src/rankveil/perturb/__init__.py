"""Step 3: add noise. The only step of a release in which randomness decides a value.

results.py     what comes out, and what was drawn for which column, for the certificate
records.py     every record perturbed by itself, with no grouping before (method `laplace`)
centroids.py   the values of clusters (methods `unlinked` and `multivariate`)
"""

from rankveil.measure.budget import Mechanism
from rankveil.perturb.records import perturb_records
from rankveil.perturb.results import NoisyCentroids, PerturbedRecords

__all__ = ["Mechanism", "NoisyCentroids", "PerturbedRecords", "perturb_records"]
