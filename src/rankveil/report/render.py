"""Templates to pages that need nothing else: one file, its own style, nothing loaded, nothing run.

Guarantee    A page carries a content security policy that forbids everything but its one style sheet, which it names
             by its hash: no script, no request, no frame, no form. Whatever comes in as text is escaped.
"""

from __future__ import annotations

import base64
import hashlib
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from rankveil.errors import MissingExtraError
from rankveil.evaluate.scores import score_text

_HERE = Path(__file__).parent


def page(template: str, **content: Any) -> str:
    """A page of `templates/`, which extends base.html.jinja: that one needs `title` and `note`."""
    sheet = style()
    return str(environment().get_template(template).render(style=sheet, policy=policy(sheet), **content))


@cache
def environment() -> Any:
    """The templates' environment; its filters are this module's."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("Writing a page", "report") from None
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(number=number, percent=percent, score=score_text, thousands=thousands)
    made.globals["short"] = short
    return made


@cache
def style() -> str:
    """Tokens and rules in one sheet."""
    return "\n".join((_HERE / "look" / name).read_text(encoding="utf-8") for name in ("tokens.css", "report.css"))


def policy(sheet: str) -> str:
    """The page's content security policy: this sheet and pictures inside the page, nothing else."""
    digest = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"


def internal_path(path: Path) -> Path:
    """The same path with `internal` in the file's name."""
    return path if "internal" in path.name.split(".") else path.with_name(f"{path.stem}.internal{path.suffix}")


def number(value: float | None, places: int = 4) -> str:
    return "–" if value is None else f"{round(value, places) + 0.0:.{places}f}".replace("-", "−")


def percent(value: float) -> str:
    """A share of rows, with enough digits to tell a small one from none."""
    hundredfold = 100 * value
    if 0 < hundredfold < 0.05:
        return "< 0.1 %"
    return f"{hundredfold:.1f} %"


def thousands(value: int) -> str:
    return f"{value:,}"


def short(exact: str | None) -> str:
    """An exact decimal or fraction, rounded to four digits for reading."""
    return "–" if exact is None else f"{float(Fraction(exact)):.4g}"
