"""The paper's evaluation, run again: our numbers beside the printed ones.

    data.py      Census and Adult with the domains the paper used, which read the data; where Census comes from
    table1.py    variance changes of eight Census attributes, 192 printed cells
    curves.py    relative error and JSD against k, for the four figures
    shapes.py    every sentence of the paper about those curves, as a test
    figures.py   the curves drawn

Nothing here is a release: domains come from the data, as in the paper, and results are for comparison only.
"""
