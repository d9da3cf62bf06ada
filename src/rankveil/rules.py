"""Public rules: every tuned number, with its unit and its reason. They read n, the plan and the budget alone.

Constants of columns by themselves were chosen on the tables Adult, Census and EIA: decision 25.
"""

from __future__ import annotations

from fractions import Fraction

# -- measuring columns by themselves --------------------------------------------------------------------------------

SINGLE_VALUES = 128
"""Values. Up to so many every value of an ordered column is counted by itself; beyond that, cells are."""

AXIS_UNITS = 3000
"""Units in the range of an amount. Below one unit its axis is even, above it is geometric: owners declare bounds ten to
a thousand times beyond the bulk. 1000 has half as much error again on EIA at ε = 1, 10,000 loses 7 % on Census."""

AXIS_EVEN = 0.3
"""Part of an amount's axis that is even: no far cell is wider than 1 / (0.3 cells) of the range."""

CELLS_PER_ROOT_REACH = 2.5
"""Cells of a wide column, per square root of its records per deviation of noise: at least 6, at most `MOST_CELLS`."""

FEWEST_CELLS, MOST_CELLS = 6, 128
"""Cells of a wide column. Beyond the second number heavy cells are looked into instead: a fit costs the cube of it."""

LOOK_INTO_FROM = {"epsilon": 1000, "rho": 300}
"""Records per deviation of noise from which a wide column's heavy cells are looked into; below, levels that share the
price cost more than they show. With pure ε a part of the price is worth its square less than with δ."""

FOR_CELLS = Fraction(85, 100)
"""Part of the price for cells that are counted whatever the answers, where heavy ones are looked into."""

FOR_PIECES = Fraction(2, 3)
"""Part of the rest for the pieces of heavy cells; what is left searches for single codes."""

GROUPS_FROM = {"epsilon": 72, "rho": 16}
"""Cells from which groups of them are counted too: sums over many noisy cells are worse than one noisy sum."""

GROUP_SIZE, FOR_GROUPS = 8, Fraction(1, 3)
"""Cells in a group, and the part of the cells' price that groups get."""

HEAVY = 4.0
"""Deviations of the next level's noise above which a cell is looked into."""

PIECES, SEARCH_PIECES = 6, 32
"""Pieces of a heavy cell, and on the levels of the search: more pieces cost no budget, more levels do."""

SHARE_GROWS_UNTIL = 40
"""Values of a column up to which its part of the budget grows."""

# -- fitting columns ------------------------------------------------------------------------------------------------

FEW_VALUES = 8
"""Values. An ordered column of fewer is fitted like labels: there is no room for a bell."""

CURVE_POINTS = 32
"""Cells at least in which a wide column is fitted, however few were counted: what is inside follows the prior."""

FALSE_ALARMS = 0.01
"""Chance, per column and level, that noise alone is taken for a spike."""
