"""Fit once, for a price; sample for nothing; clone as scikit-learn does."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankveil as rv
from rankveil.errors import BudgetError, GuaranteeError, ModelError, PlanError

PLAN = rv.Plan(
    release={"epsilon": 1},
    columns={
        "age": {"kind": "integer", "lower": 0, "upper": 99, "null": True},
        "sex": {"kind": "category", "categories": ["f", "m"]},
    },
)
PEOPLE = {"age": [place % 80 for place in range(400)], "sex": ["fm"[place % 2] for place in range(400)]}


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, pa.table])
def test_samples_are_frames_of_the_kind_that_was_fitted(kind: Any) -> None:
    frame = kind(PEOPLE)
    synthesizer = rv.Synthesizer(PLAN).fit(frame)
    assert type(synthesizer.sample(30)) is type(frame)
    assert [len(synthesizer.sample(count)) for count in (1, 30)] == [1, 30]
    assert len(synthesizer.sample()) == 400
    assert synthesizer.feature_names_in_ == ["age", "sex"]


def test_a_fit_is_entered_in_the_ledger_and_a_sample_costs_nothing() -> None:
    frame = pd.DataFrame(PEOPLE)
    synthesizer = rv.Synthesizer(PLAN, epsilon=0.5).fit(frame)
    for _ in range(3):
        synthesizer.sample(10, where="age >= 40")
    account = rv.ledger().account(frame)
    assert (account.releases, account.spent_epsilon) == (1, Fraction(1, 2))
    assert synthesizer.certificate_.epsilon == "0.5"


def test_a_cap_holds_for_fits_too() -> None:
    frame = pd.DataFrame(PEOPLE)
    rv.ledger().cap(frame, epsilon=1)
    rv.Synthesizer(PLAN).fit(frame)
    with pytest.raises(BudgetError):
        rv.Synthesizer(PLAN).fit(frame)


def test_the_epsilon_of_a_plan_is_not_replaced_unasked() -> None:
    assert rv.Synthesizer(PLAN.with_(epsilon=0.25)).fit(pd.DataFrame(PEOPLE)).certificate_.epsilon == "0.25"


def test_nothing_is_fitted_without_a_plan_or_with_guesses_and_nothing_is_spent() -> None:
    frame = pd.DataFrame(PEOPLE)
    with pytest.raises(GuaranteeError, match="No plan says what is public") as refused:
        rv.Synthesizer(epsilon=1).fit(frame)
    assert "rv.draft" in refused.value.remedy
    with pytest.raises(GuaranteeError, match="nobody has confirmed"):
        rv.Synthesizer(rv.draft(frame)).fit(frame)
    assert rv.ledger().account(frame).spent_epsilon == 0
    assert len(rv.Synthesizer(rv.draft(frame).confirm()).fit(frame).sample(5)) == 5


def test_a_separate_target_and_a_sample_before_the_fit_are_refused() -> None:
    with pytest.raises(PlanError, match="no separate target"):
        rv.Synthesizer(PLAN).fit(pd.DataFrame(PEOPLE), [1, 2])  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="not fitted"):
        rv.Synthesizer(PLAN).sample(3)


def test_parameters_are_kept_as_given_and_can_be_changed() -> None:
    synthesizer = rv.Synthesizer(PLAN, epsilon=2, ledger="office.sqlite")
    assert synthesizer.get_params() == {
        "plan": PLAN, "epsilon": 2, "delta": None, "accept_large_epsilon": False, "ledger": "office.sqlite",
    }  # fmt: skip
    assert synthesizer.get_params()["plan"] is PLAN
    assert synthesizer.set_params(delta="1e-9").delta == "1e-9"
    assert repr(synthesizer).startswith("Synthesizer(plan=Plan of 2 columns")
    with pytest.raises(PlanError, match="no parameter 'gamma'"):
        synthesizer.set_params(gamma=1)


def test_scikit_learn_clones_a_synthesizer_without_what_was_fitted() -> None:
    base = pytest.importorskip("sklearn.base")
    fitted = rv.Synthesizer(PLAN, epsilon=2).fit(pd.DataFrame(PEOPLE))
    copy = base.clone(fitted)
    assert isinstance(copy, rv.Synthesizer)
    assert {**copy.get_params(), "plan": None} == {**fitted.get_params(), "plan": None}
    assert copy.plan.sha256() == PLAN.sha256()
    assert not hasattr(copy, "model_")
    validation = pytest.importorskip("sklearn.utils.validation")
    validation.check_is_fitted(fitted)


def test_nothing_of_the_table_stays_in_a_fitted_synthesizer_and_scikit_learn_is_not_loaded(tmp_path: Path) -> None:
    code = (
        f"import sys, pyarrow as pa, rankveil as rv\nplan = rv.Plan.from_dict({PLAN.model_dump()!r})\n".replace(
            "Decimal('1')", "1"
        )
        + f"found = rv.Synthesizer(plan, ledger={str(tmp_path / 'l.sqlite')!r}).fit(pa.table({PEOPLE!r}))\n"
        "found.sample(5)\nassert 'sklearn' not in sys.modules\n"
        "assert not any(isinstance(each, pa.Table) for each in vars(found).values())\n"
        "print(sorted(vars(found)))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "'_kind', 'accept_large_epsilon', 'certificate_', 'delta'" in ran.stdout
