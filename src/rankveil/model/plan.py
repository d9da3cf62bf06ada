"""The plan as a model carries it: what others need to read the model, and nothing about how the table was read.

Left out     Columns that are not released, the column that tells persons apart, the population, the number of rows that
             was expected, and how the text of the table was read. Whom the release protects is said elsewhere.
Files        Taxonomies and tables of derived columns are written anew beside it, with no more than what is used.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from rankveil.declare import Plan, Schema, declare_alone
from rankveil.declare.derive import lookup_text
from rankveil.declare.domain import Grid, Nominal
from rankveil.declare.plan_file import plan_toml
from rankveil.declare.unit import Unit
from rankveil.taxonomy import taxonomy_files

PLAN_NAME = "plan.toml"


def plan_files(plan: Plan, schema: Schema) -> dict[str, str]:
    """plan.toml and the files that it names: name -> text."""
    content, files = plan.model_dump(), dict[str, str]()
    columns: dict[str, Any] = {}
    for number, column in enumerate(schema.columns, start=1):
        entry = columns[column.name] = content["columns"][column.name]
        if entry.get("taxonomy") is not None and isinstance(column.domain, Nominal):
            names = f"taxonomy-{number}.csv", f"labels-{number}.csv"
            files |= zip(names, taxonomy_files(column.domain.taxonomy), strict=True)
            entry |= {"taxonomy": names[0], "taxonomy_labels": names[1], "categories": None}
        by = (entry["derived"] or {}).get("by") or ""
        if by.endswith(".csv"):
            name = f"derived-{number}.csv"
            files[name] = lookup_text(plan, column.name)
            entry["derived"]["by"] = name
    said = content["release"]
    public = Plan.from_dict(
        {
            "release": {key: said[key] for key in ("method", "epsilon", "delta")},
            "exact": plan.exact,
            "publication": content["publication"],
            "table": {"decimal": content["table"]["decimal"]},
            **{key: content[key] for key in ("impossible", "rule", "interest")},
            "columns": columns,
        }
    )
    return {PLAN_NAME: plan_toml(public), **files}


def bounds_of(schema: Schema) -> dict[str, dict[str, Any]]:
    """The bounds of columns that were found with a part of the budget."""
    return {
        column.name: {"lower": str(column.domain.lower), "steps": column.domain.width}
        for column in schema.columns
        if column.private_bounds and isinstance(column.domain, Grid)
    }


def schema_of(folder: Path, bounds: dict[str, dict[str, Any]], unit: Unit) -> tuple[Plan, Schema]:
    """The plan of a model, and the schema that it stands for."""
    plan = Plan.load(folder / PLAN_NAME)
    schema = replace(declare_alone(plan), unit=unit)
    if not bounds:
        return plan, schema
    columns = []
    for column in schema.columns:
        if column.name in bounds and isinstance(column.domain, Grid):
            found = bounds[column.name]
            grid = replace(column.domain, width=found["steps"], lower=Decimal(found["lower"]), beyond=Decimal(0))
            column = replace(column, domain=grid)
        columns.append(column)
    return plan, schema.with_columns(columns)
