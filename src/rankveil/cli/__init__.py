"""The command line: one file per command; each parses, calls and prints. Commands are loaded when they are used.

This module loads nothing but what listens to signals: so that Ctrl-C has its answer from the start.
"""

from __future__ import annotations

import os
import sys

from rankveil.cli.stopping import Stopping


def main() -> None:
    """The process: run the command line, and end with its exit code."""
    stopping = Stopping()
    stopping.take()
    try:
        from rankveil._arrow_memory import choose_for_a_process_of_ours

        choose_for_a_process_of_ours()
        from rankveil.cli.run import flushed, run

        code = flushed(run(stopping))
        stopping.over(code)
    except BaseException:
        if stopping.code is None:
            raise
        code = stopping.code
        stopping.over(code)
        from contextlib import suppress

        with suppress(OSError):  # nobody reads it
            os.write(2, b"Stopped.\n")
    sys.exit(code)
