"""What stands beside a release on the page: papers, signature, replicate weights, risk; and the formats it opens."""

from __future__ import annotations

import json
import os
import re
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from rankveil.sign.keys import beside_ledger, new_key, public_path
from rankveil.verify import verify
from rankveil.web.home import Working
from rankveil.web.jobs import Job, find_out, found_about, job_named
from tests.support import Ran
from tests.web_support import PEOPLE, PEOPLE_PLAN, Visitor, until


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor(tmp_path)


def released(visitor: Visitor, plan: str = PEOPLE_PLAN, **ticked: str) -> tuple[Working, Job]:
    working = visitor.upload(plan=plan)
    form = visitor.release_form(working)
    answer = visitor.post(f"/w/{working.id}/release", {**form, **ticked})
    assert answer.status_code == 303, answer.text
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.status().running)
    return working, job


def command(page: str) -> str:
    found = re.search(r'id="code-release"[^>]*>(.*?)</pre>', page, re.DOTALL)
    assert found is not None
    return found[1]


def unpacked(visitor: Visitor, here: str, folder: Path) -> Path:
    with zipfile.ZipFile(BytesIO(visitor.get(f"{here}/files/release.zip").content)) as bundle:
        bundle.extractall(folder)
    return folder / "release"


def test_an_unsigned_release_says_so_and_its_certificate_is_shown_without_scripts(
    visitor: Visitor, tmp_path: Path
) -> None:
    working, job = released(visitor)
    here = f"/w/{working.id}/releases/{job.id}"
    page = visitor.get(here).text
    assert "not signed" in page
    assert "manifest.sig" not in page
    assert visitor.get(f"{here}/files/manifest.sig").status_code == 404
    shown = visitor.get(f"{here}/report/certificate.html")
    assert shown.text == (job.out / "certificate.html").read_text(encoding="utf-8")
    policy = shown.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "sandbox" in policy
    assert "allow-scripts" not in policy
    for name in ("certificate.html", "certificate.json", "manifest.json"):
        assert f"{here}/files/{name}" in page
        assert visitor.get(f"{here}/files/{name}").content == (job.out / name).read_bytes()
    folder = unpacked(visitor, here, tmp_path / "taken")
    assert verify(folder / "certificate.json", folder / "release.csv").verified


def test_the_key_beside_the_ledger_signs_and_the_page_says_who(
    visitor: Visitor, ledger_of_this_test: Path, tmp_path: Path, run_cli: Any
) -> None:
    key = beside_ledger(ledger_of_this_test)
    public = new_key(key, name="Office of Towns")
    working = visitor.upload(plan=PEOPLE_PLAN)
    page = visitor.get(f"/w/{working.id}/release").text
    assert "by the key beside the ledger" in page
    assert "--key" not in page, "the command finds the same key"
    working, job = released(visitor)
    here = f"/w/{working.id}/releases/{job.id}"
    page = visitor.get(here).text
    assert "Office of Towns" in page
    assert public.fingerprint in page
    assert f"{here}/files/manifest.sig" in page
    folder = unpacked(visitor, here, tmp_path / "taken")
    ran: Ran = run_cli("verify", folder, "--key", public_path(key))
    assert ran.code == 0, ran.text


def test_a_locked_key_is_told_before_and_refused_before_anything_is_spent(
    visitor: Visitor, ledger_of_this_test: Path
) -> None:
    new_key(beside_ledger(ledger_of_this_test), passphrase="open sesame")
    working, job = released(visitor)
    assert "which is locked" in visitor.get(f"/w/{working.id}/release").text
    status = job.status()
    assert (status.state, status.ledger.spent) == ("refused", False)
    assert "locked with a passphrase" in visitor.get(f"/w/{working.id}/releases/{job.id}").text


