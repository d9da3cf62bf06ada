"""Run one command under limits and write down what it cost. Standard library only, started as a script.

    python -I launch.py RESULT PROCESSOR_SECONDS SECONDS COMMAND...

Why a process of its own: on Linux a child's peak memory begins with that of the process it was forked from. This one is
small, so what it reports of the command is the command's own, which a harness with a learner loaded could not say.

RESULT is a JSON file: exit code (negative: the signal), whether a limit ended it, seconds on the clock from start to
end (so start-up is included), processor seconds (user and system) and peak memory in MB, of the command and the
processes it waited for.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

_PAUSE = 0.02
_LOOK_EVERY = 0.25  # seconds
_TICKS = os.sysconf("SC_CLK_TCK")


def run(command: list[str], processor_seconds: int, seconds: float) -> dict[str, object]:
    start = time.perf_counter()
    child = subprocess.Popen(command, start_new_session=True)
    stopped, seen, next_look = False, 0.0, 0.0
    while True:
        ended, status, usage = os.wait4(child.pid, os.WNOHANG)
        taken = time.perf_counter() - start
        if ended:
            break
        if taken >= next_look and not stopped:
            seen, next_look = max(seen, _spent_by_session(child.pid)), taken + _LOOK_EVERY
            if seen >= processor_seconds or taken > seconds:
                stopped = True
                os.killpg(child.pid, signal.SIGKILL)
        time.sleep(_PAUSE)
    return {
        "exit_code": os.waitstatus_to_exitcode(status),
        "limit_reached": stopped,
        "seconds": round(taken, 3),
        # Workers that were killed with their parent are in what was seen, and nowhere else.
        "processor_seconds": round(max(usage.ru_utime + usage.ru_stime, seen if stopped else 0.0), 3),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }


def _spent_by_session(leader: int) -> float:
    """Processor seconds of all processes of a session, those that have ended included once their parent knows."""
    ticks = 0
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name in brackets, which may hold anything: state, parent, group, session, ...
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if int(fields[3]) == leader:
            ticks += sum(int(field) for field in fields[11:15])
    return ticks / _TICKS


if __name__ == "__main__":
    result, processor, clock, *arguments = sys.argv[1:]
    Path(result).write_text(json.dumps(run(arguments, int(processor), float(clock))), encoding="utf-8")
