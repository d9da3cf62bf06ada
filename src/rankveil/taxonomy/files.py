"""Taxonomy files: node/parent edges, with labels in a second file if need be, or an ARX hierarchy.

node,parent              one row per edge; the root's parent is empty; a node on several rows makes a graph
label,node               which node carries which label of the data (further columns are ignored)
value;level 1;...;*      ARX: a row per value, with its generalizations from left to right, no header
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from rankveil.errors import TaxonomyError
from rankveil.taxonomy.graph import Taxonomy

_LARGEST_FILE = 16 << 20
FLAT_ROOT = "*"


def flat_taxonomy(labels: Sequence[str], *, name: str = "list of categories") -> Taxonomy:
    """Labels below one root: all pairs are equally far apart."""
    root = FLAT_ROOT
    while root in labels:
        root += FLAT_ROOT
    return Taxonomy({label: [root] for label in labels} | {root: []}, labels, name=name)


def prefix_taxonomy(labels: Sequence[str], lengths: Sequence[int], *, name: str = "list of categories") -> Taxonomy:
    """Labels below groups of equal first characters, narrow below broad; without lengths a flat list.

    >>> prefix_taxonomy(["I21.0", "I21.1", "J45"], [1, 3]).edges["I21.0"]
    ('I21…',)
    """
    flat = flat_taxonomy(labels, name=name)
    (root,) = (node for node, above in flat.edges.items() if not above)
    parents: dict[str, list[str]] = {root: []}
    for label in labels:
        below = root
        for length in lengths:
            if len(label) > length or (len(label) == length and length != lengths[-1]):
                group = f"{label[:length]}…"
                parents.setdefault(group, [below])
                below = group
        parents[label] = [below]
    return Taxonomy(parents, labels, name=name)


def read_taxonomy(path: Path, *, label_file: Path | None = None, labels: Sequence[str] | None = None) -> Taxonomy:
    """Read a taxonomy file of either form.

    The labels are those of the label file, or `labels`, or else the leaves (ARX: the values of the first column).
    """
    rows = _rows(path)
    if [cell.strip().lower() for cell in rows[0][:2]] == ["node", "parent"]:
        parents, leaves = _edges(rows[1:], path)
    else:
        parents, leaves = _hierarchy(rows, path)
    if label_file is not None:
        mapping = _label_mapping(label_file)
        if labels is not None:
            unmapped = [label for label in labels if label not in mapping]
            if unmapped:
                raise TaxonomyError(
                    f"Taxonomy {path.name}: the label file {label_file.name} lacks the category {unmapped[0]!r}.",
                    remedy="Add the row, or remove the category from the plan.",
                )
            mapping = {label: mapping[label] for label in labels}
        return Taxonomy(parents, mapping, name=path.name)
    return Taxonomy(parents, leaves if labels is None else labels, name=path.name)


def taxonomy_files(taxonomy: Taxonomy) -> tuple[str, str]:
    """The texts of a node,parent file and of a label,node file from which the same taxonomy is read."""
    edges = [(node, parent) for node, above in taxonomy.edges.items() for parent in above or ("",)]
    return _text(("node", "parent"), edges), _text(("label", "node"), list(taxonomy.node_of_label.items()))


def _text(header: tuple[str, str], rows: list[tuple[str, str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue()


def _rows(path: Path) -> list[list[str]]:
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise TaxonomyError(
                f"Taxonomy {path.name} is larger than {_LARGEST_FILE >> 20} MiB.",
                remedy="Check that the plan names a taxonomy and not a table.",
            )
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise TaxonomyError(f"Taxonomy {path.name} is not UTF-8 text.", remedy="Save it as UTF-8.") from None
    except (OSError, ValueError) as error:  # ValueError: a path that can be no path, such as one with a NUL
        raise TaxonomyError(
            f"Taxonomy {path.name} cannot be read: {getattr(error, 'strerror', None) or 'no such file'}.",
            remedy="Paths in a plan are taken relative to the plan's own folder.",
        ) from None
    separator = ";" if text.partition("\n")[0].count(";") else ","
    try:
        rows = [
            row for row in csv.reader(io.StringIO(text), delimiter=separator, strict=True) if any(map(str.strip, row))
        ]
    except csv.Error as error:
        raise TaxonomyError(f"Taxonomy {path.name} is not valid CSV: {error}.", remedy="Check its quotes.") from None
    if not rows:
        raise TaxonomyError(f"Taxonomy {path.name} is empty.", remedy="It needs a row per node and parent.")
    return rows


def _edges(rows: list[list[str]], path: Path) -> tuple[dict[str, list[str]], list[str]]:
    parents: dict[str, list[str]] = {}
    for number, row in enumerate(rows, start=2):
        node = row[0].strip()
        parent = row[1].strip() if len(row) > 1 else ""
        if not node:
            raise TaxonomyError(
                f"Taxonomy {path.name}: row {number} has no node.", remedy="Fill it in or delete the row."
            )
        above = parents.setdefault(node, [])
        if parent:
            above.append(parent)
    has_children = {parent for above in parents.values() for parent in above}
    return parents, [node for node in parents if node not in has_children]


def _hierarchy(rows: list[list[str]], path: Path) -> tuple[dict[str, list[str]], list[str]]:
    """ARX form. A group is known by its level and name, for a name may stand at several levels."""
    depth = len(rows[0])
    if depth < 2 or any(len(row) != depth for row in rows):
        raise TaxonomyError(
            f"Taxonomy {path.name} is neither a node,parent file nor an ARX hierarchy.",
            remedy="Start it with the header 'node,parent', or give every row the same number (2 or more) of"
            " semicolon-separated levels.",
        )
    values = [row[0].strip() for row in rows]
    if len(set(values)) < len(values):
        raise TaxonomyError(f"Taxonomy {path.name} lists a value twice.", remedy="Keep one row per value.")
    members: dict[tuple[int, str], set[str]] = {}
    for row in rows:
        for level, cell in enumerate(row):
            members.setdefault((level, cell.strip()), set()).add(row[0].strip())
    taken: set[str] = set()
    names: dict[tuple[int, str], str] = {}
    for level, name in sorted(members, key=lambda member: member[0]):  # values keep their names; groups give way
        below = (level - 1, name)
        if below in members and members[below] == members[(level, name)]:
            names[(level, name)] = names[below]  # the same group carried up one level is one node, not two
        else:
            names[(level, name)] = name if name not in taken else f"{name} (level {level})"
            taken.add(names[(level, name)])
    parents: dict[str, list[str]] = {}
    for row in rows:
        for level in range(depth):
            node = names[(level, row[level].strip())]
            above = parents.setdefault(node, [])
            if level + 1 < depth:
                parent = names[(level + 1, row[level + 1].strip())]
                if parent != node and parent not in above:
                    above.append(parent)
    return parents, values


def _label_mapping(path: Path) -> dict[str, str]:
    rows = _rows(path)
    if [cell.strip().lower() for cell in rows[0][:2]] != ["label", "node"]:
        raise TaxonomyError(f"Label file {path.name} does not start with the header 'label,node'.", remedy="Add it.")
    mapping: dict[str, str] = {}
    for number, row in enumerate(rows[1:], start=2):
        if len(row) < 2 or not row[0].strip() or not row[1].strip():
            raise TaxonomyError(f"Label file {path.name}: row {number} lacks a label or a node.", remedy="Fill it in.")
        if row[0].strip() in mapping:
            raise TaxonomyError(
                f"Label file {path.name}: row {number} repeats a label.", remedy="Keep one row per label."
            )
        mapping[row[0].strip()] = row[1].strip()
    return mapping
