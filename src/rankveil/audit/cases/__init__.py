"""The attacks on each method: neighbouring tables, and events that a broken release would betray itself by.

records.py     laplace: every record by itself
lists.py       unlinked, multivariate: lists of centroids
linked.py      synthetic, aligned: everything bought from one budget
published.py   the published methods: which rows are equal

Neighbours and events are those of privacy.md, Q10. Every case calls the code that makes releases.
"""
