"""Taxonomies and label files: any file is one or is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankveil.errors import TaxonomyError
from rankveil.taxonomy import Taxonomy, read_taxonomy
from rankveil.taxonomy.paths import depth_first_order
from tests.fuzz.harness import CASES, Findings, cases, corpus, refused


def used(taxonomy: Taxonomy) -> None:
    """All that a release asks of a taxonomy."""
    assert taxonomy.node_count >= taxonomy.label_count >= 1
    assert (taxonomy.distances >= 0).all() and (taxonomy.distances < 1 + 1e-12).all()
    assert sorted(taxonomy.order) == sorted(depth_first_order(taxonomy)) == list(range(taxonomy.label_count))
    assert len(set(taxonomy.names)) == taxonomy.node_count, "a released label means one node"


def test_any_file_is_a_taxonomy_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "taxonomy.csv"
    findings, taken = Findings(), 0
    for number, content in cases(corpus("taxonomies"), CASES["taxonomy"], seed=4):
        with findings.case(content, number):
            path.write_bytes(content)
            taken += refused(lambda: used(read_taxonomy(path))) is None
            refused(lambda: used(read_taxonomy(path, labels=["cook", "a"])))
    findings.none()
    assert 100 < taken < CASES["taxonomy"]


def test_any_file_is_a_label_file_or_refused(tmp_path: Path) -> None:
    path, tree = tmp_path / "labels.csv", tmp_path / "tree.csv"
    tree.write_bytes(corpus("taxonomies")["tree.csv"])
    findings, taken = Findings(), 0
    for number, content in cases(corpus("labels"), CASES["label file"], seed=5):
        with findings.case(content, number):
            path.write_bytes(content)
            taken += refused(lambda: used(read_taxonomy(tree, label_file=path))) is None
            refused(lambda: used(read_taxonomy(tree, label_file=path, labels=["C", "food"])))
    findings.none()
    assert 20 < taken < CASES["label file"]


NODES = st.sampled_from(["a", "b", "c", "d", "", " ", "*", "a (concept)", "a (level 1)", "\u202e"])


@settings(max_examples=CASES["hypothesis taxonomy"], derandomize=True, database=None)
@given(rows=st.lists(st.lists(NODES, min_size=1, max_size=3), max_size=6), labels=st.none() | st.lists(NODES))
def test_any_edges_or_levels_are_a_taxonomy_or_refused(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[str]], labels: list[str] | None
) -> None:
    path = tmp_path_factory.mktemp("taxonomy") / "taxonomy.csv"
    for text in (
        "node,parent\n" + "\n".join(",".join(row) for row in rows),
        "\n".join(";".join(row) for row in rows),
    ):
        path.write_text(text, encoding="utf-8")
        refused(lambda: used(read_taxonomy(path, labels=labels)))


@pytest.mark.parametrize("path", ["", ".", "..", "/", "/dev/null", "/proc/self/mem", "a\0b", "x" * 5000, "\ud800"])
def test_any_path_is_read_or_refused(tmp_path: Path, path: str) -> None:
    assert isinstance(refused(lambda: read_taxonomy(tmp_path / path)), TaxonomyError)
    tree = tmp_path / "tree.csv"
    tree.write_bytes(corpus("taxonomies")["tree.csv"])
    assert isinstance(refused(lambda: read_taxonomy(tree, label_file=tmp_path / path)), TaxonomyError)


def test_a_cell_longer_than_the_csv_reader_takes(tmp_path: Path) -> None:
    path = tmp_path / "tree.csv"
    path.write_text("node,parent\nany,\n" + "x" * 140_000 + ",any\n")
    assert isinstance(refused(lambda: read_taxonomy(path)), TaxonomyError)
