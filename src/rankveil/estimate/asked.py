"""What is asked of a release, read from a text.

ask          estimate, or estimate `minus` estimate (of one number each)
estimate     function(...) [`by` column, ...] [`where` condition]
function     count()  total(x)  mean(x)  share(condition)  median(x)  quantile(x, 0.9)
             table(a, b)   counts for each combination
             lm(y ~ a + b)  logit(condition ~ a + b)
x, condition as in the plan's rules
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from rankveil.declare.expression import Name, Node, names_in, parse
from rankveil.errors import EstimateError, PlanError

FUNCTIONS = ("count", "total", "mean", "share", "median", "quantile", "table", "lm", "logit")
MOST_CHARACTERS = 4000
_HIDDEN = re.compile(r"'(?:[^']|'')*'|`[^`]*`")
_HELP = "docs/estimates.md describes what can be asked, such as: mean(income) by sex where age >= 65"


@dataclass(frozen=True)
class Asked:
    """One estimate."""

    text: str
    function: str
    of: tuple[Node, ...]  # y first, for regressions
    by: tuple[str, ...] = ()
    where: Node | None = None
    share: float = 0.5  # of a quantile

    @property
    def columns(self) -> frozenset[str]:
        nodes = (*self.of, *([self.where] if self.where is not None else []))
        return frozenset(self.by).union(*map(names_in, nodes))


def wrong(problem: str) -> EstimateError:
    return EstimateError(f"The estimate is not understood: {problem}", remedy=_HELP)


def asked(text: str) -> list[Asked]:
    """One, or two of which the second is taken from the first."""
    if len(text) > MOST_CHARACTERS:
        raise wrong(f"it has more than {MOST_CHARACTERS} characters.")
    parts = _split(text, r"\bminus\b")
    if len(parts) > 2:
        raise wrong("'minus' stands in it more than once.")
    return [_one(part.strip()) for part in parts]


def _one(text: str) -> Asked:
    main, *conditions = _split(text, r"\bwhere\b")
    if len(conditions) > 1:
        raise wrong("'where' stands in it more than once.")
    main, *groups = _split(main, r"\bby\b")
    if len(groups) > 1:
        raise wrong("'by' stands in it more than once.")
    found = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*", main, re.DOTALL)
    if found is None or found[1] not in FUNCTIONS:
        raise wrong(f"it begins with none of {', '.join(FUNCTIONS)}, followed by (...).")
    function, inside = found[1], found[2]
    by = tuple(_column(part) for part in _split(groups[0], ",")) if groups else ()
    where = _node(conditions[0]) if conditions else None
    share = 0.5
    if function in ("lm", "logit"):
        of = _regression(function, inside)
        if by:
            raise wrong(f"{function} has no 'by'; ask for one group after the other with 'where'.")
    elif function == "table":
        by, of = (*by, *(_column(part) for part in _split(inside, ","))), ()
    elif function == "count":
        of = (_node(inside),) if inside.strip() else ()
    elif function == "quantile":
        value, _, last = inside.rpartition(",")
        try:
            share = float(last)
        except ValueError:
            share = 0.0
        if not 0 < share < 1:
            raise wrong("a quantile needs a share between 0 and 1: quantile(income, 0.9).")
        of = (_node(value),)
    else:
        of = (_node(inside),)
    if len(set(by)) < len(by):
        raise wrong("a column stands in 'by' twice.")
    return Asked(text, function, of, by, where, share)


def _regression(function: str, inside: str) -> tuple[Node, ...]:
    left, *right = _split(inside, "~")
    if len(right) != 1:
        raise wrong(f"{function} needs one ~, as in {function}(y ~ a + b).")
    return (_node(left), *(_node(part) for part in _split(right[0], r"\+")))


def _node(text: str) -> Node:
    if not text.strip():
        raise wrong("something is missing: a column or a condition.")
    try:
        return parse(text, "it")
    except PlanError as error:
        raise wrong(error.problem.removeprefix("it: ")) from None


def _column(text: str) -> str:
    node = _node(text)
    if not isinstance(node, Name):
        raise wrong("'by' and table(...) take names of columns.")
    return node.column


def _split(text: str, at: str) -> list[str]:
    """Parts of a text between what matches, outside of quotes and of parentheses."""
    plain = _HIDDEN.sub(lambda found: "\0" * len(found[0]), text)
    level, levels = 0, []
    for sign in plain:
        level -= sign in ")]"
        levels.append(level)
        level += sign in "(["
    parts, start = [], 0
    for found in re.finditer(at, plain):
        if levels[found.start()] == 0:
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]
