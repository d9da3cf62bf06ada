"""Taxonomies of categories: the semantic distance between labels, their marginality order, their centroids."""

from rankveil.taxonomy.files import flat_taxonomy, prefix_taxonomy, read_taxonomy, taxonomy_files
from rankveil.taxonomy.graph import Taxonomy

__all__ = ["Taxonomy", "flat_taxonomy", "prefix_taxonomy", "read_taxonomy", "taxonomy_files"]
