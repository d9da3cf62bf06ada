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
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

_PAUSE = 0.02


def run(command: list[str], processor_seconds: int, seconds: float) -> dict[str, object]:
    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (processor_seconds, processor_seconds + 5))

    start = time.perf_counter()
    child = subprocess.Popen(command, preexec_fn=limited, start_new_session=True)
    late = False
    while True:
        ended, status, usage = os.wait4(child.pid, os.WNOHANG)
        if ended:
            break
        if not late and time.perf_counter() - start > seconds:
            late = True
            os.killpg(child.pid, signal.SIGKILL)
        time.sleep(_PAUSE)
    taken = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    spent = usage.ru_utime + usage.ru_stime
    # The kernel's own count of processor seconds runs ahead of the one it reports where a processor is shared.
    killed_at_limit = code == -signal.SIGKILL and spent >= 0.9 * processor_seconds
    ended_by_limit = code == -signal.SIGXCPU or killed_at_limit
    return {
        "exit_code": code,
        "limit_reached": late or ended_by_limit,
        "seconds": round(taken, 3),
        "processor_seconds": round(spent, 3),
        "peak_mb": round(usage.ru_maxrss / 1024, 1),
    }


if __name__ == "__main__":
    result, processor, clock, *arguments = sys.argv[1:]
    Path(result).write_text(json.dumps(run(arguments, int(processor), float(clock))), encoding="utf-8")
