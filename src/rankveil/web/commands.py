"""The same step on the command line. Whatever the page does, a command does, and the page shows it."""

from __future__ import annotations

import shlex
from pathlib import Path

from rankveil.flow.declare import Plan
from rankveil.methods import method_named
from rankveil.web.home import State
from rankveil.web.jobs import Spec


def table_argument(state: State) -> str:
    """The table as the user would name it: its path, or the name of the file that was uploaded."""
    return state.name if state.uploaded else _short(Path(state.table))


def to_open(state: State) -> list[str]:
    return [_line("rankveil", "web", table_argument(state))]


def to_draft(state: State) -> list[str]:
    if state.plan_source is not None or not state.guessed_at_start:
        return ["# save the plan below as plan.toml"]
    return [_line("rankveil", "init", table_argument(state), "--out", "plan.toml"), "# then edit plan.toml as below"]


def to_look(state: State) -> list[str]:
    return [_line("rankveil", "release", table_argument(state), "--plan", "plan.toml", "--dry-run")]


def to_release(state: State, plan: Plan, *, out: Path | None, ledger: Path | None) -> list[str]:
    options = ["--plan", "plan.toml", "--out", _short(out) if out else "release/"]
    if not method_named(plan.release.method).differentially_private:
        options.append("--accept-no-guarantee")
    if ledger is not None:
        options += ["--ledger", _short(ledger)]
    show = ["rankveil", "ledger", "show", *(["--ledger", _short(ledger)] if ledger else [])]
    return [_line("rankveil", "release", table_argument(state), *options), _line(*show)]


def to_check(state: State, spec: Spec, *, private: bool) -> list[str]:
    """After the release. `private`: it lies in the page's own folder and is downloaded from there."""
    folder = "release" if private else _short(Path(spec.out))
    table = table_argument(state)
    return [
        _line("rankveil", "verify", f"{folder}/certificate.json", f"{folder}/"),
        _line("rankveil", "evaluate", table, f"{folder}/", "--plan", "plan.toml", "--html", "evaluation.internal.html"),
    ]


def _line(*words: str) -> str:
    return shlex.join(words)


def _short(path: Path) -> str:
    """Relative to where the page was started, if it lies below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
