"""The page of benchmarks, its tables, and the figures that other pages quote: `python -m benchmarks.page`.

Reads benchmarks/results/*.json, makes no run, and writes

docs/benchmarks.md        question, picture, verdict, losses, commands
docs/benchmarks/*.csv     one table for each question
docs/figures/             peers.svg, scale.svg
README.md, docs/estimates.md, docs/scaling.md
                          what stands between <!-- figures: begin --> and <!-- figures: end -->
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import scale
from benchmarks.coverage import page as coverage_page
from benchmarks.peers import page as peers_page
from benchmarks.peers.ranking import MEASURES
from benchmarks.peers.systems import OURS, SYSTEMS
from rankveil.report import charts

ROOT = Path(__file__).parents[1]
RESULTS, DOCS = ROOT / "benchmarks" / "results", ROOT / "docs"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"
PAPER = "published:individual-ranking"
# Results of models that were changed since, by the first digits of the file's SHA-256: new results lose the mark.
OLDER = {
    "f5f8b7485f58": "of the model before decision 43",  # ceiling
    "07f15d05234a": "of the model before decision 48",  # dense-add-remove
    "96dc380155bd": "of the model before decision 43",  # ablation
    "a6c592314254": "of the model before decision 48",  # peers
    "192553dbbc41": "of the model before decision 41",  # monotone
    "ad8f91183d86": "of the model before decision 41",  # coverage
    "e6a3f4ef80fb": "of the model before decision 26",  # scale
    "3b9d79b61ac2": "of the model before decision 26",  # timing
}
Rows = Sequence[Mapping[str, Any]]


def result(name: str) -> Any:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))


def mark(name: str) -> str:
    """What is to be known of figures that are not of today's model."""
    known = OLDER.get(hashlib.sha256((RESULTS / f"{name}.json").read_bytes()).hexdigest()[:12])
    return f", {known}" if known else ""


