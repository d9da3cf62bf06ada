"""Attacks on a released file: what they find about people in the table, against people who are not in it. INTERNAL.

limits.py      what ε allows such attacks to find (T54, T55)
rates.py       how often attacks succeed, with intervals
results.py     what was found
parts.py       who is in the release and who is not, and samples of both
distances.py   distances between records
criteria.py    singling out, linkability, inference: the criteria of the Article 29 Working Party
rows.py        the same on releases whose rows belong to records: own rows, and rows that are equal
nearest.py     whether released rows lie nearer to people in the table than to others
shadows.py     membership inference on many releases with and without one person: a certain lower bound on ε
attacks.py     all of it on one release
"""

from rankveil._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankveil.risk.attacks import risk
    from rankveil.risk.results import Risk

__all__ = ["Risk", "risk"]

__getattr__, __dir__ = lazily(__name__, attacks="risk", results="Risk")
