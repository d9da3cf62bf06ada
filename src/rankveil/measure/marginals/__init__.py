"""Released marginals: what is published about one column by itself, from its counts and a share of the budget.

projection.py   non-negative counts that add up: post-processing
partition.py    the public cells of a numeric column, finer towards zero
outline.py      a smooth outline from few released counts: post-processing
tree.py         noisy counts over nested public cells, made consistent: wide numeric columns
heaps.py        single values that carry many records, found inside heavy cells
ranked.py       noisy sums over ranks, made monotone and interpolated: the paper's idea, soundly
few.py          only a noisy mean: where the plan asks for it
shape.py        a released marginal as a quantile function and as cells for linkage
choose.py       the public rule that picks one of these for a column
"""
