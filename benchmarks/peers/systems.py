"""Who takes part: the variant of which peer, what it promises, and who its neighbours are.

Neighbours. `replace one` protects against any change of one record and is the stricter relation: a system for `add or
remove one` at ε gives replace-one at 2ε at worst. Ours is `replace one`; most peers are `add or remove one`, and no
allowance is made for it in the comparison.

Ranked systems are those that claim differential privacy; the others are shown for reference. A claim is taken at its
word here (`doubt` says where it should not be).
"""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

HERE = Path(__file__).parent
OURS = "rankveil synthetic"
RUNNERS = HERE / "runners"
RECODING, CELLS = HERE / "recoding.py", HERE / "cells.py"
SAMPLER = (RUNNERS / "repaired.py", RUNNERS / "shared" / "mbi_sampler.py")
SOURCE = HERE.parents[1] / "src" / "rankveil"
BEGIN, END = "# user: begin", "# user: end"

Scope = Literal["", "few values", "all"]
ADD_REMOVE, REPLACE = "add or remove one", "replace one"


@dataclass(frozen=True)
class System:
    name: str
    peer: str  # names its environment, its requirements and its runner; "rankveil" uses this very interpreter
    variant: str = ""
    guarantee: str = "(ε, δ)"
    neighbours: str = ADD_REMOVE
    bins: str = "our cells"
    recoded: Scope = "all"  # which numbers it gets as labels, see recoding.py
    ranked: bool = True
    runs: int | None = None  # fewer than asked for
    only_at: str = ""  # the one ε it runs at; empty: all
    repaired: bool = False  # rows drawn by our sampler from its fitted model, see runners/repaired.py
    doubt: str = ""
    not_here: str = ""  # why it cannot take part at all

    def takes_part(self, epsilon: str) -> bool:
        return not self.not_here and self.only_at in ("", epsilon)

    @property
    def ours(self) -> bool:
        return self.peer == "rankveil"

    @property
    def runner(self) -> Path:
        return RUNNERS / f"{self.peer}.py"

    @property
    def command(self) -> list[str]:
        """What its interpreter is given, the request apart."""
        return ["-P", *([str(SAMPLER[0])] if self.repaired else []), str(self.runner)]

    @property
    def requirements(self) -> Path:
        return HERE / "requirements" / f"{self.peer}.txt"

    @property
    def lines(self) -> int | None:
        """Lines a user must write, from the public description to released values: those between the markers."""
        if self.not_here:
            return None
        for_cells = essential_lines(RECODING.read_text(encoding="utf-8")) if self.recoded == "all" else 0
        return essential_lines(self.runner.read_text(encoding="utf-8")) + for_cells

    @property
    def slug(self) -> str:
        return (
            self.name.replace(":", "-")
            .replace(",", "")
            .replace(" ", "-")
            .replace("ε", "epsilon")
            .replace("(", "")
            .replace(")", "")
        )

    def fingerprint(self) -> dict[str, str]:
        """Of all that makes its releases, the data apart."""
        parts = {"runner": meaning(self.runner, RUNNERS / "shared" / "runner.py")}
        if self.ours:
            made_by = [path for path in sorted(SOURCE.rglob("*.py")) if path.relative_to(SOURCE).parts[0] not in _APART]
            parts = {"runner": meaning(self.runner), "source": meaning(*made_by)}
        else:
            parts["requirements"] = short_hash(self.requirements.read_bytes())
        if self.recoded:
            parts["cells"] = meaning(RECODING, CELLS)
        if self.repaired:
            parts["sampler"] = meaning(*SAMPLER)
        return parts


# Rooms of rankveil that have no part in making a release.
_APART = {
    "audit", "cli", "compare", "evaluate", "ledger", "preview", "privacy", "report", "reproduce", "verify", "web",
    "_version.py", "certificate.py", "errors.py", "extras.py", "fragments.py", "meaning.py", "temporary.py",
}  # fmt: skip


def short_hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def meaning(*paths: Path) -> str:
    """A fingerprint of what Python files do: comments, layout, docstrings and where names come from do not count."""
    return short_hash("".join(_meant(path.read_text(encoding="utf-8")) for path in paths).encode())


