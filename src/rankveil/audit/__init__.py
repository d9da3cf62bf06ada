"""Attacks on releases: an empirical lower bound on ε, next to the ε that is claimed.

bounds.py     what a number of hits proves
findings.py   what one attack found
laws.py       exact laws of lists, choices and channels
watch.py      production code, watched while it spends its budget
tables.py     tiny tables, their neighbours and their releases
cases/        the attacks on each method
auditor.py    all attacks on a method, and a verdict
"""

from rankveil.audit.auditor import AuditResult, audit, audit_all

__all__ = ["AuditResult", "audit", "audit_all"]
