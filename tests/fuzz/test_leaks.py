"""No message, certificate or ledger shows a value of the data, and nothing is written outside the output folder.

A plan's author may name a taxonomy anywhere (`../shared/jobs.csv`, `/srv/jobs.csv`): it is read, never written.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import rankveil as rv
from rankveil.verify import verify
from tests.fuzz.harness import corpus, refused
from tests.support import PAPERS, Ran, category, files_in, integer, plan_text

Cli = Callable[..., Ran]

CANARIES = ("Zanzibar", "48151623", "99887766", "1987-06-05", "Xanadu")
COLUMNS = {
    "money": integer(100_000_000, more="null = true"),
    "size": 'kind = "number"\nlower = 0\nupper = 100000000\nstep = 0.5',
    "job": category(["cook", "Zanzibar"]),
    "born": 'kind = "date"\nlower = 1900-01-01\nupper = 2030-12-31',
    "name": 'kind = "drop"',
}
FITS = (
    "money,size,job,born,name\n48151623,48151623.5,Zanzibar,1987-06-05,Xanadu\n99887766,1,cook,1987-06-05,99887766\n"
    ",3,cook,1999-01-01,Xanadu\n"
)
TABLES: dict[str, bytes] = {
    "fits": FITS.encode(),
    "number outside": FITS.encode() + b"4815162342,1,cook,1987-06-05,Xanadu\n",
    "number outside a grid": FITS.encode() + b"1,99887766123,cook,1987-06-05,Xanadu\n",
    "label outside": FITS.encode() + b"1,1,Xanadu,1987-06-05,Xanadu\n",
    "date outside": FITS.encode() + b"1,1,cook,1887-06-05,Xanadu\n",
    "not a number": FITS.encode() + b"Xanadu,48151623x,cook,1987-06-05,Xanadu\n",
    "not a date": FITS.encode() + b"1,1,cook,1987-06-05Xanadu,Xanadu\n",
    "missing": FITS.encode() + b"1,1,,1987-06-05,Xanadu\n",
    "too many fields": FITS.encode() + b"48151623,1,cook,1987-06-05,Xanadu,99887766,Xanadu\n",
    "too few fields": FITS.encode() + b"48151623,Xanadu\n",
    "open quote": FITS.encode() + b'48151623,1,"Xanadu,1987-06-05,Xanadu\n',
    "quote inside": FITS.encode() + b'48151623,1,Xan"adu,1987-06-05,Xanadu\n',
    "not UTF-8": FITS.encode() + b"48151623,1,Xanadu\xff,1987-06-05,Xanadu\n",
    "NUL": FITS.encode() + b"48151623,1,Xanadu\0,1987-06-05,Xanadu\n",
    "no header": FITS.partition("\n")[2].encode(),
    "no header, equal values": b"Xanadu,Xanadu,48151623,48151623,99887766\n" + FITS.partition("\n")[2].encode(),
    "open quote in the header": FITS.replace("name\n", 'name,"\n', 1).encode(),
    "one row": FITS[: FITS.index("99887766")].encode(),
}


def leaks(folder: Path, *texts: str, canaries: tuple[str, ...] = CANARIES) -> list[str]:
    """Canaries in texts, and in the names and contents of all files but the table, the plan and the release."""
    kept = {"table.csv", "plan.toml", "release.csv"}
    places = {f"text {number}": text.encode() for number, text in enumerate(texts)}
    places |= {path: path.encode() for path in files_in(folder)}
    places |= {f"in {path}": (folder / path).read_bytes() for path in files_in(folder) if Path(path).name not in kept}
    return [f"{canary} {place}" for canary in canaries for place, text in places.items() if canary.encode() in text]


# A dry run counts rows and looks at no value; in these tables rows cannot be told, or are too few for a release.
NOT_COUNTED = {
    "too many fields",
    "too few fields",
    "open quote",
    "NUL",
    "no header, equal values",
    "open quote in the header",
    "one row",
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bytes], list[object]]:
    """Writes a table, its plan and nothing else; gives the arguments of `release`. The ledger lies beside them."""
    monkeypatch.setenv("RANKVEIL_LEDGER", str(tmp_path / "ledger.sqlite"))

    def write(table: bytes) -> list[object]:
        (tmp_path / "table.csv").write_bytes(table)
        (tmp_path / "plan.toml").write_text(plan_text(COLUMNS))
        return ["table.csv", "--plan", "plan.toml"]

    return write


@pytest.mark.parametrize("options", [[], ["--json"], ["--quiet"], ["--dry-run"], ["--dry-run", "--json"]], ids=" ".join)
@pytest.mark.parametrize("name", TABLES)
def test_no_canary_is_seen_outside_the_release(
    cli: Cli, files: Callable[[bytes], list[object]], tmp_path: Path, name: str, options: list[str]
) -> None:
    done = cli("release", *files(TABLES[name]), "--out", "out", *options)
    fits = name == "fits" or ("--dry-run" in options and name not in NOT_COUNTED)
    assert done.code == (0 if fits else 3), done.text
    assert not leaks(tmp_path, done.out, done.err)


@pytest.mark.parametrize("name", ["fits", "label outside", "too many fields", "not UTF-8"])
def test_no_canary_is_seen_by_the_real_command(
    run_cli: Cli, files: Callable[[bytes], list[object]], tmp_path: Path, name: str
) -> None:
    done = run_cli("release", *files(TABLES[name]), "--out", "out")
    assert done.code == (0 if name == "fits" else 3), done.text
    assert not leaks(tmp_path, done.out, done.err)


def test_no_canary_is_seen_in_what_other_commands_say(
    cli: Cli, files: Callable[[bytes], list[object]], tmp_path: Path
) -> None:
    """`evaluate` and `init` are internal, but do not show values on the screen either."""
    arguments = files(TABLES["fits"])
    assert cli("release", *arguments, "--out", "out").code == 0
    assert cli("ledger", "cap", "table.csv", "--epsilon", 3).code == 0
    released = (tmp_path / "out" / "release.csv").read_text()
    said = [
        cli("verify", "out/certificate.json", "out/release.csv"),
        cli("verify", "out/certificate.json", "out/release.csv", "--json"),
        cli("ledger", "show", "--entries"),
        cli("ledger", "show", "--json"),
        cli("ledger", "verify"),
        cli("evaluate", *arguments[:1], "out", *arguments[1:]),
        cli("release", *arguments, "--out", "out"),  # refused: it is there already
        cli("release", *arguments, "--out", "two", "--epsilon", "2.5"),  # refused: the cap
        cli("init", "table.csv", "--out", "elsewhere/plan.toml"),
    ]
    assert [done.code for done in said] == [0, 0, 0, 0, 0, 0, 2, 4, 0]
    # A release that was tampered with is not quoted either.
    for row in ("Xanadu,48151623,Xanadu,1987-06-05", "99887766", '"Xanadu', "48151623,1,Xanadu\0,1"):
        (tmp_path / "out" / "release.csv").write_text(released + row + "\n")
        said.append(cli("verify", "out/certificate.json", "out/release.csv", "--json"))
        assert said[-1].code == 3
        said.append(cli("evaluate", *arguments[:1], "out", *arguments[1:]))
        assert said[-1].code == 3
    assert not leaks(tmp_path, *(done.text for done in said))


@pytest.mark.parametrize("name", TABLES)
def test_no_canary_is_seen_in_progress_or_in_a_python_error(
    files: Callable[[bytes], list[object]], tmp_path: Path, name: str
) -> None:
    files(TABLES[name])
    stages: list[str] = []
    error = refused(
        lambda: rv.release(
            tmp_path / "table.csv", tmp_path / "plan.toml", out=tmp_path / "out", progress=stages.append
        ),
        canaries=CANARIES,
    )
    assert (error is None) == (name == "fits")
    assert not leaks(tmp_path, repr(error), *map(repr, error.args if error else ()), *stages)


# Where files are written

_watching: list[list[str]] = []


def _note_writes(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching:
        return
    writes = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
    if event == "open" and isinstance(arguments[0], str | bytes | os.PathLike) and arguments[2] & writes:
        _watching[-1].append(os.fsdecode(arguments[0]))
    elif event in ("os.rename", "os.link"):
        _watching[-1] += [os.fsdecode(arguments[0]), os.fsdecode(arguments[1])]
    elif event == "os.symlink":  # what it leads to is seen from where it lies
        place = Path(os.fsdecode(arguments[1]))
        _watching[-1] += [str(place), str(place.parent / os.fsdecode(arguments[0]))]
    elif event in ("os.remove", "os.rmdir"):
        path, folder = os.fsdecode(arguments[0]), arguments[1]
        # A tree is removed folder by folder, each known by its open file.
        _watching[-1].append(path if folder < 0 else str(Path(f"/proc/self/fd/{folder}").readlink() / path))
    elif event in ("os.mkdir", "os.truncate", "os.chmod", "sqlite3.connect"):
        _watching[-1].append(os.fsdecode(arguments[0]))


sys.addaudithook(_note_writes)  # hooks stay for good, so it only listens inside `writes_noted`


@contextmanager
def writes_noted() -> Iterator[list[str]]:
    """Every path that Python code opens for writing, makes, renames or removes."""
    _watching.append([])
    try:
        yield _watching[-1]
    finally:
        _watching.pop()


def outside(writes: list[str], *allowed: Path) -> list[str]:
    found = [Path(os.path.abspath(path)) for path in writes if "__pycache__" not in path]  # noqa: PTH100
    return [str(path) for path in found if not any(path.is_relative_to(folder) for folder in allowed)]


def test_the_watch_sees_writes(tmp_path: Path) -> None:
    with writes_noted() as writes:
        (tmp_path / "new").write_text("x")
        (tmp_path / "new").rename(tmp_path / "old")
    assert outside(writes, tmp_path / "elsewhere")
    assert not outside(writes, tmp_path)


@pytest.mark.parametrize(
    "taxonomy", ["../trees/jobs.csv", "ABSOLUTE", "jobs.csv", "../../../../../etc/passwd", "/dev/null"]
)
@pytest.mark.parametrize("method", ["laplace", "synthetic", "unlinked", "published:mdav"])
@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_release_writes_to_its_folder_and_to_the_ledger_and_nowhere_else(
    tmp_path: Path, taxonomy: str, method: str, kind: str
) -> None:
    for folder in ("data", "plans", "trees", "ledger"):
        (tmp_path / folder).mkdir()
    for folder in ("plans", "trees"):
        (tmp_path / folder / "jobs.csv").write_bytes(corpus("taxonomies")["tree.csv"])
    (tmp_path / "data" / "table").write_bytes(corpus(kind)[f"good.{kind}"])
    text = corpus("plans")["good.toml"].decode().replace('method = "laplace"', f'method = "{method}"')
    where = str(tmp_path / "trees" / "jobs.csv") if taxonomy == "ABSOLUTE" else taxonomy
    text = text.replace('categories = ["cook", "smith", "baker"]', f'taxonomy = "{where}"')
    (tmp_path / "plans" / "plan.toml").write_text(text)
    before = {path: (tmp_path / path).read_bytes() for path in files_in(tmp_path)}
    with writes_noted() as writes:
        refusal = refused(
            lambda: rv.release(
                tmp_path / "data" / "table",
                tmp_path / "plans" / "plan.toml",
                out=tmp_path / "out",
                ledger=tmp_path / "ledger" / "ledger.sqlite",
                accept_no_guarantee=True,
            )
        )
    assert (refusal is None) == taxonomy.endswith("jobs.csv") or taxonomy == "ABSOLUTE"
    assert not outside(writes, tmp_path / "out", tmp_path / "ledger")
    made = set(files_in(tmp_path)) - set(before)
    ledger = {"ledger/ledger.sqlite", "ledger/ledger.sqlite.key"}
    assert made == ({*(f"out/{name}" for name in PAPERS), f"out/release.{kind}", *ledger} if refusal is None else set())
    assert {path: (tmp_path / path).read_bytes() for path in before} == before, "what was there is as it was"


def test_names_in_hostile_files_are_never_taken_for_paths(tmp_path: Path) -> None:
    names = ["../../escape", "/tmp/escape", "CON", "a/b", "\u202e", "."]
    (tmp_path / "table.csv").write_text(",".join(names) + "\n" + (",".join("1" * len(names)) + "\n") * 3)
    (tmp_path / "plan.toml").write_text(plan_text(dict.fromkeys(names, integer(5)), method="synthetic"))
    out = tmp_path / "out"
    with writes_noted() as writes:
        rv.release(tmp_path / "table.csv", tmp_path / "plan.toml", out=out, ledger=tmp_path / "out" / "ledger")
        certificate = out / "certificate.json"
        certificate.write_text(certificate.read_text().replace('"release.csv"', '"../../../escape.csv"'))
        verify(certificate, out / "release.csv")
        refused(lambda: rv.evaluate(tmp_path / "table.csv", out, tmp_path / "plan.toml"))
    assert not outside(writes, out)
    ours = [*(f"out/{name}" for name in (*PAPERS, "ledger", "ledger.key", "release.csv")), "plan.toml", "table.csv"]
    assert files_in(tmp_path) == sorted(ours)
