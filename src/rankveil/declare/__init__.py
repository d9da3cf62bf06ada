"""What is public. The plan, the domain of every column, and the table read against them.

plan.py      the TOML file, checked and frozen
domain.py    a column's values as integers on a public grid
schema.py    plan + column names of a table -> Schema; Schema + table -> Records
draft.py     a first plan guessed from a table, every guess marked
"""

from rankveil.declare.plan import Amount, Plan, planned
from rankveil.declare.schema import Column, Records, Schema, declare, declare_alone, encode

__all__ = ["Amount", "Column", "Plan", "Records", "Schema", "declare", "declare_alone", "encode", "planned"]
