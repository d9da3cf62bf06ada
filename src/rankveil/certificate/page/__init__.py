"""The certificate as a page for people: certificate.html, one file without script, made without further libraries.

Guarantee    The page is a function of the certificate: every figure on it stands in certificate.json, and `rankveil
             verify` makes it anew and compares. It asks for nothing: a content security policy forbids everything but
             its one style sheet. All texts are escaped.

sections.py   what is said, section by section, in plain words
columns.py    the table of columns
pictures.py   bars
glossary.py   every technical word, explained
page.css      how it looks: light, dark, narrow, on two sheets of paper
"""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from html import escape
from pathlib import Path

from rankveil.certificate.content import Certificate
from rankveil.certificate.page.columns import columns, density
from rankveil.certificate.page.glossary import glossary
from rankveil.certificate.page.sections import (
    UNTITLED,
    accuracy,
    budget,
    checking,
    foot,
    head,
    limits,
    meaning,
    protected,
    theorems,
)

# In the order in which they are read. A section that has nothing to say is empty.
SECTIONS = (protected, meaning, limits, columns, budget, accuracy, checking, theorems)


def page(certificate: Certificate) -> str:
    """The whole page as HTML."""
    top = head(certificate)
    body = "\n".join(section for section in (made(certificate) for made in SECTIONS) if section)
    end = foot(certificate)
    words = glossary(top + body + end)
    return document(certificate.title or UNTITLED, top, f"{body}\n{words}", end, density(certificate))


def document(title: str, top: str, body: str, end: str, letters: str = "") -> str:
    """A page that needs nothing else. `title` is text, the rest HTML."""
    sheet = _style()
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{_policy(sheet)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{escape(title)}</title>
<style>{sheet}</style>
</head>
<body{f' class="{letters}"' if letters else ""}>
{top}
<main>
{body}
</main>
{end}
</body>
</html>
"""


@cache
def _style() -> str:
    return (Path(__file__).parent / "page.css").read_text(encoding="utf-8")


def _policy(sheet: str) -> str:
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
