"""The plan: one TOML file that says what is public about a table and how it is to be released.

Guarantee    A plan is read without looking at any table. What it declares (bounds, steps, categories, orders,
             k, ε) is taken as public. An entry listed under `unconfirmed` was guessed from the data, and
             no release is made until somebody has confirmed it.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable
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
    ListEntry,
    PrivacyEntry,
    PublicationEntry,
    ReleaseEntry,
    RuleEntry,
    TableEntry,
    _Guessable,
)
from rankveil.declare.lists import expanded, is_pattern, spelled_out
from rankveil.declare.unit import Unit
from rankveil.engines.content import TextReading
from rankveil.engines.source import MOST_COLUMNS
from rankveil.errors import PlanError

_LARGEST_PLAN = 8 << 20
Amount = Decimal | float | str  # of ε or δ, as people write them
TABLE_PART, PRIVACY_PART = "[table]", "[privacy]"  # how guesses of these parts are listed beside those about columns


class Plan(Entry):
    """What is public about a table, and how it is to be released: what a plan file says (docs/reference/plan.md).

    Made in code from the sections of that file, or drafted from a table (`draft`), or read from a file (`Plan.load`).
    A plan is checked when it is made, and never changes: `with_` and `confirm` give another one.

        >>> plan = rv.Plan(
        ...     release={"epsilon": 1},
        ...     columns={
        ...         "age": {"kind": "integer", "lower": 0, "upper": 120},
        ...         "sex": {"kind": "category", "categories": ["f", "m"]},
        ...     },
        ... )
        >>> plan
        Plan of 2 columns for synthetic with ε = 1
        >>> rv.Plan(release={"epsilon": 0}, columns={"age": {"kind": "integer", "lower": 0}})
        Traceback (most recent call last):
            ...
        rankveil.errors.PlanError: The plan has 2 mistakes:
          release.epsilon: must be greater than or equal to 1E-9
          columns.age: upper is missing
        No file was written and no budget was spent.
        Every entry is described in docs/reference/plan.md.
    """

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
    exact: bool = Field(
        False, description="Entries are about columns of their very names: * in one is a character like any other."
    )
    lists: dict[str, ListEntry] = Field({}, description="Labels that several columns share.")
    columns: Annotated[dict[str, ColumnEntry], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, content: Any) -> Any:
        if not isinstance(content, dict) or not isinstance(content.get("columns"), dict):
            return content
        lists = content.get("lists", {})
        return {**content, "columns": spelled_out(content["columns"], lists if isinstance(lists, dict) else {})}

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
    _text: str | None = PrivateAttr(default=None)  # of a draft, with its comments

    def __init__(self, /, **content: Any) -> None:
        self._filled(content, "The plan")
        self._folder = Path()

    def _filled(self, content: Any, called: str) -> None:
        """Checked by pydantic, refused in our words."""
        try:
            self.__pydantic_validator__.validate_python(content, self_instance=self)
        except ValidationError as error:
            raise PlanError(
                f"{called} has {_counted(error.error_count(), 'mistake')}:\n" + "\n".join(_explained(error)),
                remedy="Every entry is described in docs/reference/plan.md.",
            ) from None
        if len(self.columns) > MOST_COLUMNS:
            raise PlanError(
                f"{called} declares {len(self.columns)} columns; at most {MOST_COLUMNS} are supported.",
                remedy="Release fewer columns: every further column thins the budget of all others.",
            )

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read and check a plan file.

        >>> rv.Plan.load("plan.toml").release.epsilon
        Decimal('1')
        """
        path = Path(path)
        try:
            if path.stat().st_size > _LARGEST_PLAN:
                raise PlanError(
                    f"Plan {path.name} is larger than {_LARGEST_PLAN >> 20} MiB.",
                    remedy="Check that this is a plan and not a table.",
                )
            text = path.read_bytes().decode("utf-8-sig")
        except OSError as error:
            raise PlanError(
                f"Plan {path.name} cannot be read: {error.strerror}.",
                remedy="Draft one with: rankveil init TABLE",
            ) from None
        except UnicodeDecodeError:
            raise PlanError(f"Plan {path.name} is not UTF-8 text.", remedy="Save it as UTF-8.") from None
        return cls.parse(text, name=path.name, folder=path.parent)

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
        plan = cls.__new__(cls)
        plan._filled(content, f"Plan {name}")
        plan._folder = Path(folder)
        return plan

    def with_(self, **settings: Any) -> Plan:
        """The same plan with other settings of its release; None takes one back.

        `method`, `epsilon`, `delta`, `k`, `population`, `expected_rows`: what `[release]` of a plan file says.

            >>> plan.with_(epsilon=0.5, delta=1e-9)
            Plan of 3 columns for synthetic with ε = 0.5, δ = 1E-9
        """
        content = self.model_dump()
        content["release"] = {
            name: value for name, value in (content["release"] | settings).items() if value is not None
        }
        return self._changed(content)

    def over(self, names: Iterable[str]) -> Plan:
        """The same plan for a table with these columns: patterns are replaced by the columns that fit them.

        >>> asked = rv.Plan(release={"epsilon": 1}, columns={"drug_*": {"kind": "boolean"}})
        >>> list(asked.over(["drug_a", "drug_b"]).columns)
        ['drug_a', 'drug_b']
        """
        names = list(names)
        if self.exact or not any(map(is_pattern, (*self.columns, *names))):
            return self
        entries = {name: entry.model_dump(exclude_unset=True) for name, entry in self.columns.items()}
        return self._changed({**self.model_dump(), "exact": True, "columns": expanded(entries, names)})

    @property
    def has_patterns(self) -> bool:
        """Whether an entry is about columns whose names are known only beside a table."""
        return not self.exact and any(map(is_pattern, self.columns))

    def _changed(self, content: dict[str, Any]) -> Plan:
        return Plan.from_dict(content, folder=self.folder)

    def confirm(self, *names: str, **said: Any) -> Plan:
        """The same plan with guesses confirmed: all of them, or those about some columns.

        A draft guesses from the data, and no release is made of guesses (`guesses` lists them). Whoever confirms one
        says that it is publicly known, and not only seen in this table. What is known better is said for one column,
        in the entries of the plan file.

            >>> drafted = rv.draft(people)
            >>> drafted = drafted.confirm("age", lower=0, upper=120)
            >>> drafted.confirm("sex", kind="category", categories=["f", "m", "x"])
            Plan of 3 columns for synthetic with ε = 1; ... guesses to confirm
            >>> drafted.confirm().guesses
            {}
        """
        content = self.model_dump()
        parts: dict[str, dict[str, Any]] = {
            TABLE_PART: content["table"],
            PRIVACY_PART: content["privacy"],
            **content["columns"],
        }
        unknown = [name for name in names if name not in parts]
        if unknown or (said and (len(names) != 1 or names[0] not in content["columns"])):
            raise PlanError(
                f"The plan has no column {unknown[0]!r}." if unknown else "Entries are said of one column at a time.",
                remedy=f"Its columns are {', '.join(self.columns)}."
                if unknown
                else 'Name it: plan.confirm("age", lower=0, upper=120).',
            )
        if said:
            entry = content["columns"][names[0]]
            kept = entry if said.get("kind", entry["kind"]) == entry["kind"] else {"null": entry["null"]}
            content["columns"][names[0]] = parts[names[0]] = {**kept, **said}
        for name in names or parts:
            parts[name]["unconfirmed"] = ()
        return Plan.from_dict(content, folder=self.folder)

    def save(self, path: str | Path, *, overwrite: bool = False) -> None:
        """Write the plan as a file that `Plan.load` and the command line read; whole or not at all.

        Defaults and comments are left out. Files that the plan names (taxonomies) are found from its new place.

            >>> plan.save("quarterly.toml")
            >>> rv.Plan.load("quarterly.toml").sha256() == plan.sha256()
            True
        """
        from rankveil.declare.plan_file import save_plan

        save_plan(self, Path(path), overwrite=overwrite)

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
    def guesses(self) -> dict[str, tuple[str, ...]]:
        """Entries nobody has confirmed, by column; those about the file as `[table]`, about persons as `[privacy]`."""
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
        unsaid |= {"lists", "exact"}  # columns say their labels, and their names
        unsaid |= {"privacy"} if self.privacy == PrivacyEntry() else set()
        said = self.model_dump(exclude=unsaid)
        if not self.unit.rows_public:
            # PRIVACY: certificates show the fingerprint, and whoever knows the rest of the plan tries all numbers.
            del said["release"]["expected_rows"]
        if "publication" in said:
            said["publication"] = self.publication.model_dump(exclude_none=True)
        for column in said["columns"].values():
            for name in ("derived", "special", "label", "value_labels", "source", "prefixes", "missing"):
                if not column.get(name):
                    column.pop(name, None)
        content = json.dumps(said, default=_canonical, ensure_ascii=False)
        return hashlib.sha256(content.encode()).hexdigest()

    def __repr__(self) -> str:
        settings = self.release
        budget = f"ε = {settings.epsilon}" + ("" if settings.delta is None else f", δ = {settings.delta}")
        said = f"Plan of {_counted(len(self.columns), 'column')} for {settings.method} with {budget}"
        waiting = sum(map(len, self.guesses.values()))
        return said + (f"; {_counted(waiting, 'guess')} to confirm" if waiting else "")

    def __str__(self) -> str:
        """The text of its file."""
        from rankveil.declare.plan_file import plan_toml

        return self._text or plan_toml(self)

    def _repr_html_(self) -> str:
        from rankveil.declare.shown import plan_fragment

        return plan_fragment(self)


