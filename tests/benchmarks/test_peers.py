"""The harness that runs peers, with a fake peer in the place of real ones."""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from types import ModuleType

import jsonschema
import numpy as np
import pandas as pd
import pytest

from benchmarks.peers import __main__ as command
from benchmarks.peers import page, ranking, running, systems
from benchmarks.peers.cache import Cache, Run
from benchmarks.peers.data import DATA, Data, labels, number
from benchmarks.peers.recoding import Recoding, cell_count
from benchmarks.peers.running import Limits, Workshop, execute, run, trimmed
from benchmarks.peers.schedule import missing, wanted_runs
from benchmarks.peers.systems import OURS, SYSTEMS, Scope, System, essential_lines, meaning

FAKE = """
import json, sys, shutil
request = json.load(open(sys.argv[1]))
report = {"version": "fake 1.0", "repairs": {"age": 2}}
# user: begin
if request["variant"] == "copy":
    shutil.copy(request["table"], request["output"])
# user: end
elif request["variant"] == "wrong":
    open(request["output"], "w").write("age,city\\n400,Paris\\n")
elif request["variant"] == "fail":
    report["error"] = "KeyError: 'Lyon' at 123456, see /home/someone/secret/file.py"
elif request["variant"] == "crash":
    sys.exit("MemoryError: no more")
elif request["variant"] == "spin":
    while True:
        pass
elif request["variant"] == "hog":
    block = b"x" * 200_000_000
    shutil.copy(request["table"], request["output"])
json.dump(report, open(request["report"], "w"))
sys.exit(1 if "error" in report else 0)
"""


@pytest.fixture
def data() -> Data:
    return Data(
        "tiny", "Tiny, 3 columns", (number("age", 0, 99), labels("city", "Lyon", "Paris"), number("pay", 0, 9)), "pay"
    )


@pytest.fixture
def workshop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workshop:
    runners = tmp_path / "runners"
    runners.mkdir()
    (runners / "fake.py").write_text(FAKE)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "fake.txt").write_text("nothing==1\n")
    (runners / "shared").mkdir()
    (runners / "shared" / "runner.py").write_text("")
    monkeypatch.setattr(systems, "RUNNERS", runners)
    monkeypatch.setattr(systems, "HERE", tmp_path)
    monkeypatch.setattr(running, "interpreter", lambda system, folder: Path(sys.executable))
    source = tmp_path / "source"
    source.mkdir()
    rows = [f"{i % 90},{'Paris' if i % 3 else 'Lyon'},{i % 10},dropped" for i in range(200)]
    (source / "tiny.csv").write_text("\n".join(["age,city,pay,other", *rows]) + "\n")
    return Workshop(tmp_path / "work", source)


def fake(variant: str, recoded: Scope = "") -> System:
    return System(f"fake {variant}", "fake", variant, recoded=recoded)


def test_a_run_that_succeeds_is_measured_and_its_cost_is_written_down(workshop: Workshop, data: Data) -> None:
    made = run(workshop, fake("copy"), data, "1", 1, Limits(60, 60), workshop.yardstick(data))
    assert (made.status, made.message, made.version, made.repairs) == ("done", "", "fake 1.0", 2)
    assert made.measures["total_variation"] == 0
    assert made.measures["wasserstein"] == 0
    assert made.measures["auc_shortfall"] >= 0
    assert 0 < made.processor_seconds < 60
    assert made.seconds > 0
    assert {"runner", "requirements", "data", "measures"} == made.fingerprint.keys()


def test_a_peer_with_our_cells_sees_labels_and_releases_values_of_the_same_cells(
    workshop: Workshop, data: Data
) -> None:
    cost = execute(workshop, fake("copy", "all"), data, "1", 1, Limits(60, 60))
    assert cost.status == "done"
    before, after = (
        pd.read_csv(path) for path in (workshop.table(data), workshop.released(data.name, "1", fake("copy"), 1))
    )
    recoding = Recoding(data, "all", len(before), "1", running.DELTA)
    edges = recoding.starts["age"]
    assert edges[[0, 1, -1]].tolist() == [0, 1, 100]
    assert [column["kind"] for column in recoding.told().columns] == ["category"] * 3
    assert (np.digitize(after["age"], edges) == np.digitize(before["age"], edges)).all()
    assert (after["age"] != before["age"]).any()
    assert (after[["city", "pay"]] == before[["city", "pay"]]).all().all()  # a column of ten values has ten cells


