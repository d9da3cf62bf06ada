"""Signals that end a command: Ctrl-C (SIGINT), SIGTERM, and the end of the terminal (SIGHUP).

Guarantee    From `take` until the command's work is over, such a signal ends the process with 128 + its number and one
             line on standard error, after everything that stands in a `finally` has run. After that it changes nothing
             but how soon the process is gone: the result is there, and its exit code stands.
Argument     The signal is raised as an exception where the main thread stands. It may be lost there (in a destructor,
             in a library that catches everything): then the exception object is gone, and it is raised again. It may
             come out as another one: so whatever ends the command after a signal counts as the signal. While a module
             is being imported it waits, for a library that is imported by halves may say and do anything.
Not covered  The first hundredths of a second, before Python runs this module; and SIGKILL. A signal that was ignored
             when the command began (nohup) stays ignored.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import weakref
from time import monotonic

TYPE_CHECKING = False  # `typing` takes ten milliseconds to load, in which nobody listens to a signal
if TYPE_CHECKING:
    from types import FrameType

_ENDING = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_TICK = 0.002  # seconds until a signal that waits, or was lost, is raised (again)
_PATIENCE = 5.0  # seconds for cleaning up, after which a further signal ends the process at once


class Stopped(SystemExit):
    """A signal has ended the command. A SystemExit, which click and asyncio hand on as it is."""


class Stopping:
    """What came of signals so far. One for each process."""

    def __init__(self) -> None:
        self.number: int | None = None  # the signal that ends the command
        self._since = 0.0
        self._raised: weakref.ref[Stopped] | None = None
        self._code: int | None = None  # once the work is over

    def take(self) -> None:
        """Listen to signals from here on."""
        for number in _ENDING:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, self._arrived)
                # In its last steps Python gives signals back to the system, which would end it without a word.
                atexit.register(signal.signal, number, signal.SIG_IGN)

    @property
    def code(self) -> int | None:
        """The exit code, if a signal ends the command."""
        return None if self.number is None else 128 + self.number

    def over(self, code: int) -> None:
        """The work is done and said: from here on there is nothing to clean up."""
        self._code = code
        if self.number is not None and hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        if self._code is not None:
            os._exit(self._code)
        if self.number is None:
            self.number, self._since = number, monotonic()
            sys.unraisablehook = lambda _: None  # what is lost in a destructor is raised again, and not printed
            if hasattr(signal, "setitimer"):
                signal.signal(signal.SIGALRM, self._again)
                signal.setitimer(signal.ITIMER_REAL, _TICK, _TICK)
            self._again(number, frame)
        elif monotonic() - self._since > _PATIENCE:
            os._exit(128 + number)

    def _again(self, number: int, frame: FrameType | None) -> None:
        if self._code is not None or (self._raised is not None and self._raised() is not None) or _importing(frame):
            return
        stopped = Stopped(self.code)
        self._raised = weakref.ref(stopped)
        try:
            raise stopped
        finally:
            del stopped  # this frame, which its traceback holds, must not hold it in turn


def _importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib._bootstrap"):
            return hasattr(signal, "setitimer")  # without a timer nobody would raise it later
        frame = frame.f_back
    return False
