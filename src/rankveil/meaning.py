"""What an ε means, in words, for people who decide about it.

Guarantee    The words follow from ε and δ alone. Large factors are computed as logarithms: e^1000 is no machine number.
Argument     Replacing one record changes the probability of every release by a factor of at most e^ε (docs/promise.md).
             So the odds between two guesses about a person's record change by at most that factor, and a guess held
             with probability p can become at most p e^ε / (p e^ε + 1 - p).
"""

from __future__ import annotations

import math
from decimal import Decimal

LARGE = 10  # above: said in words on the page, in the terminal and on the certificate
NEEDS_CONSENT = 20  # above: released only by someone who has said that they know
_GUESS = 1e-4  # a guess about one person that is right once in ten thousand times


def needs_consent(epsilon: Decimal) -> bool:
    return epsilon > NEEDS_CONSENT


def in_words(epsilon: Decimal, delta: Decimal | None = None) -> str:
    """One or two sentences, the same for every spelling of the same numbers."""
    beyond = "" if delta is None else f" (up to an extra probability of δ = {delta.normalize():e})"
    limit = f"nobody's odds about one person change by more than {_factor(float(epsilon))}{beyond}."
    if epsilon <= LARGE:
        return f"With ε = {epsilon.normalize():f}, {limit}"
    return f"ε = {epsilon.normalize():f} is large: {limit} {warning(epsilon)}"


def warning(epsilon: Decimal) -> str:
    """What an ε above LARGE amounts to."""
    if epsilon > NEEDS_CONSENT:
        return (
            "That is no meaningful limit on what an attacker learns about one person: a guess that is right once in"
            " ten thousand times may become as good as certain."
        )
    certain = 1 / (1 + (1 - _GUESS) / _GUESS * math.exp(-float(epsilon)))
    times = "more than 99" if certain > 0.99 else f"{100 * certain:.0f}"
    return (
        f"That is hardly a limit: a guess about one person that is right once in ten thousand times may become right"
        f" {times} times in a hundred."
    )


def _factor(epsilon: float) -> str:
    """e^ε for people. Its logarithm is what is computed with: e^1000 is no floating-point number."""
    if epsilon < 0.01:
        return f"a factor of about 1 + {epsilon:.2g}"
    if epsilon <= NEEDS_CONSENT:
        factor = math.exp(epsilon)
        return "a factor of about " + (
            f"{factor:.3g}" if factor < 2 else f"{factor:.2g}" if factor < 100 else _rounded(factor)
        )
    digits = math.floor(epsilon / math.log(10)) + 1
    return f"a factor that has {digits:,} digits"


def _rounded(number: float) -> str:
    """To two digits."""
    return f"{int(Decimal(f'{number:.1e}')):,}"