@cache
def _meant(text: str) -> str:
    """Kept by the text: every table asks for every system, and most of them run the same files."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [part for part in body if not _says_nothing(part)]  # type: ignore[attr-defined]
    return ast.dump(tree)


def _says_nothing(part: ast.AST) -> bool:
    """An import, which moves with a module that is renamed, or a text by itself."""
    if isinstance(part, ast.Import | ast.ImportFrom):
        return True
    return isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) and isinstance(part.value.value, str)


def essential_lines(text: str) -> int:
    inside = text.split(BEGIN, 1)[1].split(END, 1)[0].splitlines()
    return sum(1 for line in inside if line.strip() and not line.strip().startswith("#"))


_REPAIRED = "the model as installed; rows drawn by our repair of mbi 1.1.0's sampler"
_SENSITIVITIES = "its analysis of sensitivities has open reports (DataSynthesizer issue 34)"
_SYSTEMS = (
    System(OURS, "rankveil", "synthetic", neighbours=REPLACE, bins="its own", recoded=""),
    System("rankveil synthetic, pure ε", "rankveil", "synthetic, pure ε", "pure ε", REPLACE, "its own", ""),
    System(
        "published:individual-ranking", "rankveil", "published:individual-ranking", "none", REPLACE, "none", "",
        ranked=False, doubt="the paper's method, k = 50; the centroids are ε-DP, the table is not",
    ),
    System("microagg1d", "microagg1d", "", "none", "-", "none", "", ranked=False, runs=1,
           doubt="no noise at all; labels stay as they are"),
    System("privlib", "privlib", "", "pure ε", REPLACE, "none", "",
           doubt="the paper's method by others, k = 50; fails an audit, as the paper's does"),
    System("DataSynthesizer", "datasynthesizer", "", "pure ε", REPLACE, doubt=_SENSITIVITIES),
    System("smartnoise MST", "smartnoise", "MST"),
    System("smartnoise AIM", "smartnoise", "AIM"),
    System("OpenDP MST, pure ε", "opendp", "MST, pure ε", "pure ε"),
    System("OpenDP MST", "opendp", "MST"),
    System("OpenDP AIM", "opendp", "AIM"),
    # mbi 1.1.0 draws rows wrongly from models that fit well: the same models with rows drawn as they say.
    System("smartnoise MST (repaired sampler)", "smartnoise", "MST", repaired=True, doubt=_REPAIRED),
    System("smartnoise AIM (repaired sampler)", "smartnoise", "AIM", repaired=True, doubt=_REPAIRED),
    System("OpenDP MST, pure ε (repaired sampler)", "opendp", "MST, pure ε", "pure ε", repaired=True, doubt=_REPAIRED),
    System("OpenDP MST (repaired sampler)", "opendp", "MST", repaired=True, doubt=_REPAIRED),
    System("OpenDP AIM (repaired sampler)", "opendp", "AIM", repaired=True, doubt=_REPAIRED),
    System("dpmm PrivBayes", "dpmm", "PrivBayes"),
    # The same models with bins of their own, which with many records can be finer than our cells.
    System("dpmm MST, PrivTree", "dpmm", "MST", bins="PrivTree", recoded="few values"),
    System("dpmm AIM, PrivTree", "dpmm", "AIM", bins="PrivTree", recoded="few values", only_at="1"),
    System("dpmm PrivBayes, PrivTree", "dpmm", "PrivBayes", bins="PrivTree", recoded="few values", only_at="1"),
    System("private-pgm MST", "private-pgm",
           not_here="the package mbi 2.0.0 holds the inference alone; its MST is an example in the repository. The same"
                    " mechanism runs in smartnoise, dpmm and OpenDP"),
    System("sdcMicro", "sdcmicro", "", "none", "-", "none", "", ranked=False,
           not_here="R is there, but Debian does not package sdcMicro and CRAN cannot be reached"),
)  # fmt: skip
SYSTEMS = {system.name: system for system in _SYSTEMS}
