"""Plans of all kinds, drawn at random, and tables and neighbours that they take."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from rankveil.audit.replay.dice import Dice
from rankveil.audit.replay.records import Values
from rankveil.audit.replay.units import other_unit, with_persons, with_unit
from rankveil.audit.replay.ways import Cells, Cuts, Way
from rankveil.declare import Column, Plan, Schema, declare_alone
from rankveil.declare.domain import Grid
from rankveil.declare.expression import names_in, parse
from rankveil.declare.unit import A_ROW
from rankveil.methods import method_named

METHODS = ("synthetic", "synthetic", "synthetic", "aligned", "laplace", "unlinked", "multivariate")
_EPSILONS = ("0.01", "0.1", "0.5", "1", "1", "2", "5", "10", "50", "200")
_DEEP = ("200", "1000")  # with which hundreds of records are enough for tables of three columns
_DELTAS = ("1e-9", "1e-6")
_SHRUNK = (Fraction(1), Fraction(1), Fraction(1, 10), Fraction(0))
_LABELS = (
    ("a", "b"),
    ("low", "middle", "high"),
    ("1", "2.5", "10", "3.25"),
    ("no", "a label that is quite a bit longer than the others " * 3 + "end", "Größe; und, mehr", 'said "so"'),
    tuple(f"area {place}" for place in range(30)),
)
_NOTES = ("a note", "a longer note " * 300, None)  # in columns that are not released
DERIVED = "follows"  # the name of a derived column
_REORDERED = 100_000  # rows; more with public columns are shuffled through a file, by steps that are no single answer
_TREE = "node,parent\nroot,\nA,root\nB,root\na1,A\na2,A\nb1,B\nb2,B\nb3,B\n"


@dataclass(frozen=True)
class Case:
    """A table, a neighbour of it and a plan: what a pair of releases is made from."""

    name: str
    plan: Plan
    way: Way
    original: Cells
    changed: Cells
    cuts: tuple[Cuts, Cuts]
    shrunk: Fraction
    change: str  # in words, without a value

    @property
    def rows(self) -> int:
        return len(next(iter(self.original.values())))


def made_plan(dice: Dice, way: Way, rows: int, folder: Path) -> Plan:
    """A plan for this way in, with whatever its method allows."""
    method = "synthetic" if way.spark else dice.one_of(METHODS)
    deep = method == "synthetic" and dice.chance(25)
    epsilon = dice.one_of(_DEEP if deep else _EPSILONS)
    content: dict[str, Any] = {"release": {"method": method, "epsilon": epsilon}}
    if method == "synthetic" and dice.chance(35):
        content["release"]["delta"] = dice.one_of(_DELTAS)
    if method in ("unlinked", "multivariate"):
        content["release"]["k"] = 1 + dice.below(max(1, min(rows // 2, 12)))
    if way.table:
        content["table"] = dict(way.table)
    (folder / "tree.csv").write_text(_TREE, encoding="utf-8")
    columns = {f"c{place}": _column(dice, method) for place in range(1 + dice.below(5))}
    if method == "synthetic" and dice.chance(30):
        yes_no = {f"yes{place}": {"kind": "boolean", "null": False} for place in range(3 + dice.below(4))}
        columns = yes_no if dice.chance(50) else columns | yes_no
    if method in ("synthetic", "aligned", "laplace") and not way.spark and len(columns) > 1 and dice.chance(30):
        for name in list(columns)[: 1 + dice.below(len(columns) - 1)]:
            if columns[name].get("bounds") != "private":
                columns[name]["role"] = "public"
    if dice.chance(15):
        columns["left_out"] = {"kind": "drop"}
    content["columns"] = columns
    listed = [
        name for name, entry in columns.items() if entry["kind"] in ("category", "ordinal") and "taxonomy" not in entry
    ]
    if method == "synthetic" and len(listed) > 1 and dice.chance(60):
        first, second = ((name, columns[name]["categories"][0]) for name in listed[:2])
        if dice.chance(50):
            content["impossible"] = [dict((first, second))]
        else:
            content["rule"] = [
                {"when": f"{first[0]} = {_quoted(first[1])}", "then": f"not {second[0]} = {_quoted(second[1])}"}
            ]
    missing = [name for name, entry in columns.items() if entry.get("null") and entry["kind"] != "drop"]
    if method == "synthetic" and missing and dice.chance(40):
        columns[DERIVED] = {"kind": "boolean", "derived": {"by": f"{missing[0]} is missing"}}
    kept = [name for name, entry in columns.items() if entry["kind"] != "drop"]
    if method == "synthetic" and len(kept) > 1 and dice.chance(30):
        content["interest"] = [dice.one_of(({"target": dice.one_of(kept)}, {"columns": kept[: 2 + dice.below(3)]}))]
    return Plan.from_dict(content, folder=folder)


def _column(dice: Dice, method: str) -> dict[str, Any]:
    kinds: Sequence[Callable[[Dice, str], dict[str, Any]]] = (_integer, _number, _number, _date, _labels, _labels)
    entry = dice.one_of(kinds)(dice, method)
    return entry | {"null": dice.chance(45)}


def _integer(dice: Dice, method: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": "integer", "clamp": dice.chance(50)}
    if method in ("synthetic", "aligned") and dice.chance(30):
        return entry | {"bounds": "private", "step": dice.one_of((1, 1, 100, 1 << 15, 1 << 17))}
    lower = dice.one_of((0, 0, 1, -50, 1 << 40))
    width = dice.one_of((1, 4, 20, 100, 5000, 10**6))
    step = dice.one_of((1, 1, 1, 7)) if width > 7 else 1
    special = {"special": [dice.one_of((lower - 9, lower + 1))]} if method == "synthetic" and dice.chance(25) else {}
    return (
        entry
        | special
        | {
            "lower": lower,
            "upper": lower + width,
            "step": step,
            "scale": dice.one_of(("linear", "linear", "log")),
        }
    )


def _number(dice: Dice, method: str) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": "number", "clamp": dice.chance(50)}
    if method in ("synthetic", "aligned") and dice.chance(30):
        return entry | {"bounds": "private", "step": dice.one_of(("0.01", "0.5", "1", "100"))}
    lower = dice.one_of((0, 0, -20, 1000))
    entry |= {"lower": lower, "upper": lower + dice.one_of((1, 100, 50000)), "scale": dice.one_of(("linear", "log"))}
    step = dice.one_of((None, "0.01", "0.5", "1"))
    return entry if step is None else entry | {"step": step}


def _date(dice: Dice, method: str) -> dict[str, Any]:
    lower = dice.one_of((date(1990, 1, 1), date(2024, 2, 28)))
    return {
        "kind": "date",
        "clamp": dice.chance(50),
        "lower": lower,
        "upper": lower + timedelta(days=dice.one_of((2, 400, 9000))),
        "format": dice.one_of(("%Y-%m-%d", "%Y-%m-%d", "%d.%m.%Y")),
    }


def _labels(dice: Dice, method: str) -> dict[str, Any]:
    kind = dice.one_of(("category", "category", "ordinal", "boolean", "tree"))
    if kind == "boolean":
        return {"kind": "boolean"}
    if kind == "tree":
        return {"kind": "category", "taxonomy": "tree.csv"}
    return {"kind": kind, "categories": list(dice.one_of(_LABELS))}


def made_cells(dice: Dice, plan: Plan, way: Way, rows: int) -> Cells:
    """A table of this many rows: in no order, sorted, of few different records, or nearly all the same."""
    values = values_of(plan, way)
    pool = [
        _obeying(plan, values, {name: column.plain(dice) for name, column in values.items()})
        for _ in range(min(rows, 200))
    ]
    if dice.chance(25):
        pool = [*pool[:2], *[pool[0]] * max(0, min(rows, 20) - 2)]
    elif dice.chance(40):
        pool = pool[:6]  # columns of few different records depend on each other
    drawn = [pool[place] for place in dice.many_below(len(pool), rows)] if rows > len(pool) else pool
    if dice.chance(40):
        first = next(iter(values))
        drawn = sorted(drawn, key=lambda record: (record[first] is not None, record[first] or 0, str(record[first])))
    return {name: [record[name] for record in drawn] if name in values else [_NOTES[0]] * rows for name in plan.columns}


def neighbour(dice: Dice, plan: Plan, way: Way, cells: Cells) -> tuple[Cells, str]:
    """The same table with another record in one of its rows, and in words what was changed."""
    rows = len(next(iter(cells.values())))
    place, where = dice.one_of(((0, "first row"), (rows - 1, "last row"), (dice.below(rows), "some row")))
    changed, words = {name: list(column) for name, column in cells.items()}, []
    values = values_of(plan, way)
    protected = [name for name, column in values.items() if column.column.protected and name != DERIVED]
    at_least = dice.one_of(protected)
    for name in protected:
        if name == at_least or dice.chance(50):
            what, changed[name][place] = values[name].awkward(dice)
            words.append(what)
    record = _obeying(plan, values, {name: changed[name][place] for name in values}, protected)
    for name, value in record.items():
        changed[name][place] = value
    for name in plan.columns.keys() - values.keys():
        changed[name][place] = dice.one_of(_NOTES)
    return changed, f"{where}: {', '.join(words)}"


def _obeying(
    plan: Plan, values: Mapping[str, Values], record: dict[str, Any], free: Sequence[str] | None = None
) -> dict[str, Any]:
    """The record, changed in one of the `free` columns if it breaks the plan's rule, its derived column computed."""
    pairs = [tuple(entry.items()) for entry in plan.impossible]
    pairs += [
        tuple((name, (values[name].first,)) for name in sorted(names_in(parse(f"{rule.when} and {rule.then}", ""))))
        for rule in plan.rule
    ]
    for pair in pairs:
        if all(_same(record[name], values[name].first) for name, _ in pair):
            name = next(name for name, _ in pair if free is None or name in free)
            record = record | {name: values[name].second}
    if DERIVED in record:
        (source,) = names_in(parse(str(plan.columns[DERIVED].derived.by), ""))  # type: ignore[union-attr]
        gone = getattr(record[source], "plain", record[source]) is None
        record = record | {DERIVED: int(gone) if values[DERIVED].as_numbers else gone}
    return record