def test_a_peer_that_bins_by_itself_gets_labels_for_columns_of_few_values_only(data: Data) -> None:
    told = Recoding(data, "few values", 200, "1", running.DELTA).told()
    assert [column["kind"] for column in told.columns] == ["integer", "category", "category"]


def test_cells_grow_in_number_with_rows_and_epsilon_within_limits() -> None:
    counts = [[cell_count(rows, 13, epsilon, "1e-9") for epsilon in ("0.1", "1", "10")] for rows in (10, 1000, 100_000)]
    assert counts == [[6, 6, 6], [6, 12, 34], [38, 117, 200]]


def test_peak_memory_is_that_of_the_runner_and_not_of_the_harness(workshop: Workshop, data: Data) -> None:
    ballast = bytearray(b"y" * 300_000_000)  # memory of this process, which a plain fork would pass on
    small = execute(workshop, fake("copy"), data, "1", 1, Limits(60, 60))
    large = execute(workshop, fake("hog"), data, "1", 1, Limits(60, 60))
    assert len(ballast) > 200e6 > 1e6 * small.peak_mb
    assert large.peak_mb > small.peak_mb + 150


def test_a_run_that_fails_keeps_its_message_without_values_and_paths(workshop: Workshop, data: Data) -> None:
    made = run(workshop, fake("fail"), data, "1", 1, Limits(60, 60), workshop.yardstick(data))
    assert made.status == "failed"
    assert made.message == "KeyError: '…' at …, see file.py"
    assert made.measures == {}


def test_a_run_that_dies_without_a_report_fails_with_its_last_words(workshop: Workshop, data: Data) -> None:
    cost = execute(workshop, fake("crash"), data, "1", 1, Limits(60, 60))
    assert (cost.status, cost.message) == ("failed", "MemoryError: no more")


def test_a_table_outside_the_public_domain_is_a_failure_and_no_result(workshop: Workshop, data: Data) -> None:
    made = run(workshop, fake("wrong"), data, "1", 1, Limits(60, 60), workshop.yardstick(data))
    assert made.status == "failed"
    assert made.message.startswith("its table cannot be measured")


def test_a_run_is_stopped_when_its_processor_time_is_up(workshop: Workshop, data: Data) -> None:
    cost = execute(workshop, fake("spin"), data, "1", 1, Limits(1, 60))
    assert (cost.status, cost.message) == ("timed out", "stopped after 1 s of processor time")
    assert cost.processor_seconds < 5


def test_the_processor_time_of_workers_counts_and_they_end_with_their_run(workshop: Workshop, data: Data) -> None:
    """Five workers take turns, so that none of them, nor the runner, uses as much as the limit."""
    marker = f"worker-{os.getpid()}"
    (systems.RUNNERS / "fake.py").write_text(
        "import subprocess, sys\n"
        "spin = 'import time; end = time.process_time() + 0.7\\nwhile time.process_time() < end: pass'\n"
        f"for _ in range(5): subprocess.run([sys.executable, '-c', spin, {marker!r}])\n"
    )
    cost = execute(workshop, fake("workers"), data, "1", 1, Limits(2, 60))
    assert cost.status == "timed out"
    assert 2 <= cost.processor_seconds < 3.3
    deadline = time.monotonic() + 30
    while any(marker.encode() in command for command in _commands()):  # a killed process may take a moment to go
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _commands() -> list[bytes]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has just ended
            found.append(path.read_bytes())
    return found


def test_a_run_that_sleeps_is_stopped_by_the_clock(workshop: Workshop, data: Data) -> None:
    (systems.RUNNERS / "fake.py").write_text("import time\ntime.sleep(600)\n")
    cost = execute(workshop, fake("sleep"), data, "1", 1, Limits(60, 1.0))
    assert cost.status == "timed out"
    assert cost.seconds < 30


