"""Attack a method and say what is certain about its ε.

Guarantee    `consistent` proves nothing; the theorems carry the guarantee. `refuted` is wrong with a probability of at
             most 1e-6 for all methods together (findings.py, T43).
Argument     Each method claims ε for its table. A published method is held to what its paper claims for the table;
             for one that adds no noise nobody claims any ε, and it is held to the same ε for comparison.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from rankveil.audit.cases import linked, lists, published, records
from rankveil.audit.findings import Finding, rounded_down
from rankveil.audit.tables import Setting
from rankveil.errors import PlanError
from rankveil.fragments import fragment
from rankveil.methods import METHODS, Method, method_named
from rankveil.noise import RandomSource, SystemSource

RUNS = 2000

Attacks = Callable[[Setting], Iterator[Finding]]
_ATTACKS: dict[str, Attacks] = {
    "synthetic": linked.attacks_on_synthetic,
    "aligned": linked.attacks_on_aligned,
    "laplace": records.attacks,
    "unlinked": lists.attacks_on_unlinked,
    "multivariate": lists.attacks_on_multivariate,
}


@dataclass(frozen=True)
class AuditResult:
    """What `audit` has found out about a method: the verdict, and a certain lower bound on its ε.

    >>> found = rv.audit("laplace", runs=50)
    >>> found.verdict, found.lower_bound <= found.claimed_epsilon
    ('consistent', True)
    """

    method: str
    claimed_epsilon: Fraction
    findings: tuple[Finding, ...]
    expected: Literal["consistent", "refuted"]  # by the theory
    why_not: str = ""

    @property
    def refutations(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.refuted)

    @property
    def verdict(self) -> Literal["consistent", "refuted"]:
        return "refuted" if self.refutations else "consistent"

    @property
    def structural(self) -> bool:
        """Some output can occur for one table and not for its neighbour: the loss is infinite."""
        return any(math.isinf(finding.lower_bound) for finding in self.findings)

    @property
    def lower_bound(self) -> float:
        """The largest finite bound on the ε of the whole table."""
        whole = [finding for finding in self.findings if finding.whole and finding.unit == "epsilon"]
        return max((each.lower_bound for each in whole if math.isfinite(each.lower_bound)), default=0.0)

    @property
    def runs(self) -> int:
        return sum(finding.runs for finding in self.findings)

    @property
    def as_expected(self) -> bool:
        return self.verdict == self.expected

    def explanation(self) -> str:
        """In words, for a refuted claim."""
        if not self.refutations:
            return ""
        lines = []
        for finding in self.refutations:
            claimed = f"{finding.claimed:.4g}"
            if math.isinf(finding.lower_bound):
                lines.append(f"{finding.case}: the loss is infinite, claimed {claimed}. {finding.detail}")
            else:
                what = "" if finding.whole else " for this share of the budget"
                unit = {"epsilon": "ε", "mu": "μ", "rho": "ρ"}[finding.unit]
                bound = f"{unit} is at least {finding.lower_bound:.4g}"
                lines.append(f"{finding.case}: {bound}, claimed {claimed}{what}. {finding.detail}")
        return "\n".join([*([self.why_not] if self.why_not else []), *(f"- {line}" for line in lines)])

    def _repr_html_(self) -> str:
        bound = "infinite" if self.structural else f"{self.lower_bound:.3f}"
        return fragment(
            f"Audit of {self.method}",
            facts=[
                ("claimed ε", f"{float(self.claimed_epsilon):g}"),
                ("at least", bound),
                ("verdict", self.verdict),
                ("runs", f"{self.runs:,}"),
            ],
            footer=self.explanation() or None,
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "claimed_epsilon": float(self.claimed_epsilon),
            "lower_bound": rounded_down(self.lower_bound),
            "structural": self.structural,
            "verdict": self.verdict,
            "runs": self.runs,
            "explanation": self.explanation() or None,
            "cases": [finding.as_dict() for finding in self.findings],
        }


def audit(
    method: str | Method,
    epsilon: Fraction | Decimal | float | str = 1,
    *,
    runs: int = RUNS,
    source: RandomSource | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> AuditResult:
    """Attack a method that claims ε, on tables made for the worst case; no data are read.

        >>> rv.audit("laplace", epsilon=1, runs=50).verdict
        'consistent'
        >>> rv.audit("published:individual-ranking", epsilon=1, runs=50).verdict
        'refuted'

    `runs`: whole releases per table; cheaper draws are made 200 times as often. "consistent" proves nothing, for the
    theorems carry the guarantee; "refuted" is wrong at most once in a million audits of all methods.
    """
    method = method_named(method) if isinstance(method, str) else method
    epsilon = _claimed(epsilon)
    findings = []
    for finding in attacks_on(method, epsilon, runs=runs, source=source):
        progress(f"{method.name}: {finding.case}")
        findings.append(finding)
    expected: Literal["consistent", "refuted"] = "consistent" if method.differentially_private else "refuted"
    return AuditResult(method.name, epsilon, tuple(findings), expected, method.why_not)


def _claimed(epsilon: Fraction | Decimal | float | str) -> Fraction:
    try:
        number = epsilon if isinstance(epsilon, Fraction) else Fraction(Decimal(str(epsilon)))
    except (ValueError, ArithmeticError):
        number = Fraction(0)
    if not Fraction(1, 1000) <= number <= 100:
        raise PlanError("ε has to be a number from 0.001 to 100.", remedy="Give the ε that is claimed.", cost="")
    return number


def attacks_on(
    method: Method, epsilon: Fraction, *, runs: int = RUNS, source: RandomSource | None = None
) -> Iterator[Finding]:
    """One finding after the other, each made when it is asked for."""
    setting = Setting(method, epsilon, runs, SystemSource() if source is None else source)
    return _ATTACKS.get(method.name, published.attacks)(setting)


def audit_all(
    epsilon: Fraction | Decimal | float | str = 1,
    *,
    runs: int = RUNS,
    source: RandomSource | None = None,
    progress: Callable[[str], None] = lambda stage: None,
) -> list[AuditResult]:
    return [audit(name, epsilon, runs=runs, source=source, progress=progress) for name in METHODS]
