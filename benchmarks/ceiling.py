"""Does a release approach its table as budget or rows grow? What a learner makes of it, and can it be told apart?

    python -m benchmarks.ceiling [--tables diamonds flights] [--epsilons 1 10 100 1000] [--rows 10000 100000] [--json]

δ = 1e-9. A fifth of the rows is set aside (Adult: its own test file), the release is made from all the others. A
gradient-boosting learner is taught by up to 50,000 rows of the release and asked about the rows set aside: R² for
diamonds, AUC for flights and Adult, beside the same taught by as many rows of the table. The propensity of two random
halves of the table is what no release can be better than.

--rows: the same at ε = 1 with so many rows, drawn with replacement from those that are released; errors are against the
table that was drawn, the rows asked about are the same ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.measures import Figures, Ruler, propensity, release
from benchmarks.runs import Runs, grid, means, parser, shown, standard_errors
from benchmarks.tables import TABLES, Source

EPSILONS = ("1", "10", "100", "1000")
ROWS = (10_000, 100_000, 1_000_000)
AT = "1"  # the ε of the runs that vary rows
DELTA = "1e-9"
NAMES = ("diamonds", "flights", "adult")


def measure(source: Source, ruler: Ruler, epsilon: str, seed: int) -> Figures:
    reading = ruler.read(release(source, ruler.parts.released, seed, epsilon, DELTA))
    learnt = reading.learnt()
    guess = learnt.guessing
    return {
        "learner": guess if learnt.taught_by_release is None else learnt.taught_by_release,
        "learner of the table": guess if learnt.taught_by_original is None else learnt.taught_by_original,
        "propensity AUC": reading.propensity(),
        "1-way TV": reading.k_way(1),
        "2-way TV": reading.k_way(2),
    }


def against_itself(ruler: Ruler) -> Figures:
    """The propensity of two random halves of the table."""
    table = ruler.parts.released
    first = np.random.default_rng(0).permutation(table.num_rows) < table.num_rows // 2
    halves = [ruler.read(table.filter(chosen)).released for chosen in (first, ~first)]
    return {"propensity AUC": propensity(*halves)}


class Rulers:
    """Of one table at several sizes, one at a time: a table of a million rows is let go before the next is drawn."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._last: tuple[int | None, Ruler] | None = None

    def of(self, rows: int | None) -> Ruler:
        if self._last is None or self._last[0] != rows:
            self._last = None
            self._last = (rows, Ruler(self.source if rows is None else self.source.drawn(rows)))
        return self._last[1]


def run(names: Sequence[str], epsilons: Sequence[str], rows: Sequence[int], runs: int, store: Runs) -> dict[str, Any]:
    lines, halves = [], {}
    for source in (TABLES[name] for name in names):
        rulers = Rulers(source)
        about = {"table": source.name, "halves": True}
        halves[source.name] = store.get(about, lambda r=rulers: against_itself(r.of(None)))["propensity AUC"]
        for epsilon, count in [*((epsilon, None) for epsilon in epsilons), *((AT, count) for count in rows)]:
            found = []
            for seed in range(1, runs + 1):
                asked = {"table": source.name, "epsilon": epsilon, "rows": count, "seed": seed}
                found.append(
                    store.get(asked, lambda t=source, r=rulers, n=count, e=epsilon, s=seed: measure(t, r.of(n), e, s))
                )
            lines.append(
                {
                    "table": source.name, "epsilon": epsilon, "rows": count, "score": _score(source),
                    "figures": means(found), "standard_errors": standard_errors(found),
                }
            )  # fmt: skip
    return {"runs": runs, "delta": DELTA, "code": store.code, "lines": lines, "propensity_of_two_halves": halves}


def _score(source: Source) -> str:
    return "R²" if source.task == "regression" else "AUC"


def summary(result: dict[str, Any]) -> str:
    head = ["table", "ε", "rows", "score", "learner", "of the table", "gap", "propensity AUC", "1-way TV", "2-way TV"]
    body = []
    for line in result["lines"]:
        f = line["figures"]
        gap = f["learner of the table"] - f["learner"]
        where = [line["table"], line["epsilon"], "all" if line["rows"] is None else f"{line['rows']:,}", line["score"]]
        body.append(
            [*where, f["learner"], f["learner of the table"], gap, f["propensity AUC"], f["1-way TV"], f["2-way TV"]]
        )
    halves = ", ".join(f"{name} {value:.3f}" for name, value in result["propensity_of_two_halves"].items())
    return (
        f"δ = {result['delta']}, mean of {result['runs']} run(s).\n\n{grid(head, body)}\n\n"
        f"Propensity of two halves of the table: {halves}."
    )


def main(arguments: Sequence[str] | None = None) -> None:
    made = parser("ceiling", __doc__, runs=3, epsilons=EPSILONS, tables=NAMES)
    made.add_argument("--rows", nargs="*", type=int, default=list(ROWS), help="rows of the runs at ε = 1")
    options = made.parse_args(arguments)
    result = run(options.tables, options.epsilons, options.rows, options.runs, Runs(options.cache))
    shown(result, summary, as_json=options.json)


if __name__ == "__main__":
    main()
