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

# -- the heart, to be documented

# Fit: terms
DEPARTURE = 0.5  # relative departure from independence at which a cell tells most about a table's strength
LEAST_PRIOR_VARIANCE = 1e-3
FEWEST_EXPECTED = 1e-3  # records: cells are never taken to be emptier, so that steps stay finite
SMALLEST_VARIANCE = 1e-2  # records squared: what is exact is fitted as closely as rounding to rows allows
LARGEST_STEP = 1.5  # of a parameter
LARGEST_PARAMETER = 15.0
LEAST_BEND = 0.02

# Fit: rows
FEWEST_ROWS = 1 << 12
ROUNDS = 12
RAKES = 3
MOVES = 2
LAST_RAKES = 12
RAREST_PROPOSAL = 1e-3

# Fit: the full table
FULL_STEPS = 250
SUFFICIENT_DECREASE = 1e-4
SHORTEST_STEP = 1e-6
SETTLED = 1e-12
REMEMBERED_STEPS = 20

# Measure
LEFT_BY_FIT = 0.35  # of the noise on a table, that the fit leaves in it
SMALLEST_PARTS = 1_000_000  # a budget is divided into whole multiples of this part
NOISE_OF_ORDER = {2: Fraction(1), 3: Fraction(3, 2)}  # of parities, beside each other
WORTH_OF_TRIPLES = 0.0075  # of the records: noise on a parity of three columns up to which they are measured
FEWEST_YES_NO = 3  # columns from which parities pay
CELLS_PER_REACH = 0.3  # cells of a table, per record per deviation of noise
FINEST = 5.0  # how much finer than others a table of strongly dependent columns may be
LEAST_MASS = 1.0  # deviations: of a row of a table
FEWEST_BASE_CELLS, MOST_BASE_CELLS = 16, 255  # base cells of a column of numbers
MOST_PAIR_CELLS = 1 << 23  # of all two-way tables together: memory
FOR_CHOICE = Fraction(6, 100)  # of the budget
TABLES_PER_COLUMN = 6  # that the division of the budget expects
FOR_SECOND_ROUND = Fraction(35, 100)  # of the price of tables
RECORDS_FOR_TABLES = 60.0  # per deviation of a spanning tree's tables
LARGEST_SIGN_NOISE = 0.4  # a noisy sign product's deviation beyond which it says nothing
INTEREST = 4.0  # how much more a table counts that the plan is interested in
MOST_ROWS = 1 << 17  # of the fitted set
MOST_FULL_CELLS = 1 << 18  # of a full table that is written down
FEWEST_COPULA_ROWS = 20_000
RIDGE = 1e-3
FEWEST_TRIPLE_CELLS = 216
TRIPLES_PER_COLUMN = 12
ROWS_BETWEEN_ROUNDS = 1 << 14
SIGN_NOISE, LEAST_FOR_SIGNS, MOST_FOR_SIGNS = 0.05, 0.15, 0.3
CONDITIONAL_SWEEPS = 20
ASSUMED_ROWS = 10_000
EMPTY_BELOW = (1.0, 1.5, 2.0, 2.5)  # deviations: limits below which cells of a sparse table may be emptied
MARGIN_SWEEPS = 10
RECORDS_PER_CELL = 16.0  # on average: finer tables are about single records
CONDITIONAL_PROPOSALS = 2
SAMPLING = 0.1  # of a count: its own chance as a number of people, that need not be fitted
CHANCE = 1.1  # of the departures that chance alone would give: what a table must exceed to be worth measuring
SETTLING_SWEEPS = 4
SETTLING_PARTS = 8
SETTLING_PULL = 10.0
MOST_COUNTED = 200_000_000
LARGEST_PRIOR_VARIANCE = 100.0
