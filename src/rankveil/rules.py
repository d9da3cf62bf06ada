"""Public rules: every tuned number, with its unit and its reason. They read n, the plan and the budget alone.

Constants were chosen on the tables Adult, Census, EIA and NLTCS (decisions 24 to 26). What removing one costs is
measured by `python -m benchmarks.ablation`, which sets the values of ABLATIONS one after the other.
"""

from __future__ import annotations

from fractions import Fraction

# -- measuring columns by themselves ----------------------------------------------------------------------------------

SINGLE_VALUES = 128
"""Values. Up to so many every value of an ordered column is counted by itself; beyond that, cells are."""

AXIS_UNITS = 3000
"""Units in the range of an amount. Below one unit its axis is even, above it is geometric: owners declare bounds ten to
a thousand times beyond the bulk. 1000 has half as much error again on EIA at ε = 1, 10,000 loses 7 % on Census."""

AXIS_EVEN = 0.3
"""Part of an amount's axis that is even: no far cell is wider than 1 / (0.3 cells) of the range."""

CELLS_PER_ROOT_REACH = 2.5
"""Cells of a wide column, per square root of its records per deviation of noise: at least 6, at most `MOST_CELLS`."""

FEWEST_CELLS = 6
"""Cells of a wide column, at least."""

LARGEST_HEAVY_CELL = 0.25
"""Of the records: a cell this heavy must be worth dividing, or none is and all of the share goes to the cells."""

FOR_CELLS = Fraction(85, 100)
"""Part of the share for cells that are counted whatever the answers, where those with large counts are divided."""

GROUPS_FROM = {"epsilon": 72, "rho": 16}
"""Cells from which groups of them are counted too: sums over many noisy cells are worse than one noisy sum."""

GROUP_SIZE, FOR_GROUPS = 8, Fraction(1, 3)
"""Cells in a group, and the part of the cells' share that groups get."""

HEAVY = 4.0
"""Deviations of the next level's noise above which a cell is divided."""

FOR_PIECES = Fraction(2, 3)
"""Part of the rest for the pieces of cells with large counts; what is left searches for single codes."""

PIECES, SEARCH_PIECES = 6, 32
"""Pieces of a cell with a large count, and on levels of the search: more pieces cost no budget, more levels do. With
32 at once 1-way TV is 1.1 of today's on EIA and 0.96 on tables that report, a learner's loss on Adult 1.1."""

ROUND_CODES_PER_PIECE = Fraction(1, 2)
"""The roundest numbers of a cell that is divided, counted by themselves, where last digits are not counted. Without
them 1-way TV of six incomes in a wide range (Chile, ε = 10) is .996 instead of .53; with twice as many EIA is worse."""

FOR_DIGITS = Fraction(1, 20)
"""Part of a wide column's share for its last digits, by which round numbers are known: few counts, each of many."""

SHARE_GROWS_UNTIL = 40
"""Values of a column up to which its part of the budget grows."""

# -- fitting columns --------------------------------------------------------------------------------------------------

CURVE_POINTS = 32
"""Cells at least in which a wide column is fitted, however few were counted: what is inside follows the prior."""

PRIOR_WIDTHS = (0.02, 0.04, 0.08, 0.16)
"""Of the prior's normal curves, by evidence: standard deviations, in parts of the axis. One as wide as a third of the
axis more than doubles the error of variances on Census at ε = 0.1."""

ALREADY_IN_CURVE = 16.0
"""Times that height, slope and curvature, which the prior's curve has already, are less likely than the next wave."""

# -- dividing the budget ----------------------------------------------------------------------------------------------

FOR_BOUNDS = Fraction(1, 10)
"""Part of the budget for bounds that the plan does not know, all of them together."""

FOR_CHOICE = {"epsilon": Fraction(15, 100), "rho": Fraction(3, 100)}
"""Part of the budget for scores of candidates. With pure ε noise on many scores grows as their number, not its root."""

TABLES_PER_COLUMN = 6
"""Tables per column that the division between columns and tables expects; no more than there are pairs."""