def as_csv(rows: Iterable[Mapping[str, Any]]) -> str:
    """Rows with the columns of all of them, in the order in which they come; figures with four significant digits."""
    kept = [{name: _figure(value) for name, value in row.items()} for row in rows]
    names = list(dict.fromkeys(name for row in kept for name in row))
    file = io.StringIO()
    writer = csv.DictWriter(file, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(kept)
    return file.getvalue()


def _figure(value: Any) -> Any:
    return f"{value:.4g}" if isinstance(value, float) else value


def percent(value: float) -> str:
    return f"{100 * value:.0f} %"


def most_runs(compared: Mapping[str, Any]) -> int:
    """Of one system on one table."""
    pairs = [*compared["pairs"], *compared["held_out"]["pairs"]]
    return max(int(entry.get("runs", 0)) for pair in pairs for entry in pair["systems"].values())


# Tables


def adult_rows() -> list[dict[str, Any]]:
    return [
        {"plan": each["table"], "variant": line["variant"], "epsilon": line["epsilon"], "runs": each["runs"],
         **_with_errors(line)}
        for each in result("adult")["tables"]
        for line in each["lines"]
    ]  # fmt: skip


def _with_errors(line: Mapping[str, Any]) -> dict[str, float]:
    return {
        name: value
        for key, figure in line["figures"].items()
        for name, value in ((key, figure), (f"{key}, standard error", line["standard_errors"][key]))
    }


def ceiling_rows() -> list[dict[str, Any]]:
    def where(line: Mapping[str, Any]) -> tuple[Any, ...]:
        return line["table"], line["epsilon"], line["rows"]

    before = {where(line): line["figures"] for line in result("before-ceiling")["lines"]}
    return [
        {
            "table": line["table"], "epsilon": line["epsilon"], "rows": line["rows"] or "all", "score": line["score"],
            "learner, first model": before.get(where(line), {}).get("learner"), "learner": line["figures"]["learner"],
            "learner of the table": line["figures"]["learner of the table"],
            "propensity AUC, first model": before.get(where(line), {}).get("propensity AUC"),
            **{name: line["figures"][name] for name in ("propensity AUC", "1-way TV", "2-way TV")},
        }
        for line in result("ceiling")["lines"]
    ]  # fmt: skip


def dense_rows() -> list[dict[str, Any]]:
    return [
        {"neighbours of ours": made["neighbours"], **cell}
        for made in (result("dense-add-remove"), result("dense"))
        for cell in made["cells"]
    ]


def ablation_rows() -> list[dict[str, Any]]:
    return [
        {"rule": line["rule"], **{f"{role}: {name}": line[role][name] for role in ("chooses", "reports")
                                  for name in line.get(role, {}) if name != "all"}}
        for line in result("ablation")["lines"]
    ]  # fmt: skip


def peers_rows() -> list[dict[str, Any]]:
    """Every system on every pair of table and ε, with what the release cost."""
    made = result("peers")
    rows = []
    for held_out, pairs in ((False, made["pairs"]), (True, made["held_out"]["pairs"])):
        for pair in pairs:
            for name, entry in pair["systems"].items():
                about = {"table": pair["data"], "held out": held_out, "epsilon": pair["epsilon"], "system": name}
                cost = {key: entry.get(key) for key in ("seconds", "processor_seconds", "peak_mb")}
                measures = entry.get("measures", {})
                errors = {title: measures.get(key) for key, title in MEASURES.items()}
                rows.append({**about, "status": entry["status"], "runs": entry["runs"], **errors,
                             "AUC": measures.get("auc"), "utility": entry.get("utility"), **cost})  # fmt: skip
    return rows


def systems_rows() -> list[dict[str, Any]]:
    made = result("peers")
    timed = result("timing")["systems"]
    return [
        {
            "system": name, "version": made["versions"].get(name, ""), "guarantee": about["guarantee"],
            "neighbours": about["neighbours"], "numbers": about["bins"], "lines to write": about["lines"],
            "runs by changed code": made["runs_of_other_code"].get(name, 0), "ranked": about["ranked"],
            "remark": about["not_here"] or about["doubt"],
            **{f"Adult, ε = 1: {key}": timed.get(name, {}).get(key)
               for key in ("status", "seconds", "processor_seconds", "peak_mb")},
        }
        for name, about in made["systems"].items()
    ]  # fmt: skip


def tables() -> dict[str, str]:
    return {
        "peers": as_csv(peers_rows()),
        "systems": as_csv(systems_rows()),
        "adult": as_csv(adult_rows()),
        "ceiling": as_csv(ceiling_rows()),
        "dense": as_csv(dense_rows()),
        "monotone": as_csv(result("monotone")["rises"]),
        "ablation": as_csv(ablation_rows()),
        "coverage": as_csv(result("coverage")["cells"]),
        "expected-widths": as_csv(result("coverage")["beside expected"]),
        "scale": as_csv(result("scale")),
        "noise": as_csv(result("noise")["results"]),
        "microaggregation": as_csv(result("microaggregation")["ranking"]),
    }


# Verdicts, each in a few words


def peers_verdict() -> str:
    made = result("peers")
    held = made["held_out"]
    return (
        f"{_won(made['won'], made['compared'])} of table and ε that its constants were chosen on, and"
        f" {_won(held['won'], held['compared'])} held out{where_held_out_ran()}, by the mean of eight measures{mark('peers')}"
    )


def _won(won: int, compared: int) -> str:
    return f"in all {compared} pairs" if won == compared else f"in {won} of {compared} pairs"


def best_on(pairs: Rows, measure: str) -> tuple[int, int]:
    compared = [pair for pair in pairs if pair["ours_at_or_above_best_peer"] is not None]
    return sum(measure in pair["ours_best_on"] for pair in compared), len(compared)


def beside_the_paper() -> dict[str, tuple[int, int]]:
    """Pairs in which our error is below that of the paper's method, measure by measure."""
    made = result("peers")
    both = [
        (pair["systems"][OURS]["measures"], pair["systems"][PAPER]["measures"])
        for pair in [*made["pairs"], *made["held_out"]["pairs"]]
        if all(pair["systems"].get(name, {}).get("status") == "done" for name in (OURS, PAPER))
    ]
    return {title: (sum(ours[key] < paper[key] for ours, paper in both), len(both)) for key, title in MEASURES.items()}


def paper_verdict() -> str:
    found = beside_the_paper()
    least = min(won for won, _ in found.values())
    listed = ", ".join(f"{title} in {won}" for title, (won, of) in found.items() if won < of)
    total = next(iter(found.values()))[1]
    return f"smaller error in all {total} pairs" if least == total else (
        f"smaller error in all {total} pairs for {sum(won == of for won, of in found.values())} of"
        f" {len(found)} measures; {listed}"
    )  # fmt: skip


def adult_line(variant: str) -> dict[str, Any]:
    table = next(each for each in result("adult")["tables"] if each["table"] == "adult")
    return next(line for line in table["lines"] if line["variant"] == variant)


def adult_verdict() -> str:
    plain, targeted = (adult_line(name)["figures"] for name in ("as it is", 'with target = "income"'))
    return (
        f"1-way TV {plain['1-way TV']:.4f}, 2-way TV {plain['2-way TV']:.3f}, W1/σ {plain['W1/σ']:.4f}, AUC"
        f" {plain['AUC']:.3f} ({targeted['AUC']:.3f} where the plan names the target){mark('adult')}"
    )


def ceiling_of(table: str, epsilon: str) -> dict[str, Any]:
    return next(
        line["figures"]
        for line in result("ceiling")["lines"]
        if (line["table"], line["epsilon"], line["rows"]) == (table, epsilon, None)
    )


def ceiling_verdict() -> str:
    parts = []
    for table, score in (("diamonds", "R²"), ("flights", "AUC")):
        learnt = ", ".join(f"{ceiling_of(table, epsilon)['learner']:.3f}" for epsilon in ("1", "10", "1000"))
        parts.append(f"{table}: {score} {learnt} of {ceiling_of(table, '1000')['learner of the table']:.3f}")
    return f"at ε = 1, 10, 1000 {'; '.join(parts)}{mark('ceiling')}"


def dense_verdict() -> str:
    def listed(made: Mapping[str, Any]) -> str:
        return ", ".join(f"{made['ahead'][k]}" for k in made["ahead"]) + f" of {next(iter(made['compared'].values()))}"

    return (
        f"at or below its published error in {listed(result('dense-add-remove'))} cells (subsets of 3, 4, 5 columns)"
        f" with its neighbours{mark('dense-add-remove')}; in {listed(result('dense'))} with the stronger promise"
        f"{mark('dense')}"
    )


def monotone_verdict() -> str:
    made = result("monotone")
    return (
        f"{len(made['rises'])} of {made['steps']} steps rise by more than a standard error, {made['sure_rises']} by"
        f" more than three{mark('monotone')}"
    )


def coverage_span(*, supported: bool) -> tuple[float, float]:
    found = [
        cell["coverage 95"]
        for cell in result("coverage")["cells"]
        if cell["kind"] == "all" and cell["epsilon"] != "all" and cell["supported"] == supported
        and cell["coverage 95"] is not None
    ]  # fmt: skip
    return min(found), max(found)


def coverage_worst() -> dict[str, Any]:
    """The kind of estimate without a warning that is covered least, all settings together."""
    return min(
        (cell for cell in result("coverage")["cells"] if cell["epsilon"] == "all" and cell["supported"]),
        key=lambda cell: cell["coverage 95"],
    )


def coverage_verdict() -> str:
    low, high = coverage_span(supported=True)
    return f"{percent(low)} to {percent(high)} of intervals at 95 %, by table and setting{mark('coverage')}"


def scale_verdict() -> str:
    largest = max(result("scale"), key=lambda each: each["rows"])
    return (
        f"{largest['rows']:,} rows in {largest['release_s']:.1f} s and {largest['peak_rss_mb']} MiB{mark('scale')};"
        f" Adult in {result('timing')['systems'][OURS]['seconds']:.1f} s{mark('timing')}"
    )


def noise_verdict() -> str:
    ratios = [each["ratio"] for each in result("noise")["results"]]
    return f"{min(ratios):.0f} to {max(ratios):.0f} times as fast as OpenDP, both exact"


def ranking_verdict() -> str:
    ratios = [each["ratio"] for each in result("microaggregation")["ranking"]]
    return f"{min(ratios):.2f} to {max(ratios):.2f} times an `argsort` of the same array"


def ablation_verdict() -> str:
    lines = result("ablation")["lines"]
    small = sum(abs(line["reports"]["2-way TV"] - 1) < 0.01 for line in lines)
    worst = {role: max(lines, key=lambda line, role=role: line[role]["2-way TV"]) for role in ("chooses", "reports")}
    most = [f"{worst[role][role]['2-way TV']:.2f} times with “{worst[role]['rule']}”" for role in worst]
    return (
        f"2-way TV grows at most {most[0]} where they were chosen, {most[1]} elsewhere; {small} of {len(lines)} change it"
        f" there by less than 1 %{mark('ablation')}"
    )


QUESTIONS: list[tuple[str, Callable[[], str], str]] = [
    ("Is it ahead of other systems?", peers_verdict, "peers"),
    ("… of the paper's method (k = 50, not private)?", paper_verdict, "peers"),
    ("Adult, 15 columns, ε = 1, δ = 1e-9?", adult_verdict, "adult"),
    ("Does it approach the table with more budget?", ceiling_verdict, "ceiling"),
    ("… PrivMRF on small tables of labels?", dense_verdict, "dense"),
    ("Is more budget ever worse?", monotone_verdict, "monotone"),
    ("Do intervals cover the truth?", coverage_verdict, "coverage"),
    ("How fast is a release?", scale_verdict, "scale"),
    ("… its noise?", noise_verdict, "noise"),
    ("… individual ranking?", ranking_verdict, "microaggregation"),
    ("What does each rule of `rules.py` buy?", ablation_verdict, "ablation"),
]


def losses() -> list[str]:
    made = result("peers")
    lines = []
    for pairs, where in ((made["pairs"], "chosen on"), (made["held_out"]["pairs"], "held out")):
        counts = {title: best_on(pairs, key) for key, title in MEASURES.items()}
        lost = sorted(((of - won, title) for title, (won, of) in counts.items() if won < of), reverse=True)
        total = next(iter(counts.values()))[1]
        lines.append(
            f"Tables {where}, pairs of {total} in which some system has a smaller error: "
            + ", ".join(f"{title} {count}" for count, title in lost)
            + "."
        )
    stopped = peers_page.without_result([*made["pairs"], *made["held_out"]["pairs"]])
    if stopped:
        lines.append(f"No win is claimed over systems that gave no result: {stopped}.")
    absent = not_held_out()
    if absent:
        lines.append(
            f"On the tables held out these gave no result, so nothing is claimed over them there: {'; '.join(absent)}."
        )
    missed = [name for name, met in adult_line("as it is")["met"].items() if not met]
    if missed:
        lines.append(f"Adult misses the targets that were set for it beforehand in {', '.join(missed)}.")
    worst = coverage_worst()
    lines.append(
        f"Intervals without a warning are covered least for {worst['kind']} on {worst['table']}:"
        f" {percent(worst['coverage 95'])}{mark('coverage')}."
    )
    sure = [rise for rise in result("monotone")["rises"] if rise["rise"] > 3 * rise["standard_error"]]
    if sure:
        largest = max(sure, key=lambda rise: rise["rise"] / rise["before"])
        lines.append(
            f"More budget is worse most clearly on {largest['table']}: {largest['measure']}"
            f" {largest['before']:.3f} at {largest['from']}, {largest['after']:.3f} at"
            f" {largest['to']}{mark('monotone')}."
        )
    return lines


def others() -> list[str]:
    """Ranked systems of others that take part."""
    return [name for name, system in SYSTEMS.items() if system.ranked and not system.ours and not system.not_here]


def not_held_out() -> list[str]:
    """Those that gave no result on any table that was held out."""
    ran = {
        name
        for pair in result("peers")["held_out"]["pairs"]
        for name, entry in pair["systems"].items()
        if entry["status"] == "done"
    }
    return [name for name in others() if name not in ran]


def where_held_out_ran() -> str:
    absent, every = len(not_held_out()), len(others())
    return f", where {every - absent} of {every} systems ran" if absent else ""


def repaired_runs() -> str:
    """How many runs the systems with the repaired sampler rest on."""
    counts = sorted(
        {
            entry["runs"]
            for pair in result("peers")["pairs"]
            for name, entry in pair["systems"].items()
            if entry["status"] == "done" and name in SYSTEMS and SYSTEMS[name].repaired
        }
    )
    if counts == [1]:
        return "one run each"
    return f"{counts[0]} runs each" if len(counts) == 1 else f"{counts[0]} to {counts[-1]} runs each"


def page() -> str:
    made = result("peers")
    rows = [
        f"| {question} | {verdict()} | [{table}](benchmarks/{table}.csv) |" for question, verdict, table in QUESTIONS
    ]
    return "\n".join(
        [
            "<!-- Written by `python -m benchmarks.page` from benchmarks/results/*.json: change either, not this. -->",
            "",
            "# Benchmarks",
            "",
            "**Question.** How much of a table does `synthetic` keep at a given ε, beside other systems with the same"
            " public bounds and categories? Utility is the mean of eight scores, each (best error + 0.001) /"
            " (error + 0.001); 1 is best. Ours protects replacing a record, most others adding or removing one.",
            "",
            "![Utility by table and ε: ours above the best other system](figures/peers.svg)",
            "",
            "## Verdict",
            "",
            "| question | answer | table |",
            "| --- | --- | --- |",
            *rows,
            "",
            f"{peers_page.sampler_note(made['pairs'])} Systems with the repaired sampler have {repaired_runs()}, others"
            f" up to {most_runs(made)}; the best of {len(others())} is partly luck. Who takes part, with versions,"
            " guarantees and costs: [systems.csv](benchmarks/systems.csv).",
            "",
            "## Losses",
            "",
            *(f"- {line}" for line in losses()),
            "",
            "## Commands",
            "",
            "The table NAME is of `python -m benchmarks.NAME --json` (`monotone` with `--no-learner`), its output kept as"
            " `benchmarks/results/NAME.json` (`peers` writes its own). `python -m benchmarks.page` then writes this page,"
            " its tables and the figures of other pages. TV is total variation, W1/σ the earth mover's distance in standard"
            " deviations; the [glossary](glossary.md) has the rest. [Decision 24](decisions/0024-benchmark-tables.md) says"
            " which tables may choose constants and which only report. Times are of one machine with two cores.",
            "",
        ]
    )  # fmt: skip


def of_readme() -> str:
    plain, targeted = (adult_line(name)["figures"] for name in ("as it is", 'with target = "income"'))
    learnt = [f"{ceiling_of('diamonds', epsilon)['learner']:.2f}" for epsilon in ("1", "10", "1000")]
    made = result("peers")
    chosen, held = made["pairs"], made["held_out"]["pairs"]
    auc = [(of - won, of) for won, of in (best_on(pairs, "auc_shortfall") for pairs in (chosen, held))]
    runs = next(each["runs"] for each in result("adult")["tables"] if each["table"] == "adult")
    return "\n".join(
        [
            f"On Adult (15 columns, ε = 1, δ = 1e-9, mean of {runs} releases) `synthetic` has a 1-way total variation of"
            f" {plain['1-way TV']:.4f} and a 2-way one of {plain['2-way TV']:.3f};",
            f"a classifier taught by the release has an AUC of {plain['AUC']:.3f} on real data that were held out,"
            f" {targeted['AUC']:.3f} where the plan names the target (`python -m benchmarks.adult`{mark('adult')}).",
            f"On diamonds a learner's R² is {', '.join(learnt)} at ε = 1, 10, 1000; the table itself gives"
            f" {ceiling_of('diamonds', '1000')['learner of the table']:.2f} (`python -m benchmarks.ceiling`{mark('ceiling')}).",
            "",
            "Against MST, AIM and PrivBayes of smartnoise, OpenDP and dpmm, DataSynthesizer and privlib"
            " (`python -m benchmarks.peers`) ours is ahead by the mean of eight measures",
            f"{_won(made['won'], made['compared'])} of table and ε that its constants were chosen on and"
            f" {_won(made['held_out']['won'], made['held_out']['compared'])} held out{where_held_out_ran()}{mark('peers')}.",
            f"It is **behind in what a learner reaches** (AUC) in {auc[0][0]} of {auc[0][1]} and {auc[1][0]} of"
            f" {auc[1][1]}. Systems on mbi 1.1.0 take part with its faulty sampler repaired, {repaired_runs()}.",
            "[docs/benchmarks.md](docs/benchmarks.md) has the picture, the losses, all tables and the commands.",
        ]
    )


def of_scaling() -> str:
    sizes = {each["rows"]: each for each in result("scale")}
    largest = sizes[max(sizes)]
    return (
        f"In one run (`python -m benchmarks.scale`{mark('scale')}) the passes over {largest['rows']:,} rows take"
        f" {largest['statistics_over_decode']:.1f} times as long as decoding the file as often, and the release is"
        f" {largest['argsort_s'] / largest['release_s']:.1f} times as fast as individual ranking with `argsort` and"
        f" {largest['pandas_s'] / largest['release_s']:.1f} times as fast as with pandas. It takes"
        f" {largest['peak_rss_mb']} MiB, at a million rows {sizes[1_000_000]['peak_rss_mb']}"
        " ([table](benchmarks/scale.csv))."
    )


def contents() -> dict[Path, str]:
    """Every file that is written, the pictures aside, and what belongs into it."""
    made = {DOCS / "benchmarks.md": page()}
    made |= {DOCS / "benchmarks" / f"{name}.csv": text for name, text in tables().items()}
    quoting = {
        ROOT / "README.md": of_readme,
        DOCS / "scaling.md": of_scaling,
    }
    for path, figures in quoting.items():
        before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        made[path] = f"{before}{BEGIN}\n\n{figures()}\n\n{END}{after}"
    estimates = coverage_page.PAGE
    found = coverage_page.written(estimates.read_text(encoding="utf-8"), result("coverage"), mark("coverage"))
    return made | {estimates: found}


def main() -> None:
    for path, text in contents().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path.relative_to(ROOT)}\n")
    figures = DOCS / "figures"
    (figures / "peers.svg").write_text(charts.drawn(peers_page.picture(result("peers")))[0], encoding="utf-8")
    (figures / "scale.svg").write_text(scale.figure(result("scale")), encoding="utf-8")


if __name__ == "__main__":
    main()
