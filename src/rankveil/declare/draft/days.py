"""How a column of texts spells days, as far as that can be told.

Guarantee    None, as for all of a draft. A format is proposed only if every text fits it and no text decides between
             day and month the other way round: what may be read in two ways is not guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import date, datetime

from rankveil.declare.reading import MOMENT

_D, _M, _Y = r"\d{1,2}", r"\d{1,2}", r"\d{4}"
_WORD = r"[A-Za-z]{3,9}"
_DAY_SHAPES = (
    ("%Y-%m-%d", rf"{_Y}-\d\d-\d\d"),
    ("%Y/%m/%d", rf"{_Y}/{_M}/{_D}"),
    ("%Y.%m.%d", rf"{_Y}\.\d\d\.\d\d"),
    ("%Y%m%d", r"(?:18|19|20|21)\d{6}"),
    ("%d.%m.%Y", rf"{_D}\.{_M}\.{_Y}"),
    ("%d/%m/%Y", rf"{_D}/{_M}/{_Y}"),
    ("%m/%d/%Y", rf"{_M}/{_D}/{_Y}"),
    ("%d-%m-%Y", rf"{_D}-{_M}-{_Y}"),
    ("%m-%d-%Y", rf"{_M}-{_D}-{_Y}"),
    ("%d.%m.%y", r"\d\d\.\d\d\.\d\d"),
    ("%d/%m/%y", rf"{_D}/{_M}/\d\d"),
    ("%m/%d/%y", rf"{_M}/{_D}/\d\d"),
    ("%d %b %Y", rf"{_D} [A-Za-z]{{3}} {_Y}"),
    ("%d %B %Y", rf"{_D} {_WORD} {_Y}"),
    ("%d %b %y", rf"{_D} [A-Za-z]{{3}} \d\d"),
    ("%d-%b-%Y", rf"{_D}-[A-Za-z]{{3}}-{_Y}"),
    ("%d-%b-%y", rf"{_D}-[A-Za-z]{{3}}-\d\d"),
    ("%d%b%Y", rf"{_D}[A-Za-z]{{3}}{_Y}"),
    ("%b %d, %Y", rf"[A-Za-z]{{3}} {_D}, {_Y}"),
    ("%B %d, %Y", rf"{_WORD} {_D}, {_Y}"),
)
_TIMES = (
    ("", ""),
    (" %H:%M:%S", r" \d\d:\d\d:\d\d"),
    (" %H:%M", r" \d{1,2}:\d\d"),
    (" %I:%M:%S %p", r" \d{1,2}:\d\d:\d\d [AaPp][Mm]"),
    (" %I:%M %p", r" \d{1,2}:\d\d [AaPp][Mm]"),
)
_ISO_TIMES = (("T%H:%M:%S", r"T\d\d:\d\d:\d\d"), ("T%H:%M:%SZ", r"T\d\d:\d\d:\d\dZ"), ("T%H:%M", r"T\d\d:\d\d"))
_SHAPES = {
    day + time: re.compile(spelled + shape)
    for day, spelled in _DAY_SHAPES
    for time, shape in (*_TIMES, *(_ISO_TIMES if day == "%Y-%m-%d" else ()))
}
# Two formats that say the same of a text but for the order of day and month.
_TURNED = (("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"), ("%d/%m/%y", "%m/%d/%y"))
_ISO = "%Y-%m-%d"


@dataclass
class Days:
    """Formats that all texts so far fit, with the first and last day by each."""

    possible: dict[str, tuple[date, date] | None] = field(default_factory=lambda: dict.fromkeys(_SHAPES))
    moments: tuple[date, date] | None = (date.max, date.min)  # first and last day, if all texts are ISO 8601 moments
    several: bool = True  # every text is a day, though in different forms

    def add(self, text: str) -> None:
        if not self.possible and self.moments is None and not self.several:
            return
        self._add_moment(text)
        self.several = self.several and (self.moments is not None or any(_day(text, spelled) for spelled in _SHAPES))
        kept: dict[str, tuple[date, date] | None] = {}
        for spelled, ends in self.possible.items():
            day = _day(text, spelled)
            if day is not None:
                kept[spelled] = (day, day) if ends is None else (min(ends[0], day), max(ends[1], day))
        self.possible = kept

    def _add_moment(self, text: str) -> None:
        if self.moments is None:
            return
        try:
            day = date.fromisoformat(text[:10]) if MOMENT.fullmatch(text) else None
        except ValueError:
            day = None
        self.moments = None if day is None else (min(self.moments[0], day), max(self.moments[1], day))

    @property
    def ambiguous(self) -> tuple[str, str] | None:
        """Two formats that read the same texts as different days."""
        for first, second in _TURNED:
            for time, _ in _TIMES:
                if self.possible.get(first + time) and self.possible.get(second + time):
                    return first + time, second + time
        return None

    @property
    def format(self) -> str | None:
        """The format of all texts; None where there is none, or two. Of ISO 8601 moments a plan reads the day."""
        found = next((spelled for spelled, ends in self.possible.items() if ends is not None), None)
        return found or (_ISO if self._all_moments else None)

    @property
    def _all_moments(self) -> bool:
        return self.moments is not None and self.moments[0] <= self.moments[1]

    @property
    def ends(self) -> tuple[date, date]:
        ends = self.possible.get(self.format or "") or self.moments
        assert ends is not None  # noqa: S101 - asked for after `format`
        return ends

    @property
    def time_of_day(self) -> bool:
        return self._all_moments or any(hour in (self.format or "") for hour in ("%H", "%I"))


def _day(text: str, spelled: str) -> date | None:
    if _SHAPES[spelled].fullmatch(text) is None:
        return None
    try:
        return datetime.strptime(text, spelled).date()
    except ValueError:
        return None