LEFT_BY_FIT = 0.35
"""Part of the noise on a table that the fit leaves: it shrinks it, and makes tables agree. 0.25 to 0.5 do alike."""

FOR_SECOND_ROUND = Fraction(35, 100)
"""Part of the share of choice and tables for three-way tables, chosen where the fit to all two-way tables is worst."""

FEWEST_TRIPLE_CELLS = 216
"""Cells that a three-way table could have, at least, for a second round to pay: six per column."""

RECORDS_FOR_TABLES = 60.0
"""Records per deviation of noise, from which tables are measured at all; below it one sign product per pair is."""

FOR_SIGNS = Fraction(1, 5)
"""Part of the budget for sign products, where nothing else links columns. Where they are those of a tree, half of it
chooses the tree: with 3/20 and 1/5 a learner gains more, and one-way TV on Adult, 5,000 records, is 1.3 of that."""

LARGEST_SIGN_NOISE = 0.4
"""Of the records: deviation of a sign product beyond which it says nothing. A tree, and then nothing, links columns."""

# -- sizes of tables --------------------------------------------------------------------------------------------------

CELLS_PER_REACH = 0.3
"""Cells of a table, per record per deviation of noise. With 0.15 two-way TV is 1.00 of today's where it was chosen, and
0.97 on tables that report."""

RECORDS_PER_CELL = 16.0
"""Records in a cell of a table, on average, at least: finer tables are about single people, and with more ε a fit gets
worse, not better (two-way TV on Adult at ε = 1000: .0133 instead of .0092; 8 loses 6 %)."""

LEAST_MASS = 1.0
"""Deviations of noise on a table: a base cell, or a row of a table, that is lighter is put together with others.
Without it a learner taught by Adult at ε = 1 loses a quarter more (with five times finer cells)."""

WORTH_OF_TRIPLES = 0.0125
"""Of the records: noise on a parity of three columns up to which they are measured. On NLTCS they gain a quarter of the
three-way TV where their noise is half of that, and lose 3 % where it is a little more."""

# -- fitting ----------------------------------------------------------------------------------------------------------

FEWEST_NEIGHBOURS, ALIKE = 4, 2
"""Cells of an ordered column from which departures along it are taken to be smooth; times that a cell may be heavier or
lighter than usual to be one of them: cells are cut to equal masses, so what is heavier is a single value."""

SETTLING_PULL = 10.0
"""How strongly rows are pulled where cells have too few of them, at last: 1 loses 16 % on Adult at ε = 10."""

PRIOR_SPREAD, EXCESS_FROM = 2.0, 0.5
"""Departures that a replicate draws, in deviations of the prior: true ones have longer tails than a normal prior of one
variance. And the deviations from which what was measured beyond the prior is drawn too."""

CELL_PRIOR = 0.5
"""Of a column's base cell: the part of its mass that a replicate takes for unsure before any count is looked at."""

MOST_UNMEASURED = 0.005
"""Of an estimate's stated variance: the part that no measured table fixes, up to which its interval is supported. Read
off interim runs on Adult and NLTCS; what it gives is measured (docs/estimates.md)."""

LEAST_OWN = 0.1
"""Of a number on the right of a regression: the part of its variance that the others leave, from which its
coefficient is trusted (a variance inflation of ten, as textbooks have it). Below, values inside cells decide, which
nobody counted together: with K cells of a column that part is 1/K² to 1/K."""

MODEL_ERROR = 10.0
"""Times the chance of drawing rows that a model errs by where nothing was measured. With it intervals with the warning
covered 95 % on Adult and 97 % on NLTCS; without, 80 and 79 % (about one release of each setting); with 6, 92 and 95."""

MOST_HIDDEN = 2.0
"""Errors of an estimate that records hidden by one deviation of noise, at an end of a column, may move it by: up to
there its interval, which is as long to each side, is supported."""

# -- grids on which evidence decides: twice as fine they do alike or better (decision 41), and take longer ------------

SPREADS_OF_REACH = (0.5, 1.0, 2.0)
"""Of the prior's curves: how alike the extents of columns are, in logarithms."""

