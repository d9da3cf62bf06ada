"""How often intervals cover the truth: releases with replicate weights, and some 200 estimates of five kinds from each.

    python -m benchmarks.coverage [--runs 20] [--replicates 20] [--workers 2] [--minutes 80] [--out FILE]
    python -m benchmarks.page     # docs/estimates.md from benchmarks/results/coverage.json

Adult and NLTCS have chosen what was to choose (the prior's part in a replicate, rules.MOST_UNMEASURED; seeds from 101
on); diamonds and a made population report. Of tables the truth is the table itself; of the made population, from which
every release draws people anew, it is the population too. Coverage of nominal 90 and 95 % intervals, by kind of
estimate and apart for those that carry the warning; their mean width beside that of an oracle who knows the true
error's spread; and what intervals cover that take the release for the original.

A run that was stopped goes on where it was: releases lie in .bench/coverage.jsonl, by the code that made them. Figures
are of as many releases of each setting.
"""
