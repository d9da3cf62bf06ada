"""Many pairs, and what they came to.

Each pair has a name, `SEED-NUMBER`, and follows from it: whoever runs the same name with the same version gets the same
pair, and the same result.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rankveil.audit.replay.containers import ANY_NAMES, CONTAINERS
from rankveil.audit.replay.dice import Dice
from rankveil.audit.replay.drawn import NoiseDrawn
from rankveil.audit.replay.given import Given
from rankveil.audit.replay.pair import Outcome, run_pair
from rankveil.audit.replay.plans import Case, case_on, made_case, made_cells
from rankveil.audit.replay.units import with_persons
from rankveil.audit.replay.ways import LOCAL_WAYS, SPARK_WAYS, Way
from rankveil.consent import check_consent
from rankveil.declare import Plan
from rankveil.engines import Engine
from rankveil.engines.spark import SparkEngine, start_session
from rankveil.errors import OutputError, RankveilError
from rankveil.temporary import only_folder, own_place

SIZES = (2, 2, 3, 5, 8, 12, 20, 30, 30, 50, 90, 150, 300, 600)  # rows; a third less or so, by the dice
LARGE = (3000, 10_000, 100_000, 200_000)
_LARGE_EVERY = 100  # from number 500 on, one in so many pairs is large: a matter of long campaigns
_SPARK_EVERY = 50
_CONTAINER_EVERY = 3  # pairs: one goes through a file of another program
_PLAN_ROWS = (2, 5, 20, 60, 200, 600)
_OWN_WAYS = tuple(way for way in LOCAL_WAYS if not way.table)  # a given plan says itself how texts are written

Told = Callable[[int, int], None]


@dataclass
class Replay:
    """What a campaign came to. Holds no data value."""

    seed: int
    subject: str  # what was released, in words
    real: bool = False  # made from somebody's table: what it says is internal
    outcomes: Counter[str] = field(default_factory=Counter)  # passed, failed, refused
    ways: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    linkages: Counter[str] = field(default_factory=Counter)
    protected: Counter[str] = field(default_factory=Counter)  # whom the plans protect
    questions: int = 0
    different_bytes: int = 0
    largest: float = 0.0
    fewest_rows: int = 0
    most_rows: int = 0
    failures: list[dict[str, Any]] = field(default_factory=list)
    skipped: dict[str, str] = field(default_factory=dict)  # way in -> why
    noise: NoiseDrawn = field(default_factory=NoiseDrawn)

    @property
    def pairs(self) -> int:
        """Those that were compared."""
        return self.outcomes["passed"] + self.outcomes["failed"]

    @property
    def problems(self) -> list[str]:
        pairs = [
            f"pair {one['pair']} ({one['way_in']}, {one['method']}): {'; '.join(one['problems'])}"
            for one in self.failures
        ]
        return pairs + self.noise.problems()

    @property
    def verdict(self) -> str:
        return "refuted" if self.problems else "consistent"

    def add(self, outcome: Outcome) -> None:
        case = outcome.case
        if outcome.refused:
            self.outcomes["refused"] += 1
            return
        self.outcomes["passed" if outcome.passed else "failed"] += 1
        self.ways[case.way.name] += 1
        self.methods[case.plan.release.method] += 1
        self.protected[case.plan.unit.who] += 1
        self.linkages.update([outcome.linkage] if outcome.linkage else [])
        self.questions += outcome.questions
        self.different_bytes += bool(outcome.different)
        self.largest = max(self.largest, outcome.loss_over_claim)
        self.fewest_rows = min(self.fewest_rows or case.rows, case.rows)
        self.most_rows = max(self.most_rows, case.rows)
        self.noise.add(outcome.draws)
        if not outcome.passed:
            self.failures.append(
                {
                    "pair": case.name,
                    "way_in": case.way.name,
                    "method": case.plan.release.method,
                    "rows": case.rows,
                    "change": case.change,
                    "problems": list(outcome.problems),
                    "run_again": f"rankveil audit --replay --seed {case.name}{' --spark' if case.way.spark else ''}",
                }
            )

    def as_dict(self) -> dict[str, Any]:
        return {
            "pairs": self.pairs,
            "largest_loss_over_claim": round(self.largest, 9),
            "different_bytes": self.different_bytes,
            "ways_in": sorted(self.ways),
            "verdict": self.verdict,
            "subject": self.subject,
            "seed": self.seed,
            "methods": dict(sorted(self.methods.items())),
            "linkages": dict(sorted(self.linkages.items())),
            "protected": dict(sorted(self.protected.items())),
            "pairs_per_way_in": dict(sorted(self.ways.items())),
            "rows": [self.fewest_rows, self.most_rows],
            "questions": self.questions,
            "refused": self.outcomes["refused"],
            "noise_drawn": dict(self.noise.counts),
            "noise_lacking_in_deviations": {name: round(z, 2) for name, z in self.noise.deviations().items()},
            "ways_skipped": self.skipped,
            "failures": self.failures,
        }


def replay(
    *,
    pairs: int,
    seed: int = 0,
    only: int | None = None,
    plan: Plan | None = None,
    table: Given | None = None,
    spark: bool = False,
    told: Told = lambda done, of: None,
) -> Replay:
    """Run so many pairs: on plans and tables drawn at random, or on one plan, or on one plan and one table.

    `only`: the one pair of this number. `spark`: some pairs go through Spark, if it can be started here.
    """
    if plan is not None:
        # What no release would be made of has nothing to be held to; here nothing is released.
        check_consent(plan, accept_no_guarantee=False, accept_large_epsilon=True)
    result = Replay(seed, _subject(plan, table), real=table is not None)
    numbers = range(pairs) if only is None else [only]
    refusal: RankveilError | None = None
    with only_folder(_place()) as place, _spark(result, wanted=spark) as engine:
        for done, number in enumerate(numbers):
            through = engine is not None and plan is None and number % _SPARK_EVERY == _SPARK_EVERY - 1
            other = number % _CONTAINER_EVERY == _CONTAINER_EVERY - 1
            made = (CONTAINERS if other else LOCAL_WAYS) if plan is None else ANY_NAMES if other else _OWN_WAYS
            ways = SPARK_WAYS if through else table.ways if table else made
            large = number >= 5 * _LARGE_EVERY and number % _LARGE_EVERY == 0
            with tempfile.TemporaryDirectory(dir=place) as folder:
                case = _case(f"{seed}-{number}", Path(folder), ways, plan, table, LARGE if large else SIZES)
                outcome = run_pair(case, Path(folder), engine if through and case.way.file else None)
            result.add(outcome)
            refusal = outcome.refused or refusal
            told(done + 1, len(numbers))
    if not result.pairs and refusal is not None:
        raise refusal  # the plan takes none of the tables, or not the one that was given
    return result


def _case(
    name: str,
    folder: Path,
    ways: Sequence[Way],
    plan: Plan | None,
    table: Given | None,
    sizes: Sequence[int],
) -> Case:
    if plan is None:
        return made_case(name, ways, sizes, folder)
    dice = Dice(name)
    way = dice.one_of(ways)
    if table is not None:
        return case_on(dice, name, plan, way, table.cells)
    rows = plan.release.expected_rows
    rows = dice.one_of(_PLAN_ROWS) if rows is None else min(rows, 2000)
    cells = with_persons(Dice(f"{name}, whom"), plan, made_cells(dice, plan, way, rows))
    return case_on(dice, name, plan, way, cells)


def _place() -> Path:
    """Where tables are written on their way into a release."""
    try:
        return own_place("replay")
    except OSError as error:
        raise OutputError(
            f"The folder for temporary files cannot be had for this user alone ({error.filename}: {error.strerror}).",
            remedy="Remove it, or name another place for temporary files with TMPDIR.",
        ) from None


def _subject(plan: Plan | None, table: Given | None) -> str:
    if plan is None:
        return "plans and tables of all kinds, made for this purpose"
    budget = f"ε = {plan.release.epsilon}" + ("" if plan.release.delta is None else f", δ = {plan.release.delta}")
    where = "made tables" if table is None else f"the table {table.name}"
    return f"the given plan ({plan.release.method}, {budget}, SHA-256 {plan.sha256()[:12]}), on {where}"


@contextmanager
def _spark(result: Replay, *, wanted: bool) -> Iterator[Engine | None]:
    """Spark on this machine, or nothing, with the reason."""
    session = None
    if not wanted:
        result.skipped["Spark"] = "not asked for"
    elif shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        result.skipped["Spark"] = "there is no Java on this machine"
    else:
        try:
            session = start_session("local[2]", {"spark.sql.shuffle.partitions": "2"})
        except RankveilError as error:
            result.skipped["Spark"] = f"it cannot be started here ({type(error).__name__})"
    if session is None:
        yield None
    else:
        with session:
            yield SparkEngine(session.spark)
