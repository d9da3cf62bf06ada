"""The Spark engine: the same folds and the same rows, on the executors of a Spark cluster.

session.py   a quiet session, and what goes wrong when one is started
table.py     what Spark reads, as a table: data frames, catalogue tables, paths
tasks.py     what runs on the executors
engine.py    folds, and work that is spread over executors

Nothing here imports pyspark before a session or a data frame is at hand: `import rankveil` stays light.
"""

from rankveil.engines.spark.engine import SparkEngine
from rankveil.engines.spark.session import start_session
from rankveil.engines.spark.table import FrameTable

__all__ = ["FrameTable", "SparkEngine", "start_session"]
