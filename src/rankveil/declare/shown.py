"""A plan as a piece of HTML for notebooks. What was guessed from the data is named there, and not shown."""

from __future__ import annotations

from rankveil.declare.entries import ColumnEntry, DropColumn
from rankveil.declare.plan import Plan
from rankveil.fragments import Facts, fragment

_MOST_COLUMNS = 60
_GUESSES = (
    "INTERNAL: this plan holds guesses taken from the data that nobody has confirmed. They are not shown here; no"
    " release is made until they are replaced or confirmed."
)


def plan_fragment(plan: Plan) -> str:
    settings = plan.release
    facts: Facts = [("method", settings.method), ("ε", str(settings.epsilon))]
    facts += [("δ", str(settings.delta))] if settings.delta is not None else []
    facts += [("k", str(settings.k))] if settings.k is not None else []
    facts += [("population", settings.population)] if settings.population is not None else []
    rows = [
        (name, entry.kind, "–" if isinstance(entry, DropColumn) else entry.role, _domain(entry), _missing(entry))
        for name, entry in list(plan.columns.items())[:_MOST_COLUMNS]
    ]
    more = len(plan.columns) - len(rows)
    return fragment(
        f"Plan for {len(plan.columns)} column{'' if len(plan.columns) == 1 else 's'}",
        warning=_GUESSES if plan.guesses else None,
        facts=facts,
        table=(("column", "kind", "role", "public domain", "missing"), rows),
        footer=f"and {more} more columns" if more else None,
    )


def _domain(entry: ColumnEntry) -> str:
    if entry.unconfirmed:
        return f"guessed from the data: {', '.join(entry.unconfirmed)}"
    if getattr(entry, "bounds", "public") == "private":
        return "limits to be found with a part of the budget"
    lower, upper = getattr(entry, "lower", None), getattr(entry, "upper", None)
    if lower is not None and upper is not None:
        return f"{lower} to {upper}" + (" (log)" if getattr(entry, "scale", "linear") == "log" else "")
    categories, taxonomy = getattr(entry, "categories", None), getattr(entry, "taxonomy", None)
    parts = [f"{len(categories)} labels"] if categories else []
    parts += [f"taxonomy {taxonomy}"] if taxonomy else []
    return ", ".join(parts) or {"boolean": "true, false", "drop": "not released"}.get(entry.kind, "")


def _missing(entry: ColumnEntry) -> str:
    return "a value" if entry.null else "refused" if entry.kind != "drop" else "–"
