"""Published accuracy by itself: do its figures follow from what was drawn, and do its shares add up?"""

from __future__ import annotations

from fractions import Fraction

from rankveil.certificate import Certificate
from rankveil.measure.accuracy import noise_of
from rankveil.measure.budget import Price
from rankveil.published_accuracy import THEOREMS, AccuracyFigure, AccuracyStatement, figure_of
from rankveil.verify.numbers import Fails, number


def accuracy(read: Certificate) -> str:
    """All statements, one after the other."""
    together = number(read.epsilon) or Fraction(0)
    statements = read.published_accuracy or ()
    for place, each in enumerate(statements, start=1):
        epsilon = number(each.epsilon) or Fraction(0)
        together += epsilon
        if epsilon <= 0 or any((number(one.epsilon) or 0) <= 0 for one in each.figures):
            raise Fails(f"statement {place}: no ε, so it is not private")
        if _spent(each) != epsilon:
            raise Fails(f"statement {place}: its shares do not add up to its ε")
        if number(each.together_epsilon) != together or number(each.together_delta) != (number(read.delta) or 0):
            raise Fails(f"statement {place}: it does not add up with the release and what came before")
        if each.theorems != THEOREMS or (each.ledger_entry is None) == read.for_release:
            raise Fails(f"statement {place}: not what rankveil says of published accuracy")
        queries = sum(one.kind == "query" for one in each.figures)
        if not all(_follows(one, read, queries) for one in each.figures):
            raise Fails(f"statement {place}: a figure does not follow from what was drawn, for its ε")
    shown = float(together)
    return f"{len(statements)} statement(s); with the release ε = {shown:.6g} in all"


def _spent(statement: AccuracyStatement) -> Fraction:
    return sum((number(one.epsilon) or Fraction(0) for one in statement.figures), Fraction(0))


def _follows(figure: AccuracyFigure, read: Certificate, queries: int) -> bool:
    price = number(figure.epsilon) or Fraction(0)
    of, whole = (queries, price * queries) if figure.kind == "query" else (figure.tables, price)
    noise = noise_of(figure.kind, of, Price("epsilon", whole, protects=read.unit))
    again = figure_of(
        figure.kind,
        noisy=figure.noisy,
        rows=read.rows,
        tables=figure.tables,
        epsilon=figure.epsilon,
        scale=figure.scale,
        rows_public=read.unit.rows_public,
        condition=figure.condition,
    )
    one = figure.kind != "query" or figure.tables == 1
    return one and number(figure.scale) == noise.parameter and again == figure
