"""The section of docs/benchmarks.md: tables and a picture, wins and losses both."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from benchmarks.peers import timing
from benchmarks.peers.data import DATA, ROOT
from benchmarks.peers.held_out import TABLES
from benchmarks.peers.ranking import FLOOR, MEASURES
from benchmarks.peers.systems import OURS, SYSTEMS
from rankveil.report import charts

PAGE = ROOT / "docs" / "benchmarks.md"
FIGURES = ROOT / "docs" / "figures"
BEGIN, END = "<!-- peers: begin -->", "<!-- peers: end -->"

Result = dict[str, Any]

OLD_SAMPLER = (
    "**Beside this claim:** smartnoise and OpenDP ran with mbi 1.1.0, which draws rows wrongly from models that"
    " fit well (it conditions on the measured tables instead of the junction tree's, and sorts rows inside a"
    " group). mbi 2.0 repaired it. With the repaired sampler on the same fitted models, on a table of a census"
    " outside this page (ε = 1, δ = 1e-9; NIST's k-marginal score, higher is better), MST on 9 columns rises from"
    " 664 to 805, where ours has 758 to 769, and on 10 columns MST from 900 to 959 and AIM from 958 to 974, where"
    " ours has 972; at ε = 10, 9 columns, MST from 675 to 831, ours 857. So MST and AIM of these two packages can"
    " be better than the figures here, and ahead of ours. The comparison has not been repeated with mbi 2.0 yet;"
    " until it is, read the figures as what users of these versions get, and not as what the methods can do."
)

BOTH_SAMPLERS = (
    "smartnoise and OpenDP run with mbi 1.1.0, which draws rows wrongly from models that fit well (it conditions on the"
    " measured tables instead of the junction tree's, and sorts rows inside a group). They take part as installed,"
    " which is what their users get, and with rows drawn from the same fitted models by a sampler of ours without that"
    " fault (`benchmarks/peers/runners/shared/mbi_sampler.py`). The better of the two counts."
)


def summary(result: Result) -> str:
    parts = [_verdict(result), _overview(result["pairs"]), _wins(result["pairs"]), _held_out(result), _who(result)]
    return "\n\n".join(parts)


def write(result: Result, timings: Path) -> None:
    """Everything between the markers, and the picture."""
    pairs = result["pairs"]
    parts = [_verdict(result), _overview(pairs), "![Utility by data set and ε](figures/peers.svg)"]
    parts += [_margins(pairs), _wins(pairs)]
    parts += [_held_out(result), "### Who they are and what they cost", _who(result), _cost(result)]
    if timings.exists():
        timed = json.loads(timings.read_text(encoding="utf-8"))
        load = timed["machine"]["load"]
        parts.append(
            f"Adult at ε = 1 by itself (`--only-timing`; load of the machine when it ended: {load}):\n\n"
            + timing.summary(timed)
        )
    parts.append("### Every pair")
    every = [*pairs, *result["held_out"]["pairs"]]
    parts += [_pair_table(pair) for pair in every if any(entry["runs"] for entry in pair["systems"].values())]
    text = "\n\n".join(parts)
    page = PAGE.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")
    svg, _ = charts.drawn(picture(result))
    (FIGURES / "peers.svg").write_text(svg, encoding="utf-8")


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
    without = _without_result(result["pairs"])
    if without:
        text += f" Nothing is known of peers that gave no result: {without}."
    text += f"\n\n{BOTH_SAMPLERS if _repaired(result['pairs']) else OLD_SAMPLER}"
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


def _repaired(pairs: list[dict[str, Any]]) -> bool:
    """Whether every pair that a system with mbi's sampler was run on was run with the repaired one, too."""
    twins = {
        name: next(n for n, o in SYSTEMS.items() if (o.peer, o.variant, o.repaired) == (s.peer, s.variant, False))
        for name, s in SYSTEMS.items()
        if s.repaired
    }
    needed = [(pair, name) for pair in pairs for name, twin in twins.items() if twin in pair["systems"]]
    return bool(needed) and all(name in pair["systems"] for pair, name in needed)


