"""rankveil: publish a differentially private version of a whole table, with a certificate that says what holds.

    import rankveil as rv

    plan = rv.draft(people)                                     # a frame or a file; what is guessed from it is marked
    plan = plan.confirm("age", lower=0, upper=120).confirm()    # what is publicly known, said by you
    made = rv.release(people, plan, epsilon=1)                  # made.table, made.certificate
    rv.evaluate(people, made.table, plan).plot()                # internal: what was kept

Reference with examples: docs/reference/python.md. Every error is a `RankveilError`.
"""

import importlib

from rankveil._lazy import lazily
from rankveil._version import __version__

TYPE_CHECKING = False  # without `typing`, which takes longer to load than all the rest here
if TYPE_CHECKING:
    from rankveil.audit import AuditResult, audit
    from rankveil.audit.attack import attack
    from rankveil.books import Books, ledger
    from rankveil.certificate import Certificate
    from rankveil.compare import Comparison, compare
    from rankveil.declare import Plan
    from rankveil.declare.drafting import draft
    from rankveil.errors import RankveilError
    from rankveil.estimate import Estimates, estimate
    from rankveil.evaluate import Evaluation, evaluate
    from rankveil.figure import Figure
    from rankveil.methods import METHODS
    from rankveil.model import Model
    from rankveil.preview import Preview, preview
    from rankveil.release import Release, fit, release
    from rankveil.risk import Risk, risk
    from rankveil.synthesizer import Synthesizer
    from rankveil.taxonomy import Taxonomy
    from rankveil.verify import Verification, verify

__all__ = [
    "METHODS",
    "AuditResult",
    "Books",
    "Certificate",
    "Comparison",
    "Estimates",
    "Evaluation",
    "Figure",
    "Model",
    "Plan",
    "Preview",
    "RankveilError",
    "Release",
    "Risk",
    "Synthesizer",
    "Taxonomy",
    "Verification",
    "__version__",
    "attack",
    "audit",
    "compare",
    "draft",
    "estimate",
    "evaluate",
    "fit",
    "ledger",
    "preview",
    "release",
    "risk",
    "verify",
]

# Packages with the name of a public function: loaded here, so that no later import puts them in its place (_lazy.py).
for _name in ("audit", "compare", "estimate", "evaluate", "fit", "ledger", "preview", "release", "risk", "verify"):
    importlib.import_module(f"rankveil.{_name}")
    del globals()[_name]
del _name

__getattr__, __dir__ = lazily(
    __name__,
    audit="AuditResult audit",
    books="Books ledger",
    certificate="Certificate",
    compare="Comparison compare",
    declare="Plan",
    errors="RankveilError",
    estimate="Estimates estimate",
    evaluate="Evaluation evaluate",
    figure="Figure",
    methods="METHODS",
    model="Model",
    preview="Preview preview",
    release="Release fit release",
    risk="Risk risk",
    synthesizer="Synthesizer",
    taxonomy="Taxonomy",
    verify="Verification verify",
    **{"audit.attack": "attack", "declare.drafting": "draft"},
)
