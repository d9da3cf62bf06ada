"""The five steps of a release, in the order in which they run: declare, microaggregate, protect, relink, write."""
