"""Utility of a release. Everything here reads the original table, so its results are internal."""

from rankveil.evaluate.evaluation import ColumnResult, Evaluation, evaluate, measure
from rankveil.evaluate.measures import jensen_shannon, relative_errors, variance_change

__all__ = [
    "ColumnResult",
    "Evaluation",
    "evaluate",
    "jensen_shannon",
    "measure",
    "relative_errors",
    "variance_change",
]
