"""Where Arrow takes its memory from.

Arrow's wheels bring an allocator of their own, mimalloc 3. The system's is as fast here and takes less memory
(docs/decisions/0014-memory-of-the-system.md).
"""

from __future__ import annotations

import os
import sys

_CHOICE = "ARROW_DEFAULT_MEMORY_POOL"  # Arrow reads it once, when it is loaded


def take_memory_from_the_system() -> None:
    """Unless somebody has chosen: by Arrow's environment variable, or another allocator in this process."""
    if _CHOICE in os.environ:
        return
    if "pyarrow" not in sys.modules:
        os.environ[_CHOICE] = "system"
        return
    import pyarrow as pa

    if pa.default_memory_pool().backend_name == "mimalloc":
        # Too late for what Arrow allocates by itself, in writing Parquet for example; not for what we ask of it.
        pa.set_memory_pool(pa.system_memory_pool())