def test_a_peer_that_cannot_be_installed_is_shown_as_failed(
    workshop: Workshop, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(system: System, folder: Path) -> Path:
        raise running.EnvironmentFailed("installing failed: ERROR: No matching distribution found for nothing==1")

    monkeypatch.setattr(running, "interpreter", refuse)
    cost = execute(workshop, fake("copy"), data, "1", 1, Limits(60, 60))
    assert cost.status == "failed"
    assert "No matching distribution" in cost.message


def test_a_message_keeps_small_numbers_that_explain_and_loses_large_ones(data: Data) -> None:
    assert trimmed("0.0499 > 0.0498\n  for 1080 rows", data) == "0.0499 > 0.0498 for … rows"
    assert len(trimmed("word " * 200, data)) == 200


# Resuming


def made_run(system: str = "fake copy", seed: int = 1, **parts: object) -> Run:
    blank = Run(
        "tiny", "1", system, seed, "done", measures=dict.fromkeys(_ALL, 0.5), processor_seconds=1.0, version="1"
    )
    return replace(blank, **parts)  # type: ignore[arg-type]


_ALL = [*ranking.MEASURES, "jsd_numeric", "auc", "auc_original"]


def test_what_is_in_the_cache_is_not_run_again(tmp_path: Path) -> None:
    cache, system = Cache(tmp_path), fake("copy")
    assert [work.seed for work in missing(cache, [system], ["tiny"], ["1"], 3)] == [1, 2, 3]
    cache.put(made_run(seed=2), system.slug)
    assert [work.seed for work in missing(cache, [system], ["tiny"], ["1"], 3)] == [1, 3]
    assert cache.get("tiny", "1", system.slug, 2) == made_run(seed=2)


def test_every_system_has_one_run_on_every_pair_before_any_has_two(tmp_path: Path) -> None:
    order = [
        (work.seed, work.system.name, work.epsilon)
        for work in missing(Cache(tmp_path), [fake("copy"), fake("fail")], ["tiny"], ["1", "10"], 2)
    ]
    assert [seed for seed, _, _ in order] == [1] * 4 + [2] * 4


def test_a_slow_system_has_one_run_and_a_failing_one_two() -> None:
    system = fake("copy")
    assert wanted_runs(system, [made_run(processor_seconds=301.0)], 5) == 1
    assert wanted_runs(system, [made_run(status="timed out")], 5) == 1
    assert wanted_runs(system, [made_run(status="failed")], 5) == 5
    assert wanted_runs(system, [made_run(status="failed"), made_run(seed=2, status="failed")], 5) == 2
    assert wanted_runs(replace(system, runs=1), [], 5) == 1


def test_a_system_for_one_epsilon_is_neither_run_nor_missed_at_others(tmp_path: Path) -> None:
    system = replace(fake("copy"), only_at="1")
    assert [work.epsilon for work in missing(Cache(tmp_path), [system], ["tiny"], ["0.1", "1", "10"], 1)] == ["1"]
    assert "dpmm AIM, PrivTree" in ranking.compare("census", "1", pair(0.2, 0.3))["ranked_systems_not_run"]
    assert "dpmm AIM, PrivTree" not in ranking.compare("census", "10", pair(0.2, 0.3))["ranked_systems_not_run"]


def test_what_was_learnt_in_one_run_counts_for_the_next(tmp_path: Path) -> None:
    cache, system, seeds = Cache(tmp_path), fake("copy"), []
    for work in missing(cache, [system], ["tiny"], ["1"], 5):
        seeds.append(work.seed)
        cache.put(made_run(seed=work.seed, processor_seconds=400.0), system.slug)
    assert seeds == [1]


def test_a_whole_session_resumes_after_its_time_was_up(
    workshop: Workshop, data: Data, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(command.TABLES, "tiny", data)
    parser_made = command._parser().parse_args(["--runs", "2", "--epsilons", "1"])
    parser_made.data = ["tiny"]
    cache = Cache(tmp_path / "cache")
    parser_made.minutes = 1e-9
    command.work(workshop, cache, [fake("copy")], parser_made, Limits(60, 60))
    assert not list(cache.folder.rglob("*.json"))
    parser_made.minutes = None
    command.work(workshop, cache, [fake("copy")], parser_made, Limits(60, 60))
    assert len(list(cache.folder.rglob("*.json"))) == 2
    monkeypatch.setattr(command, "run", lambda *_: pytest.fail("made again"))
    command.work(workshop, cache, [fake("copy")], parser_made, Limits(60, 60))


def test_a_kept_table_is_measured_again_only_when_the_measures_have_changed(
    workshop: Workshop, data: Data, monkeypatch: pytest.MonkeyPatch
) -> None:
    ruler, system = workshop.yardstick(data), fake("copy")
    made = run(workshop, system, data, "1", 1, Limits(60, 60), ruler)
    assert running.measured_again(workshop, system, data, made, ruler) is None
    monkeypatch.setattr(running, "code_fingerprint", lambda: "other")
    old = replace(made, measures={})
    again = running.measured_again(workshop, system, data, old, ruler)
    assert again is not None
    assert (again.measures, again.fingerprint["measures"]) == (made.measures, "other")
    workshop.released("tiny", "1", system, 1).unlink()
    assert running.measured_again(workshop, system, data, old, ruler) is None


# Normalising


def errors(**changed: float) -> dict[str, float]:
    return {**dict.fromkeys([*ranking.MEASURES, "jsd_numeric"], 0.1), **changed}


def test_the_best_scores_one_and_twice_the_error_scores_a_half() -> None:
    found = ranking.scores({"a": errors(jsd=0.099), "b": errors(jsd=0.199)})
    assert found["a"]["jsd"] == 1
    assert found["b"]["jsd"] == pytest.approx(0.5)
    assert found["a"]["wasserstein"] == found["b"]["wasserstein"] == 1
    utility = ranking.utilities({"a": errors(jsd=0.099), "b": errors(jsd=0.199)})
    assert utility["a"] == 1
    assert utility["b"] == pytest.approx(1 - 0.5 / len(ranking.MEASURES))


def test_an_error_of_zero_divides_nothing_and_tiny_differences_hardly_count() -> None:
    found = ranking.scores({"a": errors(jsd=0.0), "b": errors(jsd=1e-6), "c": errors(jsd=5.0)})
    assert found["a"]["jsd"] == 1
    assert found["b"]["jsd"] > 0.998
    assert 0 < found["c"]["jsd"] < 0.001


def test_one_terrible_measure_costs_one_eighth_at_most() -> None:
    found = ranking.utilities({"a": errors(), "b": errors(variance_change=1e9)})
    assert found["b"] == pytest.approx(1 - 1 / len(ranking.MEASURES), abs=1e-6)


def test_equal_errors_share_their_rank() -> None:
    found = ranking.mean_ranks({"a": errors(), "b": errors(), "c": errors(**dict.fromkeys(ranking.MEASURES, 0.2))})
    assert found == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_the_error_ratio_is_a_geometric_mean() -> None:
    doubled = dict.fromkeys(ranking.MEASURES, 0.201)
    found = ranking.ratios({"a": errors(), "b": errors(**doubled)})
    assert found["a"] == pytest.approx(1)
    assert found["b"] == pytest.approx(2)


def pair(ours: float, peer: float) -> dict[str, list[Run]]:
    return {
        OURS: [made_run(OURS, measures=dict.fromkeys(_ALL, ours))],
        "smartnoise MST": [made_run("smartnoise MST", measures=dict.fromkeys(_ALL, peer))],
        "smartnoise AIM": [made_run("smartnoise AIM", status="failed", message="ValueError: no", measures={})],
        "microagg1d": [made_run("microagg1d", measures=dict.fromkeys(_ALL, 0.0))],
    }


def test_a_tie_counts_as_at_or_above_and_a_loss_does_not() -> None:
    assert ranking.compare("census", "1", pair(0.2, 0.2))["ours_at_or_above_best_peer"] is True
    lost = ranking.compare("census", "1", pair(0.2, 0.19))
    assert lost["ours_at_or_above_best_peer"] is False
    assert lost["best_peer"] == "smartnoise MST"
    assert lost["ours_best_on"] == []
    assert "OpenDP AIM" in lost["ranked_systems_not_run"]
    assert "smartnoise AIM" not in lost["ranked_systems_not_run"]  # it ran, and failed


def test_systems_without_a_claim_are_shown_but_neither_ranked_nor_a_yardstick() -> None:
    found = ranking.compare("census", "1", pair(0.2, 0.3))
    assert "utility" not in found["systems"]["microagg1d"]
    assert found["systems"][OURS]["utility"] == 1
    assert found["systems"]["smartnoise AIM"] == {
        "status": "failed", "runs": 0, "message": "ValueError: no", "version": "1", "processor_seconds": 1.0,
        "fingerprint": {}, "machine": {},
    }  # fmt: skip
    assert found["systems"]["sdcMicro"]["status"] == "not here"


def test_errors_are_averaged_over_the_runs_that_were_done() -> None:
    runs = [made_run(seed=seed, measures=dict.fromkeys(_ALL, value)) for seed, value in ((1, 0.1), (2, 0.3))]
    found = ranking.summarise([*runs, made_run(seed=3, status="failed", measures={})])
    assert (found["runs"], found["failed_runs"]) == (2, 1)
    assert found["measures"]["jsd"] == pytest.approx(0.2)
    assert found["deviations"]["jsd"] == pytest.approx(0.1)


# What is written


@pytest.fixture(scope="session")
def schema() -> dict[str, object]:
    return json.loads((Path(command.__file__).parent / "result.schema.json").read_text())


def test_a_result_follows_its_schema_and_a_wrong_one_does_not(tmp_path: Path, schema: dict[str, object]) -> None:
    cache = Cache(tmp_path)
    for made in (made for runs in pair(0.2, 0.3).values() for made in runs):
        cache.put(replace(made, data="census"), SYSTEMS[made.system].slug)
    result = json.loads(json.dumps(command.collected(cache, 5)))
    jsonschema.validate(result, schema)
    assert (result["won"], result["compared"], len(result["pairs"])) == (1, 1, 12)
    assert result["runs_of_other_code"][OURS] == 1  # these runs were made by no code at all
    del result["pairs"][4]["systems"][OURS]["measures"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(result, schema)


def test_the_committed_result_follows_its_schema(schema: dict[str, object]) -> None:
    result = json.loads((command.RESULTS / "peers.json").read_text(encoding="utf-8"))
    jsonschema.validate(result, schema)
    assert {(pair["data"], pair["epsilon"]) for pair in result["pairs"]} == {
        (d, e) for d in DATA for e in command.EPSILONS
    }


def test_what_is_printed_names_losses_and_failures(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    found = pair(0.2, 0.1)
    found[OURS] = [made_run(OURS, seed, measures=dict.fromkeys(_ALL, error)) for seed, error in ((1, 0.15), (2, 0.25))]
    for made in (made for runs in found.values() for made in runs):
        cache.put(replace(made, data="census"), SYSTEMS[made.system].slug)
    result = command.collected(cache, 5)
    text = page.summary(result)
    assert "Preliminary" in text
    assert "**0 of 1**" in text
    assert "Census, ε = 1: smartnoise MST 0.100 against 0.200" in text
    assert "failed on Census, ε = 1" in text
    assert page.BOTH_SAMPLERS in text
    assert page.picture(result)["vconcat"]


def test_the_faulty_sampler_is_named_beside_every_claim_to_be_ahead_of_systems_that_use_it() -> None:
    """To be removed together with mbi 1.1.0."""
    root = Path(__file__).resolve().parents[2]
    for name in ("smartnoise", "opendp"):
        assert "mbi==1.1.0" in (root / f"benchmarks/peers/requirements/{name}.txt").read_text(encoding="utf-8")
    pairs = json.loads((root / "benchmarks" / "results" / "peers.json").read_text(encoding="utf-8"))["pairs"]
    published = (root / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    assert page.sampler_note(pairs) in published
    assert published.index("Is it ahead of other systems?") < published.index(page.BOTH_SAMPLERS)
    readme = (root / "README.md").read_text(encoding="utf-8")
    assert "mbi 1.1.0" in readme
    for boast in ("12 of 12", "9 of 9", "best mean of eight"):
        assert boast not in readme


def test_what_did_not_run_with_the_repaired_sampler_is_named() -> None:
    as_installed = made_run("smartnoise MST", measures=dict.fromkeys(_ALL, 0.3))
    pairs = [ranking.compare("census", "1", {OURS: [made_run(OURS)], "smartnoise MST": [as_installed]})]
    twin = "smartnoise MST (repaired sampler)"
    assert f"{twin} on Census, ε = 1" in page.sampler_note(pairs)
    runs = {OURS: [made_run(OURS)], "smartnoise MST": [as_installed], twin: [replace(as_installed, system=twin)]}
    assert page.sampler_note([ranking.compare("census", "1", runs)]) == page.BOTH_SAMPLERS


# What is known without the runs themselves, which are not in git


def test_a_result_is_the_same_from_the_runs_and_from_an_earlier_result(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    for made in (made for runs in pair(0.2, 0.3).values() for made in runs):
        cache.put(replace(made, data="census"), SYSTEMS[made.system].slug)
    first = json.loads(json.dumps(command.collected(cache, 5)))
    again = json.loads(json.dumps(command.collected(Cache(tmp_path / "none"), 5, command.Known(first))))
    for result in (first, again):
        del result["machine"]["load"]
    assert again == first
    forgotten = command.collected(Cache(tmp_path / "none"), 5, command.Known(first, ["smartnoise MST"]))
    assert "smartnoise MST" in forgotten["pairs"][4]["ranked_systems_not_run"]


def test_runs_here_take_the_place_of_what_an_earlier_result_says(tmp_path: Path) -> None:
    cache = Cache(tmp_path)
    known = command.Known({"pairs": [ranking.compare("census", "1", pair(0.2, 0.3))]})
    cache.put(made_run("smartnoise MST", data="census", measures=dict.fromkeys(_ALL, 0.1)), "smartnoise-MST")
    found = next(p for p in command.collected(cache, 5, known)["pairs"] if (p["data"], p["epsilon"]) == ("census", "1"))
    assert found["systems"]["smartnoise MST"]["measures"]["jsd"] == 0.1
    assert found["systems"][OURS]["measures"]["jsd"] == 0.2
    assert found["ours_at_or_above_best_peer"] is False


def test_what_is_known_of_today_s_code_is_not_run_again_and_what_is_not_is(tmp_path: Path) -> None:
    system = SYSTEMS["smartnoise MST"]
    today = running.current_fingerprint(system, DATA["census"])
    known = [
        command.Known(
            {"pairs": [ranking.compare("census", "1", {system.name: [made_run(system.name, fingerprint=code)]})]}
        )
        for code in (today, {**today, "runner": "other"})
    ]
    wanted = [
        [work.seed for work in missing(Cache(tmp_path), [system], ["census"], ["1"], 2, each.settled)] for each in known
    ]
    assert wanted == [[], [1, 2]]


# The repaired sampler


@pytest.fixture
def sampler(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(Path(command.__file__).parent / "runners" / "shared"))
    return importlib.import_module("mbi_sampler")


def test_rows_drawn_from_a_ring_of_columns_have_the_pairs_of_its_model(sampler: ModuleType) -> None:
    """a-b, b-c, c-d, d-a measured. Eliminating a joins b and d, which no table measured: cliques abd and bcd."""
    rng = np.random.default_rng(2)
    ring = [rng.random((3, 3)) ** 4 for _ in range(4)]
    joint = np.einsum("ab,bc,cd,da->abcd", *ring)
    joint /= joint.sum()
    marginals = {("a", "b", "d"): joint.sum(axis=2), ("b", "c", "d"): joint.sum(axis=0)}
    rows = 50_000
    drawn = sampler.drawn(marginals, ["a", "b", "c", "d"], rows, np.random.default_rng(1))
    counts = np.zeros(joint.shape)
    np.add.at(counts, tuple(drawn[name] for name in "abcd"), 1)
    for first, second in combinations(range(4), 2):
        others = tuple({0, 1, 2, 3} - {first, second})
        assert np.abs(counts.sum(axis=others) / rows - joint.sum(axis=others)).sum() / 2 < 0.006
    # Within a clique shares are rounded, not drawn: far closer than chance, whose total variation is some 0.004.
    assert np.abs(counts.sum(axis=(1, 2)) / rows - joint.sum(axis=(1, 2))).sum() / 2 < 0.0005
    # What mbi 1.1.0 does, with the same model: d does not know of b.
    blind = {("a", "b"): joint.sum(axis=(2, 3)), ("b", "c"): joint.sum(axis=(0, 3)), ("c", "d"): joint.sum(axis=(0, 1))}
    wrong = sampler.drawn(blind, ["a", "b", "c", "d"], rows, np.random.default_rng(1))
    missed = np.zeros((3, 3))
    np.add.at(missed, (wrong["a"], wrong["d"]), 1)
    assert np.abs(missed / rows - joint.sum(axis=(1, 2))).sum() / 2 > 0.05


def test_which_row_of_a_group_gets_a_value_is_chance(sampler: ModuleType) -> None:
    values = sampler.drawn({("a",): np.array([1.0, 1.0])}, ["a"], 1000, np.random.default_rng(1))["a"]
    assert values.sum() == 500
    assert 100 < np.count_nonzero(np.diff(values)) < 900  # neither sorted nor alternating


def test_a_value_without_mass_is_never_drawn_and_rows_without_a_share_follow_the_column(sampler: ModuleType) -> None:
    table = np.array([[0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])  # b given a, which the marginal says is never 1
    rng = np.random.default_rng(1)
    assert set(sampler._given([np.array([0, 0, 1])], table, 3, rng).tolist()) == {1}


def test_systems_with_the_repaired_sampler_run_the_same_runner_in_the_same_environment() -> None:
    repaired = [system for system in SYSTEMS.values() if system.repaired]
    assert len(repaired) == 5
    for system in repaired:
        twin = SYSTEMS[system.name.removesuffix(" (repaired sampler)")]
        assert (system.runner, system.requirements, system.lines) == (twin.runner, twin.requirements, twin.lines)
        assert Path(system.command[1]).name == "repaired.py"
        assert system.command[-1] == twin.command[-1] == str(system.runner)
        assert {k: v for k, v in system.fingerprint().items() if k != "sampler"} == twin.fingerprint()
        assert "(" not in system.slug


def test_every_runner_marks_what_its_user_writes_and_has_pinned_requirements() -> None:
    for system in SYSTEMS.values():
        if system.not_here:
            continue
        assert system.lines
        if not system.ours:
            pinned = system.requirements.read_text(encoding="utf-8").split()
            assert pinned
            assert all("==" in line for line in pinned)


def test_only_lines_that_do_something_are_counted() -> None:
    assert essential_lines("x\n# user: begin\na = 1\n\n# why\nb = 2\n# user: end\ny\n") == 2


def test_a_fingerprint_ignores_comments_layout_and_imports_but_not_code(tmp_path: Path) -> None:
    path = tmp_path / "code.py"
    prints = []
    for text in ('"""Doc."""\nx = 1\n', "# note\nimport a.b\nx  =  1\n", "x = 2\n"):
        path.write_text(text)
        prints.append(meaning(path))
    assert prints[0] == prints[1] != prints[2]


def test_the_conversion_from_epsilon_and_delta_to_rho_is_tight(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pandas")
    monkeypatch.syspath_prepend(str(Path(command.__file__).parent / "runners" / "shared"))
    import math

    import runner

    for epsilon in (0.1, 1.0, 10.0):
        rho = runner.rho_of(epsilon, 1e-9)
        simple = (math.sqrt(math.log(1e9) + epsilon) - math.sqrt(math.log(1e9))) ** 2  # from ε = ρ + 2√(ρ log 1/δ)
        assert simple < rho < 2 * simple
