"""The reference is complete, its examples hold, and its generated parts are what the code says today."""

from __future__ import annotations

import json
import re
import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import click
import jsonschema
import pytest
from pydantic import BaseModel

import rankveil as rv
from docs import generate
from rankveil import certificate, errors
from rankveil.cli.run import root
from rankveil.declare import Plan, plan
from rankveil.declare.domain import DEFAULT_NULL_TOKENS
from rankveil.taxonomy import read_taxonomy

DOCS = Path(generate.__file__).parent
REFERENCE = DOCS / "reference"
KINDS = get_args(get_args(plan.ColumnEntry)[0])


def page(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["cli.md", "certificate.schema.json", "python.md"])
def test_generated_page_is_what_the_code_says_today(name: str) -> None:
    assert page(name) == generate.contents()[REFERENCE / name], "run: python -m docs.generate"


def test_every_command_has_its_help_page() -> None:
    names = root.list_commands(click.Context(root))
    assert names
    for name in names:
        assert f"\n## rankveil {name}\n" in page("cli.md")


def section(text: str, heading: str) -> str:
    """From a heading to the next one of the same or a higher level."""
    level = len(heading) - len(heading.lstrip("#"))
    start = text.index(f"\n{heading}\n") + len(heading) + 2
    following = re.search(rf"^#{{1,{level}}} ", text[start:], flags=re.MULTILINE)
    return text[start : start + following.start()] if following else text[start:]


@pytest.mark.parametrize("model", KINDS, ids=lambda model: model.__name__)
def test_every_key_of_a_column_is_described_under_its_kind_or_as_common(model: type[BaseModel]) -> None:
    (kind,) = get_args(model.model_fields["kind"].annotation)
    columns = section(page("plan.md"), "## `[columns.NAME]`")
    common = columns[: columns.index("\n### ")]
    described = common + section(page("plan.md"), f'### `kind = "{kind}"`')
    rows = "\n".join(line.split("|")[1] for line in described.splitlines() if line.startswith("| `"))
    for key in model.model_fields:
        assert f"`{key}`" in rows, f"{kind}: {key}"


@pytest.mark.parametrize(
    ("heading", "model"),
    [
        ("## `[release]`", plan.ReleaseEntry),
        ("## `[table]`", plan.TableEntry),
        ("## `[publication]`", plan.PublicationEntry),
        ("## `[[rule]]`", plan.RuleEntry),
        ("## `[[interest]]`", plan.InterestEntry),
    ],
)
def test_every_key_of_a_section_is_described_with_its_default(heading: str, model: type[BaseModel]) -> None:
    rows = {
        line.split("`")[1]: line for line in section(page("plan.md"), heading).splitlines() if line.startswith("| `")
    }
    assert set(rows) == set(model.model_fields)
    for key, field in model.model_fields.items():
        if isinstance(field.default, str):
            assert f'`"{field.default}"` |' in rows[key]


def test_the_plans_sections_are_those_described() -> None:
    entries = {"release", "publication", "table", "privacy", "impossible", "rule", "interest", "columns"}
    assert set(Plan.model_fields) == entries | {"lists", "exact"}


def test_the_default_texts_for_missing_are_listed() -> None:
    assert json.dumps(DEFAULT_NULL_TOKENS) in page("plan.md")


@pytest.mark.parametrize("block", blocks((REFERENCE / "plan.md").read_text(encoding="utf-8"), "toml"))
def test_every_toml_example_is_part_of_a_valid_plan(block: str) -> None:
    content: dict[str, Any] = tomllib.loads(block, parse_float=Decimal)
    content.setdefault("release", {"epsilon": 1})
    content.setdefault("columns", {"any": {"kind": "boolean"}})
    assert Plan.from_dict(content)


def test_every_taxonomy_example_can_be_read(tmp_path: Path) -> None:
    nodes, labels, hierarchy = blocks(page("plan.md"), "csv")
    for name, text in (("nodes.csv", nodes), ("labels.csv", labels), ("hierarchy.csv", hierarchy)):
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert set(read_taxonomy(tmp_path / "nodes.csv").labels) == {"Lemon", "Orange", "Apple"}
    assert set(read_taxonomy(tmp_path / "hierarchy.csv").labels) == {"Lemon", "Orange", "Apple"}
    mapped = read_taxonomy(tmp_path / "nodes.csv", label_file=tmp_path / "labels.csv")
    assert mapped.labels == ("LEM", "ORA")


def test_every_error_is_listed_with_its_exit_code() -> None:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    for kind in found:
        if kind is not errors.RankveilError:
            assert f"| `{kind.__name__}` | {kind.exit_code} |" in page("exit-codes.md")


def test_every_field_of_the_certificate_is_explained() -> None:
    text = page("certificate.md")
    sections = {"settings": certificate.Settings, "plan": certificate.PlanNote, "release": certificate.ReleaseNote}
    for name in certificate.Certificate.model_fields:
        assert f"`{name}`" in text or name in sections
    for name, model in sections.items():
        for field in model.model_fields:
            assert f"`{name}.{field}`" in text
    for heading, model in (
        ("## What was spent: `shares`", certificate.Share),
        ("## What was declared: `columns`", certificate.ColumnNote),
    ):
        for field in model.model_fields:
            assert f"`{field}`" in section(text, heading)


@pytest.mark.parametrize("method", ["laplace", "published:individual-ranking"])
def test_a_certificate_on_disk_follows_the_schema(method: str, tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    people.write_text("age,job\n20,a\n30,b\n40,\n50,a\n", encoding="utf-8")
    wanted = Plan.parse(
        f"""
        release = {{ method = "{method}", epsilon = 0.3, k = 2 }}
        [columns]
        age = {{ kind = "integer", lower = 0, upper = 120 }}
        job = {{ kind = "category", categories = ["a", "b"], null = true }}
        """
    )
    rv.release(people, wanted, out=tmp_path / "out", accept_no_guarantee=True)
    written = json.loads((tmp_path / "out" / "certificate.json").read_text(encoding="utf-8"))
    schema = json.loads(page("certificate.schema.json"))
    validator = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    validator.check_schema(schema)
    validator.validate(written)
    # ... and the schema is not so loose that anything follows it.
    assert not validator.is_valid({**written, "epsilon": 1.0})
    assert not validator.is_valid({key: value for key, value in written.items() if key != "statement"})


def test_links_between_reference_pages_lead_somewhere() -> None:
    for path in REFERENCE.glob("*.md"):
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", path.read_text(encoding="utf-8")):
            aim = (path.parent / target) if target else path
            assert aim.exists(), f"{path.name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.*)$", aim.read_text(encoding="utf-8"), flags=re.MULTILINE)
                slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
                assert anchor in slugs, f"{path.name}: #{anchor}"
