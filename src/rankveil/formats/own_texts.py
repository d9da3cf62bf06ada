"""Columns whose every cell has a type of its own: each value becomes the text that it is by itself.

PRIVACY: one type for the whole column would be chosen by looking at all its values, and one record would change how
those of others are read. So 7 and 7.0 are '7', a day is its ISO text, and nothing is inferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import pyarrow as pa

from rankveil.engines.spelling import own_text, with_number_texts


def own_texts(values: Sequence[Any]) -> pa.Array:
    texts = with_number_texts([own_text(value) for value in values])
    return pa.array([text.isoformat() if isinstance(text, date) else text for text in texts], pa.string())