def _same(value: Any, label: Any) -> bool:
    plain = getattr(value, "plain", value)
    return bool(plain == label or str(plain).strip() == str(label))


def _quoted(label: str) -> str:
    return "'" + label.replace("'", "''") + "'"


def _turned(cells: Cells, start: int) -> Cells:
    """The rows from a place on, then those before it, backwards."""
    return {name: [*column[start:], *reversed(column[:start])] for name, column in cells.items()}


def values_of(plan: Plan, way: Way) -> dict[str, Values]:
    schema: Schema = declare_alone(plan)
    return {
        column.name: Values(column, plan, way.text, way.objects, as_numbers=not way.text and _read_as_numbers(column))
        for column in schema.columns
    }


def _read_as_numbers(column: Column) -> bool:
    """Labels that are numbers are stored as such; truth values are in columns of an even number."""
    domain = column.domain
    if isinstance(domain, Grid):
        return domain.labels is not None and all(map(_is_number, domain.labels))
    return column.name in ("c0", "c2") if domain.boolean else all(map(_is_number, domain.taxonomy.labels))


def _is_number(label: str) -> bool:
    return label.replace(".", "", 1).isdecimal()


def made_cuts(dice: Dice, rows: int) -> tuple[Cuts, Cuts]:
    """Where a table and its neighbour are cut: in places that lie one row apart, or in as many other places."""
    inner = sorted({1 + int(place) for place in dice.many_below(rows - 1, dice.below(4))}) if rows > 1 else []
    moved = sorted({min(max(place + dice.below(3) - 1, 1), rows - 1) for place in inner})
    return inner, moved if dice.chance(75) else moved[:-1]


