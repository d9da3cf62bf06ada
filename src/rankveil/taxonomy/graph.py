"""A taxonomy: concepts below one root, some of which are the labels of a column.

Guarantee    Everything here is a function of the taxonomy and of the list of labels, both public. Nothing is
             read from a table, so distances, the marginality order and its reference label are the same
             for every table. (The paper ranks "values present in the data set"; that order would depend
             on single records. See T38.)
Argument     δ(a, b) = log2(1 + Jaccard distance of the ancestor sets). The Jaccard distance is a metric, and
             t -> log2(1 + t) is increasing, concave and 0 at 0, so δ is one too, with values in [0, 1).
             Ancestor sets include the node itself and the graph has no cycle, so they tell nodes apart.
Not covered  `centroid` reads a sample; it belongs to microaggregation without noise, and is not private.
Reference    The paper's expressions for δ, m(·,·) and Centroid; trees and directed acyclic graphs alike.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rankveil.errors import TaxonomyError

# All distances between nodes are kept in memory.
MOST_NODES = 5_000
# Distances are compared after rounding to this many decimals, so that an order never hangs on the last bit.
_COMPARED_DECIMALS = 12


class Taxonomy:
    """Concepts with their parents. Nodes are numbered with the labels first, in the order given.

    >>> parents = {"work": [], "office": ["work"], "clerk": ["office"], "nurse": ["work"]}
    >>> rv.Taxonomy(parents, ["clerk", "nurse"]).labels
    ('clerk', 'nurse')
    """

    def __init__(
        self,
        parents: Mapping[str, Iterable[str]],
        labels: Mapping[str, str] | Sequence[str],
        *,
        name: str = "taxonomy",
    ) -> None:
        """`parents`: node -> its parents (none for the root). `labels`: label -> node, or labels that are nodes."""
        self.name = name
        edges = {node: tuple(dict.fromkeys(above)) for node, above in parents.items()}
        for above in list(edges.values()):
            for parent in above:
                edges.setdefault(parent, ())
        node_of_label = dict(labels) if isinstance(labels, Mapping) else {label: label for label in labels}
        self._from_the_root = self._checked(edges, node_of_label)
        self.labels: tuple[str, ...] = tuple(node_of_label)
        labelled = set(node_of_label.values())
        inner = [node for node in edges if node not in labelled]
        self._node_names = [*node_of_label.values(), *inner]
        # A label is published as it is spelt in the data; an inner concept by its own name.
        self.names: tuple[str, ...] = (
            *self.labels,
            *(f"{node} (concept)" if node in node_of_label else node for node in inner),
        )
        self.edges: Mapping[str, tuple[str, ...]] = edges  # every node with its parents

    def _checked(self, edges: Mapping[str, tuple[str, ...]], node_of_label: Mapping[str, str]) -> list[str]:
        """All nodes, each after its parents."""
        if len(edges) > MOST_NODES:
            raise self._error(
                f"has {len(edges)} nodes; at most {MOST_NODES} are supported",
                "Group rare labels, or leave the column out: a label among so many is lost in its noise.",
            )
        roots = [node for node, above in edges.items() if not above]
        if len(roots) > 1:
            raise self._error(
                f"has {len(roots)} roots ({roots[0]!r}, {roots[1]!r}, ...)",
                "Put one node above all others: exactly one row has an empty parent.",
            )
        settled = dict.fromkeys(roots)
        waiting = {node: set(above) for node, above in edges.items() if above}
        while waiting:
            ready = [node for node, above in waiting.items() if above <= settled.keys()]
            if not ready:
                raise self._error(
                    f"has a cycle among {len(waiting)} nodes, {sorted(waiting)[0]!r} among them",
                    "A node must not be its own ancestor: remove one of the edges of the cycle.",
                )
            settled |= dict.fromkeys(ready)
            for node in ready:
                del waiting[node]
        if not node_of_label:
            raise self._error("has no label", "Give at least one label.")
        unknown = [label for label, node in node_of_label.items() if node not in edges]
        if unknown:
            raise self._error(
                f"has no node for the label {unknown[0]!r}" + (f" and {len(unknown) - 1} more" if unknown[1:] else ""),
                "Add the node to the taxonomy file, or map the label to a node in the label file.",
            )
        if len(set(node_of_label.values())) < len(node_of_label):
            raise self._error("gives one node to two labels", "Give every label a node of its own.")
        return list(settled)

    def _error(self, problem: str, remedy: str) -> TaxonomyError:
        return TaxonomyError(f"Taxonomy {self.name}: {problem}.", remedy=remedy)

    @property
    def node_of_label(self) -> dict[str, str]:
        return dict(zip(self.labels, self._node_names, strict=False))

    @property
    def label_count(self) -> int:
        return len(self.labels)

    @property
    def node_count(self) -> int:
        return len(self.names)

    def outline(self) -> list[tuple[int, str]]:
        """Depth and name of every node, each below its first parent, for people to look at."""
        below: dict[str, list[str]] = {}
        for node, above in self.edges.items():
            below.setdefault(above[0] if above else "", []).append(node)
        shown = dict(zip(self._node_names, self.names, strict=True))
        lines, waiting = [], [(0, node) for node in reversed(below.get("", []))]
        while waiting:
            depth, node = waiting.pop()
            lines.append((depth, shown[node]))
            waiting += [(depth + 1, child) for child in reversed(below.get(node, []))]
        return lines

    @cached_property
    def _position(self) -> dict[str, int]:
        return {node: position for position, node in enumerate(self._node_names)}

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Node -> the nodes right below it, in the order in which the taxonomy lists them."""
        below: list[list[int]] = [[] for _ in self._node_names]
        for node, above in self.edges.items():
            for parent in above:
                below[self._position[parent]].append(self._position[node])
        return tuple(map(tuple, below))

    @cached_property
    def root(self) -> int:
        return next(self._position[node] for node, above in self.edges.items() if not above)

    @cached_property
    def ancestors(self) -> NDArray[np.bool_]:
        """ancestors[i, j]: node j lies above node i, or is node i (the paper's φ)."""
        above = np.eye(self.node_count, dtype=np.bool_)
        for node in self._from_the_root:
            for parent in self.edges[node]:
                above[self._position[node]] |= above[self._position[parent]]
        return above

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """δ between any two nodes, symmetric, 0 on the diagonal."""
        above = self.ancestors.astype(np.float32)  # counts up to 2^24 are exact, and the product is fast
        common = (above @ above.T).astype(np.float64)
        sizes = np.diagonal(common)
        union = sizes[:, None] + sizes[None, :] - common
        return np.asarray(np.log2(1.0 + (union - common) / union), dtype=np.float64)

    @cached_property
    def sha256(self) -> str:
        """Fingerprint of the labels, concepts and edges: of what the taxonomy means, not of how its file is written."""
        edges = sorted((node, parent) for node, above in self.edges.items() for parent in above)
        content = json.dumps([self.labels, self._node_names, edges], ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    @cached_property
    def width(self) -> float:
        """The largest δ between two labels: the paper's Δ of the attribute."""
        return float(self.distances[: self.label_count, : self.label_count].max())

    @cached_property
    def marginality(self) -> NDArray[np.float64]:
        """Sum of δ from each label to all labels: large for labels far from the centre of the domain."""
        among_labels = self.distances[: self.label_count, : self.label_count]
        return np.asarray(among_labels.sum(axis=0), dtype=np.float64)

    @cached_property
    def reference(self) -> int:
        """The most marginal label; the first one listed where several are."""
        return int(np.argmax(np.round(self.marginality, _COMPARED_DECIMALS)))

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Label codes sorted by δ from the most marginal label.

        Labels at the same distance are told apart by marginality (more marginal first), then by their place
        in the list of labels: a total order, and one and the same for every table.
        """
        distance = np.round(self.distances[self.reference, : self.label_count], _COMPARED_DECIMALS)
        marginality = np.round(self.marginality, _COMPARED_DECIMALS)
        return np.lexsort((np.arange(self.label_count), -marginality, distance)).astype(np.int64)

    @cached_property
    def rank(self) -> NDArray[np.int64]:
        """rank[label code]: its place in `order`."""
        place = np.empty(self.label_count, dtype=np.int64)
        place[self.order] = np.arange(self.label_count)
        return place

    def spanned(self, codes: Iterable[int]) -> NDArray[np.int64]:
        """Nodes of the minimum taxonomy that includes all of `codes`: the paper's τ(S).

        These are the nodes on the way up from a value to a least common ancestor of all values. A tree has one
        such ancestor; a graph may have several, and then the ways to each of them count.
        """
        members = np.unique(np.fromiter(codes, dtype=np.int64))
        common = self.ancestors[members].all(axis=0)
        # A common ancestor is least if no other common ancestor lies below it.
        strictly_below = self.ancestors & ~np.eye(self.node_count, dtype=np.bool_)
        least = common & ~(strictly_below[common].any(axis=0))
        on_the_way = self.ancestors[members].any(axis=0) & self.ancestors[:, least].any(axis=1)
        return np.flatnonzero(on_the_way).astype(np.int64)

    def centroid(self, codes: NDArray[np.int64]) -> int:
        """The node of `spanned(codes)` with the least total δ to the sample; the lowest-numbered one on ties."""
        present, counts = np.unique(codes, return_counts=True)
        return self.centroid_of_counts(present, counts)

    def centroid_of_counts(self, present: NDArray[np.int64], counts: NDArray[np.int64]) -> int:
        candidates = self.spanned(present)
        total = counts @ self.distances[np.ix_(present, candidates)]
        return int(candidates[np.argmin(np.round(total, _COMPARED_DECIMALS))])
