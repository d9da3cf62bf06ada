"""A release in parts: whole or not at all, and every part certified."""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as papq
import pytest

from rankveil.certificate import Certificate, ReleaseNote
from rankveil.declare import Plan, declare_alone
from rankveil.draw.rows import Piece, Rows
from rankveil.errors import OutputError
from rankveil.noise import SeededSource
from rankveil.release import release
from rankveil.verify import verify
from rankveil.write import OutputFolder, Written, folder, swap
from rankveil.write.files import FileFormat, write_rows

PLAN = Plan.parse(
    """
[release]
method = "synthetic"
epsilon = 1
[columns.a]
kind = "integer"
lower = 0
upper = 9
[columns.b]
kind = "category"
categories = ["x", "y"]
"""
)
SCHEMA = declare_alone(PLAN)


def codes(piece: Piece) -> dict[str, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    return {"a": np.arange(piece.rows) % 10, "b": np.arange(piece.rows) % 2}


ROWS = Rows(SCHEMA, 50, (), False, pieces=tuple(Piece(i, 10, bytes(32)) for i in range(5)), make=codes)


def parts_of(rows: Rows) -> Callable[[Path], Iterator[Written]]:
    """What an engine does, one part after the other."""

    def write(into: Path) -> Iterator[Written]:
        for piece in rows.pieces:
            name = f"part-{piece.number:05}.parquet"
            yield write_rows(replace(rows, pieces=(piece,)), into / name, name, FileFormat("parquet"))

    return write


@pytest.fixture
def certificate(tmp_path: Path) -> Certificate:
    """A certificate of the same columns, to be filled in."""
    table = tmp_path / "table.csv"
    table.write_text("a,b\n" + "1,x\n2,y\n" * 25)
    return release(table, PLAN, source=SeededSource(1)).certificate


def papers(written: Written) -> dict[str, bytes]:
    return {"certificate.json": b"{}"}


def published(out: Path, certificate: Certificate, **options: bool) -> Path:
    def certify(written: Written) -> dict[str, bytes]:
        made = certificate.model_copy(update={"release": ReleaseNote.of(written, FileFormat("parquet"))})
        return {"certificate.json": made.to_json().encode()}

    OutputFolder(out, FileFormat("parquet"), **options).publish_parts(parts_of(ROWS), certify)
    return out


def failures(out: Path) -> dict[str, str]:
    checks = verify(out / "certificate.json", out / "release.parquet").checks
    return {check.check: check.detail for check in checks if not check.holds and check.check != "made for release"}


def test_a_release_in_parts_is_a_folder_that_other_readers_read_as_one_table(
    tmp_path: Path, certificate: Certificate
) -> None:
    out = published(tmp_path / "out", certificate)
    assert sorted(path.name for path in out.iterdir()) == ["certificate.json", "release.parquet"]
    table = papq.read_table(out / "release.parquet")
    assert table.num_rows == 50
    assert table["a"].to_pylist() == list(range(10)) * 5
    assert {path.stat().st_mode & 0o777 for path in (out / "release.parquet").iterdir()} == {0o644}
    assert (out / "release.parquet").stat().st_mode & 0o777 == 0o755


def test_every_part_is_certified_and_the_whole_by_what_sha256sum_prints(
    tmp_path: Path, certificate: Certificate
) -> None:
    out = published(tmp_path / "out", certificate)
    says = json.loads((out / "certificate.json").read_text())["release"]
    assert [part["name"] for part in says["parts"]] == [f"part-{number:05}.parquet" for number in range(5)]
    for part in says["parts"]:
        content = (out / "release.parquet" / part["name"]).read_bytes()
        assert (part["sha256"], part["bytes"]) == (hashlib.sha256(content).hexdigest(), len(content))
    printed = subprocess.run(
        ["sha256sum", *[part["name"] for part in says["parts"]]],
        cwd=out / "release.parquet",
        capture_output=True,
        check=True,
    ).stdout
    assert says["sha256"] == hashlib.sha256(printed).hexdigest()
    assert failures(out) == {}


def remove(out: Path) -> None:
    (out / "release.parquet" / "part-00001.parquet").unlink()


def add(out: Path) -> None:
    (out / "release.parquet" / "part-00009.parquet").write_bytes(b"")


def damage(out: Path) -> None:
    part = out / "release.parquet" / "part-00002.parquet"
    content = bytearray(part.read_bytes())
    content[10] ^= 1
    part.write_bytes(content)


def exchange(out: Path) -> None:
    """Two entries of the list change places: all files are certified, but the order of the rows is another one."""
    path = out / "certificate.json"
    says = json.loads(path.read_text())
    says["release"]["parts"][:2] = says["release"]["parts"][1::-1]
    path.write_text(json.dumps(says))


def lead_elsewhere(out: Path) -> None:
    path = out / "certificate.json"
    says = json.loads(path.read_text())
    says["release"]["parts"][0]["name"] = "../certificate.json"
    path.write_text(json.dumps(says))


@pytest.mark.parametrize("change", [remove, add, damage, exchange, lead_elsewhere])
def test_a_changed_release_in_parts_is_found_out(
    change: Callable[[Path], None], tmp_path: Path, certificate: Certificate
) -> None:
    out = published(tmp_path / "out", certificate)
    change(out)
    assert "file is the certified one" in failures(out)


def test_a_part_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    def write(into: Path) -> Iterator[Written]:
        yield from list(parts_of(ROWS)(into))[:3]
        raise OSError(28, "No space left on device")

    with pytest.raises(OutputError, match="No space left"):
        OutputFolder(tmp_path / "out", FileFormat("parquet")).publish_parts(write, papers)
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("unreported", [0, 4])
def test_parts_that_were_not_reported_or_never_written_are_refused(tmp_path: Path, unreported: int) -> None:
    def too_few(into: Path) -> list[Written]:
        return list(parts_of(ROWS)(into))[:unreported]

    def too_many(into: Path) -> list[Written]:
        return [*parts_of(ROWS)(into), Written("part-00005.parquet", "", 0)]

    for write in (too_few, too_many):
        with pytest.raises(OutputError, match="parts are missing"):
            OutputFolder(tmp_path / "out", FileFormat("parquet")).publish_parts(write, papers)
        assert list((tmp_path / "out").iterdir()) == []


def test_a_step_that_fails_takes_everything_back(
    tmp_path: Path, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(current: Path, side: str) -> None:
        if side == "new":
            raise OSError(28, "No space left on device")
        point(current, side)

    point = swap._point
    monkeypatch.setattr(swap, "_point", failing)
    with pytest.raises(OutputError, match="No space left"):
        published(tmp_path / "out", certificate)
    assert list((tmp_path / "out").iterdir()) == []


def test_everything_is_synced_before_it_appears(
    tmp_path: Path, certificate: Certificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    for module in (folder, swap):
        monkeypatch.setattr(module, "sync", lambda path: synced.append(path.name))
    point = swap._point

    def pointed(current: Path, side: str) -> None:
        synced.append(f"step to {side}")
        point(current, side)

    monkeypatch.setattr(swap, "_point", pointed)
    published(tmp_path / "out", certificate)
    assert synced[:7] == [*(f"part-{number:05}.parquet" for number in range(5)), "release.parquet", "certificate.json"]
    before, after = synced[: synced.index("step to new")], synced[synced.index("step to new") :]
    assert {"names", "new", "old"} <= set(before[7:])
    assert before[-1] == "out", "names lead through the switch before it is thrown"
    assert after[-1] == "out"


def test_a_release_in_parts_is_replaced_only_if_told_so(tmp_path: Path, certificate: Certificate) -> None:
    out = published(tmp_path / "out", certificate)
    with pytest.raises(OutputError, match="already holds"):
        published(out, certificate)
    published(out, certificate, overwrite=True)
    assert failures(out) == {}
    OutputFolder(out, FileFormat("csv"), overwrite=True).publish(ROWS, papers)
    assert sorted(path.name for path in out.iterdir()) == ["certificate.json", "release.csv"]


def test_a_model_appears_beside_parts_in_the_same_step(tmp_path: Path) -> None:
    files = {"model.json": b"{}", "rows.parquet": b"rows"}
    folder = OutputFolder(tmp_path / "out", FileFormat("parquet"))
    folder.publish_parts(parts_of(ROWS), papers, files)
    assert {path.name: path.read_bytes() for path in (tmp_path / "out" / "model").iterdir()} == files
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "certificate.json",
        "model",
        "release.parquet",
    ]
