"""The same step on the command line. Whatever the page does, a command does, and the page shows it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankveil.consent import weak
from rankveil.declare import Plan
from rankveil.methods import method_named
from rankveil.web.home import State
from rankveil.web.jobs import Spec

_WIDTH = 36


def table_argument(state: State) -> str:
    """The table as the user would name it: its path, or the name of the file that was uploaded."""
    return state.name if state.uploaded else _short(Path(state.source))


def to_open(state: State) -> list[str]:
    return [_line("rankveil", "web", table_argument(state))]


def to_draft(state: State) -> list[str]:
    if state.plan_source is not None or not (state.guessed_at_start or state.codebooks):
        return ["# save the plan below as plan.toml", *to_look(state)]
    documents = [word for name, _ in state.codebooks for word in ("--codebook", name)]
    documents += ["--extract"] if state.extract else []
    drafted = _line("rankveil", "init", table_argument(state), *documents, "--out", "plan.toml")
    return [drafted, "# then edit plan.toml as below"]


def to_look(state: State) -> list[str]:
    return [_line("rankveil", "release", table_argument(state), "--plan", "plan.toml", "--dry-run")]


def to_release(
    state: State, plan: Plan, *, out: Path | None, ledger: Path | None, replicates: int | None = None
) -> list[str]:
    """A key beside the ledger signs without being named, here as there."""
    options = ["--plan", "plan.toml", "--out", _short(out) if out else "release/"]
    method = method_named(plan.release.method)
    if not method.differentially_private:
        options.append("--accept-no-guarantee")
    elif weak(plan, method):
        options.append("--accept-large-epsilon")
    if replicates is not None:
        options += ["--replicates", str(replicates)]
    if ledger is not None:
        options += ["--ledger", _short(ledger)]
    show = ["rankveil", "ledger", "show", *(["--ledger", _short(ledger)] if ledger else [])]
    return [_line("rankveil", "release", table_argument(state), *options), _line(*show)]


def to_check(state: State, spec: Spec, *, private: bool) -> list[str]:
    """After the release. `private`: it lies in the page's own folder and is downloaded from there."""
    folder = "release" if private else _short(Path(spec.out))
    return [
        _line("rankveil", "verify", f"{folder}/certificate.json", f"{folder}/"),
        _line(*evaluation(table_argument(state), folder)),
        _line(
            "rankveil",
            "risk",
            table_argument(state),
            f"{folder}/",
            "--plan",
            "plan.toml",
            "--html",
            "risk.internal.html",
        ),
    ]


def to_compare(state: State, options: Mapping[str, Any]) -> list[str]:
    """The comparison that the page makes with these options, setting by setting."""
    on = ["--stand-in", "made"] if options["on"] == "made" else []
    table = [] if on else [table_argument(state)]
    epsilons = ",".join(text.strip() for text in options["epsilons"].split(","))
    how = ["--methods", ",".join(options["methods"]), "--epsilons", epsilons, "--runs", str(options["runs"])]
    return [_line("rankveil", "compare", *table, "--plan", "plan.toml", *on, *how)]


def to_attack(state: State, options: Mapping[str, Any]) -> list[str]:
    methods = [word for name in options["methods"] for word in ("--method", name)]
    how = ["--plan", "plan.toml", "--sample", str(options["sample"]), "--html", "attack.internal.html"]
    return [_line("rankveil", "attack", table_argument(state), *how, *methods)]


def evaluation(table: str, folder: str = "release") -> list[str]:
    """The words of the command that makes the evaluation report."""
    return ["rankveil", "evaluate", table, f"{folder}/", "--plan", "plan.toml", "--html", "evaluation.internal.html"]


def _line(*words: str) -> str:
    """A command as it is typed, broken before options where it would be too long for the page's side."""
    lines: list[str] = [""]
    for place, word in enumerate(shlex.quote(word) for word in words):
        option_and_value = f"{word} {shlex.quote(words[place + 1])}" if words[place + 1 : place + 2] else word
        ahead = option_and_value if word.startswith("--") else word
        if place > 1 and len(lines[-1]) + 1 + len(ahead) > _WIDTH and not _is_value(words, place):
            lines.append("   ")
        lines[-1] = f"{lines[-1]} {word}" if lines[-1] else word
    return " \\\n".join(lines)


def _is_value(words: tuple[str, ...], place: int) -> bool:
    return words[place - 1].startswith("--") and not words[place].startswith("--")


def _short(path: Path) -> str:
    """Relative to where the page was started, if it lies below."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
