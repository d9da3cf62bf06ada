"""The plan: one TOML file that says what is public about a table and how it is to be released.

Guarantee    A plan is read without looking at any table. What it declares (bounds, steps, categories, orders,
             k, ε) is taken as public. An entry listed under `unconfirmed` was guessed from the data, and
             no release is made until somebody has confirmed it.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, PrivateAttr, ValidationError, field_validator, model_validator

from rankveil.declare.entries import (
    BooleanColumn,
    ColumnEntry,
    DateColumn,
    DropColumn,
    Entry,
    InterestEntry,
    PrivacyEntry,
    PublicationEntry,
    ReleaseEntry,
    RuleEntry,
    TableEntry,
    _Guessable,
)
from rankveil.declare.unit import Unit
from rankveil.engines.content import TextReading
from rankveil.engines.source import MOST_COLUMNS
from rankveil.errors import PlanError

_LARGEST_PLAN = 8 << 20
TABLE_PART, PRIVACY_PART = "[table]", "[privacy]"  # how guesses of these parts are listed beside those about columns


class Plan(Entry):
    release: ReleaseEntry
    publication: PublicationEntry = PublicationEntry()
    table: TableEntry = TableEntry()
    privacy: PrivacyEntry = PrivacyEntry()
    impossible: tuple[dict[str, tuple[str, ...]], ...] = Field(
        (), description="Combinations of labels that cannot occur: column -> label or labels (method synthetic)."
    )
    rule: tuple[RuleEntry, ...] = Field((), description="What every row obeys (method synthetic).")
    interest: tuple[InterestEntry, ...] = Field(
        (), description="What matters most in the release: a target, or sets of columns (method synthetic)."
    )
    columns: Annotated[dict[str, ColumnEntry], Field(min_length=1)]

    @model_validator(mode="after")
    def _one_weight(self) -> Self:
        weights = [entry for entry in self.columns.values() if entry.role == "weight"]
        if len(weights) > 1 or any(entry.kind not in ("integer", "number") for entry in weights):
            raise ValueError('role = "weight" is for one column of numbers')
        return self

    @field_validator("impossible", mode="before")
    @classmethod
    def _lists_of_labels(cls, value: Any) -> Any:
        if not isinstance(value, list | tuple):
            return value
        return tuple(
            {name: (item,) if isinstance(item, str) else item for name, item in entry.items()}
            if isinstance(entry, dict)
            else entry
            for entry in value
        )

    _folder: Path = PrivateAttr(default=Path())
    _file_sha256: str | None = PrivateAttr(default=None)

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read and check a plan file."""
        path = Path(path)
        try:
            if path.stat().st_size > _LARGEST_PLAN:
                raise PlanError(
                    f"Plan {path.name} is larger than {_LARGEST_PLAN >> 20} MiB.",
                    remedy="Check that this is a plan and not a table.",
                )
            content = path.read_bytes()
            text = content.decode("utf-8-sig")
        except OSError as error:
            raise PlanError(
                f"Plan {path.name} cannot be read: {error.strerror}.",
                remedy="Draft one with: rankveil init TABLE",
            ) from None
        except UnicodeDecodeError:
            raise PlanError(f"Plan {path.name} is not UTF-8 text.", remedy="Save it as UTF-8.") from None
        plan = cls.parse(text, name=path.name, folder=path.parent)
        plan._file_sha256 = hashlib.sha256(content).hexdigest()
        return plan

    @classmethod
    def parse(cls, text: str, *, name: str = "plan", folder: str | Path = ".") -> Plan:
        """Check a plan given as TOML text."""
        try:
            content = tomllib.loads(text, parse_float=Decimal)
        except (ValueError, RecursionError, ArithmeticError) as error:  # TOMLDecodeError is a ValueError
            raise PlanError(
                f"Plan {name} is not valid TOML: {error}.", remedy="Correct the line named above."
            ) from None
        return cls.from_dict(content, name=name, folder=folder)

    @classmethod
    def from_dict(cls, content: dict[str, Any], *, name: str = "plan", folder: str | Path = ".") -> Plan:
        """Check a plan given as nested dictionaries, as TOML would give them."""
        try:
            plan = cls.model_validate(content)
        except ValidationError as error:
            raise PlanError(
                f"Plan {name} has {_counted(error.error_count(), 'mistake')}:\n" + "\n".join(_explained(error)),
                remedy="Every entry is described in docs/reference/plan.md.",
            ) from None
        if len(plan.columns) > MOST_COLUMNS:
            raise PlanError(
                f"Plan {name} declares {len(plan.columns)} columns; at most {MOST_COLUMNS} are supported.",
                remedy="Release fewer columns: every further column thins the budget of all others.",
            )
        plan._folder = Path(folder)
        return plan

    def with_release(self, **changes: Any) -> Plan:
        """The same plan with other release settings (`method`, `epsilon`, `k`); None leaves a setting alone."""
        wanted = {key: value for key, value in changes.items() if value is not None}
        content = self.model_dump()
        content["release"] |= wanted
        plan = Plan.from_dict(content, folder=self.folder)
        plan._file_sha256 = self.file_sha256
        return plan

    @model_validator(mode="after")
    def _person_is_left_out(self) -> Self:
        person = self.privacy.person
        if person is not None and not isinstance(self.columns.get(person), DropColumn):
            there = "is to be released" if person in self.columns else "is not among its columns"
            raise ValueError(f'privacy.person names {person!r}, which {there}: declare that column with kind = "drop"')
        return self

    @property
    def unit(self) -> Unit:
        """Who is protected."""
        return self.privacy.unit

    @property
    def folder(self) -> Path:
        """Where the plan's relative paths start."""
        return self._folder

    @property
    def file_sha256(self) -> str | None:
        """SHA-256 of the file the plan was read from, if any."""
        return self._file_sha256

    @property
    def guesses(self) -> dict[str, tuple[str, ...]]:
        """Column name, TABLE_PART or PRIVACY_PART -> entries nobody has confirmed."""
        parts: list[tuple[str, _Guessable]] = [(TABLE_PART, self.table), (PRIVACY_PART, self.privacy)]
        # A column of that very name is hidden behind the part until the part is confirmed, and then refused itself.
        return {name: part.unconfirmed for name, part in [*self.columns.items(), *parts] if part.unconfirmed}

    @property
    def text_reading(self) -> TextReading:
        """What the plan says about reading values: what they are, and which are left out."""
        columns = self.columns.items()
        formats = tuple((name, entry.format) for name, entry in columns if isinstance(entry, DateColumn))
        truths = tuple(name for name, entry in columns if isinstance(entry, BooleanColumn))
        dropped = tuple(name for name, entry in columns if isinstance(entry, DropColumn))
        return TextReading(self.table.marks, self.table.null_values or (), formats, truths, dropped)

    def sha256(self) -> str:
        """Fingerprint of what the plan means: the same for two spellings of the same plan."""
        unsaid = {"publication"} if self.publication == PublicationEntry() else set()
        # Plans that do not use an entry keep their fingerprint.
        unsaid |= {name for name in ("interest", "rule") if not getattr(self, name)}
        unsaid |= {"privacy"} if self.privacy == PrivacyEntry() else set()
        said = self.model_dump(exclude=unsaid)
        if "publication" in said:
            said["publication"] = self.publication.model_dump(exclude_none=True)
        for column in said["columns"].values():
            for name in ("derived", "special"):
                if not column.get(name):
                    column.pop(name, None)
        content = json.dumps(said, default=_canonical, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def _repr_html_(self) -> str:
        from rankveil.declare.shown import plan_fragment

        return plan_fragment(self)


def _canonical(value: object) -> str:
    """Numbers by their value, not by their spelling; dates in ISO form."""
    return str(Fraction(value)) if isinstance(value, Decimal) else str(value)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _explained(error: ValidationError) -> list[str]:
    """pydantic's findings in the words of the plan file, without the values that were found."""
    lines = []
    kinds = {"integer", "number", "date", "boolean", "ordinal", "category", "drop"}
    for finding in error.errors(include_url=False, include_input=False, include_context=False)[:20]:
        place = [str(part) for part in finding["loc"]]
        if len(place) > 2 and place[0] == "columns" and place[2] in kinds:
            del place[2]  # the union tag pydantic inserts is not something the user wrote
        message = {
            "extra_forbidden": "unknown entry",
            "missing": "is missing",
            "union_tag_not_found": "kind is missing (one of " + ", ".join(sorted(kinds)) + ")",
            "union_tag_invalid": "kind must be one of " + ", ".join(sorted(kinds)),
            "finite_number": "must be a finite number",
        }.get(finding["type"], finding["msg"].removeprefix("Value error, "))
        lines.append(f"  {'.'.join(place) or 'plan'}: {message}")
    return lines
