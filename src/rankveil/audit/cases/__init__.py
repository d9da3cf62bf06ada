"""The attacks on each method: neighbouring tables, and events that a broken release would betray itself by.

records.py     laplace: every record by itself
lists.py       unlinked, multivariate: lists of centroids
linked.py      synthetic, aligned: everything bought from one budget
published.py   the published methods: which rows are equal
accuracy.py    figures published about a release

Neighbours and events are worst cases of the theorems (docs/privacy). Every case calls the code that makes releases.
"""
