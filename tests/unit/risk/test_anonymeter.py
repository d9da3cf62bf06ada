"""Our rates beside those of anonymeter, the package of the framework's authors, where it is installed."""

from __future__ import annotations

import pytest

from rankveil.noise import Sampler, SeededSource
from rankveil.risk.criteria import linkability
from rankveil.risk.distances import Space
from rankveil.risk.parts import Sides
from tests.unit.risk.test_attacks import people, records

anonymeter = pytest.importorskip(
    "anonymeter.evaluators", reason="anonymeter is not installed: its pins conflict with the lock (docs/risk.md)"
)


def test_linkability_of_a_copy_and_of_strangers_is_what_anonymeter_finds() -> None:
    names = ["age", "sex", "pay", "job", "zip"]
    for seed in (1, 3):  # the table itself, and other people
        frames = [people(400, each).to_pandas().fillna(-1) for each in (1, seed, 2)]
        theirs = anonymeter.LinkabilityEvaluator(
            ori=frames[0], syn=frames[1], control=frames[2], n_attacks=300, aux_cols=(names[0::2], names[1::2])
        )
        theirs.evaluate(n_jobs=1)
        members, released, others = records(400, 1), records(400, seed), records(400, 2)
        space = Space(members.schema, members, released, others)
        ours = linkability(Sides(released, members, others, on_file=True), space, None, Sampler(SeededSource(1)))
        # Ties all count here, and one of them there: ours finds no less.
        assert ours.risk >= theirs.risk().value - 0.15
