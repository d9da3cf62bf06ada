"""Certificates and certified releases: `verify` answers whatever it is given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import rankveil as rv
from rankveil.certificate import Certificate
from rankveil.noise import SeededSource
from rankveil.verify import Verification, verify
from tests.fuzz.harness import CASES, CERTIFICATE_ENTRIES, Findings, cases, corpus, refused, time_limit


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
    for number, content in cases(files, CASES["certificate"], seed=6, favourites=[folder.name for folder in made]):
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


def test_any_separator_of_a_release_is_checked(made: list[Path], tmp_path: Path) -> None:
    header, _, rows = release_in(made[0]).read_bytes().partition(b",")
    path, findings = tmp_path / "release.csv", Findings()
    for byte in range(256):
        with findings.case(bytes([byte])):
            path.write_bytes(header + bytes([byte]) + rows)
            checked(made[0] / "certificate.json", path)
    findings.none()


VALUES: tuple[object, ...] = (
    *(None, True, -1, 0, 10**30, 1.5, 1e308, float("nan"), float("inf"), [], [None], {}, "", "x", "\ud800", "\0"),
    *(
        "1e400",
        "9" * 400,
        "-" + "9" * 400,
        "9" * 9000,
        "0." + "0" * 400 + "1",
        "1/" + "9" * 400,
        "1/0",
        "-1",
        "0",
        "1/3",
    ),
    *("nan", "Infinity", "1_0", "١", "0.5", "0001-01-01", "9999-12-31", "99999-01-01", "2020-02-30", "csv", "date"),
)


def entries(content: object, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every entry; of lists, the first and the last member."""
    if path:
        yield path
    if isinstance(content, dict):
        for key in content:
            yield from entries(content[key], (*path, key))
    elif isinstance(content, list):
        for place in {0, len(content) - 1} if content else ():
            yield from entries(content[place], (*path, place))


def test_any_entry_of_a_certificate_is_checked(made: list[Path], tmp_path: Path) -> None:
    """Entries one by one, so that most certificates can still be read and every check is reached."""
    path, findings, number, read = tmp_path / "certificate.json", Findings(), 0, 0
    for folder in made:
        text = (folder / "certificate.json").read_text()
        for turn, way in enumerate(entries(json.loads(text))):
            for value in VALUES[turn % 5 :: 5]:
                content = json.loads(text)
                place = content
                for key in way[:-1]:
                    place = place[key]
                place[way[-1]] = value
                number += 1
                with findings.case(f"{way} = {value!r}", number):
                    path.write_text(json.dumps(content))
                    read += checked(path, release_in(folder)).certificate is not None
    findings.none()
    assert number >= CERTIFICATE_ENTRIES
    assert read > 1000


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
