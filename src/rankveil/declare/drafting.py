"""A first plan for a table as an object: what `rankveil init` writes as a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rankveil.declare.codebooks import with_own_labels
from rankveil.declare.draft import draft_of
from rankveil.declare.plan import Amount, Plan
from rankveil.engines import open_table


def draft(
    table: object,
    *,
    method: str = "synthetic",
    epsilon: Amount = 1,
    separator: str | None = None,
    encoding: str | None = None,
    codebook: str | Path | Sequence[str | Path] = (),
    extract: bool = False,
) -> Plan:
    """A first plan for a table, guessed from its data, with every guess marked.

        >>> drafted = rv.draft(people)
        >>> drafted
        Plan of 3 columns for synthetic with ε = 1; ... guesses to confirm
        >>> sorted(drafted.guesses), "upper" in drafted.guesses["age"]
        (['age', 'income', 'sex'], True)
        >>> rv.release(people, drafted)
        Traceback (most recent call last):
            ...
        rankveil.errors.GuaranteeError: The plan holds guesses taken from the data that nobody has confirmed:
        ...

    `table` is what `release` takes, but for Spark frames. Kinds, limits, labels, what is left out and what may be
    missing are read from the data, so the draft is internal: look at it (`print(drafted)`), put what is publicly known
    in the place of what the table shows (`Plan.confirm`), and save it for others (`Plan.save`). `separator` and
    `encoding` say how a text file is read, where the first look at it gets that wrong.
    `codebook` names documents that describe the table (docs/codebooks.md): what they say is public and needs no
    confirmation. `extract`: the table has only some of their variables.
    """
    opened = open_table(table, separator=separator, encoding=encoding)
    checked = Plan(release={"epsilon": epsilon, "method": method}, columns={"any": {"kind": "boolean"}}).release
    given = [Path(codebook)] if isinstance(codebook, str | Path) else [Path(each) for each in codebook]
    books = (*given, *with_own_labels(table))
    made = draft_of(opened, method=checked.method, epsilon=f"{checked.epsilon:f}", codebooks=books, extract=extract)
    text = made.text()
    plan = Plan.parse(text, name="draft").over(opened.schema.names)
    plan._text = text
    said = {name: value for name, value in (("separator", separator), ("encoding", encoding)) if value is not None}
    if not said:
        return plan
    content = plan.model_dump()
    content["table"] |= said
    content["table"]["unconfirmed"] = tuple(name for name in plan.table.unconfirmed if name not in said)
    return Plan.from_dict(content)
