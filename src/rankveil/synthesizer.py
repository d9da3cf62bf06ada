"""A synthesizer in the manner of scikit-learn, for whoever thinks in fit and sample. It does not need scikit-learn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from rankveil.certificate import Certificate
from rankveil.declare import Amount, Plan, planned
from rankveil.declare.drafting import draft
from rankveil.engines import Table, open_table
from rankveil.errors import GuaranteeError, ModelError, PlanError
from rankveil.model import Model
from rankveil.release import fit

_PARAMETERS = ("plan", "epsilon", "delta", "accept_large_epsilon", "ledger")


class Synthesizer:
    """Fit once, for an ε; draw rows as often as you like, at no further cost.

        >>> synthesizer = rv.Synthesizer(plan, epsilon=2).fit(people)
        >>> rows = synthesizer.sample(100)
        >>> type(rows).__name__, list(rows.columns), len(rows)
        ('DataFrame', ['age', 'sex', 'income'], 100)
        >>> synthesizer.certificate_.epsilon
        '2'

    `fit` is `rankveil.fit`: it spends `epsilon` (and `delta`) of the table's budget, and is entered in the ledger.
    Without `epsilon` it is the plan's. Without a plan, or with one that holds guesses, nothing is fitted: a plan
    guessed from the data is not public (`rankveil.draft`, `Plan.confirm`). Parameters are kept as they are given, so
    that `sklearn.base.clone` and searches over parameters work; every fit of a search spends its own budget.
    """

    model_: Model
    plan_: Plan
    certificate_: Certificate
    feature_names_in_: list[str]
    n_features_in_: int

    def __init__(
        self,
        plan: Plan | str | Path | None = None,
        epsilon: Amount | None = None,
        delta: Amount | None = None,
        *,
        accept_large_epsilon: bool = False,
        ledger: str | Path | None = None,
    ) -> None:
        self.plan = plan
        self.epsilon = epsilon
        self.delta = delta
        self.accept_large_epsilon = accept_large_epsilon
        self.ledger = ledger

    def fit(self, X: object, y: None = None) -> Synthesizer:
        """Measure a table and fit a model to it. `X` is what `release` takes; a target is a column of it.

        >>> rv.Synthesizer().fit(people)
        Traceback (most recent call last):
            ...
        rankveil.errors.GuaranteeError: No plan says what is public about the table.
        ...
        """
        if y is not None:
            raise PlanError("A synthesizer has no separate target.", remedy="Make y a column of X, and of the plan.")
        if self.plan is None:
            waiting = sum(map(len, draft(X, epsilon=1 if self.epsilon is None else self.epsilon).guesses.values()))
            raise GuaranteeError(
                "No plan says what is public about the table.",
                remedy=f"Draft one, put what is publicly known in the place of its {waiting} guesses, and give it:\n"
                "  plan = rv.draft(X)      # print(plan) shows it\n"
                '  plan = plan.confirm("age", lower=0, upper=120).confirm()\n'
                "  rv.Synthesizer(plan)",
            )
        plan = planned(self.plan, epsilon=self.epsilon, delta=self.delta)
        opened = open_table(X, separator=plan.table.separator, encoding=plan.table.encoding)
        self.model_ = fit(X, plan, accept_large_epsilon=self.accept_large_epsilon, ledger=self.ledger)
        self.certificate_ = Certificate.model_validate_json(self.model_.certificate or "")
        self.plan_ = plan
        self.feature_names_in_ = list(opened.schema.names)
        self.n_features_in_ = len(self.feature_names_in_)
        self._kind = opened.format  # of the frame alone: nothing of its data stays here
        return self

    def sample(self, n: int | None = None, where: str | None = None) -> Any:
        """`n` fresh rows (by default as many as the table has), of the kind that was fitted; costs nothing.

        >>> synthesizer = rv.Synthesizer(plan).fit(people)
        >>> len(synthesizer.sample()), len(synthesizer.sample(10, where="age >= 65"))
        (500, 10)
        """
        if not self.__sklearn_is_fitted__():
            raise ModelError("The synthesizer is not fitted.", cost="", remedy="Call fit with a table first.")
        rows = self.model_.sample(self.model_.rows if n is None else n, where)
        return Table("sample", self._kind, pa.schema([])).rebuild(rows)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.base import BaseEstimator  # who asks has it

        return BaseEstimator.__sklearn_tags__(self)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name.

        >>> rv.Synthesizer("plan.toml", epsilon=2).get_params()["epsilon"]
        2
        """
        return {name: getattr(self, name) for name in _PARAMETERS}

    def set_params(self, **parameters: Any) -> Synthesizer:
        """Change parameters; what was fitted before stays until the next fit.

        >>> rv.Synthesizer("plan.toml").set_params(epsilon=0.5).epsilon
        0.5
        """
        unknown = [name for name in parameters if name not in _PARAMETERS]
        if unknown:
            raise PlanError(
                f"A synthesizer has no parameter {unknown[0]!r}.", cost="", remedy=f"It has {', '.join(_PARAMETERS)}."
            )
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        said = {name: value for name, value in self.get_params().items() if value not in (None, False)}
        return f"Synthesizer({', '.join(f'{name}={value!r}' for name, value in said.items())})"
