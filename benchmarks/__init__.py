"""Measurements beside others, each in one run: `python -m benchmarks.NAME`, results in docs/benchmarks.md."""

import rankveil  # noqa: F401 - before Arrow, as in the command: Arrow then takes all of its memory from the system