def made_case(name: str, ways: Sequence[Way], sizes: Sequence[int], folder: Path) -> Case:
    """The pair that belongs to a name."""
    dice = Dice(name)
    way = dice.one_of(ways)
    rows = sizes[dice.below(len(sizes))]
    rows = max(2, rows - dice.below(max(rows // 3, 1)))
    plan = made_plan(dice, way, rows, folder)
    whom = Dice(f"{name}, whom")
    plan = with_unit(whom, plan)
    return case_on(dice, name, plan, way, with_persons(whom, plan, made_cells(dice, plan, way, rows)))


def case_on(dice: Dice, name: str, plan: Plan, way: Way, cells: Cells) -> Case:
    """A neighbour for given cells. Which of the two is the original is left to the dice.

    Where rows of the release belong to nobody, their order in the table is nobody's business either: the neighbour's
    rows may come in another one, as they do in a table that is kept sorted.
    """
    if plan.unit == A_ROW:
        changed, words = neighbour(dice, plan, way, cells)
    else:
        values = values_of(plan, way)
        changed, words = other_unit(Dice(f"{name}, neighbour"), plan, values, cells, partial(_obeying, plan, values))
    rows = min(len(next(iter(each.values()))) for each in (cells, changed))
    if rows <= _REORDERED and not method_named(plan.release.method).row_aligned and dice.chance(50):
        changed, words = _turned(changed, 1 + dice.below(rows)), f"{words}; rows in another order"
    cuts = made_cuts(dice, rows)
    pair = (cells, changed) if dice.chance(50) else (changed, cells)
    return Case(name, plan, way, *pair, cuts, dice.one_of(_SHRUNK), words)
