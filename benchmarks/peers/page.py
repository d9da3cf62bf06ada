"""What a comparison found: tables for the terminal, wins and losses both, and the picture of docs/benchmarks.md."""

from __future__ import annotations

from typing import Any

from benchmarks.peers.data import DATA
from benchmarks.peers.held_out import TABLES
from benchmarks.peers.ranking import FLOOR, MEASURES
from benchmarks.peers.systems import OURS, SYSTEMS
from rankveil.report import charts

Result = dict[str, Any]

BOTH_SAMPLERS = (
    "smartnoise and OpenDP run with mbi 1.1.0, which draws rows wrongly from models that fit well (it conditions on the"
    " measured tables instead of the junction tree's, and sorts rows inside a group). They take part as installed,"
    " which is what their users get, and with rows drawn from the same fitted models by a sampler of ours without that"
    " fault (`benchmarks/peers/runners/shared/mbi_sampler.py`). The better of the two counts."
)


def summary(result: Result) -> str:
    parts = [_verdict(result), _overview(result["pairs"]), _wins(result["pairs"]), _held_out(result), _who(result)]
    return "\n\n".join(parts)


def _verdict(result: Result) -> str:
    compared = [pair for pair in result["pairs"] if pair["ours_at_or_above_best_peer"] is not None]
    ratio, rank = (
        sum(bool(pair[key]) for pair in compared)
        for key in ("ours_at_or_above_by_error_ratio", "ours_at_or_above_by_mean_rank")
    )
    partial = any(pair["ranked_systems_not_run"] for pair in result["pairs"])
    text = (
        ("Preliminary, against those peers only that have run on a pair: " if partial else "")
        + f"`{OURS}` (δ = {result['delta']}) is at or above the best peer in"
        f" **{result['won']} of {result['compared']}**"
        f" pairs of data set and ε (by the geometric mean of errors {ratio}, by the mean rank {rank})."
    )
    without = without_result(result["pairs"])
    if without:
        text += f" Nothing is known of peers that gave no result: {without}."
    text += f"\n\n{sampler_note(result['pairs'])}"
    few = sum(
        system.takes_part(pair["epsilon"]) and name not in pair["systems"]
        for pair in result["pairs"]
        for name, system in SYSTEMS.items()
    )
    if few:
        text += f"\n\n**Not complete**: {few} of the systems' pairs have not been run yet."
    if result["runs_of_other_code"]:
        listed = ", ".join(f"{name} {count}" for name, count in result["runs_of_other_code"].items())
        text += f"\n\nRuns made or measured by code that has changed since: {listed}."
    return text


def sampler_note(pairs: list[dict[str, Any]]) -> str:
    """What is to be said beside every claim to be ahead of systems that use mbi."""
    installed = {(s.peer, s.variant): name for name, s in SYSTEMS.items() if not s.repaired}
    missing: dict[str, list[str]] = {}
    for name, system in ((name, system) for name, system in SYSTEMS.items() if system.repaired):
        for pair in pairs:
            if installed[system.peer, system.variant] in pair["systems"] and name not in pair["systems"]:
                missing.setdefault(name, []).append(_title(pair))
    listed = "; ".join(f"{name} on {', '.join(where)}" for name, where in missing.items())
    return BOTH_SAMPLERS + (f" **Not run with the repaired sampler: {listed}.**" if missing else "")


def without_result(pairs: list[dict[str, Any]]) -> str:
    """Who was stopped or failed where: no win over them is claimed."""
    found: dict[str, list[str]] = {}
    for pair in pairs:
        for name, entry in pair["systems"].items():
            if entry["status"] in ("failed", "timed out"):
                word = "stopped" if entry["status"] == "timed out" else "failed"
                found.setdefault(f"{name} {word} on", []).append(_title(pair))
    return "; ".join(f"{who} {', '.join(where)}" for who, where in found.items())


def _held_out(result: Result) -> str:
    """The same on tables that no constant was chosen on."""
    held = result["held_out"]
    lines = ["### Tables nobody had looked at", ""]
    if not held["compared"]:
        return "\n".join([*lines, "Not run yet."])
    without = without_result(held["pairs"])
    lines += [
        f"At or above the best peer that has run in **{held['won']} of {held['compared']}** pairs."
        + (f" No result: {without}." if without else ""),
        "",
        _overview(held["pairs"]),
        "",
        _wins(held["pairs"]),
    ]
    return "\n".join(lines)


