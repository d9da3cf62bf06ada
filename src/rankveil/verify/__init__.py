"""Whether a certificate and a release belong together, and whether the certificate agrees with itself.

Shows        The release (its file, or all its parts) is the certified one, byte for byte; its columns, rows and values
             are those declared; the parts of the budget add up, exactly, to the ε (or imply the (ε, δ)) that is stated;
             the claim is the one that rankveil makes for this method; the model beside the release, where one was kept,
             is the certified one, file by file; so is every file on the manifest; the page is the certificate's; the
             owner of a key has signed all of it; a ledger still has what it had then.
Cannot show  That the noise was really drawn, that the plan's bounds are public knowledge, that the original was read
             only once. Without a signature: who wrote the certificate. Whoever changes release and papers alike, and
             consistently, is then not found out here. Compare with the certificate its publisher shows.

Everything needed is in these files: neither the original nor the plan is read, so anyone can verify. The certificate
has the number of a column's labels, not the labels, so of labels only their number is checked.

checks.py       the list of checks, and the certificate by itself
release.py      the release against the certificate
papers.py       page, manifest, signature, and the ledger that they quote
inspection.py   the values of one column
accuracy.py     published accuracy against itself
numbers.py      exact numbers as certificates write them
"""

from rankveil._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankveil.verify.checks import Check, Verification, verify

__all__ = ["Check", "Verification", "verify"]

__getattr__, __dir__ = lazily(__name__, checks="Check Verification verify")
