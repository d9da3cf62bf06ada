"""Three sentences about a release: what protects the people in it, what it keeps, and where to look first."""

from __future__ import annotations

from rankveil.certificate import Certificate
from rankveil.evaluate.results import Evaluation, Score
from rankveil.evaluate.scores import score_text
from rankveil.evaluate.subgroups import FEWEST_JUDGED


def verdict(found: Evaluation, certificate: Certificate | None) -> tuple[str, str, str]:
    return _promise(certificate), _kept(found.scores), _look_first(found)


def _promise(certificate: Certificate | None) -> str:
    if certificate is None:
        return "No certificate lies beside this release, so nothing is known to protect the people in it."
    if not certificate.differentially_private:
        return (
            "This release is NOT differentially private: no theorem protects the people in it, and it must not be"
            " published as if one did."
        )
    amount = f"ε\u00a0=\u00a0{certificate.epsilon}"
    if certificate.delta not in (None, "0"):
        amount += f" and δ\u00a0=\u00a0{certificate.delta}"
    if not certificate.for_release:
        return f"This is a test drawn from a fixed seed, NOT FOR RELEASE; made for real it would hold {amount}."
    return f"The release is differentially private with {amount}."


def _kept(scores: tuple[Score, ...]) -> str:
    if not scores:
        return "No aspect of its usefulness could be scored."
    ranked = sorted(scores, key=lambda score: score.value)
    counts = [(word, sum(score.word == word for score in scores)) for word in ("good", "fair", "poor")]
    tally = [f"{count} {'is' if count == 1 else 'are'} {word}" for word, count in counts if count]
    said = tally[0] if len(tally) == 1 else ", ".join(tally[:-1]) + " and " + tally[-1]
    best, worst = ranked[-1], ranked[0]
    text = f"Of {len(scores)} aspects of usefulness, {said}"
    if len(scores) == 1:
        return f"{text}: {_named(best)}."
    return f"{text}: best kept are {_named(best)}, least {_named(worst)}."


def _named(score: Score) -> str:
    return f"{score.aspect.lower()} ({score_text(score.value)})"


def _look_first(found: Evaluation) -> str:
    """The pair that lost most, and the group that is served worst."""
    places = []
    if found.pairs:
        pair = max(found.pairs, key=lambda pair: pair.total_variation)
        places.append(f"the pair {pair.columns[0]} × {pair.columns[1]} (total variation {pair.total_variation:.2f})")
    judged = [group for group in found.subgroups if group.rows >= FEWEST_JUDGED and group.beyond_chance > 0]
    if judged:
        group = judged[0]
        named = f"the {group.rows:,} people with {group.column} = {group.group}"
        if group.error is None:
            places.append(f"{named}, of whom the release has none")
        else:
            places.append(f"{named} (error {group.error:.2f}, {group.chance:.2f} by chance)")
    if not places:
        column = max(found.columns, key=lambda column: column.total_variation or 0.0)
        places.append(f"the column {column.name} (total variation {column.total_variation or 0:.2f})")
    return f"Before using it, look at {' and at '.join(places)}."
