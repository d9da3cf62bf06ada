"""The walk in docs/architecture.md is the walk that a release takes: same files, same functions, same order."""

from __future__ import annotations

import re
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import rankveil as rv
from docs import generate

PACKAGE = Path(rv.__file__).parent
PAGE = generate.ROOT / "docs" / "architecture.md"
_STEP = re.compile(r"^(\d+)\. `([a-z_/]+\.py)` `([\w.]+)`", re.MULTILINE)
_NAMED = re.compile(r"`((?:[a-z_]+/)+|[a-z_]+\.py)`")
PLAN = {
    "release": {"epsilon": 1},
    "columns": {
        "age": {"kind": "integer", "lower": 0, "upper": 99},
        "sex": {"kind": "category", "categories": ["f", "m"]},
    },
}

Step = tuple[str, str]


def walk(page: str) -> list[Step]:
    return [(file, function) for _, file, function in _STEP.findall(page)]


@pytest.fixture(scope="module")
def called(tmp_path_factory: pytest.TempPathFactory) -> list[Step]:
    """Every function of the package in the order of its first call in a release."""
    place = tmp_path_factory.mktemp("walk")
    # Columns that depend on each other so plainly that noise has no say in which steps there are.
    rows = "".join(f"{number % 100},{'fm'[number % 100 < 50]}\n" for number in range(4_000))
    (place / "people.csv").write_text(f"age,sex\n{rows}", encoding="utf-8")
    plan = rv.Plan.from_dict(PLAN)
    release = rv.release  # loaded before anybody watches
    seen: dict[Step, None] = {}
    prefix = f"{PACKAGE}/"

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(prefix):
            seen.setdefault((code.co_filename.removeprefix(prefix), code.co_qualname))

    before = sys.getprofile(), threading.getprofile()
    sys.setprofile(watch)
    threading.setprofile(watch)  # rows are made ahead by other threads
    try:
        release(place / "people.csv", plan, out=place / "out", ledger=place / "ledger.sqlite")
    finally:
        sys.setprofile(before[0])
        threading.setprofile(before[1])
    return list(seen)


def strays(steps: list[Step], called: list[Step]) -> list[Step]:
    """Steps that were not called, or called before the one that stands before them."""
    places = [called.index(step) if step in called else -1 for step in steps]
    last, wrong = -1, []
    for step, place in zip(steps, places, strict=True):
        if place <= last:
            wrong.append(step)
        last = max(last, place)
    return wrong


def test_a_release_takes_the_walk_that_the_page_describes(called: list[Step]) -> None:
    steps = walk(PAGE.read_text(encoding="utf-8"))
    assert len(steps) >= 25
    assert {"declare", "measure", "fit", "draw", "write"} <= {file.partition("/")[0] for file, _ in steps}
    assert strays(steps, called) == []


def test_steps_are_numbered_from_one() -> None:
    numbers = [int(number) for number, _, _ in _STEP.findall(PAGE.read_text(encoding="utf-8"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_steps_that_change_places_or_do_not_exist_are_noticed(called: list[Step]) -> None:
    steps = walk(PAGE.read_text(encoding="utf-8"))
    paid, answered = ("ledger/booking.py", "Booking.enter"), ("noise/source.py", "RandomSource.answer")
    swapped = [answered if step == paid else paid if step == answered else step for step in steps]
    assert strays(swapped, called)
    assert strays([*steps, ("fit/model.py", "nonsense")], called) == [("fit/model.py", "nonsense")]


def test_every_file_and_folder_that_the_page_names_exists() -> None:
    text = PAGE.read_text(encoding="utf-8")
    named = {*_NAMED.findall(text), *(file for file, _ in walk(text))}
    assert {"methods.py", "verify/", "cli/"} <= named
    assert [name for name in sorted(named) if not (PACKAGE / name).exists()] == []
