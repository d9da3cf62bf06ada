"""The certificate: what holds for a release, for whom, why, and how the budget was used. Written for the public.

content.py   its parts and the whole
make.py      how it follows from a plan and a release
odds.py      what ε and δ come to: odds, and what an attack can reach
spent.py     where the budget went
page/        the certificate as a page for people, certificate.html
registry.py  an entry for the registry of deployments
nist.py      a page along the pyramid of NIST SP 800-226
numbers.py   exact numbers as texts
"""

from rankveil.certificate.content import (
    ACCOUNTINGS,
    FORMAT,
    AttackNote,
    Certificate,
    ColumnNote,
    ExpectedNote,
    InterestNote,
    LedgerNote,
    MeaningNote,
    ModelNote,
    PartNote,
    PlanNote,
    PublicationNote,
    ReleaseNote,
    Settings,
    Share,
    SignerNote,
    SpentNote,
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
    "AttackNote",
    "Certificate",
    "ColumnNote",
    "ExpectedNote",
    "InterestNote",
    "LedgerNote",
    "MeaningNote",
    "ModelNote",
    "PartNote",
    "PlanNote",
    "PublicationNote",
    "ReleaseNote",
    "Settings",
    "Share",
    "SignerNote",
    "SpentNote",
    "TheoremNote",
    "UnitNote",
    "WeightsNote",
    "certify",
    "describe",
    "plain",
    "statement_for",
    "theorems_for",
]
