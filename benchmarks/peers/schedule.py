"""Which runs are still to be made, and in which order.

Every system gets one run on every pair of data set and ε before any gets a second; quick systems come first, since a
session may end at any time. A system that needed more than five minutes of processor time gets one run per pair. A
failure is tried once more with the next seed, then stands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.peers.cache import Cache, Run
from benchmarks.peers.systems import System

SLOW = 300.0  # processor seconds
MOST_FAILURES = 2


@dataclass(frozen=True)
class Work:
    system: System
    data: str
    epsilon: str
    seed: int


def pair_runs(cache: Cache, system: System, data: str, epsilon: str, runs: int) -> list[Run]:
    """The runs of one system on one pair that are there already."""
    found = (cache.get(data, epsilon, system.slug, seed) for seed in range(1, runs + 1))
    return [run for run in found if run is not None]


def wanted_runs(system: System, made: Sequence[Run], runs: int) -> int:
    """How many runs this system is to have on a pair, after what is known of it."""
    most = min(runs, system.runs or runs)
    if any(run.status == "timed out" or run.processor_seconds > SLOW for run in made):
        return min(most, 1)
    if sum(run.status == "failed" for run in made) >= MOST_FAILURES:
        return len(made)
    return most


def missing(
    cache: Cache,
    systems: Sequence[System],
    data: Sequence[str],
    epsilons: Sequence[str],
    runs: int,
    settled: Callable[[System, str, str], bool] = lambda *_: False,
) -> Iterator[Work]:
    """Looks into the cache again before each run, so what has been learnt of a system counts at once.

    `settled` says that an earlier result, of the same code, stands for a pair of which the cache knows nothing.
    """
    for seed in range(1, runs + 1):
        for system in systems:
            for epsilon in filter(system.takes_part, epsilons):
                for name in data:
                    made = pair_runs(cache, system, name, epsilon, runs)
                    if not made and settled(system, name, epsilon):
                        continue
                    if seed <= wanted_runs(system, made, runs) and all(run.seed != seed for run in made):
                        yield Work(system, name, epsilon, seed)
