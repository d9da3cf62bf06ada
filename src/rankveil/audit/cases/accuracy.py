"""Attacks on published accuracy: the production code, replayed on neighbours that attain the bounds of T53.

The release has everybody in one cell of every column. In X everybody is there; in X' one unit is elsewhere, or has come
in addition: every table and every query changes by as much as it can. What all answers lose together is exact.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from rankveil.audit.findings import DependsOnData, Finding, exact, structural
from rankveil.audit.tables import Setting, dataset, labels, number
from rankveil.audit.watch import Watch, WatchedBudget, replayed
from rankveil.declare import Schema
from rankveil.declare.expression import parse
from rankveil.declare.unit import A_ROW, Unit
from rankveil.measure.accuracy import Conditions, Question, noisy_answers

_ROWS = 20
_COLUMNS = (number("a", 40), labels("b", 4), number("c", 3))
_FIRST, _LAST = (0, 0, 0), (40, 3, 3)
_QUERIES = ("a <= 10", "c = 0", "b = 'label 3'")
_UNITS = (A_ROW, Unit("add-remove"), Unit("replace", "who", 3), Unit("add-remove", "who", 3))


def attacks(on: Setting) -> Iterator[Finding]:
    for unit in _UNITS:
        yield _attack(on, unit)


def _attack(on: Setting, unit: Unit) -> Finding:
    crowd, others = [_FIRST] * _ROWS, [_LAST] * unit.rows
    stays = crowd[unit.rows :] if unit.neighbours == "replace" else crowd
    tables = [dataset(_COLUMNS, rows) for rows in (crowd, [*stays, *others])]
    conditions = Conditions(Schema(_COLUMNS), tuple(parse(text, "a query") for text in _QUERIES))
    case = f"published accuracy: {unit.who}, {unit.neighbours}"

    def run(changed: bool, watch: Watch) -> None:
        question = Question.about(dataset(_COLUMNS, crowd).records(), conditions)
        answers, _ = question.exact(tables[changed])
        noisy_answers(answers, WatchedBudget(on.epsilon, None, protects=unit, watch=watch), watch)

    try:
        path = replayed(run, on.source)
        loss = float(sum(lost.amount for lost in path.worst()))
    except DependsOnData as difference:
        return structural(case, on.claimed, runs=2, detail=str(difference))
    moved = int(sum(np.count_nonzero(one.exact != other.exact) for one, other in path))
    return exact(case, on.claimed, loss, runs=2, detail=f"{moved} of {2 + len(_QUERIES)} figures change")
