"""What attacks on a release have found. INTERNAL: computed from the original table."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

from rankveil.evaluate.results import INTERNAL
from rankveil.fragments import fragment
from rankveil.risk.rates import Rate, beyond, risk_between

Criterion = Literal["singling out", "linkability", "inference"]
CRITERIA: tuple[Criterion, ...] = ("singling out", "linkability", "inference")


@dataclass(frozen=True)
class AttackRisk:
    """One attack: how often it succeeds on members of the table, on others, and by guessing."""

    criterion: Criterion
    attack: str  # in words
    members: Rate
    others: Rate
    naive: Rate
    limit: float | None  # of the risk, by the theorems and the ε that is claimed; None if no ε is
    column: str | None = None  # the secret, of inference
    on_file: bool = True  # on the released file itself; else on a release that was made for this test

    @property
    def risk(self) -> float:
        return beyond(self.members.value, self.others.value)

    @property
    def between(self) -> tuple[float, float]:
        return risk_between(self.members, self.others)

    @property
    def weak(self) -> bool:
        """It does no better on members than a guess: that it finds little says little."""
        return self.members.value <= self.naive.value

    @property
    def name(self) -> str:
        return self.attack if self.column is None else f"{self.attack}: {self.column}"

    def as_dict(self) -> dict[str, Any]:
        low, high = self.between
        return {
            "criterion": self.criterion,
            "attack": self.attack,
            "column": self.column,
            "on_the_released_file": self.on_file,
            "risk": self.risk,
            "low": low,
            "high": high,
            "limit": self.limit,
            "members": self.members.as_dict(),
            "others": self.others.as_dict(),
            "naive": self.naive.as_dict(),
            "weak": self.weak,
        }


@dataclass(frozen=True)
class Nearest:
    """Whether released rows lie nearer to members than to as many others."""

    share: float  # of released rows whose nearest record is a member
    low: float
    high: float
    by_chance: tuple[float, float]  # 95 of 100 shares, if the release did not know who is a member
    p_value: float  # of a share so large, if the release did not know
    released_rows: int
    records: int  # members; and as many others
    copies: float  # share of released rows that equal a member in every column
    limit: float | None
    on_file: bool = True

    def as_dict(self) -> dict[str, Any]:
        return {
            "share": self.share,
            "low": self.low,
            "high": self.high,
            "by_chance": list(self.by_chance),
            "p_value": self.p_value,
            "released_rows": self.released_rows,
            "records": self.records,
            "copies": self.copies,
            "limit": self.limit,
            "on_the_released_file": self.on_file,
        }


@dataclass(frozen=True)
class Membership:
    """What many releases with and without one person say about the ε of the method, on a part of this table."""

    rows: int
    statistic: str  # chosen on other releases than those counted
    with_target: Rate  # releases of the table with the person in which the attack says that they are there
    without_target: Rate  # and of the table without, or with another in their place
    epsilon_at_least: float  # holds in 95 of 100 cases
    claimed: float | None  # the ε that is claimed: proven for methods with a guarantee; the paper's for published ones
    delta: float
    advantage_limit: float | None
    contradicts: bool  # the claim, with a probability of at most 1 in 10,000 by chance
    neighbours: str

    @property
    def advantage(self) -> float:
        return self.with_target.value - self.without_target.value

    @property
    def advantage_between(self) -> tuple[float, float]:
        low, high = self.with_target.between(0.025)
        least, most = self.without_target.between(0.025)
        return low - most, high - least

    def as_dict(self) -> dict[str, Any]:
        low, high = self.advantage_between
        return {
            "rows": self.rows,
            "neighbours": self.neighbours,
            "statistic": self.statistic,
            "releases_counted": self.with_target.trials + self.without_target.trials,
            "with_target": self.with_target.as_dict(),
            "without_target": self.without_target.as_dict(),
            "advantage": self.advantage,
            "advantage_low": low,
            "advantage_high": high,
            "advantage_limit": self.advantage_limit,
            "epsilon_at_least": self.epsilon_at_least,
            "claimed_epsilon": self.claimed,
            "delta": self.delta,
            "contradicts": self.contradicts,
        }


@dataclass(frozen=True)
class Risk:
    """All attacks on one release.

    >>> made = rv.release(people[:400], plan)
    >>> sorted({each.criterion for each in rv.risk(people[:400], made.table, plan, shadows=0).attacks})
    ['inference', 'linkability', 'singling out']
    """

    method: str
    differentially_private: bool
    epsilon: float | None  # claimed; it holds only if the method is differentially private
    delta: float
    protects: str
    tested: str  # on what, in a sentence
    members: int
    others: int
    attacks: tuple[AttackRisk, ...]
    nearest: Nearest
    membership: Membership | None
    seed: int
    skipped: dict[str, str] = field(default_factory=dict)  # attack -> why not
    note: str = INTERNAL

    def of(self, criterion: Criterion) -> list[AttackRisk]:
        """The attacks of one criterion, the one first whose risk is largest for certain: by the lower end."""
        return sorted((each for each in self.attacks if each.criterion == criterion), key=lambda each: -each.between[0])

    def worst(self, criterion: Criterion) -> AttackRisk | None:
        return next(iter(self.of(criterion)), None)

    def as_dict(self) -> dict[str, Any]:
        return {
            "note": self.note,
            "method": self.method,
            "differentially_private": self.differentially_private,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "protects": self.protects,
            "tested": self.tested,
            "members_sampled": self.members,
            "others_sampled": self.others,
            "attacks": [each.as_dict() for each in self.attacks],
            "nearest_record": self.nearest.as_dict(),
            "membership": None if self.membership is None else self.membership.as_dict(),
            "seed": self.seed,
            "skipped": self.skipped,
        }

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=2, ensure_ascii=False)

    def _repr_html_(self) -> str:
        """For notebooks: the largest risk of each criterion."""
        rows = [
            (criterion, each.name, f"{each.risk:.3f}", "–" if each.limit is None else f"{each.limit:.3f}")
            for criterion in CRITERIA
            for each in self.of(criterion)[:1]
        ]
        return fragment(
            f"Risk of a release by {self.method}",
            warning=self.note,
            facts=[("tested", self.tested)],
            table=(("criterion", "attack", "risk", "limit of ε"), rows),
            footer="0: members of the table are no worse off than people who are not in it.",
        )
