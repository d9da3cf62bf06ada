"""What an ε and a δ mean, in words, for people who decide about them.

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
LARGE_DELTA = Decimal("1e-5")  # above: the same. One record in a hundred thousand might be published outright
_GUESS = 1e-4  # a guess about one person that is right once in ten thousand times


def beyond(epsilon: Decimal, delta: Decimal | None = None) -> list[str]:
    """What somebody has to say yes to."""
    found = [f"ε above {NEEDS_CONSENT}"] if epsilon > NEEDS_CONSENT else []
    return found + ([f"δ above {LARGE_DELTA:f}"] if _is_large(delta) else [])


def needs_words(epsilon: Decimal, delta: Decimal | None = None) -> bool:
    """Whether the figures alone would let people think more of the guarantee than it is."""
    return epsilon > LARGE or _is_large(delta)


def _is_large(delta: Decimal | None) -> bool:
    return delta is not None and delta > LARGE_DELTA


def in_words(epsilon: Decimal, delta: Decimal | None = None) -> str:
    """One to three sentences, the same for every spelling of the same numbers."""
    said = _of_epsilon(epsilon, delta)
    if not _is_large(delta):
        return said
    return f"{said} δ = {_number(delta or Decimal(0))} is large: with that probability there is no limit at all."


def _of_epsilon(epsilon: Decimal, delta: Decimal | None) -> str:
    extra = "" if delta is None else f" (up to an extra probability of δ = {float(delta):.2g})"
    limit = f"nobody's odds about one person change by more than {_factor(float(epsilon))}{extra}."
    if epsilon <= LARGE:
        return f"With ε = {_number(epsilon)}, {limit}"
    return f"ε = {_number(epsilon)} is large: {limit} {warning(epsilon)}"


def warning(epsilon: Decimal) -> str:
    """What an ε above LARGE amounts to."""
    if epsilon > NEEDS_CONSENT:
        return (
            "That is no meaningful limit on what an attacker learns about one person: a guess that is right once in"
            " ten thousand times may become as good as certain."
        )
    times = 100 / (1 + (1 - _GUESS) / _GUESS * math.exp(-float(epsilon)))
    often = f"{times:.0f}" if times < 99.5 else "more than 99"  # not certain: that is what a hundred would say
    return (
        f"That is hardly a limit: a guess about one person that is right once in ten thousand times may become right"
        f" {often} times in a hundred."
    )


def _factor(epsilon: float) -> str:
    """e^ε for people. Its logarithm is what is computed with: e^1000 is no floating-point number."""
    if epsilon < 0.1:
        return f"a factor of about {math.exp(epsilon):.4g}"
    if epsilon <= NEEDS_CONSENT:
        factor = math.exp(epsilon)
        return f"a factor of about {f'{factor:.2g}' if factor < 100 else f'{_rounded(factor):,}'}"
    digits = math.floor(epsilon / math.log(10)) + 1
    return f"a factor that has {digits:,} digits"


def _rounded(number: float) -> int:
    """To two digits."""
    return int(Decimal(f"{number:.1e}"))


def _number(number: Decimal) -> str:
    """The same for every spelling of the number: `verify` says it again from the certificate's own."""
    return f"{number.normalize():f}" if number >= LARGE_DELTA else f"{number.normalize():e}"