def _without_result(pairs: list[dict[str, Any]]) -> str:
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
    without = _without_result(held["pairs"])
    lines += [
        f"At or above the best peer that has run in **{held['won']} of {held['compared']}** pairs"
        + ("" if _repaired(held["pairs"]) else ", with the old sampler of mbi in smartnoise's MST and AIM (see above)")
        + "."
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


def _margins(pairs: list[dict[str, Any]]) -> str:
    """How far the best peer is, and how sure that is."""
    closest = {"wasserstein": "W1/σ", "jsd_numeric": "JSD of numbers"}
    lines = [
        "The closest peer on every pair; standard errors in brackets, where there was more than one run:",
        "",
        "| pair | utility: ours | best peer |" + "".join(f" {title}: ours | best peer |" for title in closest.values()),
        "| --- |" + " --- |" * (2 + 2 * len(closest)),
    ]
    for pair in pairs:
        if pair["ours_at_or_above_best_peer"] is None:
            continue
        ours, peer = pair["systems"][OURS], pair["best_peer"]
        cells = [f"{ours['utility']:.3f}", f"{pair['systems'][peer]['utility']:.3f}, {peer}"]
        for measure in closest:
            rival = pair["best_peer_per_measure"][measure]
            cells += [_with_error(ours, measure), f"{_with_error(pair['systems'][rival], measure)}, {rival}"]
        lines.append(f"| {_title(pair)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _with_error(entry: dict[str, Any], measure: str) -> str:
    value = _short(entry["measures"][measure])
    if entry["runs"] < 2:
        return value
    return f"{value} ({_short(entry['deviations'][measure] / math.sqrt(entry['runs'] - 1))})"


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


def _pair_table(pair: dict[str, Any]) -> str:
    lines = [
        f"#### {_title(pair)}",
        "",
        "| system | runs | " + " | ".join(MEASURES.values()) + " | AUC | utility |",
        "| --- | --- |" + " --- |" * (len(MEASURES) + 2),
    ]
    for name, entry in pair["systems"].items():
        if entry["status"] == "not here":
            continue
        if entry["status"] != "done":
            lines.append(f"| {name} | {entry['status']}: {_safe(entry['message'])} |" + " |" * (len(MEASURES) + 2))
            continue
        cells = [_short(entry["measures"][measure]) for measure in MEASURES]
        utility = f"{entry['utility']:.2f}" if "utility" in entry else "not ranked"
        lines.append(
            f"| {name} | {entry['runs']} | " + " | ".join(cells) + f" | {entry['measures']['auc']:.3f} | {utility} |"
        )
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


def _cost(result: Result) -> str:
    """Processor seconds and memory, on every data set at ε = 1."""
    pairs = [pair for pair in result["pairs"] if pair["epsilon"] == "1"]
    lines = [
        "Processor seconds (clock seconds) and peak memory of a release at ε = 1, start-up included. Some runs"
        " shared the machine with other work and some did not, so the clock says little; `--only-timing` is the"
        " measurement.",
        "",
        "| system | " + " | ".join(DATA[pair["data"]].title.split(",")[0] for pair in pairs) + " |",
        "| --- |" + " --- |" * len(pairs),
    ]
    for name, system in SYSTEMS.items():
        if system.not_here:
            continue
        cells = []
        for pair in pairs:
            entry = pair["systems"].get(name)
            if entry is None:
                cells.append("")
            elif entry["status"] == "done":
                cells.append(f"{entry['processor_seconds']:.1f} ({entry['seconds']:.1f}) s, {entry['peak_mb']:.0f} MB")
            elif entry["status"] == "timed out":
                cells.append(f"≥ {entry['processor_seconds']:.0f}, stopped")
            else:
                cells.append(entry["status"])
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def picture(result: Result) -> dict[str, Any]:
    """Utility against ε, one panel per data set: ours, and the best of the peers' family."""
    families = {OURS: OURS, "rankveil synthetic, pure ε": "rankveil synthetic, pure ε"}
    for name, system in SYSTEMS.items():
        if system.ranked and not system.ours and not system.not_here:
            families[name] = "best peer"
    names = [OURS, "rankveil synthetic, pure ε", "best peer"]
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
            width=250, height=160,
        )  # fmt: skip
        panel["encoding"]["x"]["scale"] = {"type": "log", "domain": [0.08, 12.5]}
        panel["encoding"]["x"]["axis"] = {"values": [0.1, 1, 10]}
        panel["encoding"]["y"]["scale"] = {"domain": [0, 1.05]}
        panel["mark"] = {**panel["mark"], "point": True}
        panels.append(panel)
    return charts.stacked([panels[start : start + 2] for start in range(0, len(panels), 2)])


def _title(pair: dict[str, Any]) -> str:
    return f"{TABLES[pair['data']].title.split(',')[0]}, ε = {pair['epsilon']}"


def _short(value: float) -> str:
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 10 else f"{value:.1f}"


def _safe(text: str) -> str:
    return text.replace("|", "\\|")