def test_replicates_are_written_shown_in_the_command_and_evaluated(visitor: Visitor, tmp_path: Path) -> None:
    working = visitor.upload(plan=PEOPLE_PLAN)
    assert "--replicates" not in command(visitor.get(f"/w/{working.id}/release").text)
    assert "--replicates 80" in command(visitor.get(f"/w/{working.id}/release?replicates=80").text)
    assert "--replicates" not in command(visitor.get(f"/w/{working.id}/release?replicates=7").text)
    working, job = released(visitor, replicates="80")
    here = f"/w/{working.id}/releases/{job.id}"
    certificate = json.loads((job.out / "certificate.json").read_text())
    assert certificate["weights"]["replicates"] == 80
    assert "80 replicate weights in weights.csv" in visitor.get(here).text
    folder = unpacked(visitor, here, tmp_path / "taken")
    assert (folder / "weights.csv").read_bytes() == (job.out / "weights.csv").read_bytes()
    assert visitor.post(f"{here}/evaluate").status_code == 303
    (evaluation,) = found_about(working, job, "evaluate")
    until(lambda: not evaluation.status().running)
    assert 'id="intervals"' in visitor.get(f"{here}/report/evaluation.internal.html").text


def test_a_method_without_replicates_does_not_offer_them_nor_take_them(visitor: Visitor) -> None:
    plan = PEOPLE_PLAN.replace('"synthetic"', '"laplace"')
    working, job = released(visitor, plan, replicates="80")
    assert 'name="replicates"' not in visitor.get(f"/w/{working.id}/release").text
    assert job.spec.replicates is None
    assert job.status().state == "done"


# Loaded by every Python that is started with it on its path: a tenth of the releases for membership inference.
_FEWER = "from rankveil.risk import risk; risk.__kwdefaults__['shadows'] = 40"


def test_the_risk_is_tested_once_is_internal_and_stays_out_of_the_bundle(
    visitor: Visitor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    working, job = released(visitor)
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(_FEWER)
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path / 'hook'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    here = f"/w/{working.id}/releases/{job.id}"
    assert visitor.get(f"{here}/report/risk.internal.html").status_code == 404
    for _ in range(2):
        assert visitor.post(f"{here}/risk").headers["location"].endswith("#risk")
    (tested,) = found_about(working, job, "risk")
    assert visitor.post(f"/w/{working.id}/releases/{tested.id}/risk").status_code == 404
    until(lambda: not tested.status().running, seconds=120)
    assert tested.status().state == "done", tested.status()
    assert find_out(working, job, "risk").id == tested.id
    report = visitor.get(f"{here}/report/risk.internal.html")
    assert "INTERNAL" in report.text
    assert "allow-scripts" not in report.headers["content-security-policy"]
    found = json.loads(visitor.get(f"{here}/files/risk.internal.json").content)
    assert {"attacks", "membership"} <= set(found)
    assert "rankveil risk people.csv" in visitor.get(here).text
    with zipfile.ZipFile(BytesIO(visitor.get(f"{here}/files/release.zip").content)) as bundle:
        assert not [name for name in bundle.namelist() if "internal" in name]


@pytest.mark.parametrize("name", ["people.xlsx", "people.sav", "people.dta", "people.jsonl"])
def test_files_of_other_programs_are_opened_and_come_back_as_what_they_were(
    visitor: Visitor, tmp_path: Path, name: str
) -> None:
    frame = pl.read_csv(PEOPLE.encode(), schema_overrides={"smokes": pl.String}).drop("smokes")
    path = tmp_path / name
    if name.endswith("xlsx"):
        pytest.importorskip("python_calamine")
        pytest.importorskip("xlsxwriter")
        frame.write_excel(path)
    elif name.endswith("jsonl"):
        frame.write_ndjson(path)
    else:
        statistics = pytest.importorskip("pyreadstat")
        write = statistics.write_sav if name.endswith("sav") else statistics.write_dta
        write(frame.to_pandas(), str(path))
    plan = PEOPLE_PLAN.partition("[columns.smokes]")[0]
    working = visitor.upload(path.read_bytes(), name=name, plan=plan)
    assert working.read().rows == 300
    form = visitor.release_form(working)
    assert visitor.post(f"/w/{working.id}/release", form).status_code == 303
    job = job_named(working, form["release_id"])
    assert job is not None
    until(lambda: not job.status().running)
    assert job.status().state == "done", job.status()
    found = job.release_file()
    assert found is not None
    assert found.suffix == path.suffix
    shown = visitor.get(f"/w/{working.id}/releases/{job.id}").text
    assert f"files/{found.name}" in shown
    assert "The first rows of the release" in shown
