"""A replay in words: for the terminal, and as a page for whoever answers for a release."""

from __future__ import annotations

from datetime import UTC, datetime

from rankveil._version import __version__
from rankveil.audit.replay import Replay
from rankveil.report.render import page

INTERNAL = "INTERNAL: made from the original table. It holds none of its values; still, it is not for publication."
PUBLIC = "Made from tables that belong to nobody: this page may be shown to anyone."
COMPARED = (
    "Each pair is a table and the same table with one record replaced, or one person or row more or less where the plan"
    " protects those. The whole release is run on the first, with"
    " every protected answer written down, and then on the second with these answers given and the same random bytes"
    " for everything else.",
    "Demanded of both runs: the same questions with the same scales, sizes and order; the same release to the last"
    " byte, with types, groups of rows, chunks and metadata; the same certificate.",
    "Recomputed for each pair, from the exact numbers: what the answers can lose at most, to be no more than what the"
    " certificate claims.",
)
NOT_COMPARED = (
    "How long a release takes, how much memory it uses, and what the operating system or a network shows of it.",
    "Neighbours that were not tried. A pair that passes proves nothing about others; the theorems carry the guarantee,"
    " and the replay looks for code that does not keep to them.",
    "The entry in the ledger: nothing is entered, and no budget is spent.",
    "Tables that the plan refuses: that a table was refused is seen by whoever runs the release.",
)


def note(result: Replay) -> str:
    return INTERNAL if result.real else PUBLIC


def headline(result: Replay) -> str:
    """The result in one sentence."""
    if result.problems:
        return f"The replay contradicts the claim: {len(result.problems)} finding(s) in {result.pairs:,} pairs."
    return (
        f"No contradiction in {result.pairs:,} pairs: in none of them did a byte depend on the replaced record but"
        f" through protected answers, and these lost at most {result.largest:.4f} of what is claimed."
    )


def figures(result: Replay) -> list[tuple[str, str]]:
    """What was compared, in numbers."""
    lines = [
        ("Released", result.subject),
        ("By", f"rankveil {__version__}, {datetime.now(UTC):%Y-%m-%d}"),
        ("Pairs compared", f"{result.pairs:,}"),
        ("Pairs the plan refuses, not compared", f"{result.outcomes['refused']:,}"),
        ("Rows of a table", " to ".join(dict.fromkeys(f"{rows:,}" for rows in (result.fewest_rows, result.most_rows)))),
        ("Protected answers given again", f"{result.questions:,}"),
        ("Largest loss, of what is claimed", f"{result.largest:.6f}"),
        ("Pairs with different bytes", f"{result.different_bytes:,}"),
        ("Methods", _counted(dict(result.methods))),
        ("Ways in", _counted(dict(result.ways))),
        ("Seed", str(result.seed)),
    ]
    if result.linkages:
        lines.append(("How columns were linked", _counted(dict(result.linkages))))
    for name, deviation in sorted(result.noise.deviations().items()):
        side = "less" if deviation > 0 else "more"
        by = f"{side} than its scale says by {abs(deviation):.1f} standard deviations"
        drawn = f"{result.noise.counts[name]:,} draws, {by}"
        lines.append((f"{name} noise as drawn", drawn))
    lines += [(f"Not tried: {way}", why) for way, why in sorted(result.skipped.items())]
    return lines


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} ({count:,})" for name, count in sorted(counts.items())) or "none"


def as_page(result: Replay) -> str:
    """A page that needs nothing else."""
    return page(
        "replay.html.jinja",
        title="Replay",
        note=note(result),
        result=result,
        headline=headline(result),
        figures=figures(result),
        compared=COMPARED,
        not_compared=NOT_COMPARED,
    )
