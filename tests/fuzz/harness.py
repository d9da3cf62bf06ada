"""What every fuzz case must keep to, and the mutations that make cases out of files.

A case calls rankveil as a program would, inside this process. It may succeed, or raise a RankveilError with a
documented exit code. Anything else is a bug: another exception, a warning, a case that hangs, a value of the data in
a message, a file where none belongs.
"""

from __future__ import annotations

import os
import random
import signal
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rankveil.errors import RankveilError

CORPUS = Path(__file__).with_name("corpus")
EXIT_CODES = {2, 3, 4, 5}
SECONDS = 20  # for one case, most of which take milliseconds; a busy machine must not look like a hang

# Planted in the data of the corpus. They occur nowhere else, neither in a plan nor in a message.
CANARIES = ("Zanzibar", "48151623", "99887766", "1987-06-05")

# How many cases each test runs; their sum is checked in test_counts.py. For a longer run with other cases:
# RANKVEIL_FUZZ_FACTOR=10 RANKVEIL_FUZZ_SEED=7 python -m pytest -n 2 tests/fuzz
_FACTOR = int(os.environ.get("RANKVEIL_FUZZ_FACTOR", "1"))
_SEED = int(os.environ.get("RANKVEIL_FUZZ_SEED", "0"))
CASES = {
    kind: count * _FACTOR
    for kind, count in {
        "plan": 5000,
        "hypothesis plan": 500,
        "taxonomy": 3500,
        "label file": 1000,
        "hypothesis taxonomy": 500,
        "csv": 2500,
        "csv release": 700,
        "hypothesis csv": 400,
        "parquet": 2500,
        "parquet release": 600,
        "hypothesis parquet": 400,
        "frame": 1000,
        "certificate": 2500,
        "certified release": 800,
        "ledger": 1500,
        "ledger key": 100,
    }.items()
}
# Of these there are at least so many.
CERTIFICATE_ENTRIES = 2500
PLAN_SETTINGS = 1500


class Hang(BaseException):
    """A case took too long. Not an Exception, so that nothing under test catches it."""


@contextmanager
def time_limit(seconds: float = SECONDS) -> Iterator[None]:
    def ring(*_: object) -> None:
        raise Hang(f"more than {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def refused(case: Callable[[], object], *, canaries: Sequence[str] = CANARIES) -> RankveilError | None:
    """Run one case; its refusal, or None if it succeeded. Everything else that happens is a bug and is raised."""
    try:
        with time_limit():
            case()
    except RankveilError as error:
        assert error.exit_code in EXIT_CODES, type(error)
        said = f"{error}\n{error.as_dict()}"
        assert error.problem.strip() and error.remedy.strip(), said
        # PRIVACY: what the code hides with `raise ... from None` no handler will print.
        assert error.__cause__ is None and (error.__context__ is None or error.__suppress_context__), said
        assert not (leaked := [canary for canary in canaries if canary in said]), f"{leaked} in: {said}"
        return error
    return None


class Findings:
    """The bugs that a run of many cases has met, one example for each place in the code."""

    def __init__(self) -> None:
        self._examples: dict[str, str] = {}

    @contextmanager
    def case(self, content: bytes | str, number: int = 0) -> Iterator[None]:
        try:
            yield
        except (Exception, Hang) as error:
            frames = [
                f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)
            ]
            place = f"{type(error).__name__} at {' < '.join(frames[:-6:-1])}"
            self._examples.setdefault(place, f"{error}\n  case {number}: {content!r}"[:1500])

    def none(self) -> None:
        assert not self._examples, "\n\n".join(f"{place}\n  {example}" for place, example in self._examples.items())


# Mutations


# Bytes that mean something to one of the formats, and values that are hard to digest.
MORSELS = (
    *(bytes([byte]) for byte in b'\0\t\n\r "#,-./:;=[]{}|+@\\\x7f\x80\xbf\xc0\xed\xf4\xff'),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xed\xa0\x80", "\u202e".encode(), "١٢٣".encode(), "é".encode("latin-1")),
    *(b"\r\n", b'""', b'"""', b"''", b"[[", b"nan", b"inf", b"-inf", b"1e400", b"-1e-400", b"0x10", b"1_0", b"-0"),
    *(b"9" * 25, b"9" * 400, b"9223372036854775808", b"18446744073709551616", b"0." + b"0" * 60 + b"1"),
    *(b"true", b"null", b"None", b"{}", b"[]", b"NA", b"0000-00-00", b"9999-12-31", b"2020-02-30", b"%Y%q%"),
    *(b"__proto__", b"../../etc/passwd", b"/dev/null", b"*", b"a" * 3000, b"[" * 600, b'{"a":' * 600),
)


def mutated(content: bytes, donors: Sequence[bytes], rng: random.Random) -> bytes:
    """One to four changes: bits flipped, ends cut off, pieces doubled, dropped, swapped, or taken from another file."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        start = rng.randrange(len(data) + 1)
        end = min(len(data), start + rng.choice((0, 1, 1, 2, 5, 20, 100)))
        change = rng.randrange(9)
        if change == 0 and data:
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        elif change == 1 and data:
            data[rng.randrange(len(data))] = rng.randrange(256)
        elif change == 2:
            del data[start:]
        elif change == 3:
            del data[start:end]
        elif change == 4:
            data[start:start] = data[start:end] * rng.choice((1, 1, 2, 50))
        elif change == 5:
            data[start:end] = rng.choice(MORSELS)
        elif change == 6:
            donor = rng.choice(donors)
            data[start:] = donor[rng.randrange(len(donor) + 1) :]
        elif change == 7:
            lines = bytes(data).split(b"\n")
            first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[first], lines[second] = lines[second], lines[first]
            data = bytearray(b"\n".join(lines))
        else:
            _change_a_token(data, rng)
    return bytes(data)


def _change_a_token(data: bytearray, rng: random.Random) -> None:
    """Put something else in the place of one whole field."""
    marks = [place for place, byte in enumerate(data) if byte in b',;\n\t"= []']
    if len(marks) < 2:
        return
    place = rng.randrange(len(marks) - 1)
    data[marks[place] + 1 : marks[place + 1]] = rng.choice(MORSELS)


def corpus(folder: str) -> dict[str, bytes]:
    """The committed files of one kind."""
    found = {path.name: path.read_bytes() for path in sorted((CORPUS / folder).iterdir())}
    assert found, folder
    return found


def cases(
    content: dict[str, bytes], count: int, *, seed: int, favourites: Sequence[str] = ()
) -> Iterator[tuple[int, bytes]]:
    """The files as they are, then mutations of them, mostly of the favourites: the same ones in every run."""
    rng = random.Random(seed + 100 * _SEED)
    originals, liked = list(content.values()), [content[name] for name in favourites] or list(content.values())
    for number in range(count):
        if number < len(originals):
            yield number, originals[number]
        else:
            yield number, mutated(rng.choice(originals if rng.random() < 0.25 else liked), originals, rng)
