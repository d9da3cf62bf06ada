"""Certificates and certified releases: `verify` answers whatever it is given."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rankveil as rv
from rankveil.certificate import Certificate
from rankveil.noise import SeededSource
from rankveil.verify import Verification, verify
from tests.fuzz.harness import CASES, Findings, cases, corpus, refused, time_limit


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders of three releases, tests by their randomness."""
    folder = tmp_path_factory.mktemp("made")
    for name, plan in (("csv/good.csv", "good"), ("csv/good.csv", "synthetic"), ("parquet/good.parquet", "published")):
        kind, file = name.split("/")
        (folder / file).write_bytes(corpus(kind)[file])
        (folder / "plan.toml").write_bytes(corpus("plans")[f"{plan}.toml"])
        out = folder / plan
        rv.release(folder / file, folder / "plan.toml", out=out, source=SeededSource(1), accept_no_guarantee=True)
    return [folder / plan for plan in ("good", "synthetic", "published")]


def release_in(folder: Path) -> Path:
    return next(folder.glob("release.*"))


def checked(certificate: Path, release: Path) -> Verification:
    """`verify` never refuses: what it cannot read does not hold."""
    with time_limit():
        result = verify(certificate, release)
    json.dumps(result.as_dict())
    assert result.certificate is not None or not result.verified
    return result


def test_any_certificate_is_checked(made: list[Path], tmp_path: Path) -> None:
    path, findings, read = tmp_path / "certificate.json", Findings(), 0
    files = {folder.name: (folder / "certificate.json").read_bytes() for folder in made} | corpus("certificates")
    for number, content in cases(files, CASES["certificate"], seed=6):
        with findings.case(content, number):
            path.write_bytes(content)
            result = checked(path, release_in(made[number % len(made)]))
            read += result.certificate is not None
            assert not result.verified, "none of the releases was made for release"
    findings.none()
    assert 100 < read < CASES["certificate"]


@pytest.mark.parametrize("kind", ["good", "published"])
def test_any_release_is_checked_against_its_certificate(made: list[Path], tmp_path: Path, kind: str) -> None:
    folder = next(folder for folder in made if folder.name == kind)
    original, findings, path = release_in(folder), Findings(), tmp_path / release_in(folder).name
    for number, content in cases({"": original.read_bytes()}, CASES["certified release"] // 2, seed=7):
        with findings.case(content, number):
            path.write_bytes(content)
            holds = {check.check: check.holds for check in checked(folder / "certificate.json", path).checks}
            assert holds["file is the certified one"] == (content == original.read_bytes())
    findings.none()


VALUES: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(
        ["1e400", "9" * 400, "1/0", "-1", "0", "1/3", "nan", "Infinity", "9" * 9000, "1_0", "١", "0.5", "\ud800"]
    ),
    st.sampled_from(["0001-01-01", "9999-12-31", "99999-01-01", "2020-02-30", "1e-400", "csv", "public", "date"]),
    st.lists(st.none(), max_size=1),
)


@settings(max_examples=CASES["hypothesis certificate"], derandomize=True, database=None)
@given(data=st.data(), which=st.integers(0, 2), changes=st.integers(1, 3))
def test_any_entry_of_a_certificate_is_checked(
    made: list[Path], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, which: int, changes: int
) -> None:
    """Entries one by one, so that most certificates can still be read and every check is reached."""
    content = json.loads((made[which] / "certificate.json").read_text())
    for _ in range(changes):
        place: Any = content
        while True:
            key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
            if not isinstance(place[key], dict | list) or not place[key] or not data.draw(st.integers(0, 9)):
                break
            place = place[key]
        place[key] = data.draw(VALUES)
    path = tmp_path_factory.mktemp("certificate") / "certificate.json"
    path.write_text(json.dumps(content))
    checked(path, release_in(made[which]))


def test_a_certificate_beside_a_release_that_cannot_be_read_is_refused_by_evaluate(made: list[Path]) -> None:
    path = made[0] / "certificate.json"
    original = path.read_bytes()
    findings = Findings()
    try:
        for number, content in enumerate([*corpus("certificates").values(), b"\xff", b"{}"]):
            with findings.case(content, number):
                path.write_bytes(content)
                plan = path.parents[1] / "plan.toml"
                assert refused(lambda plan=plan: rv.evaluate(made[0] / "release.csv", made[0], plan))  # type: ignore[misc]
    finally:
        path.write_bytes(original)
    findings.none()


def test_what_can_be_read_as_a_certificate_is_one(made: list[Path]) -> None:
    for folder in made:
        text = (folder / "certificate.json").read_text()
        assert Certificate.model_validate_json(text).to_json() == text
