"""Where rows come from and go to, and what reads them: files, frames, engines. Never decides what is private."""

from rankveil.engines.engine import Engine, Meter, RowProgress, no_meter, silent
from rankveil.engines.local import LocalEngine
from rankveil.engines.source import open_table
from rankveil.engines.table import Piece, Table

__all__ = ["Engine", "LocalEngine", "Meter", "Piece", "RowProgress", "Table", "no_meter", "open_table", "silent"]