def planned(plan: Plan | str | Path, **instead: Any) -> Plan:
    """A plan, or the one in a file, with settings of its release replaced by those that are given."""
    found = plan if isinstance(plan, Plan) else Plan.load(plan)
    given = {name: value for name, value in instead.items() if value is not None}
    return found.with_(**given) if given else found


def _canonical(value: object) -> str:
    """Numbers by their value, not by their spelling; dates in ISO form."""
    return str(Fraction(value)) if isinstance(value, Decimal) else str(value)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "es" if noun[-1] == "s" else "s")


_DAY, _ENTRIES = "must be a day such as 2031-12-31", "must hold entries: name = value"
_IN_OUR_WORDS = {
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("decimal_type", "decimal_parsing"), "must be a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("date_type", "date_parsing", "date_from_datetime_parsing", "date_from_datetime_inexact"), _DAY),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), _ENTRIES),
    "tuple_type": "must be a list",
    "string_type": "must be a text",
    "string_pattern_mismatch": "must be a single character that can separate fields",
}
_THEIRS = re.compile(r"^(?:[A-Z][a-z]*|Datetimes provided to dates|\w+ input) should ")


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
            **_IN_OUR_WORDS,
        }.get(
            finding["type"],
            _THEIRS.sub("must ", finding["msg"].removeprefix("Value error, ")).replace(" after validation", ""),
        )
        lines.append(f"  {'.'.join(place) or 'plan'}: {message}")
    return lines
