"""Labels whose order, or whose missing partner, everybody knows: bands, months, weekdays, scales, yes and no.

Guarantee    None, as for all of a draft. What is found here is a proposal about the labels that were seen.
Told apart   A list is recognised only as a whole: one label that does not belong, and nothing is proposed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise

from rankveil.declare.draft.names import MONTHS, NO_ANSWERS, PAIRS, SCALES, WEEKDAYS

_FEWEST = 3  # labels, before a list of words is taken for a scale


@dataclass(frozen=True)
class Order:
    """Labels in their order, and what they are."""

    labels: tuple[str, ...]
    what: str


_CALENDAR = (("months", MONTHS), ("days of the week", WEEKDAYS))
_SHORTEST = 3  # letters of a name that is cut off, such as Mon and Sept.
_FEWEST_SHORT = 5  # of seven days in two letters: fewer may be anything


def _rungs(scale: str) -> dict[str, int]:
    words = ((place, word) for place, rung in enumerate(scale.split("|")) for word in rung.split("/"))
    return {_plain(word): place for place, word in words}


def _plain(label: str) -> str:
    return re.sub(r"[\s_.\-/,]+", " ", re.sub("['’]", "", label)).strip().casefold()


_LADDERS = tuple(map(_rungs, SCALES))
_NO_ANSWERS = frozenset(map(_plain, NO_ANSWERS.split("|")))


def ordered(labels: Iterable[str]) -> Order | None:
    """The order of these labels, if everybody would put them into the same one."""
    found = sorted(labels)
    for look in (_calendar, _scale, _school_years, _bands, _numbered, _ranked, _periods):
        if (order := look(found)) is not None:
            return order
    return None


def without_answer(labels: Iterable[str]) -> list[str]:
    """Labels that say that there is no answer."""
    return [label for label in labels if _plain(label) in _NO_ANSWERS]


def _alike(word: str, seen: Iterable[str]) -> str:
    """A word in the letters that the others are written in."""
    texts = list(seen)
    if all(text.isupper() for text in texts):
        return word.upper()
    return word if any(text[:1].islower() for text in texts) else word[:1].upper() + word[1:]


def _folded(word: str) -> str:
    """Without accents: many files have lost them."""
    return "".join(each for each in unicodedata.normalize("NFD", word) if not unicodedata.combining(each))


def _words(line: str) -> list[str]:
    return [_plain(word) for word in line.split()]


def _place_in(word: str, words: Sequence[str]) -> int | None:
    """The word that this one is, or is the beginning of; None where there is none, or several."""
    bare, names = _folded(word), [_folded(each) for each in words]
    if bare in names:
        return names.index(bare)
    found = [place for place, name in enumerate(names) if name.startswith(bare)]
    return found[0] if len(found) == 1 and len(bare) >= _SHORTEST else None


def _calendar(labels: list[str]) -> Order | None:
    plain = {_plain(label): label for label in labels}
    if len(labels) < _FEWEST or len(plain) < len(labels):
        return None
    short = max(map(len, plain)) == 2 and all(word.isalpha() and word.isascii() for word in plain)
    if short and len(labels) < _FEWEST_SHORT:
        return None
    for what, lists in _CALENDAR:
        for line in lists:
            words = _words(line)
            places = {word: _place_in(word, words) for word in plain}
            if None in places.values() or len(set(places.values())) < len(places):
                continue
            by_place = {place: plain[word] for word, place in places.items()}
            unseen = {place: _spelled(place, words, plain) for place in range(len(words)) if place not in by_place}
            if None in unseen.values():
                return Order(tuple(by_place[place] for place in sorted(by_place, key=int)), what)  # type: ignore[arg-type]
            every = [by_place.get(place) or unseen[place] or "" for place in range(len(words))]
            return Order(tuple(every), f"{what}, all {len(words)} of them")
    return None


def _spelled(place: int, words: Sequence[str], plain: Mapping[str, str]) -> str | None:
    """A name that did not occur, as those that did are written; None if that cannot be told."""
    seen = list(plain.values())
    dots = "." if all(label.endswith(".") for label in seen) else ""
    lengths = {len(word) for word in plain}
    word = words[place]
    if not plain.keys() <= {*words, *map(_folded, words)}:  # they are cut off
        if len(lengths) > 1 or _place_in(word[: min(lengths)], words) != place:
            return None
        word = word[: min(lengths)]
    if not plain.keys() <= {each[: len(each)] for each in words} and all(map(str.isascii, seen)):
        word = _folded(word)
    return _alike(word, seen) + dots


def _scale(labels: list[str]) -> Order | None:
    plain = {_plain(label): label for label in labels}
    if len(plain) < len(labels) or len(plain) < _FEWEST:
        return None
    for cut in (plain, _without_common_words(plain)):
        for rungs in _LADDERS:
            if cut.keys() <= rungs.keys() and len({rungs[word] for word in cut}) == len(cut):
                return Order(tuple(cut[word] for word in sorted(cut, key=lambda word: rungs[word])), "a scale of words")
    return None


def _without_common_words(plain: Mapping[str, str]) -> dict[str, str]:
    """Low, medium and high of low risk, medium risk and high risk."""
    words = [word.split() for word in plain]
    shortest = min(map(len, words))
    first = next((place for place in range(shortest) if len({each[place] for each in words}) > 1), shortest)
    last = next((place for place in range(shortest) if len({each[-1 - place] for each in words}) > 1), shortest)
    if first + last >= shortest:
        return dict(plain)
    cut = (" ".join(each[first : len(each) - last]) for each in words)
    return dict(zip(cut, plain.values(), strict=True))


# Bands

# Marks between thousands: , ' . or a space, where three digits follow.
_NUMBER = (
    r"(?:[$€£]|chf|usd|eur|gbp)?\s*(\d{1,3}(?:[,']\d{3})+|[1-9]\d{0,2}(?:\.\d{3})+|[1-9]\d{0,2}(?: \d{3})+|\d+)"
    r"([.,]\d+)?\s*([km](?![a-z]))?"
)
_UNIT = r"\s*(?:[%€£$]|[^\W\d_]{1,12}\.?)?\s*"
_NONE = ("none", "no", "zero", "never", "keine", "keiner", "nie", "aucun", "aucune", "ninguno", "ninguna", "nessuno")
_FROM = r"(?:(?:from|between|von|zwischen|ab|de|entre|da|dal|tra|van|tussen)\s+)?"
_TO = (  # words between two ends stand by themselves: 1a2 is a code
    r"(?:-+|–|—|to|bis|,|until|-<|–<|to under|\.\."
    r"|\s(?:to less than|to below|bis unter|bis zu|à|à moins de|a|al|a menos de|e|até|t/m|tot|till|til|and|und|et|y)\s)"
)
_OR = r"(?:or|and|oder|und|ou|et|o|y|e|of|en|och|eller)\s*"
_BETWEEN = re.compile(rf"[\[(]?\s*{_FROM}{_NUMBER}{_UNIT}{_TO}\s*<?\s*{_NUMBER}{_UNIT}[\])]?")
_BELOW = re.compile(
    r"(?:<=?|≤|under|below|less than|fewer than|at most|up to|younger than|unter|bis|bis zu|bis unter|weniger als"
    r"|höchstens|jünger als|moins de|jusqu'à|menos de|hasta|menores de|meno di|fino a|até|minder dan|jonger dan|tot"
    r"|mindre än|mindre enn)"
    rf"\s*{_NUMBER}{_UNIT}"
    rf"|{_NUMBER}{_UNIT}{_OR}(?:less|under|below|fewer|younger|weniger|jünger|darunter|moins|menos|meno|minder|jonger)"
)
_ABOVE = re.compile(
    r"(?:>=?|≥|over|above|more than|at least|older than|über|mehr als|ab|mindestens|älter als|plus de|à partir de"
    r"|más de|mayores de|desde|più di|oltre|mais de|acima de|meer dan|ouder dan|vanaf|mer än|över|over)"
    rf"\s*{_NUMBER}{_UNIT}"
    rf"|{_NUMBER}{_UNIT}(?:\+{_UNIT}|{_OR}(?:more|over|above|older|up|mehr|älter|darüber|plus|más|mais|più|oltre|meer|ouder"
    r"|mer|över|äldre|eldre))"
)
_SINGLE = re.compile(rf"{_NUMBER}{_UNIT}")
_SCIENTIFIC = re.compile(r"[+-]?[\d.,]+e[+-]?\d+")  # a number, though a hyphen is in it
_FACTOR = {"k": 1_000, "m": 1_000_000}


def _numbers_of(found: re.Match[str]) -> list[Decimal]:
    parts = found.groups()
    return [
        Decimal(re.sub("[,'. ]", "", whole) + (rest or "").replace(",", ".")) * _FACTOR.get(factor or "", 1)
        for whole, rest, factor in zip(parts[0::3], parts[1::3], parts[2::3], strict=True)
        if whole is not None
    ]


def _band(label: str) -> tuple[Decimal, Decimal, bool] | None:
    """Where a band begins and ends, and whether the label is more than a number."""
    text = re.sub(r"\s+", " ", label.strip().lower())
    if _SCIENTIFIC.fullmatch(text):
        return None
    if (found := _BETWEEN.fullmatch(text)) is not None:
        first, last = _numbers_of(found)
        factor = found.group(6)
        if found.group(3) is None and factor is not None and first < last:  # 10-20k
            first = min(first * _FACTOR[factor], last)
        return (first, last, True) if first <= last else None
    if (found := _BELOW.fullmatch(text)) is not None:
        return Decimal("-Infinity"), _numbers_of(found)[0], True
    if (found := _ABOVE.fullmatch(text)) is not None:
        return _numbers_of(found)[0], Decimal("Infinity"), True
    if (found := _SINGLE.fullmatch(text)) is not None:
        number = _numbers_of(found)[0]
        return number, number, False
    return (Decimal(0), Decimal(0), False) if text in _NONE else None


def _bands(labels: list[str]) -> Order | None:
    found = {label: _band(label) for label in labels}
    known = {label: band for label, band in found.items() if band is not None}
    if len(known) < len(labels) or len(labels) < 2 or not any(band[2] for band in known.values()):
        return None
    in_order = sorted(known, key=lambda label: known[label][:2])
    for one, other in pairwise(in_order):
        if known[one][1] > known[other][0] or known[one][:2] == known[other][:2]:
            return None  # they overlap: no bands of one quantity
    return Order(tuple(in_order), "bands of numbers")


def with_unit(labels: Iterable[str]) -> str | None:
    """The unit or sign that stands beside every one of these numbers, such as % or €."""
    found = [_MEASURED.fullmatch(label.strip()) for label in labels]
    units = {each and (each["before"] or each["after"] or "").strip() for each in found}
    return next(iter(units)) or None if len(units) == 1 else None


_MEASURED = re.compile(
    r"(?P<before>[$€£¥₹₽₩₺₴₪]|USD|EUR|GBP|CHF|JPY|CNY|SEK|NOK|DKK|PLN|CZK|CAD|AUD|INR|BRL|MXN|R\$)?"
    r"\s?[+-]?\d[\d.,' ]*(?P<after>\s?[^\d\s.,+-][^\d]{0,9})?"
)
_LEADING = re.compile(r"\(?(\d{1,2})\)?\s*[-–.:=)]\s*[^\d\s].*|\(?(\d{1,2})\)?\s+[^\d\s].*")


def _numbered(labels: list[str]) -> Order | None:
    """1 = very bad, 2 = bad, and so on: the number leads. Those between the ends may be numbers alone."""
    numbers = {}
    bare = {label for label in labels if re.fullmatch(r"\d{1,2}", label)}
    for label in labels:
        found = _LEADING.fullmatch(label)
        if found is None and label not in bare:
            return None
        numbers[label] = int(label if found is None else found.group(1) or found.group(2))
    if len(labels) < _FEWEST or len(set(numbers.values())) < len(labels) or len(bare) == len(labels):
        return None
    if bare and {min(numbers.values()), max(numbers.values())} & {numbers[label] for label in bare}:
        return None  # a number beyond the labelled ends is something else
    return Order(tuple(sorted(labels, key=lambda label: numbers[label])), "labels that begin with their rank")


_ROMAN = {
    "i": 1,
    "ii": 2,
    "iii": 3,
    "iv": 4,
    "v": 5,
    "vi": 6,
    "vii": 7,
    "viii": 8,
    "ix": 9,
    "x": 10,
    "xi": 11,
    "xii": 12,
}
_RANKS = (  # nouns whose numbers are an order and no mere names
    "stage stadium phase level stufe niveau nivel grade grad grado klasse year jahr année año wave welle round"
    " tier step schritt visit visite quintile quintil decile dezil quartile quartil tercile rank semester trimester"
    " term t w week woche semaine semana day tag jour month monat mois quarter quartal q asa nyha tanner"
)
_COMPOUNDS = r"[a-zäöüß]+(?:stufe|grad|stadium|phase|klasse|welle|niveau)"  # Pflegegrad, Schweregrad
_RANKED = re.compile(rf"(?:({'|'.join(_RANKS.split())}|{_COMPOUNDS})\s?)?(\d{{1,3}}|[ivx]{{1,4}})([a-c]?)")
_NO_RANK = re.compile(r"(?:no|kein|keine|ohne|sans|aucun|aucune|sin|ningún|ninguna|nessun|geen)\s(.+)")
_GRADE = re.compile(r"([A-F])([+-]?)")


def _ranked(labels: list[str]) -> Order | None:
    """Stage I to Stage IV, wave 1 to wave 5, I to IV, and marks from A+ to F."""
    marks = [_GRADE.fullmatch(label) for label in labels]
    if len(labels) >= _FEWEST and all(marks) and any(each and each.group(2) for each in marks):
        best_first = sorted(
            labels, key=lambda label: (label[0], "+-".find(label[1:]) if label[1:] == "+" else len(label))
        )
        return Order(tuple(best_first), "marks, best first")
    labels, none = _without_none(labels)
    found = {label: _RANKED.fullmatch(_plain(label)) for label in labels}
    known = {label: each for label, each in found.items() if each is not None}
    if len(labels) < _FEWEST or len(known) < len(labels) or len({each.group(1) for each in known.values()}) > 1:
        return None
    roman = all(each.group(2) in _ROMAN for each in known.values())
    if not roman and (
        any(each.group(2) in _ROMAN for each in known.values()) or not next(iter(known.values())).group(1)
    ):
        return None
    places = {label: (_ROMAN.get(each.group(2)) or int(each.group(2)), each.group(3)) for label, each in known.items()}
    bare = next(iter(known.values())).group(1) is None
    if len(set(places.values())) < len(places) or (bare and max(places.values())[0] > len(places) + 1):
        return None
    return Order((*none, *sorted(labels, key=lambda label: places[label])), "ranks")


def _without_none(labels: list[str]) -> tuple[list[str], list[str]]:
    """Grade 1 and Grade 2, and "no grade" apart from them."""
    none = [
        label for label in labels if (found := _NO_RANK.fullmatch(_plain(label))) and _is_noun(found.group(1), labels)
    ]
    return ([label for label in labels if label not in none], none) if len(none) == 1 else (labels, [])


def _is_noun(word: str, labels: Iterable[str]) -> bool:
    return any(found is not None and found.group(1) == word for found in map(_RANKED.fullmatch, map(_plain, labels)))


def _school_years(labels: list[str]) -> Order | None:
    """2019/20, 2020/21: a year and the next one."""
    found = [re.fullmatch(r"(\d{4})([-/–])(\d{2}|\d{4})", label) for label in labels]
    known = [each for each in found if each is not None]
    if len(known) < len(labels) or len(labels) < 2 or len({each[2] for each in known}) > 1:
        return None
    if any((int(each[1]) + 1 - int(each[3])) % 100 for each in known):
        return None
    return Order(tuple(sorted(labels)), "years that begin in one year and end in the next")


_PERIODS = (  # how periods of years are written, and how many of them a year has
    (r"(?P<y>\d{4})(?P<s>[-/.])(?P<p>0[1-9]|1[0-2])", "{y:04}{s}{p:02}", 12, "months"),
    (r"(?P<p>0[1-9]|1[0-2])(?P<s>[-/.])(?P<y>\d{4})", "{p:02}{s}{y:04}", 12, "months"),
    (r"(?P<y>\d{4})(?P<s>[- /]?[Qq])(?P<p>[1-4])", "{y:04}{s}{p}", 4, "quarters"),
    (r"(?P<t>[Qq])(?P<p>[1-4])(?P<s>[- /]?)(?P<y>\d{4})", "{t}{p}{s}{y:04}", 4, "quarters"),
    (r"(?P<y>\d{4})(?P<s>-?[Ww]|-?KW)(?P<p>0[1-9]|[1-4]\d|5[0-3])", "{y:04}{s}{p:02}", 53, "weeks"),
)
_MONTH_AND_YEAR = re.compile(r"(?P<m>[^\W\d_]{3,12}\.?)(?P<s>[-/ ']{1,2})(?P<y>\d{4}|\d\d)")
_MOST_PERIODS = 200


def _periods(labels: list[str]) -> Order | None:
    """Weeks, months and quarters of years, with those between the first and the last."""
    for pattern, spelled, per_year, what in _PERIODS:
        found = [re.fullmatch(pattern, label) for label in labels]
        known = [each.groupdict() for each in found if each is not None]
        signs = {(each["s"], each.get("t")) for each in known}
        if len(known) < len(labels) or len(labels) < 2 or len(signs) > 1:
            continue
        places = [int(each["y"]) * per_year + int(each["p"]) - 1 for each in known]
        if max(places) - min(places) < _MOST_PERIODS:
            every = [divmod(each, per_year) for each in range(min(places), max(places) + 1)]
            said = {key: value for key, value in known[0].items() if key in "st"}
            names = [
                spelled.format(y=year, p=part + 1, **said)
                for year, part in every
                if per_year < 53 or part < 52 or date(year, 12, 28).isocalendar().week == 53
            ]
            return Order(tuple(names), f"{what} of years, without gaps") if set(labels) <= set(names) else None
    return _months_and_years(labels)


def _months_and_years(labels: list[str]) -> Order | None:
    """Jan 2020, Feb 2020, ...: those that were seen, in their order."""
    found = {label: _MONTH_AND_YEAR.fullmatch(label) for label in labels}
    known = {label: (each["m"], int(each["y"])) for label, each in found.items() if each is not None}
    if len(known) < len(labels) or len(labels) < _FEWEST:
        return None
    for line in MONTHS:
        words = _words(line)
        places = {label: _place_in(_plain(month), words) for label, (month, _) in known.items()}
        if None not in places.values():
            in_order = sorted(labels, key=lambda label: (known[label][1], places[label]))
            return Order(tuple(in_order), "months of years")
    return None


def yes_and_no(labels: Iterable[str]) -> tuple[str, str] | None:
    """No and yes as they are written here; the one that was not seen is written like the other."""
    seen = list(labels)
    plain = {label.lower(): label for label in seen}
    if not 1 <= len(seen) <= 2 or len(plain) < len(seen):
        return None
    for pair in map(str.split, PAIRS):
        both = len(seen) == 2 or (len(plain) == 1 and len(next(iter(plain))) > 1)
        if both and plain.keys() <= set(pair):
            no, yes = (plain.get(word) or _alike(word, seen) for word in pair)
            return no, yes
    return None


# Codes

_ICD = re.compile(r"[A-TV-Z]\d[0-9AB](\.?[0-9A-TV-Z]{1,4})?[-+*!]?")
_ICD_PREFIXES = (1, 3)
_FEWEST_CODES = 10


def prefixes(labels: Iterable[str]) -> tuple[int, ...] | None:
    """By how many first characters codes are grouped, if they are written like those of ICD-10."""
    texts = list(labels)
    if len(texts) < _FEWEST_CODES or not all(map(_ICD.fullmatch, texts)):
        return None
    stems = {text[:3] for text in texts}
    deeper = any(len(text) > 3 for text in texts) and len(stems) < len(texts)
    return _ICD_PREFIXES if deeper else _ICD_PREFIXES[:1]


_FEWEST_DIGITS = 4
_REGION = (2,)  # the region of most countries' postal codes


def leading_digits(labels: Iterable[str]) -> tuple[int, ...] | None:
    """By how many first digits codes are grouped: texts of digits, all of one length, that are no numbers."""
    texts = list(labels)
    alike = len({len(text) for text in texts}) == 1 and len(texts[0]) >= _FEWEST_DIGITS
    if not alike or not all(text.isascii() and text.isdecimal() for text in texts):
        return None
    return _REGION if any(text[0] == "0" for text in texts) else None
