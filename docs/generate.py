"""Write the parts of the reference that follow from the code: run `python -m docs.generate` after changing either.

docs/reference/cli.md                     the --help page of every command, 100 characters wide
docs/reference/certificate.schema.json    the JSON Schema of certificate.json
docs/reference/python.md                  every public name of the package: signature, docstring, example
docs/decisions/README.md                  every decision with its date and status
docs/privacy/                             the theorems, from the pages in src/rankveil/privacy, with links put in
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import itertools
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import rankveil
from rankveil import privacy
from rankveil.certificate import Certificate
from rankveil.cli.run import root

ROOT = Path(__file__).parent.parent
REFERENCE, PRIVACY = ROOT / "docs" / "reference", ROOT / "docs" / "privacy"
DECISIONS = ROOT / "docs" / "decisions"
WIDTH = 100


def pages() -> Iterator[tuple[str, str]]:
    """Each command's full name and its --help page, groups before their members."""
    yield from _pages(root, "rankveil", None)


def _pages(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    context = click.Context(
        command, info_name=name, parent=parent, **{**command.context_settings, "terminal_width": WIDTH}
    )
    fresh = copy.copy(command)
    fresh._help_option = None  # kept with the names of whoever asked first: without -h, if a test called it alone
    lines = fresh.get_help(context).splitlines()
    yield context.command_path, "\n".join(line.rstrip() for line in lines)
    if isinstance(command, click.Group):
        for member_name in command.list_commands(context):
            member = command.get_command(context, member_name)
            if member is not None and not member.hidden:
                yield from _pages(member, member_name, context)


def cli_page() -> str:
    parts = [
        "# Command line",
        "Written by `python -m docs.generate` from the commands themselves. Exit codes are explained in"
        " [exit-codes.md](exit-codes.md), the plan in [plan.md](plan.md).",
    ]
    parts += [f"## {name}\n\n```text\n{text}\n```" for name, text in pages()]
    return "\n\n".join(parts) + "\n"


def certificate_schema() -> str:
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Certificate.model_json_schema(mode="serialization"),
    }
    schema["description"] = schema["description"].partition("\n")[0]  # without its example in Python
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


# The names of the package in the order of a day's work.
SECTIONS = {
    "From a table to a plan": ("draft", "Plan", "preview", "Preview", "Taxonomy"),
    "From a plan to a release": ("release", "Release", "Certificate", "verify", "Verification", "METHODS"),
    "Models that are kept": ("fit", "Model", "Synthesizer"),
    "What a release is good for": (
        "evaluate",
        "Evaluation",
        "compare",
        "Comparison",
        "estimate",
        "Estimates",
        "Figure",
    ),
    "What was spent, and what holds": ("ledger", "Books", "audit", "AuditResult", "attack", "risk", "Risk"),
    "Errors": ("RankveilError",),
}
_METHODS_SHOWN = {  # of classes; others are for rankveil itself
    "Books": ("accounts", "entries", "account", "cap", "verify"),
    "Comparison": ("best", "plot"),
    "Estimates": ("plot",),
    "Evaluation": ("plot",),
    "Figure": ("svg", "save"),
    "Model": ("sample", "table", "save", "load"),
    "Plan": ("load", "with_", "confirm", "over", "save"),
    "Preview": ("plot",),
    "Synthesizer": ("fit", "sample", "get_params", "set_params"),
}


def examples() -> Iterator[tuple[str, str]]:
    """Every public name and method that has an example, with the docstring that holds it."""
    for name in (name for names in SECTIONS.values() for name in names):
        for shown, each in _documented(name):
            if ">>>" in (each.__doc__ or ""):
                yield shown, inspect.getdoc(each) or ""


def _documented(name: str) -> Iterator[tuple[str, Any]]:
    """A public name, and its methods."""
    yield name, getattr(rankveil, name)
    for method in _METHODS_SHOWN.get(name, ()):
        yield f"{name}.{method}", getattr(getattr(rankveil, name), method)


def python_page() -> str:
    parts = [
        "# Python",
        "Written by `python -m docs.generate` from the code itself; every example is run by the tests. They begin with"
        " `import rankveil as rv` and share `people`, a pandas frame of 500 rows with the columns `age`, `sex` and"
        " `income`; `plan`, its plan; and the files `people.csv` and `plan.toml` with the same content. Columns of"
        " a plan are described in [plan.md](plan.md), certificates in [certificate.md](certificate.md).",
    ]
    for heading, names in SECTIONS.items():
        parts.append(f"## {heading}")
        for name in names:
            parts += [_described(shown, each) for shown, each in _documented(name)]
    return "\n\n".join(parts) + "\n"


def _described(name: str, each: Any) -> str:
    level = "####" if "." in name else "###"
    if not callable(each):  # METHODS
        lines = "\n".join(f"- `{method}`: {about.holds}" for method, about in each.items())
        return f"{level} `{name}`\n\nEvery method by its name; what holds for its table:\n\n{lines}"
    called = _signature(name, each) if "." in name else f"rv.{_signature(name, each)}"
    return f"{level} `{name}`\n\n```python\n{called}\n```\n\n{_as_markdown(inspect.getdoc(each) or '')}"


