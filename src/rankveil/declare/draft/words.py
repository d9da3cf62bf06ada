"""Labels whose order, or whose missing partner, everybody knows: bands, months, weekdays, scales, yes and no.

Guarantee    None, as for all of a draft. What is found here is a proposal about the labels that were seen.
Told apart   A list is recognised only as a whole: one label that does not belong, and nothing is proposed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

_FEWEST = 3  # labels, before a list of words is taken for a scale


@dataclass(frozen=True)
class Order:
    """Labels in their order, and what they are."""

    labels: tuple[str, ...]
    what: str


_MONTHS = (
    "january february march april may june july august september october november december",
    "jan feb mar apr may jun jul aug sep oct nov dec",
    "januar februar märz april mai juni juli august september oktober november dezember",
    "jan feb mär apr mai jun jul aug sep okt nov dez",
    "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "ene feb mar abr may jun jul ago sep oct nov dic",
    "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "gen feb mar apr mag giu lug ago set ott nov dic",
    "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "januari februari maart april mei juni juli augustus september oktober november december",
    "styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień",
)
_WEEKDAYS = (
    "monday tuesday wednesday thursday friday saturday sunday",
    "mon tue wed thu fri sat sun",
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "mo di mi do fr sa so",
    "lundi mardi mercredi jeudi vendredi samedi dimanche",
    "lunes martes miércoles jueves viernes sábado domingo",
    "lunedì martedì mercoledì giovedì venerdì sabato domenica",
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
    "poniedziałek wtorek środa czwartek piątek sobota niedziela",
)
# Rungs of scales, lowest first; a rung may have several names.
_SCALES = (
    "never/almost never | rarely/seldom/hardly ever | occasionally | sometimes | often/frequently/regularly"
    " | usually/most of the time/very often | nearly always/almost always | always",
    "never | less than monthly/yearly | monthly | weekly | daily/every day | several times a day",
    "strongly disagree/completely disagree/totally disagree | disagree/mostly disagree"
    " | somewhat disagree/slightly disagree/rather disagree"
    " | neutral/neither/neither agree nor disagree/undecided | somewhat agree/slightly agree/rather agree"
    " | agree/mostly agree | strongly agree/completely agree/totally agree",
    "very dissatisfied | dissatisfied/rather dissatisfied | somewhat dissatisfied | neutral/neither"
    "/neither satisfied nor dissatisfied | somewhat satisfied | satisfied/rather satisfied | very satisfied",
    "very bad | very poor | bad | poor | fair/moderate/so so/acceptable | average/ok | good | very good | excellent",
    "none/no/absent | minimal | slight | mild | moderate | severe/serious | very severe/extreme",
    "very low | low | rather low | medium/moderate/middle/mid/normal/average | rather high | high | very high",
    "not at all | a little/slightly/hardly | somewhat/moderately/a bit | quite a bit/rather/fairly/a lot"
    " | very/very much/extremely/a great deal",
    "not important/unimportant/not at all important | slightly important/not very important"
    " | somewhat important/moderately important | important/fairly important/quite important | very important"
    " | extremely important",
    "very unlikely | unlikely | neutral | likely | very likely",
    "much worse | worse/somewhat worse | same/the same/about the same | better/somewhat better | much better",
    "tiny | small | medium | large/big | huge",
    "xxs | xs | s | m | l | xl | xxl | xxxl",
    "nie | selten | gelegentlich | manchmal | oft/häufig | meistens | immer",
    "stimme überhaupt nicht zu | stimme eher nicht zu/stimme nicht zu | teils teils/weder noch"
    " | stimme eher zu | stimme zu | stimme voll zu/stimme voll und ganz zu",
    "sehr schlecht | schlecht | mittel/mittelmäßig/teils teils | gut | sehr gut",
    "sehr niedrig | niedrig/gering | mittel | hoch | sehr hoch",
    "jamais | rarement | parfois/quelquefois | souvent | toujours",
    "nunca | rara vez/raramente | a veces/algunas veces | a menudo/frecuentemente | siempre",
    "first | second | third | fourth | fifth | sixth | seventh | eighth | ninth | tenth",
    "1st | 2nd | 3rd | 4th | 5th | 6th | 7th | 8th | 9th | 10th | 11th | 12th",
    "freshman | sophomore | junior | senior",
    "primary | lower secondary | secondary/upper secondary | post secondary | tertiary",
    "spring | summer | autumn/fall | winter",
)
_PAIRS = (  # no, yes
    "no yes",
    "n y",
    "nein ja",
    "n j",
    "non oui",
    "n o",
    "no si",
    "no sí",
    "n s",
    "não sim",
    "nao sim",
    "nie tak",
    "nee ja",
    "nej ja",
    "nei ja",
    "ei kyllä",
    "ne ano",
    "nem igen",
    "hayır evet",
    "нет да",
    "否 是",
    "いいえ はい",
    "f t",
    "falsch wahr",
    "faux vrai",
    "falso verdadero",
    "falso vero",
)


def _rungs(scale: str) -> dict[str, int]:
    return {word.strip(): place for place, rung in enumerate(scale.split("|")) for word in rung.split("/")}


_LADDERS = tuple(map(_rungs, _SCALES))


def ordered(labels: Iterable[str]) -> Order | None:
    """The order of these labels, if everybody would put them into the same one."""
    found = sorted(labels)
    return _calendar(found) or _scale(found) or _bands(found) or _numbered(found) or _periods(found)


def _plain(label: str) -> str:
    return re.sub(r"[\s_.\-/]+", " ", label).strip().lower()


def _alike(word: str, seen: Iterable[str]) -> str:
    """A word in the letters that the others are written in."""
    texts = list(seen)
    if all(text.isupper() for text in texts):
        return word.upper()
    return word if any(text[:1].islower() for text in texts) else word[:1].upper() + word[1:]


def _calendar(labels: list[str]) -> Order | None:
    plain = {_plain(label): label for label in labels}
    for what, lists in (("months", _MONTHS), ("days of the week", _WEEKDAYS)):
        for line in lists:
            words = line.split()
            if len(labels) >= _FEWEST and len(plain) == len(labels) and plain.keys() <= set(words):
                dots = "." if all(label.endswith(".") for label in labels) else ""
                spelled = (plain.get(word, _alike(word, labels) + dots) for word in words)
                return Order(tuple(spelled), f"{what}, all {len(words)} of them")
    return None


def _scale(labels: list[str]) -> Order | None:
    plain = {_plain(label): label for label in labels}
    if len(plain) < len(labels) or len(plain) < _FEWEST:
        return None
    for rungs in _LADDERS:
        if plain.keys() <= rungs.keys() and len({rungs[word] for word in plain}) == len(plain):
            in_order = sorted(plain, key=lambda word: rungs[word])
            return Order(tuple(plain[word] for word in in_order), "a scale of words")
    return None


# Bands

_NUMBER = r"[$€£]?\s*(\d{1,3}(?:[,']\d{3})+|\d+)(\.\d+)?\s*([kKmM](?![a-z]))?"
_UNIT = (
    r"\s*(?:%|years?|yrs?|y|jahre?|months?|days?|hours?|h|hrs?|min|kg|cm|km|usd|eur|euros?|dollars?|employees|persons?)?"
    r"\s*"
)
_BETWEEN = re.compile(
    rf"[\[(]?\s*{_NUMBER}{_UNIT}(?:-+|–|—|to|bis|,|until|-<|–<|to under|\.\.)\s*<?\s*{_NUMBER}{_UNIT}[\])]?"
)
_BELOW = re.compile(
    r"(?:<=?|≤|under|below|less than|up to|unter|bis|weniger als|fewer than|at most|moins de|menos de)"
    rf"\s*{_NUMBER}{_UNIT}"
    rf"|{_NUMBER}{_UNIT}(?:or|and)\s*(?:less|under|below|fewer|younger)"
)
_ABOVE = re.compile(
    rf"(?:>=?|≥|over|above|more than|at least|über|mehr als|ab|plus de|más de)\s*{_NUMBER}{_UNIT}"
    rf"|{_NUMBER}{_UNIT}(?:\+|(?:or|and|und|et|y)\s*(?:more|over|above|older|up|mehr|älter|plus|más))"
)
_SINGLE = re.compile(rf"{_NUMBER}{_UNIT}")
_FACTOR = {"k": 1_000, "m": 1_000_000}


def _numbers_of(found: re.Match[str]) -> list[Decimal]:
    parts = found.groups()
    return [
        Decimal(re.sub("[,']", "", whole) + (rest or "")) * _FACTOR.get((factor or "").lower(), 1)
        for whole, rest, factor in zip(parts[0::3], parts[1::3], parts[2::3], strict=True)
        if whole is not None
    ]


def _band(label: str) -> tuple[Decimal, Decimal, bool] | None:
    """Where a band begins and ends, and whether the label is more than a number."""
    text = re.sub(r"\s+", " ", label.strip().lower())
    if (found := _BETWEEN.fullmatch(text)) is not None:
        first, last = _numbers_of(found)
        factor = found.group(6)
        if found.group(3) is None and factor is not None and first < last:  # 10-20k
            first = min(first * _FACTOR[factor.lower()], last)
        return (first, last, True) if first <= last else None
    if (found := _BELOW.fullmatch(text)) is not None:
        return Decimal("-Infinity"), _numbers_of(found)[0], True
    if (found := _ABOVE.fullmatch(text)) is not None:
        return _numbers_of(found)[0], Decimal("Infinity"), True
    if (found := _SINGLE.fullmatch(text)) is not None:
        number = _numbers_of(found)[0]
        return number, number, False
    return None


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


_LEADING = re.compile(r"\(?(\d{1,2})\)?\s*[-–.:=)]\s*[^\d\s].*|\(?(\d{1,2})\)?\s+[^\d\s].*")


def _numbered(labels: list[str]) -> Order | None:
    """1 = very bad, 2 = bad, and so on: the number leads."""
    numbers = {}
    for label in labels:
        found = _LEADING.fullmatch(label)
        if found is None:
            return None
        numbers[label] = int(found.group(1) or found.group(2))
    if len(labels) < _FEWEST or len(set(numbers.values())) < len(labels):
        return None
    return Order(tuple(sorted(labels, key=lambda label: numbers[label])), "labels that begin with their rank")


_MONTH_OF_YEAR = re.compile(r"(\d{4})([-/.])(0[1-9]|1[0-2])")
_QUARTER = re.compile(r"(\d{4})([- /]?[Qq])([1-4])")
_MOST_PERIODS = 200


def _periods(labels: list[str]) -> Order | None:
    """Months and quarters of years, with those between the first and the last."""
    for pattern, per_year, width, what in ((_MONTH_OF_YEAR, 12, 2, "months"), (_QUARTER, 4, 1, "quarters")):
        found = [pattern.fullmatch(label) for label in labels]
        known = [each for each in found if each is not None]
        if len(known) < len(labels) or len(labels) < 2 or len({each.group(2) for each in known}) > 1:
            continue
        places = [int(each.group(1)) * per_year + int(each.group(3)) - 1 for each in known]
        if max(places) - min(places) < _MOST_PERIODS:
            sign = known[0].group(2)
            every = range(min(places), max(places) + 1)
            spelled = (f"{each // per_year:04}{sign}{each % per_year + 1:0{width}}" for each in every)
            return Order(tuple(spelled), f"{what} of years, without gaps")
    return None


def yes_and_no(labels: Iterable[str]) -> tuple[str, str] | None:
    """No and yes as they are written here; the one that was not seen is written like the other."""
    seen = list(labels)
    plain = {label.lower(): label for label in seen}
    if not 1 <= len(seen) <= 2 or len(plain) < len(seen):
        return None
    for pair in map(str.split, _PAIRS):
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
