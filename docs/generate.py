"""Write the parts of the reference that follow from the code: run `python -m docs.generate` after changing either.

docs/reference/cli.md                     the --help page of every command, 100 characters wide
docs/reference/certificate.schema.json    the JSON Schema of certificate.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rankveil.certificate import Certificate
from rankveil.cli.run import root

REFERENCE = Path(__file__).parent / "reference"
WIDTH = 100


def pages() -> Iterator[tuple[str, str]]:
    """Each command's full name and its --help page, groups before their members."""
    yield from _pages(root, "rankveil", None)


def _pages(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    context = click.Context(
        command, info_name=name, parent=parent, **{**command.context_settings, "terminal_width": WIDTH}
    )
    lines = command.get_help(context).splitlines()
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
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def contents() -> dict[Path, str]:
    """Every generated file and what belongs into it."""
    return {
        REFERENCE / "cli.md": cli_page(),
        REFERENCE / "certificate.schema.json": certificate_schema(),
    }


def main() -> None:
    for path, text in contents().items():
        changed = not path.exists() or path.read_text(encoding="utf-8") != text
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{'wrote' if changed else 'unchanged'}  {path.relative_to(REFERENCE.parent.parent)}\n")


if __name__ == "__main__":
    main()
