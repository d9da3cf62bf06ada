"""The size of the fuzz suite is part of what it promises."""

from __future__ import annotations

from tests.fuzz.harness import CASES, CERTIFICATE_ENTRIES, PLAN_SETTINGS, corpus

FOLDERS = ("csv", "parquet", "plans", "taxonomies", "labels", "certificates")


def test_there_are_at_least_twenty_thousand_cases() -> None:
    assert sum(CASES.values()) + CERTIFICATE_ENTRIES + PLAN_SETTINGS >= 20_000


def test_the_corpus_stays_small() -> None:
    sizes = [len(content) for folder in FOLDERS for content in corpus(folder).values()]
    assert len(sizes) > 100
    assert max(sizes) < 20_000
    assert sum(sizes) < 300_000
