"""Certificates of every kind, for tests of pages and papers that follow from them. Each is made once."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from rankveil import Plan, release
from rankveil.certificate import Certificate
from rankveil.evaluate import publish_accuracy
from rankveil.methods import METHODS
from rankveil.sign import new_key

PUBLICATION = {
    "title": 'Towns, <b>ages</b> & "work"',
    "curator": "Office of Towns & Co",
    "contact": "towns@example.org",
    "purpose": "To show what a page looks like.",
    "region": "Nowhere",
    "sector": "government",
    "period": "spring 2031",
    "licence": "CC0",
    "notes": "None.",
}
_COLUMNS: dict[str, dict[str, Any]] = {
    "age": {"kind": "integer", "lower": 0, "upper": 99, "null": True},
    "town": {"kind": "category", "categories": ["Bonn", "Jena", "<Ulm>"]},
    "works": {"kind": "boolean"},
    "name": {"kind": "drop"},
}
_ROWS = 400
CASES = (
    *METHODS,
    "delta",
    "concentrated",
    "large epsilon",
    "large delta",
    "rows there or not",
    "persons",
    "persons there or not",
    "public",
    "derived",
    "all papers",
)


@cache
def certificate_of(case: str) -> Certificate:
    """Of a release in memory, not a test: its noise is drawn from the system, and entered in the test's ledger."""
    method = case if case in METHODS else "synthetic"
    columns = {name: dict(entry) for name, entry in _COLUMNS.items()}
    plan: dict[str, Any] = {
        "release": {"method": method, "epsilon": 1, "k": 20},
        "publication": PUBLICATION,
        "columns": columns,
    }
    if case == "delta":
        plan["release"] |= {"delta": "1e-6"}
    if case == "large epsilon":
        plan["release"] |= {"epsilon": 12}
    if case == "large delta":
        plan["release"] |= {"delta": "1e-3"}
    if case == "concentrated":  # with a smaller ε Gaussian accounting has less noise
        plan["release"] |= {"epsilon": 50, "delta": "1e-3"}
    if "there or not" in case:
        plan["privacy"] = {"neighbours": "add-remove"}
    if case.startswith("persons"):
        plan.setdefault("privacy", {})
        plan["privacy"] |= {"person": "name", "rows_per_person": 3}
    if case == "public":
        columns["town"]["role"] = "public"
    ages = [None if row % 17 == 0 else row * 7 % 100 for row in range(_ROWS)]
    table = {
        "age": ages,
        "town": [("Bonn", "Jena", "<Ulm>")[row % 3] for row in range(_ROWS)],
        "works": [row % 4 > 0 for row in range(_ROWS)],
        "name": [f"person {row // 2}" for row in range(_ROWS)],
    }
    if case == "derived":
        columns["age"]["null"] = False
        columns["old"] = {"kind": "boolean", "derived": {"by": "age >= 65"}}
        table["age"] = [age or 0 for age in ages]
        table["old"] = [(age or 0) >= 65 for age in ages]
    if case == "all papers":
        return _with_all_papers(
            pa.table(table), Plan.from_dict(plan | {"release": plan["release"] | {"delta": "1e-6"}})
        )
    made = release(pa.table(table), Plan.from_dict(plan), accept_no_guarantee=True, accept_large_epsilon=True)
    return made.certificate


def _with_all_papers(table: pa.Table, plan: Plan) -> Certificate:
    """Signed, with a model, weights and published accuracy: whatever a page may have to say."""
    with TemporaryDirectory() as folder:
        key, out = Path(folder) / "key.pem", Path(folder) / "out"
        new_key(key, name="Towns")
        release(table, plan, out=out, key=key, keep_model=True, replicates=20)
        publish_accuracy(table, out, plan, epsilon="0.5", key=key)
        return publish_accuracy(table, out, plan, epsilon="0.25", key=key, queries=["age > 65 and town = 'Bonn'"])
