"""Runs the whole reproduction and writes docs/reproduction.md with its figures: `python -m docs.make_reproduction FOLDER`.

FOLDER holds census.csv. Takes about three minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rankveil.noise import SystemSource
from rankveil.reproduce.curves import CASES, curves
from rankveil.reproduce.data import HOW_TO_GET_CENSUS, census_file
from rankveil.reproduce.figures import write_figures
from rankveil.reproduce.shapes import shapes
from rankveil.reproduce.table1 import Cell, findings, table1

HERE = Path(__file__).parent
RUNS = 10

TEXT = """# The paper's evaluation, run again

Sánchez, Domingo-Ferrer, Martínez and Soria-Comas (2016), "Utility-preserving differentially private data releases via
individual ranking microaggregation". This page is written by `python -m docs.make_reproduction reference/`, which runs

```sh
rankveil reproduce table1 --data reference/
rankveil reproduce figures --data reference/ --out docs/figures
```

with {runs} runs per cell and fresh randomness. All of it compares methods whose tables are **not differentially
private** ([T34](privacy/refuted.md#t34-rows-that-repeat-their-clusters-value), [T36](privacy/refuted.md#t36-the-predecessors-scale))
with plain Laplace, which is.

## The data

**Adult** comes with rankveil (`examples/adult.csv.gz`; source and licence in [examples/README.md](../examples/README.md)), so
`rankveil reproduce figures` draws Figures 2 and 4 anywhere. The 30,162 records without a missing occupation or country are used, as
in the paper.

**Census** does not: `reference/` stands for a folder with `census.csv`.

```text
{how_to_get_census}
```

## What was done

- **Domains** are [0, 1.5 · largest value in the data], as in the paper. That choice reads the data and is itself not
  private ([T37](privacy/refuted.md#t37-bounds-read-from-the-data)); it exists in `reproduce` only.
- **Individual ranking (IR)**: clusters of k consecutive values, the last one larger; Laplace scale m·U/(k·ε), one draw per
  cluster; results moved into [0, U] and rounded. Labels: marginality order and Algorithm 2, with every concept of the
  taxonomy a candidate.
- **Predecessor (MV)**: whole records in one order, clusters of k, Laplace scale (n/k)(U/k)/ε in every column. The order
  is not printed; [decision 4](decisions/0004-the-order-of-the-predecessor.md) tells which one fits and why.
- **Plain Laplace** is IR with clusters of one.
- **m = 1** is not explained in the paper. Each of the 13 attributes is protected alone, and results are averaged: then
  JSD at ε = 10 crosses plain Laplace near k = 10, as the paper says; with the first attribute alone it does so near 20.
- **Taxonomies of Adult** are rankveil's own (`examples/occupation.csv`, `examples/native_country.csv`): 14 occupations under 10
  concepts and 41 countries under 17, grouped from general knowledge. The paper's were cut out of WordNet 2.1 and are not published.
  So distances between labels, their order, the clusters and the candidates of Algorithm 2 differ: Figures 2 and 4 can be compared with
  the paper's in shape, not value by value. Numbers (age, hours per week) and all of Census are not affected.
- **RE** has the sanity bound of 1/100 of the domain; **JSD** has 100 bins for Census and one per value for Adult.

## Table 1

Variance change of the first eight Census attributes. The statistic that fits is |mean over runs of var' − var| / var, the
absolute value taken *after* averaging the runs.

**Rule of agreement.** Printed and ours are means of 10 runs. They agree if they differ by at most t · sd · √(2/10), with sd
our spread over runs and t = 4.781, the 99.95 % point of Student's law with 9 degrees of freedom, plus 0.005 for the
printed rounding. One cell in a thousand would disagree by chance.

{findings}

What is behind the failures:

- **ε = 0.1, IR.** The printed figures are var'/var, without the −1 of the paper's own formula. A1 at k = 2 is printed as
  25.89; noise that fills [0, U] as widely as possible gives U²/4/var − 1 = {limit:.2f} and no more.
- **A3.** The largest possible change tells an attribute: it is U²/4/var − 1, and the printed MV figure for ε = 0.1 and k = 2
  comes close to it for all other attributes. For A3 that is 24.90. EMCONTRB has 13.41, and no other column fits but
  AFNLWGT (25.07), which is A1. The A3 row also hardly falls with k, unlike every other row, as if its noise did not
  depend on k. We could not find a procedure that gives it.
- **"Always greater" for the predecessor** is contradicted by the printed table itself.

| | column | ε | k | IR printed | IR ours ± sd | | MV printed | MV ours ± sd | |
|---|---|---|---|---|---|---|---|---|---|
{cells}

✓ agrees · ✗ differs by more than chance · ÷ agrees with var'/var, without the −1

## Figures

Colour tells the amount of noise, the pattern of a line whose clusters are meant.

### Figure 1: Census, individual ranking against plain Laplace and ranking alone
![Figure 1](figures/figure1.svg)

### Figure 2: Adult, the same
![Figure 2](figures/figure2.svg)

### Figure 3: Census, individual ranking against the predecessor
![Figure 3](figures/figure3.svg)

### Figure 4: Adult, the same
![Figure 4](figures/figure4.svg)

The points are in [figures/curves.csv](figures/curves.csv).

## What the text says about the figures

| claim | verdict | our numbers |
|---|---|---|
{shapes}

About those that do not hold: the JSD of plain Laplace at ε = 10 grows with m (its scale is m·U/ε), so the k at which
clusters of repeated centroids become worse moves up with m; a single threshold of 45 for "multiple attributes" fits
neither m = 8 nor m = 13. That RE of the predecessor should match at m = 13, ε = 10 and k > 80 contradicts the paper's own
next sentence, that the method beats even its noiseless clusters from k > 30.

## What RE means here

RE compares row r of the release with row r of the table, so it rewards exactly what leaks. Every row-aligned ε-DP release
must err by at least D/(1+e^ε) on average over a two-point prior ([T26](privacy/rows.md#t26-least-error-of-a-row)); at ε = 1 that is 0.27 of the
domain. Algorithm 1 goes below that bound ([T34](privacy/refuted.md#t34-rows-that-repeat-their-clusters-value)), which no differentially private method can, so no
sound method should be judged by these curves.
"""


def main() -> None:
    path = census_file(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    cells = table1(path, RUNS, SystemSource(), print)
    points = curves(path, CASES, RUNS, SystemSource(), print)
    for path in write_figures(points, HERE / "figures"):
        if path.suffix == ".png":
            path.unlink()  # the SVG is what the page shows
    text = TEXT.format(
        runs=RUNS,
        how_to_get_census=HOW_TO_GET_CENSUS,
        limit=cells[0].largest_possible,
        findings="\n".join(
            f"- {'**holds**' if found.holds else '**fails**'}: {found.claim}: {found.numbers}."
            for found in findings(cells)
        ),
        cells="\n".join(_row(*pair) for pair in zip(cells[::2], cells[1::2], strict=True)),
        shapes="\n".join(f"| {row.claim} | {row.verdict} | {row.numbers} |" for row in shapes(points)),
    )
    (HERE / "reproduction.md").write_text(text, encoding="utf-8")


def _row(individual: Cell, multivariate: Cell) -> str:
    texts = [individual.attribute, individual.column, f"{individual.epsilon:g}", str(individual.k)]
    for cell in (individual, multivariate):
        mark = "✓" if cell.agrees else "÷" if cell.agrees_without_minus_one else "✗"
        texts += [f"{cell.printed:.2f}", f"{cell.mean:.2f} ± {cell.sd:.2f}", mark]
    return "| " + " | ".join(texts) + " |"


if __name__ == "__main__":
    main()
