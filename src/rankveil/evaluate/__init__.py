"""Utility of a release. Everything here reads the original table, so its results are internal.

The exception is publish.py: figures with noise, entered in the ledger first, which go on the certificate.
"""

from rankveil._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankveil.evaluate.evaluation import evaluate
    from rankveil.evaluate.learning import Learning, learning_scores, propensity_auc
    from rankveil.evaluate.measures import jensen_shannon, relative_errors, variance_change
    from rankveil.evaluate.measuring import measure, measure_all
    from rankveil.evaluate.publish import publish_accuracy
    from rankveil.evaluate.results import ColumnResult, Evaluation, PairResult

__all__ = [
    "ColumnResult",
    "Evaluation",
    "Learning",
    "PairResult",
    "evaluate",
    "jensen_shannon",
    "learning_scores",
    "measure",
    "measure_all",
    "propensity_auc",
    "publish_accuracy",
    "relative_errors",
    "variance_change",
]

__getattr__, __dir__ = lazily(
    __name__,
    evaluation="evaluate",
    learning="Learning learning_scores propensity_auc",
    measures="jensen_shannon relative_errors variance_change",
    measuring="measure measure_all",
    publish="publish_accuracy",
    results="ColumnResult Evaluation PairResult",
)
