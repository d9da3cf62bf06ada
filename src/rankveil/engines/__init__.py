"""Where rows come from and go to, and what reads them: files, frames, engines. Never decides what is private."""

from rankveil.engines.engine import Engine, Map, Meter, RowProgress, RowsDone, RowsToCome, metered, no_meter, silent
from rankveil.engines.local import LocalEngine
from rankveil.engines.source import first_rows, open_table
from rankveil.engines.spark.engine import engine_for
from rankveil.engines.table import Slice, Table

__all__ = [
    "Engine",
    "LocalEngine",
    "Map",
    "Meter",
    "RowProgress",
    "RowsDone",
    "RowsToCome",
    "Slice",
    "Table",
    "engine_for",
    "first_rows",
    "metered",
    "no_meter",
    "open_table",
    "silent",
]
