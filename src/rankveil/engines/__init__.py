"""Where rows come from and go to: files, data frames, Arrow tables. Never decides what is private."""

from rankveil.engines.source import Table, open_table

__all__ = ["Table", "open_table"]
