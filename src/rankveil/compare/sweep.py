"""`compare`: the table is read once, every cell is drawn and measured, and what is finished stays finished."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankveil._version import __version__
from rankveil.compare.grid import RESAMPLED, Cell, cells_of, plan_for
from rankveil.compare.held import digest_of_plan, digest_of_table, of_records, read
from rankveil.compare.journal import Journal, unwritable
from rankveil.compare.results import INTERNAL, Comparison, Row
from rankveil.compare.run import Bench
from rankveil.compare.stand_in import made_table
from rankveil.consent import check_consent, goes_with
from rankveil.declare import Plan, Records, encode
from rankveil.declare.dataset import Dataset
from rankveil.engines import open_table
from rankveil.errors import PlanError
from rankveil.evaluate.learning import check_target
from rankveil.methods import METHODS
from rankveil.noise import RandomSource, SystemSource
from rankveil.report.compare import page
from rankveil.temporary import sweep, temporary_file

MADE = "made"
NAMES = {"json": "compare.internal.json", "csv": "compare.internal.csv", "html": "compare.internal.html"}
STAND_IN = (
    "Computed on a stand-in and not on the table to be released: choosing a method, ε or k by it costs no privacy, as"
    " long as the stand-in is public."
)


@dataclass(frozen=True)
class Progress:
    """How far a comparison is. As text: for people."""

    done: int
    total: int
    cell: Cell
    seconds_left: float | None  # None until something is finished

    def __str__(self) -> str:
        left = "" if self.seconds_left is None else f", {_duration(self.seconds_left)} left"
        return f"{self.done} of {self.total} done{left}: {self.cell.in_words()}"


_USUAL = ("synthetic", "laplace")


def compare(
    table: object,
    plan: Plan | str | Path,
    *,
    methods: Sequence[str] | None = None,
    epsilons: Sequence[object] = (),
    ks: Sequence[int] = (),
    delta: object = None,
    runs: int = 3,
    stand_in: object = None,
    target: str | None = None,
    test: object = None,
    baselines: bool = True,
    out: str | Path | None = None,
    progress: Callable[[Progress], None] = lambda step: None,
    source: RandomSource | None = None,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Draw and measure releases of `table` by every method, ε and k; nothing is published or entered in a ledger.

        >>> found = rv.compare(people, plan, methods=["synthetic"], epsilons=[0.5, 2], runs=1, baselines=False)
        >>> [(setting.method, setting.epsilon) for setting in found.settings]
        [('synthetic', '0.5'), ('synthetic', '2')]

    Without `methods`, it is synthetic, and laplace where the plan asks for nothing that laplace cannot keep to.
    `stand_in` is a public table of the same columns, or "made" for one drawn from the plan alone; then `table` is not
    opened (it may be None). With `out`, finished cells are stored at once and a comparison that was stopped goes on,
    and results are written there as JSON, CSV and a page. `target` and `test` teach a learner, as in `evaluate`.
    The result is internal, unless a public stand-in was used: it reads the table without noise.
    """
    check_target(target, test)
    plan = plan if isinstance(plan, Plan) else Plan.load(plan)
    cells = cells_of(
        plan, usual_methods(plan) if methods is None else methods, epsilons, ks, delta, runs, baselines=baselines
    )
    cells = [cell for cell in cells if _allowed(cell, plan)]
    dataset, about = _table(table, plan, stand_in)
    plan = plan.over(dataset.table.schema.names)
    original = dataset.records()
    tested = None if test is None else _test_table(test, plan, original)
    note = STAND_IN if about["stand_in"] else INTERNAL
    folder = None if out is None else Path(out)
    belongs_to = {
        "table": digest_of_table(original),
        "plan": digest_of_plan(plan, original.schema),
        "test": None if tested is None else f"{target} {digest_of_table(tested)}",
        "stand_in": bool(about["stand_in"]),
        "version": __version__,
    }
    journal = Journal(folder, note, belongs_to)
    bench = Bench(dataset, plan, SystemSource() if source is None else source, tested, target, clock)
    rows = _run(cells, bench, journal, progress)
    found = Comparison(note, about, __version__, target, tuple(rows))
    if folder is not None:
        _write(found, folder)
    return found


def usual_methods(plan: Plan) -> list[str]:
    """The methods that are compared where nobody names any."""
    return [name for name in _USUAL if goes_with(plan, METHODS[name])]


def _allowed(cell: Cell, plan: Plan) -> bool:
    """Refuses a setting that the plan does not go with; a baseline that nobody asked for is left out instead."""
    if cell.method == RESAMPLED:
        return True
    try:
        check_consent(plan_for(plan, cell), accept_no_guarantee=True, accept_large_epsilon=True)
    except PlanError:
        if cell.role == "asked":
            raise
        return False
    return True


def _run(cells: list[Cell], bench: Bench, journal: Journal, progress: Callable[[Progress], None]) -> list[Row]:
    waiting = [cell for cell in cells if journal.find(cell) is None]
    seconds: dict[str, list[float]] = {}
    for cell in cells:
        known = journal.find(cell)
        if known is not None:
            seconds.setdefault(cell.method, []).append(known.seconds)
    for place, cell in enumerate(waiting):
        progress(Progress(len(cells) - len(waiting) + place, len(cells), cell, _left(waiting[place:], seconds)))
        finding = bench.run(cell)
        journal.add(cell, finding)
        seconds.setdefault(cell.method, []).append(finding.seconds)
    found = [(cell, journal.find(cell)) for cell in cells]
    return [Row(cell, finding) for cell, finding in found if finding is not None]


def _left(waiting: Sequence[Cell], seconds: dict[str, list[float]]) -> float | None:
    """What is left to do, by what the same method has taken so far, or any method."""
    every = [value for values in seconds.values() for value in values]
    if not every:
        return None
    means = {method: sum(values) / len(values) for method, values in seconds.items()}
    return sum(means.get(cell.method, sum(every) / len(every)) for cell in waiting)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _table(table: object, plan: Plan, stand_in: object) -> tuple[Dataset, dict[str, Any]]:
    """The table to work on, and what is said about it. With a stand-in the table itself is not opened."""
    if isinstance(stand_in, str) and stand_in == MADE:
        dataset = of_records(made_table(plan), plan, "made from the plan")
        kind = "made from the plan alone; no data were read"
    elif stand_in is not None:
        dataset, kind = read(stand_in, plan), "a table said to be public"
    elif table is None:
        raise PlanError("No table is named.", remedy="Name one, or a public stand-in: --stand-in made")
    else:
        dataset, kind = read(table, plan), ""
    records = dataset.records()
    name = dataset.table.name
    return dataset, {"name": name, "rows": records.row_count, "columns": len(records.codes), "stand_in": kind}


def _test_table(test: object, plan: Plan, original: Records) -> Records:
    opened = open_table(test, separator=plan.table.separator, encoding=plan.table.encoding)
    return encode(opened, original.schema)


def _write(found: Comparison, folder: Path) -> None:
    content = found.as_dict()
    texts = {"json": found.to_json(), "csv": found.to_csv(), "html": page(content)}
    try:
        sweep(folder)
        for kind, text in texts.items():
            # Written beside and moved: a reader, or a kill, never meets half a file.
            with temporary_file(folder, internal=True) as temporary:
                temporary.write_bytes(text.encode())
                temporary.replace(folder / NAMES[kind])
    except OSError as error:
        raise unwritable(folder, error) from None
