"""Public rules: every tuned number, with its unit and its reason. All of them read n, the plan and the budget alone."""

from __future__ import annotations

from fractions import Fraction
import os
E = os.environ.get

# -- columns by themselves ------------------------------------------------------------------------------------------

SINGLE_VALUES = int(E("SINGLE","256"))
"""Codes. Up to so many every value of an ordered column is counted by itself, beyond cells are."""

AXIS_UNITS = float(E("UNITS","3000"))
"""Units in the range of an amount; below one unit its axis is even, above it is geometric. Owners declare bounds some
ten to a thousand times beyond the bulk."""

AXIS_EVEN = 0.3
"""Part of an amount's axis that is even: bounds how wide a far cell can be."""

FEWEST_CELLS = 6
"""Cells of a wide column's first level where noise is as large as the table."""

CELLS_PER_ROOT_REACH = float(E("CPR","2.5"))
"""Cells of a wide column's first level, per square root of records per deviation of noise."""

ONE_LEVEL = {"epsilon": float(E("ONEP", "1000")), "rho": float(E("ONED", "300"))}
FOR_CELLS = Fraction(E("FORCELLS", "0.85"))
FOR_PIECES = Fraction(E("FORPIECES", "0.66"))
FOR_GROUPS = Fraction(E("FORGROUPS", "0.33"))
GROUP_SIZE = int(E("GSIZE", "8"))

HEAVY = 4.0
"""Deviations of the next level's noise above which a cell is looked into."""

PIECES = int(E("PIECES","6"))
"""Pieces of a heavy cell on the second level."""

SEARCH_PIECES = 32
"""Pieces of a heavy cell below: more cost no budget, fewer levels do not divide it as often."""

SHARE_GROWS_UNTIL = 40
"""Values of a column up to which its part of the budget grows."""

GROUPS_FROM = {"epsilon": float(E("GPURE", "72")), "rho": float(E("GDELTA", "16"))}
MOST_CELLS = 128
