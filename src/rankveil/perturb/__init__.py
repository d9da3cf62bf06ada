"""Noise on the values of records or of clusters, and the rows that come of them.

records.py     every record perturbed by itself, with no grouping before (method `laplace`)
centroids.py   the values of clusters (methods `unlinked` and `multivariate`)
shuffle.py     columns, or whole rows, in an order of their own
"""
