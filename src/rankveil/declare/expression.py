"""The language of rules and derived columns: text -> tree. Nothing is run that a plan says; there is no `eval`.

    condition    comparison, `and`, `or`, `not`, parentheses, a column of truth values
    comparison   = != < <= > >=, in [...], not in [...], between .. and .., is missing, is not missing
    value        numbers, 'labels', 'dates', true, false, columns, + - * // %, min, max, abs, year, month
    column       a name of letters, digits and _; any other name in backquotes: `marital-status`

Guarantee    A text is read without looking at any table, and once. What it may mean for columns is checked by
             values.py before anything is spent.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from rankveil.errors import PlanError

FUNCTIONS = {"min": 2, "max": 2, "abs": 1, "year": 1, "month": 1}
_WORDS = frozenset({"and", "or", "not", "in", "between", "is", "missing", "true", "false"})
_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d{1,2})?)|(?P<name>[^\W\d]\w*)|`(?P<quoted>[^`]+)`"
    r"|'(?P<text>(?:[^']|'')*)'|(?P<sign><=|>=|!=|//|[=<>+\-*%(),\[\]]))"
)
_MOST_TOKENS = 500  # and no more than so many levels
_MOST_DIGITS = 40
_MOST_CLAUSES = 64


@dataclass(frozen=True)
class Number:
    value: Fraction


@dataclass(frozen=True)
class Text:
    """A label, or a day."""

    value: str


@dataclass(frozen=True)
class Truth:
    value: bool


@dataclass(frozen=True)
class Name:
    column: str


@dataclass(frozen=True)
class Call:
    """A function, or an operation with the sign as its name."""

    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True)
class Comparison:
    sign: str
    left: Node
    right: Node


@dataclass(frozen=True)
class Member:
    """One of several constants."""

    value: Node
    among: tuple[Node, ...]
    negated: bool = False  # present, and none of them


@dataclass(frozen=True)
class IsMissing:
    value: Node


@dataclass(frozen=True)
class Not:
    inner: Node


@dataclass(frozen=True)
class All:
    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Any:
    parts: tuple[Node, ...]


Node = Number | Text | Truth | Name | Call | Comparison | Member | IsMissing | Not | All | Any
Value = Number | Text | Truth | Name | Call


def parse(text: str, where: str) -> Node:
    """The tree of a text; `where` names the entry of the plan that it stands in."""
    return _Parser(text, where).whole()


def names_in(node: Node) -> frozenset[str]:
    """Columns that a tree names."""
    if isinstance(node, Name):
        return frozenset({node.column})
    return frozenset[str]().union(*map(names_in, parts_of(node)))


def parts_of(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Call):
        return node.arguments
    if isinstance(node, Comparison):
        return (node.left, node.right)
    if isinstance(node, Member):
        return (node.value, *node.among)
    if isinstance(node, IsMissing):
        return (node.value,)
    if isinstance(node, Not):
        return (node.inner,)
    return node.parts if isinstance(node, All | Any) else ()


def atoms(node: Node) -> Iterator[Node]:
    """The conditions that `and`, `or` and `not` put together."""
    if isinstance(node, Not | All | Any):
        for part in parts_of(node):
            yield from atoms(part)
    else:
        yield node


def clauses(node: Node, *, holds: bool = True) -> list[Node]:
    """Conditions on few columns each that hold together exactly where the whole does (or, if not `holds`, fails)."""
    if isinstance(node, Not):
        return clauses(node.inner, holds=not holds)
    if isinstance(node, All | Any):
        split = [clauses(part, holds=holds) for part in node.parts]
        if isinstance(node, All) == holds:
            return [clause for each in split for clause in each]
        combined: list[Node] = []
        for chosen in product(*split):
            combined.append(Any(tuple(part for each in chosen for part in _alternatives(each))))
            if len(combined) > _MOST_CLAUSES:
                return [node if holds else Not(node)]
        return combined
    return [node if holds else Not(node)]


def _alternatives(node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, Any) else (node,)


@dataclass(frozen=True)
class _Token:
    kind: str  # number, name, quoted, text, sign, word, end
    text: str
    place: int  # of its first character, from 1

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"{self.text!r}"


class _Parser:
    """By recursive descent, loosest binding first."""

    def __init__(self, text: str, where: str) -> None:
        self._where, self._at = where, 0
        self._tokens = list(self._read(text))

    def _read(self, text: str) -> Iterator[_Token]:
        place, count = 0, 0
        while text[place:].strip():
            found = _TOKEN.match(text, place)
            if found is None or found.lastgroup is None:
                start = place + len(text[place:]) - len(text[place:].lstrip())
                hint = " Use // for division." if text[start] == "/" else ""
                raise self._error(f"{text[start]!r} is not understood, at character {start + 1}.{hint}")
            kind, said = found.lastgroup, found[found.lastgroup]
            kind = "word" if kind == "name" and said in _WORDS else kind
            yield _Token(kind, said, found.start(found.lastgroup) + 1)
            place, count = found.end(), count + 1
            if count > _MOST_TOKENS:
                raise self._error(f"it has more than {_MOST_TOKENS} words and signs.")
        yield _Token("end", "", len(text) + 1)

    def _error(self, problem: str) -> PlanError:
        return PlanError(f"{self._where}: {problem}", remedy="docs/rules.md describes the language of rules.")

    @property
    def _next(self) -> _Token:
        return self._tokens[self._at]

    def _taken(self, *texts: str) -> str | None:
        """The next word or sign, if it is one of these."""
        token = self._next
        if token.kind not in ("word", "sign") or token.text not in texts:
            return None
        self._at += 1
        return token.text

    def _expect(self, text: str) -> None:
        if self._taken(text) is None:
            raise self._error(f"{text!r} is expected and {self._next} found, at character {self._next.place}.")

    def whole(self) -> Node:
        try:
            node = self._alternatives()
        except RecursionError:
            raise self._error("it is nested too deeply.") from None
        if self._next.kind != "end":
            raise self._error(f"{self._next} is not expected, at character {self._next.place}.")
        return node

    def _alternatives(self) -> Node:
        parts = [self._together()]
        while self._taken("or"):
            parts.append(self._together())
        return parts[0] if len(parts) == 1 else Any(tuple(map(self._condition, parts)))

    def _together(self) -> Node:
        parts = [self._negation()]
        while self._taken("and"):
            parts.append(self._negation())
        return parts[0] if len(parts) == 1 else All(tuple(map(self._condition, parts)))

    def _negation(self) -> Node:
        return Not(self._condition(self._negation())) if self._taken("not") else self._comparison()

    def _condition(self, node: Node) -> Node:
        if isinstance(node, Number | Text | Call):
            raise self._error("a value stands where a condition is expected; compare it with something.")
        return node

    def _value(self, node: Node) -> Node:
        if not isinstance(node, Value):
            raise self._error("a condition stands where a value is expected.")
        return node

    def _comparison(self) -> Node:
        left = self._sum()
        sign = self._taken("=", "!=", "<", "<=", ">", ">=")
        if sign is not None:
            return Comparison(sign, self._value(left), self._value(self._sum()))
        if self._taken("between"):
            low = self._sum()
            self._expect("and")
            return All((Comparison(">=", self._value(left), low), Comparison("<=", left, self._sum())))
        if self._taken("is"):
            negated = self._taken("not") is not None
            self._expect("missing")
            missing = IsMissing(self._value(left))
            return Not(missing) if negated else missing
        negated = self._taken("not") is not None
        if not self._taken("in"):
            if negated:
                raise self._error(f"'in' is expected after 'not', at character {self._next.place}.")
            return left
        self._expect("[")
        among = [self._constant()]
        while self._taken(","):
            among.append(self._constant())
        self._expect("]")
        return Member(self._value(left), tuple(among), negated)

    def _constant(self) -> Node:
        node = self._factor()
        if isinstance(node, Call) and node.function == "-" and isinstance(node.arguments[-1], Number):
            return Number(-node.arguments[-1].value)
        if not isinstance(node, Number | Text | Truth):
            raise self._error("a list holds numbers, 'labels' or 'dates' only.")
        return node

    def _sum(self) -> Node:
        node = self._product()
        while sign := self._taken("+", "-"):
            node = Call(sign, (self._value(node), self._value(self._product())))
        return node

    def _product(self) -> Node:
        node = self._factor()
        while sign := self._taken("*", "//", "%"):
            right = self._value(self._factor())
            if sign != "*" and right == Number(Fraction(0)):
                raise self._error("division by zero.")
            node = Call(sign, (self._value(node), right))
        return node

    def _factor(self) -> Node:
        if self._taken("-"):
            return Call("-", (Number(Fraction(0)), self._value(self._factor())))
        if self._taken("("):
            node = self._alternatives()
            self._expect(")")
            return node
        token = self._next
        self._at += 1
        if token.kind == "number" and len(token.text) <= _MOST_DIGITS:
            return Number(Fraction(token.text))
        if token.kind == "text":
            return Text(token.text.replace("''", "'"))
        if token.kind == "word" and token.text in ("true", "false"):
            return Truth(token.text == "true")
        if token.kind == "quoted":
            return Name(token.text)
        if token.kind == "name":
            return self._call(token) if self._taken("(") else Name(token.text)
        raise self._error(f"a value is expected and {token} found, at character {token.place}.")

    def _call(self, token: _Token) -> Node:
        wanted = FUNCTIONS.get(token.text)
        if wanted is None:
            raise self._error(f"there is no function {token.text!r}; there are {', '.join(FUNCTIONS)}.")
        arguments = [self._value(self._sum())]
        while self._taken(","):
            arguments.append(self._value(self._sum()))
        self._expect(")")
        if len(arguments) != wanted:
            raise self._error(f"{token.text} takes {wanted} value{'' if wanted == 1 else 's'}, not {len(arguments)}.")
        return Call(token.text, tuple(arguments))
