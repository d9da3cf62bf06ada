"""The certificate: what holds for a release, for whom, why, and at what price. Written for the public.

content.py   its parts and the whole
make.py      how it follows from a plan and a release
numbers.py   exact numbers as texts
"""

from rankveil.certificate.content import (
    ACCOUNTINGS,
    FORMAT,
    Certificate,
    ColumnNote,
    InterestNote,
    LedgerNote,
    ModelNote,
    PartNote,
    PlanNote,
    ReleaseNote,
    Settings,
    Share,
    TheoremNote,
    UnitNote,
    WeightsNote,
)
from rankveil.certificate.make import (
    ESCAPED,
    NEIGHBOURS_WITH_PUBLIC,
    ORDER_RELEASED,
    certify,
    describe,
    statement_for,
    theorems_for,
)
from rankveil.certificate.numbers import plain

__all__ = [
    "ACCOUNTINGS",
    "ESCAPED",
    "FORMAT",
    "NEIGHBOURS_WITH_PUBLIC",
    "ORDER_RELEASED",
    "Certificate",
    "ColumnNote",
    "InterestNote",
    "LedgerNote",
    "ModelNote",
    "PartNote",
    "PlanNote",
    "ReleaseNote",
    "Settings",
    "Share",
    "TheoremNote",
    "UnitNote",
    "WeightsNote",
    "certify",
    "describe",
    "plain",
    "statement_for",
    "theorems_for",
]
