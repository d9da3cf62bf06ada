"""Estimates from a release, with standard errors and intervals from its replicate weights. Post-processing (T1).

frame.py       the released rows and their weights, as arrays
asked.py       what is asked: "mean(income) by sex where age >= 65"
values.py      conditions and values, row by row
statistics.py  means, totals, tables, quantiles: from weights to numbers
regression.py  linear and logistic regression
intervals.py   numbers with their errors, and whether they were measured
"""

from rankveil._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankveil.estimate.frame import Frame
    from rankveil.estimate.intervals import Estimate, Estimates, estimate

__all__ = ["Estimate", "Estimates", "Frame", "estimate"]

__getattr__, __dir__ = lazily(__name__, frame="Frame", intervals="Estimate Estimates estimate")
