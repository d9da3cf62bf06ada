"""Write examples/tutorial.ipynb: run `python -m docs.make_tutorial` after changing this file or what it shows.

The cells below are run in a kernel of their own, started in examples/, and saved with what they print. Noise is drawn
afresh, so figures differ from run to run. (Needs the extras report, evaluate and dev.)
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).parents[1] / "examples"
NOTEBOOK = EXAMPLES / "tutorial.ipynb"
LARGEST = 1 << 20

# A cell that begins with "# %" is code, any other is text.
CELLS = [
    """# A protected table, step by step

rankveil publishes a differentially private version of a whole table, with a certificate that says what holds. This
notebook goes from a table to a release and looks at what it cost. It takes about ten seconds.

The table is part of [Adult](README.md): 32,561 people, of whom we release six columns.""",
    """# %
import tempfile
from pathlib import Path

import pyarrow.csv

import rankveil as rv

folder = Path(tempfile.mkdtemp())  # for the ledger and the files of this tutorial
names = ["age", "education-num", "hours-per-week", "sex", "relationship", "income"]
table = pyarrow.csv.read_csv("adult.csv.gz").select(names)
table.num_rows""",
    """## 1. Say what is public

A plan declares what everybody may know about the table: kinds, limits, labels. **Nothing in it may be read from the
data**: a limit that is exactly the largest income gives that income away. A draft is a beginning. What it has guessed
from the table is marked (and shown by `print(drafted)`, not here), and no release is made of guesses.""",
    """# %
drafted = rv.draft(table)
drafted.guesses""",
    """You replace each guess by what is publicly known, with `drafted.confirm("age", lower=17, upper=90)` for example,
and `plan.save("plan.toml")` keeps the result for the command line and for others. Or you write the plan yourself. Here
the limits come from the [description](README.md) of the data set.""",
    """# %
kin = ["Husband", "Wife", "Own-child", "Other-relative", "Unmarried", "Not-in-family"]
plan = rv.Plan(
    release={"epsilon": 1},  # the whole budget of this release
    columns={
        "age": {"kind": "integer", "lower": 17, "upper": 90},
        "education-num": {"kind": "integer", "lower": 1, "upper": 16},
        "hours-per-week": {"kind": "integer", "lower": 1, "upper": 99},
        "sex": {"kind": "category", "categories": ["Female", "Male"]},
        "relationship": {"kind": "category", "categories": kin},
        "income": {"kind": "category", "categories": ["<=50K", ">50K"]},
    },
)
plan""",
    """How much noise will that be? The plan and the number of rows say it, before anything is spent:""",
    """# %
rv.preview(plan, rows=table.num_rows).plot()""",
    """## 2. Release

The release is entered in a ledger before any noise is drawn, and the entry stays whatever happens next. What comes back
is of the kind that went in (an Arrow table here) together with its certificate. None of the rows below belongs to a
person.""",
    """# %
made = rv.release(table, plan, ledger=folder / "ledger.sqlite")
made""",
    """The certificate is written for the public and goes out with the table. It also lists what every part of the
budget was spent on:""",
    """# %
for share in made.certificate.shares:
    print(f"{share.column:<44} ε = {share.epsilon}")""",
    """## 3. What did it cost?

An evaluation compares the release with the original. It is computed from the original and protects nobody, so it is
**internal**: it must not be published.""",
    """# %
evaluation = rv.evaluate(table, made.table, plan)
evaluation""",
    """Scores say how much was lost; pictures say what. `save("columns.svg")` keeps them, with `internal` in their
name:""",
    """# %
evaluation.plot()""",
    """Who is served worst? Groups are ranked by what goes beyond the error that chance alone would make in a group of
their size:""",
    """# %
for group in evaluation.subgroups[:5]:
    if group.error is not None:
        name = f"{group.column}: {group.group}"
        print(f"{name:<34} {group.rows:>6} rows  error {group.error:.3f}  by chance {group.chance:.3f}")""",
    """All of this, with every column and pair, makes one page that needs no network. On the command line:
`rankveil evaluate TABLE RELEASE --plan PLAN --html evaluation.internal.html`.""",
    """# %
from rankveil.report.evaluation import as_page

page = as_page(evaluation, plan, made.certificate)
(folder / "evaluation.internal.html").write_text(page, encoding="utf-8")
print(f"{len(page.encode()) / 1000:.0f} kB; first line: {page.splitlines()[0]}")""",
    """## 4. More rows, and what was spent

Whoever keeps the model instead draws any number of rows, for the budget of one release; `rv.Synthesizer` does the
same in the manner of scikit-learn. The ledger adds up what was spent on a table, whatever it is called:""",
    """# %
model = rv.fit(table, plan, epsilon=0.5, ledger=folder / "ledger.sqlite")
print(model.sample(1000, where="age >= 65").num_rows, "rows of people of 65 and older")
print(float(rv.ledger(folder / "ledger.sqlite").account(table).spent_epsilon), "spent in all")""",
    """## 5. What rankveil refuses

A value outside the plan's limits is an error, and its message never shows the value:""",
    """# %
narrow = plan.confirm("age", upper=60)
try:
    rv.release(table, narrow, ledger=folder / "ledger.sqlite")
except rv.RankveilError as error:
    print(error)""",
    """The method of the paper that rankveil grew from is here for comparison. It is not differentially private, so it
needs explicit consent:""",
    """# %
try:
    rv.release(table, plan.with_(method="published:individual-ranking", k=50))
except rv.RankveilError as error:
    print(error)""",
    """## Where to go from here

* `make demo` does the same on the command line, with all 15 columns
* [docs/reference/python.md](../docs/reference/python.md): every function, with an example
* [docs/promise.md](../docs/promise.md): what is promised, and [docs/limits.md](../docs/limits.md): what is not
* [docs/evaluation.md](../docs/evaluation.md): how to read an evaluation""",
]


def cells() -> list[tuple[str, str]]:
    """(kind, source) of every cell."""
    return [("code", text.removeprefix("# %\n")) if text.startswith("# %\n") else ("markdown", text) for text in CELLS]


def built() -> Any:
    """The notebook without output."""
    from nbformat import v4

    makers = {"code": v4.new_code_cell, "markdown": v4.new_markdown_cell}
    notebook = v4.new_notebook(
        cells=[makers[kind](source, id=f"cell-{place:02}") for place, (kind, source) in enumerate(cells(), 1)]
    )
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def main() -> None:
    import nbformat
    from nbclient import NotebookClient

    notebook = built()
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", record_timing=False, resources={"metadata": {"path": EXAMPLES}}
    )
    client.execute()
    for cell in notebook.cells:
        cell.metadata.clear()
    notebook.metadata.pop("language_info", None)  # it names the Python that happened to run
    text = nbformat.writes(notebook) + "\n"
    if len(text.encode()) > LARGEST:
        raise SystemExit(f"The notebook has {len(text.encode())} bytes; at most {LARGEST} are wanted.")
    NOTEBOOK.write_text(text, encoding="utf-8")
    sys.stdout.write(f"wrote {NOTEBOOK.name}, {len(text.encode()):,} bytes\n")


if __name__ == "__main__":
    main()
