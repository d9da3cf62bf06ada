"""Write the parts of the reference that follow from the code: run `python -m docs.generate` after changing either.

docs/reference/cli.md                     the --help page of every command, 100 characters wide
docs/reference/certificate.schema.json    the JSON Schema of certificate.json
docs/privacy/                             the theorems, from the pages in src/rankveil/privacy, with links put in
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from rankveil import privacy
from rankveil.certificate import Certificate
from rankveil.cli.run import root

ROOT = Path(__file__).parent.parent
REFERENCE, PRIVACY = ROOT / "docs" / "reference", ROOT / "docs" / "privacy"
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


def contents() -> dict[Path, str]:
    """Every generated file and what belongs into it."""
    return {
        PRIVACY / "README.md": privacy_index(),
        **{PRIVACY / f"{page}.md": privacy_page(page) for page in privacy.PAGES},
        REFERENCE / "cli.md": cli_page(),
        REFERENCE / "certificate.schema.json": certificate_schema(),
    }


def main() -> None:
    for path, text in contents().items():
        changed = not path.exists() or path.read_text(encoding="utf-8") != text
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{'wrote' if changed else 'unchanged'}  {path.relative_to(ROOT)}\n")


if __name__ == "__main__":
    main()
