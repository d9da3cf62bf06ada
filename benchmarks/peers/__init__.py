"""Peers on the same work, in one run: `python -m benchmarks.peers`. See docs/benchmarks.md for what it found.

data.py          the data sets: columns, public bounds and labels, what a learner is asked
systems.py       who takes part, with which guarantee and whose neighbours
environments.py  a virtual environment per peer, from pinned requirements
launch.py        one command under limits, and what it cost (a script)
runners/         one script per peer, executed in its environment
running.py       one run: request, runner, measures, result
measuring.py     the measures, on a released table
cells.py         public cells of numbers, for peers that leave them to their users
cache.py         results of single runs, as files (not in git)
schedule.py      which runs are still to be made, in which order
ranking.py       measures to one figure per system; wins and losses
page.py          the section of docs/benchmarks.md
"""
