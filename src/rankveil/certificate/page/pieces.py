"""Small pieces of HTML. Whatever comes in as text is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def section(name: str, heading: str, *parts: str) -> str:
    """`parts` are HTML."""
    inner = "\n".join(part for part in parts if part)
    return f'<section aria-labelledby="{name}">\n<h2 id="{name}">{escape(heading)}</h2>\n{inner}\n</section>'


def paragraph(*sentences: str, kind: str = "") -> str:
    text = " ".join(sentence for sentence in sentences if sentence)
    return f"<p{_class(kind)}>{escape(text)}</p>" if text else ""


def bullets(items: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{escape(item)}</li>' for item in items if item)}</ul>"


def facts(entries: Sequence[tuple[str, str]], kind: str = "") -> str:
    """Names and what they are."""
    inner = "".join(f"<div><dt>{escape(name)}</dt><dd>{escape(text)}</dd></div>" for name, text in entries)
    return f"<dl{_class(kind)}>{inner}</dl>" if entries else ""


def table(headers: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "", name: str = "") -> str:
    """`rows` are HTML; the first cell of each is its heading. The box around it can be scrolled, by keys as well."""
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in headers)
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{c}</td>" for c in rest)}</tr>' for first, *rest in rows
    )
    inner = f"<table{_class(kind)}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(name)}">{inner}</div>'


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""
