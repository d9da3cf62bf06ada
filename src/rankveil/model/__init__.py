"""A model one can keep: measurements and what was fitted to them, as files, rows and tables. Post-processing (T1).

kept.py     the model: drawing, saving, loading
plan.py     what of the plan goes with it
stored.py   measurements and the fitted model as files, and back
tables.py   published tables, with deviations where they were measured
words.py    cells in the words of the plan
"""

from rankveil.model.kept import Model
from rankveil.model.tables import TableEstimate
from rankveil.model.words import Cell

__all__ = ["Cell", "Model", "TableEstimate"]
