"""Attacks on releases: an empirical lower bound on ε, next to the ε that is claimed.

bounds.py     what a number of hits proves
findings.py   what one attack found
laws.py       exact laws of lists, choices and channels
watch.py      production code, watched while it spends its budget
replay/       whole releases of neighbouring tables, with the same answers, compared byte by byte
tables.py     tiny tables, their neighbours and their releases
cases/        the attacks on each method
auditor.py    all attacks on a method, and a verdict

attack.py     the attack view: what a release tells about one record, method by method
attack_*.py   how belief about a cell changes: through rows, lists of centroids, places among them, equal rows
"""

from rankveil._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankveil.audit.auditor import AuditResult, audit, audit_all

__all__ = ["AuditResult", "audit", "audit_all"]

__getattr__, __dir__ = lazily(__name__, auditor="AuditResult audit audit_all")
