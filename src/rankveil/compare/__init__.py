"""Methods, ε and k side by side on one table. All of it is internal, unless the table is a public stand-in.

grid.py        which settings are run: methods x ε x k x runs, and baselines
held.py        a table read once and used for every cell
stand_in.py    a table made from the plan alone
run.py         one cell: rows drawn in memory, measured, forgotten
journal.py     finished cells on the disk, so that a killed comparison goes on
results.py     what was found, and what is best in words
sweep.py       all of it in order: `compare`
"""

from rankveil._lazy import lazily

TYPE_CHECKING = False
if TYPE_CHECKING:
    from rankveil.compare.grid import Cell
    from rankveil.compare.results import Best, Comparison, Row, Setting
    from rankveil.compare.sweep import Progress, compare

__all__ = ["Best", "Cell", "Comparison", "Progress", "Row", "Setting", "compare"]

__getattr__, __dir__ = lazily(
    __name__,
    grid="Cell",
    results="Best Comparison Row Setting",
    sweep="Progress compare",
)