AT_ZERO = (0.0, 0.3, 0.6, 0.8, 0.9, 0.95, 0.98)
"""Of the prior's curves, by evidence: share of an amount's records that are zero."""

SMOOTHNESS = tuple(10 ** (exponent * 1.5) for exponent in range(-6, 2))
"""Weight of third derivatives along an axis from 0 to 1, by evidence."""

ROUGHNESS, ROUGHNESS_OF_LABELS = (0.02, 0.1, 0.5, 2.0), (0.1, 0.5, 1.5, 3.0)
"""Deviation of what cells and labels have for themselves, in logarithms, by evidence."""

DECAYS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
"""How fast departures lose their waves, by evidence: 0 is no smoothness at all."""

STRENGTHS = tuple(10 ** (exponent / 2) for exponent in range(-8, 5))
"""Variance of relative departures, by evidence."""

EMPTY_BELOW = (1.0, 1.5, 2.0, 2.5)
"""Deviations: limits below which cells of a sparse table may be emptied; the one with the least estimated risk is."""

# -- levels that are stated, not tuned: how sure one wants to be, and what counts for how much ------------------------

FALSE_ALARMS = 0.01
"""Chance, per column and level, that noise alone is taken for a spike."""

BOUNDS_TOO_WIDE = 0.1
"""Chance that noise alone makes a private bound wider than it need be."""

MOST_NOISE_ON_ROWS = 1_000_000
"""Rows: deviation of noise on their number beyond which a release is refused, for it might be as long as that."""

FOR_ROWS = Fraction(1, 50)
"""Part of the budget for the number of rows, where that is not public: its noise moves totals, and hardly a share."""

INTEREST = 4.0
"""How many times a table counts that the plan is interested in."""

LEAST_SHARE_OF_A_DIGIT = 0.1
"""Of the records: a last digit this frequent should stand out of the noise, or last digits are not asked for."""

PLAINLY_MISSED = 2.0
"""Deviations of noise on a table by which its prior alone must hold the fit from it before a wider one is tried."""

PLAINLY_LIKELIER = 10.0
"""Twice the logarithm of how many times likelier (e^5 = 150) a wider prior makes a table, from which it replaces what
the table's own distance from independence says."""

PLAINLY_ROUND = 1.5
"""Times that a number's last digit makes it likelier than others, from which it is a round number."""

FEWEST_YES_NO = 3
"""Yes/no columns from which parities replace tables: with two, a parity is half of a table."""

# -- limits of memory and work: larger is better, or no worse, and slower ---------------------------------------------

ROUNDS, LAST_RAKES = 10, 12  # of fitting by moving rows; sweeps of weights at the end
RAKES, MOVES = 2, 2  # sweeps of weights and of moves in each round
CONDITIONAL_PROPOSALS = 2  # other columns, those it depends on most, given which a column's new cells are proposed
SETTLING_SWEEPS, SETTLING_PARTS = 2, 8  # of moves that know which cells have too many rows; parts in which they move
CONDITIONAL_SWEEPS = 20  # of moves for rows whose public columns are given: they start from independence
MENDING_SWEEPS, FEW_BREAK = 50, 0.01  # of moves of rows that break rules, before they are fitted; part that may be left

