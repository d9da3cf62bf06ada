"""Everything rankveil refuses, as one tree.

    RankveilError               exit  what it means
    ├── PlanError                 2   the plan, an option, or a file the plan names is wrong
    │   ├── TaxonomyError         2   a taxonomy has a cycle, two roots, an unknown label, ...
    │   └── GuaranteeError        2   the release needs a consent that was not given
    ├── CodebookError             2   a codebook cannot be read, or contradicts the table or another codebook
    ├── EstimateError             2   an estimate is not understood, or the release cannot give it
    ├── OutputError               2   the output cannot be written where it was asked for
    ├── SigningError              2   a key for signatures is missing, is not one, or is not kept safe
    ├── TableError                3   the table cannot be read, or does not fit the plan
    │   └── DomainError           3   values of a column lie outside what the plan declares
    ├── ModelError                3   a model cannot be read: no model, damaged, or of another format
    ├── BudgetError               4   the privacy budget does not allow the release
    ├── AuditError                5   an audit contradicts a claimed guarantee
    └── MissingExtraError         2   an optional part of rankveil is not installed

A message says what is wrong and where, what it cost, and what to do about it. It never shows a value
of the data: it may name columns, count values, and quote the plan, which is public.
"""

from __future__ import annotations

import traceback
from pathlib import Path

NOTHING_HAPPENED = "No file was written and no budget was spent."


class RankveilError(Exception):
    """A refusal in three parts: what is wrong, what it cost, what to do. No part shows a value of the data.

    >>> try:
    ...     rv.Plan.load("nowhere.toml")
    ... except rv.RankveilError as error:
    ...     print(error.problem, error.cost, error.remedy, sep="\\n")
    Plan nowhere.toml cannot be read: No such file or directory.
    No file was written and no budget was spent.
    Draft one with: rankveil init TABLE
    """

    exit_code = 1

    def __init__(self, problem: str, *, remedy: str, cost: str = NOTHING_HAPPENED) -> None:
        super().__init__(problem)
        self.problem = problem
        self.cost = cost
        self.remedy = remedy

    def __str__(self) -> str:
        return "\n".join(part for part in (self.problem, self.cost, self.remedy) if part)

    def as_dict(self) -> dict[str, str | int]:
        """The same for machines (`--json`)."""
        return {
            "error": type(self).__name__,
            "problem": self.problem,
            "cost": self.cost,
            "remedy": self.remedy,
            "exit_code": self.exit_code,
        }


class PlanError(RankveilError):
    exit_code = 2


class TaxonomyError(PlanError):
    pass


class GuaranteeError(PlanError):
    pass


class CodebookError(RankveilError):
    exit_code = 2

    def __init__(self, problem: str, *, remedy: str, cost: str = "No plan was written.") -> None:
        super().__init__(problem, remedy=remedy, cost=cost)  # a draft spends nothing


class OutputError(RankveilError):
    exit_code = 2


class SigningError(RankveilError):
    exit_code = 2


class EstimateError(RankveilError):
    exit_code = 2

    def __init__(self, problem: str, *, remedy: str, cost: str = "") -> None:
        super().__init__(problem, remedy=remedy, cost=cost)  # nothing can be spent on an estimate


class TableError(RankveilError):
    exit_code = 3


class DomainError(TableError):
    pass


class ModelError(RankveilError):
    exit_code = 3


class BudgetError(RankveilError):
    exit_code = 4


class AuditError(RankveilError):
    exit_code = 5


class MissingExtraError(RankveilError):
    """An optional part of rankveil was asked for and is not installed."""

    exit_code = 2

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs the optional part '{extra}', which is not installed.",
            remedy=f"Install it with: pip install 'rankveil[{extra}]'",
        )


def bug_in(error: BaseException) -> str:
    """A bug in one sentence. The exception's own text is left out, because it may quote data."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "unknown place"
    return f"This is a bug in rankveil: {type(error).__name__} at {place}."
