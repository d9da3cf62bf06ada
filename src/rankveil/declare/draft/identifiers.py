"""Columns of a draft that look like identifiers: of rows, or of persons and households with several rows.

Guarantee    None, like the draft itself: what is found here is a guess that somebody has to confirm or to strike out.
Looked for   Many different values that are labels or whole numbers, and either a telling name, or values that are
             written like ids: letters and digits together; or, where hardly any repeats, all of one length or one after
             the other.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

_MOST_COUNTED = 1 << 18  # different values; of more the first ones are counted
_FEWEST = 30  # different values of an identifier
_HARDLY_REPEATED = 0.95  # different values, of all rows
_MANY = 0.1  # different values, of all rows
_MOST_ROWS = 20  # of a person, that are proposed
_KEPT = 0.9  # of the rows, by the proposal
_LONG, _LONGEST = 6, 30  # digits of a number that may be one of a file
_LONGEST_AMOUNT = 8
_ROUND = 0.3  # of amounts end in 0, where a tenth of all numbers do
_UNEVEN = 0.05  # how far from evenly spread amounts are at least
_PEOPLE = "person|patient|household|hh|family|member|client|customer|user|subject|participant|case|employee|student"
_KINDS_OF_PEOPLE = "personal|patienten|kunden|versicherten|mitglieds|haushalts|teilnehmer|probanden|fall|matrikel"
_NAME = re.compile(
    rf"(^|[^a-z])(u?id|uuid|guid|pid|ssn)$|^id[^a-z]|^({_PEOPLE})s?$|({_PEOPLE})[^a-z]?(id|nr|no|num|number|key|code)$"
    rf"|({_KINDS_OF_PEOPLE})[^a-z]?(id|nr|nummer|kennung|schlüssel)$|(^|[^a-z])lfd[^a-z]|laufende[^a-z]?(nr|nummer)"
)


@dataclass
class Values:
    """How often each value of a column occurs."""

    counts: Counter[str] = field(default_factory=Counter)
    rows: int = 0

    def add(self, texts: pa.Array) -> None:
        for each in pc.value_counts(texts.drop_null()).to_pylist():
            if each["values"] in self.counts or len(self.counts) < _MOST_COUNTED:
                self.counts[each["values"]] += each["counts"]
                self.rows += each["counts"]


@dataclass(frozen=True)
class Identifier:
    """A column that looks like one."""

    name: str
    different: int
    repeated: bool
    rows_per_person: int

    @classmethod
    def of(cls, name: str, found: Values) -> Identifier | None:
        """None where it does not look like one. `found` are labels or whole numbers."""
        different = len(found.counts)
        if _years(name, found.counts):
            return None
        unique = different >= _HARDLY_REPEATED * found.rows
        like_ids = (unique and _like_files(found.counts)) or (different >= _MANY * found.rows and _coded(found.counts))
        if different < _FEWEST or not (_NAME.search(_words(name)) or like_ids):
            return None
        return cls(name, different, not unique, _enough(found))

    @classmethod
    def said(cls, name: str, found: Values) -> Identifier:
        """A column of which a codebook says that it tells whose a row is."""
        return cls(name, len(found.counts), True, _enough(found))

    def why(self) -> str:
        rows = "several rows each" if self.repeated else "hardly any of them twice"
        return f"{self.different:,} different values, {rows}: looks like an identifier of persons or households"


def _words(name: str) -> str:
    """patientId and PatientID as patient_id."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _like_files(counts: Mapping[str, int]) -> bool:
    lengths = {len(text) for text in counts}
    if max(lengths) > _LONGEST or not all(text.isdecimal() for text in counts):
        return len(lengths) == 1 and not any(" " in text for text in counts)
    numbers = sorted(int(text) for text in counts)
    long = len(lengths) == 1 and min(lengths) >= _LONG and not _amounts(numbers)
    return long or numbers[-1] - numbers[0] < 1.5 * len(numbers)


def _amounts(numbers: Sequence[int]) -> bool:
    """Prices and incomes of six to eight digits: rounded, or heaped in a part of their range, which numbers of files
    are not. `numbers` in their order."""
    if sum(number % 10 == 0 for number in numbers) >= _ROUND * len(numbers):
        return True
    if numbers[-1] >= 10**_LONGEST_AMOUNT:
        return False
    width, count = max(numbers[-1] - numbers[0], 1), len(numbers)
    apart = max(abs((number - numbers[0]) / width - place / count) for place, number in enumerate(numbers))
    return bool(apart > _UNEVEN + 1.6 / count**0.5)  # 1.6: what chance alone exceeds in one of a hundred even columns


def _years(name: str, counts: Mapping[str, int]) -> bool:
    telling = re.search(r"year|jahr|ann[eé]e|año|yr", name.lower()) is not None
    return telling and all(re.fullmatch(r"(1[89]|20|21)\d\d", text) for text in counts)


def _coded(counts: Mapping[str, int]) -> bool:
    """Letters and digits together, as in p0017: neither names nor numbers."""
    return all(text.isalnum() and not text.isalpha() and not text.isdecimal() for text in counts)


def _enough(found: Values) -> int:
    """The fewest rows per person that keep nine in ten rows."""
    sizes = Counter(found.counts.values())
    for rows in range(1, _MOST_ROWS):
        if sum(min(size, rows) * persons for size, persons in sizes.items()) >= _KEPT * found.rows:
            return rows
    return _MOST_ROWS


def persons_of(found: list[Identifier]) -> tuple[dict[str, str | int], list[str]]:
    """What a draft proposes and asks about persons with several rows; nothing where nobody seems to have several."""
    repeated = sorted((each for each in found if each.repeated), key=lambda each: -each.different)
    if not repeated:
        return {}, []
    first, *others = repeated
    asked = [
        f"{first.name}: {first.why()}.",
        "If it is, all rows of one are protected together by the two lines below, and surplus rows are left out:",
        "choose rows_per_person by what the table is for. If not, or if rows are to be protected one by one, delete",
        "this part.",
    ]
    if others:
        asked.append(f"Also like this: {', '.join(each.name for each in others)}. The unit is one of them.")
    return {"person": first.name, "rows_per_person": first.rows_per_person}, asked