MOST_CELLS = 128  # of a wide column by itself: beyond, those with large counts are divided; a fit costs the cube of it
FEWEST_BASE_CELLS, MOST_BASE_CELLS = 16, 255  # of a column of numbers
MOST_ROUND_CODES = 1 << 14  # of a column that get a mass of their own for being round
MOST_PAIR_CELLS = 1 << 23  # of all two-way tables together
TRIPLES_PER_COLUMN = 12  # candidates of the second round ...
MOST_COUNTED = 200_000_000  # ... and rows times candidates, of which two per column are counted in any case
MOST_ROWS, FEWEST_ROWS = 1 << 17, 1 << 12  # of the fitted set
ROWS_BETWEEN_ROUNDS = 1 << 14
FEWEST_COPULA_ROWS = 20_000
MOST_FULL_CELLS = 1 << 18  # of a full table that is written down
FULL_ROUNDS, FULL_STEPS = 12, 30  # of its fit
LEARNT_AGAIN = 3  # times that it is fitted again because of wider priors
REPLICATE_RAKES = 5  # sweeps of weights for a replicate, which starts near its end
MANY_PARITIES, PARITY_RAKES = 50, 12  # of which each says little: contrasts of many need more sweeps
REPLICATE_SCALE = 4.0  # a replicate has half of an error, so its square has a quarter
SUPPORT_REPLICATES, SUPPORT_STEPS = 16, 60  # that tell how much of an estimate was measured; steps to make each
SUPPORT_SETTLED = 0.01  # deviations of noise by which they may move a measured table
MOST_DIRECT_CELLS = 2048  # of all measured tables together, for which that is solved at once
FEWEST_REPLICATES, MOST_REPLICATES, MOST_REPLICATED_ROWS = 10, 1000, 1 << 20
MOST_LIMIT_CELLS, PROBES = 1 << 22, 3  # values tried of the columns of a rule together, and of a cell of numbers
TRIES_OF_A_CONDITION, TRIES_OF_A_RARE_CONDITION = 32, 512  # in the cells of a row, of conditions on several columns
ASSUMED_ROWS = 10_000  # of dry runs, where nobody says how many

# -- arithmetic: so that steps stay finite ----------------------------------------------------------------------------

SMALLEST_PARTS = 1_000_000  # a share is divided into whole multiples of this part
FEWEST_EXPECTED = 1e-3  # records in a cell
SMALLEST_VARIANCE = 1e-2  # records squared
LARGEST_PRIOR_VARIANCE = 100.0  # of a parameter
LARGEST_STEP, LARGEST_PARAMETER = 1.5, 15.0
LEAST_BEND = 0.02
RAREST_PROPOSAL = 1e-3  # of an even share
MARGIN_SWEEPS = 10
NEVER = 60.0  # minus the parameter of what a rule forbids
RIDGE = 1e-3
SUFFICIENT_DECREASE, SHORTEST_STEP, SETTLED, REMEMBERED_STEPS = 1e-4, 1e-6, 1e-12, 20

ABLATIONS: dict[str, dict[str, object]] = {
    "no choice by scores: little noise on them costs nothing": {
        "FOR_CHOICE": {"epsilon": Fraction(1, 1000), "rho": Fraction(1, 1000)}
    },
    "the fit leaves all noise": {"LEFT_BY_FIT": 1.0},
    "no second round": {"FEWEST_TRIPLE_CELLS": 10**12},
    "tables at any budget": {"RECORDS_FOR_TABLES": 0.0},
    "half as many cells": {"CELLS_PER_REACH": 0.15},
    "cells of single people": {"RECORDS_PER_CELL": 1.0},
    "no parities": {"FEWEST_YES_NO": 10**6},
    "no smoothness along ordered columns": {"DECAYS": (0.0,)},
    "no emptying of sparse tables": {"EMPTY_BELOW": ()},
    "half the rounds": {"ROUNDS": 5},
    "no proposals given other columns": {"CONDITIONAL_PROPOSALS": 0},
    "no settling": {"SETTLING_SWEEPS": 0},
    "no groups of single values": {"GROUPS_FROM": {"epsilon": 10**9, "rho": 10**9}},
    "cells with large counts are not divided": {"LARGEST_HEAVY_CELL": 0.0},
    "even axes only": {"AXIS_EVEN": 1.0},
    "round numbers are not looked at first": {"ROUND_CODES_PER_PIECE": Fraction(0)},
    "last digits are not asked for": {"LEAST_SHARE_OF_A_DIGIT": 0.0},
    "equal shares of all columns": {"SHARE_GROWS_UNTIL": 1},
    "cells with small counts stay by themselves": {"LEAST_MASS": 0.0},
    "no parities of three": {"WORTH_OF_TRIPLES": 0.0},
    "no cells finer than were counted": {"CURVE_POINTS": 1},
    "a pull of one at last": {"SETTLING_PULL": 1.0},
    "priors by the distance from independence alone": {"PLAINLY_LIKELIER": float("inf")},
}
"""What each ablation sets, by what it takes away."""