def _overview(pairs: list[dict[str, Any]]) -> str:
    """Utility of every ranked system on every pair."""
    names = [name for name, system in SYSTEMS.items() if system.ranked and not system.not_here]
    best = [max((each.get("utility", 0.0) for each in pair["systems"].values()), default=0.0) for pair in pairs]
    lines = [
        f"Utility (1 is best; mean of {len(MEASURES)} scores, each (best error + {FLOOR}) / (error + {FLOOR})). The"
        " best is bold; – is a run that failed or was stopped, a blank one that has not been made.",
        "",
        "| system | " + " | ".join(_title(pair) for pair in pairs) + " |",
        "| --- |" + " --- |" * len(pairs),
    ]
    for name in names:
        cells = [_utility(pair["systems"].get(name), top) for pair, top in zip(pairs, best, strict=True)]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _utility(entry: dict[str, Any] | None, best: float) -> str:
    if entry is None:
        return ""
    if "utility" not in entry:
        return "–"
    return f"**{entry['utility']:.2f}**" if entry["utility"] == best else f"{entry['utility']:.2f}"


def _wins(pairs: list[dict[str, Any]]) -> str:
    """Measure by measure: where ours is best, and who is better where it is not."""
    lines = ["Measure by measure, against all peers:", ""]
    compared = [pair for pair in pairs if pair["ours_at_or_above_best_peer"] is not None]
    for measure, title in {**MEASURES, "jsd_numeric": "JSD of numbers"}.items():
        lost = [pair for pair in compared if measure not in pair["ours_best_on"]]
        better = "; ".join(
            f"{_title(pair)}: {peer} {_short(pair['systems'][peer]['measures'][measure])} against"
            f" {_short(pair['systems'][OURS]['measures'][measure])}"
            for pair in lost
            for peer in [pair["best_peer_per_measure"][measure]]
        )
        won = len(compared) - len(lost)
        lines.append(f"- {title}: best in {won} of {len(compared)}" + (f". Not: {better}." if lost else "."))
    return "\n".join(lines)


def _who(result: Result) -> str:
    lines = [
        "| system | version | guarantee | neighbours | numbers | lines to write | remark |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, about in result["systems"].items():
        remarks = [
            "" if about["ranked"] else "not ranked",
            f"at ε = {about['only_at']} only" if about["only_at"] else "",
            "one run" if about["runs"] == 1 else "",
            f"not here: {about['not_here']}" if about["not_here"] else about["doubt"],
        ]
        remark = "; ".join(filter(None, remarks))
        version = result["versions"].get(name, "")
        lines.append(
            f"| {name} | {version} | {about['guarantee']} | {about['neighbours']} | {about['bins']} |"
            f" {'' if about['lines'] is None else about['lines']} | {remark} |"
        )
    return "\n".join(lines)


def picture(result: Result) -> dict[str, Any]:
    """Utility against ε, one panel per data set: ours, and the best of the peers' family."""
    families = {OURS: OURS, "rankveil synthetic, pure ε": "rankveil synthetic, pure ε"}
    for name, system in SYSTEMS.items():
        if system.ranked and not system.ours and not system.not_here:
            families[name] = "best other system"
    names = [OURS, "rankveil synthetic, pure ε", "best other system"]
    panels = []
    every = [*result["pairs"], *result["held_out"]["pairs"]]
    for data, about in TABLES.items():
        values = []
        for pair in (pair for pair in every if pair["data"] == data):
            best: dict[str, float] = {}
            for name, entry in pair["systems"].items():
                if "utility" in entry:
                    family = families[name]
                    best[family] = max(best.get(family, 0.0), entry["utility"])
            values += [
                {"epsilon": float(pair["epsilon"]), "utility": value, "system": family, "line": family}
                for family, value in best.items()
            ]
        title = about.title if data in DATA else f"{about.title} (held out)"
        panel = charts.lines(
            values, x="epsilon", y="utility", x_title="total ε", y_title="utility", title=title,
            colour=("system", names, list(charts.SERIES[:3])), dash=("line", names, [[1, 0], [4, 3], [1, 0]]),
            width=150, height=105,
        )  # fmt: skip
        panel["encoding"]["x"]["scale"] = {"type": "log", "domain": [0.08, 12.5]}
        panel["encoding"]["x"]["axis"] = {"values": [0.1, 1, 10]}
        panel["encoding"]["y"]["scale"] = {"domain": [0, 1.05]}
        panel["mark"] = {**panel["mark"], "point": True}
        panels.append(panel)
    return charts.stacked([panels[start : start + 4] for start in range(0, len(panels), 4)])


def _title(pair: dict[str, Any]) -> str:
    return f"{TABLES[pair['data']].title.split(',')[0]}, ε = {pair['epsilon']}"


def _short(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"
