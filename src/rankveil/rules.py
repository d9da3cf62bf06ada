"""Every public rule and tuned number of the default method: value, unit, reason.

Public: nothing here reads data. `python -m benchmarks.ablation` measures what the removal of each costs.
"""

from __future__ import annotations

from fractions import Fraction

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
ROUNDS = 6
RAKES = 3
MOVES = 2
LAST_RAKES = 6
RAREST_PROPOSAL = 1e-3

# Fit: the full table
FULL_STEPS = 400
SUFFICIENT_DECREASE = 1e-4
SHORTEST_STEP = 1e-6
SETTLED = 1e-12
REMEMBERED_STEPS = 20

# Measure
LEFT_BY_FIT = 0.25  # of the noise on a table, that the fit leaves in it
SMALLEST_PARTS = 1_000_000  # a budget is divided into whole multiples of this part
NOISE_OF_ORDER = {2: Fraction(1), 3: Fraction(3, 2)}  # of parities, beside each other
WORTH_OF_TRIPLES = 0.0075  # of the records: noise on a parity of three columns up to which they are measured
FEWEST_YES_NO = 3  # columns from which parities pay
CELLS_PER_REACH = 0.3  # cells of a table, per record per deviation of noise
FINER_IF_STRONG = 4.0  # strongly dependent columns are worth more cells
LEAST_MASS = 1.0  # deviations: of a row of a table
FEWEST_CELLS, MOST_CELLS = 16, 255  # base cells of a column; with missing they fit into a byte
MOST_PAIR_CELLS = 1 << 23  # of all two-way tables together: memory
SCORE_CELLS = 16  # of a column, where dependence is looked for
FOR_CHOICE = Fraction(6, 100)  # of the budget
TABLES_PER_COLUMN = 4  # that the division of the budget expects
FOR_SECOND_ROUND = Fraction(35, 100)  # of the price of tables
RECORDS_FOR_TABLES = 60.0  # per deviation of a spanning tree's tables
LARGEST_SIGN_NOISE = 0.4  # a noisy sign product's deviation beyond which it says nothing
INTEREST = 4.0  # how much more a table counts that the plan is interested in
MOST_ROWS = 1 << 17  # of the fitted set
MOST_FULL_CELLS = 1 << 18  # of a full table that is written down
FEWEST_COPULA_ROWS = 20_000
RIDGE = 1e-3
FEWEST_TRIPLE_CELLS = 216
TRIPLES_PER_COLUMN = 4
ROWS_BETWEEN_ROUNDS = 1 << 14
SIGN_NOISE, LEAST_FOR_SIGNS, MOST_FOR_SIGNS = 0.05, 0.15, 0.3
CONDITIONAL_SWEEPS = 20
ASSUMED_ROWS = 10_000
