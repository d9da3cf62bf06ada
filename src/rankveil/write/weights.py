"""Replicate weights as a table of their own beside the release, row by row in its order.

rv_w            weight 1 of every row: the release itself
rv_w1 ...       replicates for the table that was protected
rv_p1 ...       replicates for the people it was drawn from
rv_s1 ...       rows drawn again that agree with all that was measured: what estimates rest on
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq

from rankveil.draw.replicates import UNIT, Replicates
from rankveil.write.files import Written

WEIGHTS = ("rv_w", "rv_p", "rv_s")  # what the columns of each kind begin with
_ROWS_AT_ONCE = 1 << 16


def weights_table(made: Replicates) -> pa.Table:
    """A function of the weights alone."""
    columns = {"rv_w": pa.array(np.ones(made.table.shape[1], np.float32))}
    for start, kind in zip(WEIGHTS, (made.table, made.population, made.support), strict=True):
        for number, weights in enumerate(kind, start=1):
            columns[f"{start}{number}"] = pa.array((weights / UNIT).astype(np.float32))
    return pa.table(columns)


def write_weights(table: pa.Table, path: Path, name: str) -> Written:
    """As Parquet or CSV, as the name says."""
    if name.endswith(".parquet"):
        papq.write_table(table, path, row_group_size=_ROWS_AT_ONCE, compression="zstd", store_schema=False)
    else:
        pacsv.write_csv(table, path, pacsv.WriteOptions(quoting_style="none", batch_size=_ROWS_AT_ONCE))
    with path.open("rb") as file:
        return Written(name, hashlib.file_digest(file, "sha256").hexdigest(), path.stat().st_size)
