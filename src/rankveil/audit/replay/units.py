"""Units of protection drawn at random: rows that are there or not, whole persons; neighbours that differ in one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rankveil.audit.replay.dice import Dice
from rankveil.audit.replay.records import Values
from rankveil.audit.replay.ways import Cells
from rankveil.declare import Plan

PERSON = "whose"
_Record = dict[str, Any]


def with_unit(dice: Dice, plan: Plan) -> Plan:
    """The plan with another unit of protection as often as not, if its method takes one."""
    public = any(getattr(entry, "role", "") == "public" for entry in plan.columns.values())
    if plan.release.method != "synthetic" or public or dice.chance(40):
        return plan
    content = plan.model_dump(exclude_defaults=True)
    content["privacy"] = {"neighbours": dice.one_of(("replace", "add-remove"))}
    if content["privacy"]["neighbours"] == "replace" or dice.chance(60):
        content["privacy"] |= {"person": PERSON, "rows_per_person": dice.one_of((1, 2, 3, 7))}
        content["columns"][PERSON] = {"kind": "drop"}
    return Plan.from_dict(content, folder=plan.folder)


def with_persons(dice: Dice, plan: Plan, cells: Cells) -> Cells:
    """Made cells, with somebody's id in every row: some have one row and some have many, scattered over the table."""
    person = plan.unit.person
    if person is None:
        return cells
    rows = _rows(cells)
    ids = [_id(dice, number) for number in range(max(1, rows // dice.one_of((1, 2, 3, 10))))]
    whose = [ids[place] for place in dice.many_below(len(ids), rows)]
    filled = {**cells, person: whose}
    if dice.chance(50):  # all rows of a person alike: whoever is then replaced changes as much as one can
        first = {each: whose.index(each) for each in ids if each in whose}
        filled = {name: [column[first[each]] for each in whose] for name, column in filled.items()}
    return filled


def _id(dice: Dice, number: int) -> str:
    return dice.one_of((f"p{number}", f"{number:05d}", f"somebody with the long name {number}"))


def other_unit(
    dice: Dice, plan: Plan, values: dict[str, Values], cells: Cells, obeying: Callable[[_Record], _Record]
) -> tuple[Cells, str]:
    """The same table with one unit more, one less, or another one in the place of one; and what was done, in words.

    `obeying` makes of a record one that the plan's rules allow.
    """
    unit, records = plan.unit, _records(cells)

    def record() -> _Record:
        made = {name: each.plain(dice) if dice.chance(60) else each.awkward(dice)[1] for name, each in values.items()}
        return dict.fromkeys(plan.columns, "a note") | obeying(made)

    if unit.person is None:
        if len(records) > 2 and dice.chance(50):
            del records[dice.below(len(records))]
            return _cells(cells, records), "one row less"
        return _cells(cells, _with(dice, records, [record()])), "one row more"
    persons = sorted({str(each[unit.person]) for each in records})
    chosen = dice.one_of(persons)
    left = [each for each in records if str(each[unit.person]) != chosen]
    if unit.neighbours == "add-remove" and left and dice.chance(50):
        return _cells(cells, left), "one person less"
    count = dice.one_of((1, unit.rows, unit.rows, 2 * unit.rows + 1))
    named = chosen if unit.neighbours == "replace" and dice.chance(50) else "somebody new"
    alike = [record()] * count
    rows = alike if dice.chance(50) else [record() for _ in range(count)]
    kept = records if unit.neighbours == "add-remove" else left
    added = [{**row, unit.person: f" {named} " if dice.chance(20) else named} for row in rows]
    what = "one person more" if unit.neighbours == "add-remove" else "one person replaced"
    many = "with more rows than are used" if count > unit.rows else f"with {'one row' if count == 1 else 'some rows'}"
    return _cells(cells, _with(dice, kept, added)), f"{what}, {many}"


def _with(dice: Dice, records: list[_Record], added: Sequence[_Record]) -> list[_Record]:
    """Rows added at any places."""
    made = list(records)
    for record in added:
        made.insert(dice.below(len(made) + 1), record)
    return made


def _rows(cells: Cells) -> int:
    return len(next(iter(cells.values())))


def _records(cells: Cells) -> list[_Record]:
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def _cells(like: Cells, records: Sequence[_Record]) -> Cells:
    return {name: [record[name] for record in records] for name in like}