def _signature(name: str, each: Any) -> str:
    if inspect.isclass(each) and (dataclasses.is_dataclass(each) or issubclass(each, (Certificate, Exception))):
        return name  # made by functions, not by hand
    found = inspect.signature(each)
    kept = [
        parameter.replace(annotation=inspect.Parameter.empty, default=_plain(parameter.default))
        for parameter in found.parameters.values()
        if parameter.name not in ("self", "cls", "source", "clock")  # the last two are for tests
    ]
    words = [str(parameter) for parameter in kept]
    first = next((place for place, each in enumerate(kept) if each.kind is each.KEYWORD_ONLY), None)
    if first is not None and not any(each.kind is each.VAR_POSITIONAL for each in kept):
        words.insert(first, "*")
    line = f"{name}({', '.join(words)})"
    return line if len(line) <= WIDTH else f"{name}(\n" + "".join(f"    {word},\n" for word in words) + ")"


@dataclasses.dataclass(frozen=True)
class _Shown:
    text: str

    def __repr__(self) -> str:
        return self.text


def _plain(default: Any) -> Any:
    """A default as people write it; functions and entries of a plan as dots."""
    if isinstance(default, str):
        return _Shown(json.dumps(default))
    said = default is None or default is inspect.Parameter.empty or isinstance(default, int | float | tuple)
    return default if said else _Shown("...")


def _as_markdown(text: str) -> str:
    """Indented lines of a docstring as blocks of code."""
    blocks: list[str] = []
    first, *rest = text.splitlines()
    if any(line.startswith(">>>") for line in rest):  # nothing but an example follows the first line
        rest = [f"    {line}" for line in rest]
    for indented, lines in itertools.groupby([first, *rest], key=lambda line: line.startswith("    ")):
        content = "\n".join(line[4:] if indented else line for line in lines).strip("\n")
        if content:
            blocks.append(f"```pycon\n{content}\n```" if indented else content)
    return "\n\n".join(blocks)


_IN_CODE = re.compile(r"^ {4}.*$|^## .*$|\[[^]]*\]\([^)]*\)|`[^`]*`", re.MULTILINE)


def privacy_page(page: str) -> str:
    """A page of theorems with links to every theorem and every file that it names."""
    text = privacy.page_text(page)
    parts, last = [], 0
    for kept in _IN_CODE.finditer(text):
        parts += [_with_links(text[last : kept.start()], page), _linked_file(kept.group())]
        last = kept.end()
    note = f"<!-- Written by `python -m docs.generate` from src/rankveil/privacy/{page}.md: change it there. -->\n\n"
    return note + "".join(parts) + _with_links(text[last:], page)


def _with_links(text: str, page: str) -> str:
    def link(found: re.Match[str]) -> str:
        theorem = privacy.theorems()[found.group()]
        return f"[{theorem.id}]({'' if theorem.page == page else theorem.page + '.md'}#{theorem.anchor})"

    return privacy.ID.sub(link, text)


def _linked_file(kept: str) -> str:
    name = kept.strip("`")
    for folder in ("src/rankveil/", ""):
        if kept.startswith("`") and (ROOT / folder / name).is_file():
            return f"[{kept}](../../{folder}{name})"
    return kept


def privacy_index() -> str:
    """What there is, page by page, with the modules that rely on each theorem."""
    rows = []
    for theorem in privacy.theorems().values():
        modules = ", ".join(_linked_file(f"`{module}`") for module in theorem.modules)
        rows.append(f"| [{theorem.id} {theorem.title}]({theorem.page}.md#{theorem.anchor}) | {modules} |")
    return "\n".join(
        [
            "<!-- Written by `python -m docs.generate` from src/rankveil/privacy. -->\n",
            "# Privacy: what is proved\n",
            "Every theorem that code, documentation or a certificate names, with its proof. `rankveil explain T20`"
            " prints one in a terminal. Begin with [the setting](setting.md): who is protected, what everyone is taken"
            " to know, and what no theorem covers. [The methods](methods.md) says how the parts make up a release, and"
            " [the paper's claims](paper.md) which claims of the paper behind rankveil hold.\n",
            "| theorem | modules that rely on it |",
            "| --- | --- |",
            *rows,
            "",
        ]
    )


_DATED = re.compile(r"Date: (?P<date>\d{4}-\d{2}-\d{2})\. Status: (?P<status>[^\n]*?)\.?")


def decisions_index() -> str:
    """Every decision: number and title, date, status."""
    rows = []
    for path in sorted(DECISIONS.glob("[0-9]*.md")):
        title, _, said = path.read_text(encoding="utf-8").split("\n")[:3]
        dated = _DATED.fullmatch(said)
        when, status = ("?", "not stated") if dated is None else dated.groups()  # a test refuses these
        rows.append(f"| [{title.removeprefix('# ')}]({path.name}) | {when} | {status} |")
    return "\n".join(
        [
            "<!-- Written by `python -m docs.generate` from the decisions themselves. -->\n",
            "# Decisions\n",
            "Choices that are hard to undo, each with what was tried. A decision that was superseded stays, and names"
            " its successor.\n",
            "| decision | date | status |",
            "| --- | --- | --- |",
            *rows,
            "",
        ]
    )


def contents() -> dict[Path, str]:
    """Every generated file and what belongs into it."""
    return {
        DECISIONS / "README.md": decisions_index(),
        PRIVACY / "README.md": privacy_index(),
        **{PRIVACY / f"{page}.md": privacy_page(page) for page in privacy.PAGES},
        REFERENCE / "cli.md": cli_page(),
        REFERENCE / "certificate.schema.json": certificate_schema(),
        REFERENCE / "python.md": python_page(),
    }


def main() -> None:
    for path, text in contents().items():
        changed = not path.exists() or path.read_text(encoding="utf-8") != text
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{'wrote' if changed else 'unchanged'}  {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
