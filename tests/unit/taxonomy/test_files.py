"""Taxonomy files: edges, labels, ARX hierarchies, and everything that can be wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankveil.errors import TaxonomyError
from rankveil.taxonomy import Taxonomy, read_taxonomy

TREE = "node,parent\nworld,\neurope,world\nasia,world\nspain,europe\nfrance,europe\njapan,asia\n"


@pytest.fixture
def read(tmp_path: Path):  # type: ignore[no-untyped-def]
    def from_text(text: str, labels_text: str | None = None, **how: object) -> Taxonomy:
        path = tmp_path / "tree.csv"
        path.write_text(text, encoding="utf-8")
        if labels_text is not None:
            (tmp_path / "labels.csv").write_text(labels_text, encoding="utf-8")
            how["label_file"] = tmp_path / "labels.csv"
        return read_taxonomy(path, **how)  # type: ignore[arg-type]

    return from_text


def test_the_leaves_of_a_tree_are_its_labels(read) -> None:  # type: ignore[no-untyped-def]
    taxonomy = read(TREE)
    assert taxonomy.labels == ("spain", "france", "japan")
    assert taxonomy.names == ("spain", "france", "japan", "world", "europe", "asia")


def test_relatives_are_nearer_than_strangers(read) -> None:  # type: ignore[no-untyped-def]
    d = read(TREE).distances
    assert d[0, 1] < d[0, 2]
    assert d[0, 4] < d[0, 3]


def test_categories_of_the_plan_choose_and_order_the_labels(read) -> None:  # type: ignore[no-untyped-def]
    assert read(TREE, labels=("japan", "europe")).labels == ("japan", "europe")


def test_a_label_file_says_which_node_carries_which_label(read) -> None:  # type: ignore[no-untyped-def]
    taxonomy = read(TREE, "label,node,remark\nES,spain,x\nJP,japan,y\nEU,europe,z\n")
    assert taxonomy.labels == ("ES", "JP", "EU")
    assert "france" in taxonomy.names


def test_a_label_spelt_like_another_node_does_not_take_its_name(read) -> None:  # type: ignore[no-untyped-def]
    taxonomy = read(TREE, "label,node\neurope,spain\nJP,japan\n")
    assert len(set(taxonomy.names)) == taxonomy.node_count
    assert "europe (concept)" in taxonomy.names


def test_a_row_repeated_in_the_file_changes_nothing(read) -> None:  # type: ignore[no-untyped-def]
    assert (read(TREE + "spain,europe\n").distances == read(TREE).distances).all()


def test_a_node_on_two_rows_has_two_parents(read) -> None:  # type: ignore[no-untyped-def]
    taxonomy = read(TREE + "turkey,europe\nturkey,asia\n")
    assert taxonomy.ancestors[taxonomy.labels.index("turkey")].sum() == 4


def test_a_parent_without_a_row_of_its_own_is_a_second_root(read) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TaxonomyError, match="2 roots"):
        read(TREE + "mars base,mars\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("node,parent\na,b\nb,a\n", "cycle"),
        ("node,parent\nr,\na,a\n", "cycle"),
        ("node,parent\nr,\na,b\nb,c\nc,a\n", "cycle among 3 nodes"),
        ("node,parent\nr,\ns,\na,r\n", "2 roots"),
        ("node,parent\n", "no label"),
        ("node,parent\n,r\n", "row 2 has no node"),
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("just one column\nx\n", "neither a node,parent file nor an ARX hierarchy"),
        ("a;b;*\nc;*\n", "neither"),
        ("a;g;*\na;h;*\n", "lists a value twice"),
        ('node,parent\n"a,b\n', "not valid CSV"),
    ],
)
def test_a_taxonomy_that_is_none_is_refused(read, text: str, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TaxonomyError, match=words):
        read(text)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ("label,node\nX,nowhere\n", "no node for the label 'X'"),
        ("label,node\nX,spain\nY,spain\n", "one node to two labels"),
        ("label,node\nX,spain\nX,japan\n", "row 3 repeats a label"),
        ("label,node\nX,\n", "row 2 lacks"),
        ("name,node\nX,spain\n", "header 'label,node'"),
    ],
)
def test_a_label_file_that_does_not_fit_is_refused(read, labels: str, words: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TaxonomyError, match=words):
        read(TREE, labels)


def test_a_category_without_a_node_is_refused_by_name(read) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TaxonomyError, match="no node for the label 'peru' and 1 more"):
        read(TREE, labels=("spain", "peru", "chile"))
    with pytest.raises(TaxonomyError, match="lacks the category 'peru'"):
        read(TREE, "label,node\nES,spain\n", labels=("ES", "peru"))


def test_more_nodes_than_memory_can_pair_are_refused(read) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(TaxonomyError, match="at most 5000"):
        read("node,parent\nroot,\n" + "".join(f"n{i},root\n" for i in range(6000)))


def test_a_file_that_is_not_text_or_much_too_large_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"node,parent\n\xff\xfe,\n")
    with pytest.raises(TaxonomyError, match="not UTF-8"):
        read_taxonomy(tmp_path / "binary.csv")
    with (tmp_path / "large.csv").open("wb") as file:
        file.truncate(17 << 20)
    with pytest.raises(TaxonomyError, match="larger than 16 MiB"):
        read_taxonomy(tmp_path / "large.csv")


# ARX


def test_an_arx_hierarchy_joins_levels_that_only_repeat_a_group(read) -> None:  # type: ignore[no-untyped-def]
    taxonomy = read("a;x;x;*\nb;x;x;*\nc;y;y;*\n")
    assert taxonomy.labels == ("a", "b", "c")
    assert sorted(taxonomy.names) == ["*", "a", "b", "c", "x", "y"]


def test_an_arx_value_that_is_its_own_group_is_one_node(read) -> None:  # type: ignore[no-untyped-def]
    taxonomy = read("a;a;*\nb;g;*\nc;g;*\n")
    assert taxonomy.node_count == 5


def test_an_arx_name_used_for_two_groups_makes_two_nodes(read) -> None:  # type: ignore[no-untyped-def]
    taxonomy = read("a;x;*\nb;y;*\nx;y;*\n")
    assert taxonomy.labels == ("a", "b", "x")
    assert "x (level 1)" in taxonomy.names


ARX = {  # file -> values, from the README of the data sets
    "age": 100,
    "education": 16,
    "marital-status": 7,
    "native-country": 41,
    "occupation": 14,
    "race": 5,
    "salary-class": 2,
    "sex": 2,
    "workclass": 8,
}


@pytest.mark.parametrize("name", ARX)
def test_the_arx_hierarchies_of_adult_have_the_values_their_readme_counts(data_folder: Path, name: str) -> None:
    taxonomy = read_taxonomy(data_folder / "arx_hierarchies" / f"adult_hierarchy_{name}.csv")
    assert taxonomy.label_count == ARX[name]
    assert taxonomy.names.count("*") == 1
    assert sorted(taxonomy.order.tolist()) == list(range(ARX[name]))


TREES = {  # folder/file -> nodes, labels
    "crises/occupation": (37, 14),
    "crises/native-country": (59, 41),
    "crises/education": (24, 16),
    "crises/marital-status": (11, 7),
    "crises/race": (8, 5),
    "crises/sex": (3, 2),
    "crises/workclass": (10, 7),
    "wordnet30/occupation": (38, 14),
    "wordnet30/native-country": (63, 41),
}


@pytest.mark.parametrize("name", TREES)
def test_the_published_trees_have_the_nodes_and_labels_their_readme_counts(data_folder: Path, name: str) -> None:
    folder = data_folder / "taxonomies"
    taxonomy = read_taxonomy(folder / f"{name}.csv", label_file=folder / f"{name}_labels.csv")
    assert (taxonomy.node_count, taxonomy.label_count) == TREES[name]


@pytest.mark.parametrize("name", ["occupation", "native-country"])
def test_the_wordnet_graphs_have_the_labels_of_the_trees_and_at_least_their_ancestors(
    data_folder: Path, name: str
) -> None:
    folder = data_folder / "taxonomies" / "wordnet30"
    labels = folder / f"{name}_labels.csv"
    tree = read_taxonomy(folder / f"{name}.csv", label_file=labels)
    graph = read_taxonomy(folder / f"{name}_dag.csv", label_file=labels)
    assert graph.labels == tree.labels
    for code in range(tree.label_count):
        in_tree = {tree.names[node] for node in tree.ancestors[code].nonzero()[0]}
        in_graph = {graph.names[node] for node in graph.ancestors[code].nonzero()[0]}
        assert in_tree <= in_graph


def test_a_graph_with_inner_nodes_as_labels_is_read(data_folder: Path) -> None:
    labels = ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried")
    taxonomy = read_taxonomy(data_folder / "taxonomies" / "crises" / "relationship_dag.csv", labels=labels)
    assert taxonomy.labels == labels
