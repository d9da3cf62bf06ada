"""Where Arrow takes its memory from.

Arrow's wheels bring an allocator of their own, mimalloc 3. The system's is as fast here and takes less memory
(docs/decisions/0014-memory-of-the-system.md). `import rankveil` chooses nothing: a process of somebody else's is asked
for the system's memory when rankveil first opens a table in it, and keeps its environment as it is.
"""

from __future__ import annotations

import os
import sys
from functools import cache

_CHOICE = "ARROW_DEFAULT_MEMORY_POOL"  # Arrow reads it once, when it is loaded


@cache  # once: whoever chooses another pool later has chosen
def take_memory_from_the_system() -> None:
    """Unless somebody has chosen: by Arrow's environment variable, or another allocator in this process.

    It is not for what Arrow allocates by itself, in writing Parquet for example; it is for what we ask of it.
    """
    import pyarrow as pa

    if _CHOICE not in os.environ and pa.default_memory_pool().backend_name == "mimalloc":
        pa.set_memory_pool(pa.system_memory_pool())


def choose_for_a_process_of_ours() -> None:
    """The same for all that Arrow allocates, here and in processes begun from here: for the start of a program."""
    if "pyarrow" not in sys.modules:
        os.environ.setdefault(_CHOICE, "system")
