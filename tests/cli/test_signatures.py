"""Keys, signatures and manifests: whoever changes a byte, signs with another key, rolls the ledger back or swaps
certificates is found out, and told apart."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from rankveil import Plan, release
from rankveil.errors import SigningError
from rankveil.ledger import Identity, Ledger, rolled_back
from rankveil.ledger.head import _digest
from rankveil.sign import beside_ledger, new_key, public_key, read_manifest, signing_key
from rankveil.sign.keys import PASSPHRASE, public_path
from rankveil.verify import verify
from tests.support import PAPERS, Ran, files_in

Cli = Callable[..., Ran]
PLAN = """
[release]
method = "synthetic"
epsilon = 1
[publication]
title = "Towns"
curator = "Office"
[columns.age]
kind = "integer"
lower = 0
upper = 99
[columns.town]
kind = "category"
categories = ["Bonn", "Jena"]
"""
SIGNED = ["certificate.html", "certificate.json", "manifest.json", "manifest.sig"]


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "people.csv"
    path.write_text("age,town\n" + "".join(f"{age % 100},{('Bonn', 'Jena')[age % 2]}\n" for age in range(300)))
    return path


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory, table: Path) -> Path:
    """A folder with a ledger, a key beside it, and two releases that are signed: `first` and `second`."""
    folder = tmp_path_factory.mktemp("office")
    new_key(beside_ledger(folder / "ledger.sqlite"), name="Office of Towns")
    for name in ("first", "second"):
        release(
            table, Plan.parse(PLAN), out=folder / name, ledger=folder / "ledger.sqlite", keep_model=True, replicates=20
        )
    return folder


@pytest.fixture
def copy(office: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(office / "second", tmp_path / "copy"))


def pub(office: Path) -> Path:
    return public_path(beside_ledger(office / "ledger.sqlite"))


def failing(folder: Path, key: Path | None = None, ledger: Path | None = None) -> dict[str, str]:
    checks = verify(folder / "certificate.json", folder / "release.csv", key=key, ledger=ledger).checks
    return {check.check: check.detail for check in checks if not check.holds}


# Honest releases


def test_a_key_beside_the_ledger_signs_every_file_of_a_release(office: Path) -> None:
    assert [name for name in files_in(office / "second") if name in SIGNED] == SIGNED
    assert failing(office / "second", pub(office), office / "ledger.sqlite") == {}
    listed, _ = read_manifest(office / "second" / "manifest.json")
    others = {name for name in files_in(office / "second") if name not in ("manifest.json", "manifest.sig")}
    assert {file.name for file in listed.files} == others, "nothing but the manifest and its signature is left out"
    assert any(name.startswith("model/") for name in others)
    assert "weights.csv" in others


def test_certificate_page_and_manifest_name_the_key(office: Path) -> None:
    key = public_key(pub(office))
    content = json.loads((office / "second" / "certificate.json").read_text())
    assert content["signed"] == {"algorithm": "Ed25519", "key": key.fingerprint, "name": "Office of Towns"}
    page = (office / "second" / "certificate.html").read_text()
    assert key.fingerprint in page
    assert "Office of Towns" in page
    assert "not signed" not in page


def test_openssl_and_sha256sum_check_a_release_without_rankveil(office: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(pub(office)), "-rawin"]
    files = ["-in", "manifest.json", "-sigfile", "manifest.sig"]
    done = subprocess.run([*command, *files], cwd=office / "second", capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "Signature Verified Successfully")
    listing = json.loads((office / "second" / "manifest.json").read_text())["files"]
    lines = "".join(f"{file['sha256']}  {file['name']}\n" for file in listing)
    assert subprocess.run(["sha256sum", "-c", "--quiet"], input=lines, cwd=office / "second", text=True).returncode == 0
    der = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", str(pub(office)), "-outform", "DER"], capture_output=True, check=True
    ).stdout
    digest = subprocess.run(["sha256sum"], input=der, capture_output=True, check=True).stdout.decode().split()[0]
    assert digest == public_key(pub(office)).fingerprint


def test_an_unsigned_release_says_so_on_page_json_and_in_verify(table: Path, tmp_path: Path, cli: Cli) -> None:
    release(table, Plan.parse(PLAN), out=tmp_path / "out", ledger=tmp_path / "ledger.sqlite")
    assert files_in(tmp_path / "out") == [*PAPERS, "release.csv"]
    assert json.loads((tmp_path / "out" / "certificate.json").read_text())["signed"] is None
    assert "Not signed." in (tmp_path / "out" / "certificate.html").read_text()
    done = cli("verify", tmp_path / "out", "--json")
    assert done.code == 0, done.text
    said = {check["check"]: check["detail"] for check in json.loads(done.out)["checks"]}
    assert said["signature"] == "not signed: nobody stands for it"
    new_key(tmp_path / "key.pem")
    assert failing(tmp_path / "out", tmp_path / "key.pub.pem") == {"signature": "not signed: the manifest names no key"}


def test_no_sign_leaves_the_signature_out_and_key_chooses_another(
    table: Path, office: Path, tmp_path: Path, cli: Cli
) -> None:
    (tmp_path / "plan.toml").write_text(PLAN)
    for name in ("ledger.sqlite", "ledger.sqlite.key", "ledger.sqlite.signing.pem"):
        shutil.copy2(office / name, tmp_path / name)
    given = ("release", table, "--plan", tmp_path / "plan.toml", "--ledger", tmp_path / "ledger.sqlite", "--quiet")
    assert cli(*given, "--out", tmp_path / "a", "--no-sign").code == 0
    assert "manifest.sig" not in files_in(tmp_path / "a")
    assert cli("key", "new", "--out", tmp_path / "own.pem", "--name", "Me").code == 0
    done = cli(*given, "--out", tmp_path / "a", "--overwrite", "--key", tmp_path / "own.pem", "--json")
    assert done.code == 0, done.text
    own = public_key(tmp_path / "own.pub.pem").fingerprint
    assert json.loads(done.out)["signed_by"] == own
    assert failing(tmp_path / "a", tmp_path / "own.pub.pem") == {}
    assert cli(*given, "--out", tmp_path / "a", "--overwrite", "--no-sign").code == 0
    assert "manifest.sig" not in files_in(tmp_path / "a"), "a signature does not outlive its release"


# What is found out


def test_a_changed_byte_in_any_file_is_refused_and_the_file_is_named(office: Path, copy: Path) -> None:
    key = pub(office)
    for name in files_in(copy):
        original = (copy / name).read_bytes()
        place = len(original) // 2
        for changed in (original[:place] + bytes([original[place] ^ 1]) + original[place + 1 :], original + b" "):
            (copy / name).write_bytes(changed)
            found = failing(copy, key)
            assert found, name
            said = " ".join(found.values())
            wanted = name if name not in ("manifest.json", "manifest.sig") else "manifest.json"
            assert wanted in said, (name, found)
        (copy / name).write_bytes(original)
    assert failing(copy, key) == {}


def test_a_wrong_key_is_refused_with_both_fingerprints(office: Path, copy: Path, tmp_path: Path) -> None:
    other = new_key(tmp_path / "other.pem", name="Somebody Else")
    found = failing(copy, tmp_path / "other.pub.pem")
    assert set(found) == {"signature"}
    assert found["signature"].startswith("signed with another key than the one given:")
    assert other.fingerprint in found["signature"]
    assert public_key(pub(office)).fingerprint in found["signature"]


def test_a_forger_who_signs_again_with_his_own_key_is_not_the_office(office: Path, copy: Path, tmp_path: Path) -> None:
    new_key(tmp_path / "forger.pem", name="Office of Towns")
    key = signing_key(tmp_path / "forger.pem")
    (copy / "manifest.sig").write_bytes(key.sign((copy / "manifest.json").read_bytes()))
    assert "does not fit manifest.json" in failing(copy)["signature"]


def test_a_signature_that_is_taken_away_is_missed(office: Path, copy: Path) -> None:
    (copy / "manifest.sig").unlink()
    assert failing(copy)["signature"] == "the manifest says that it is signed, and manifest.sig is missing"
    (copy / "manifest.json").unlink()
    assert "certificate says that it is signed" in failing(copy)["files are those on the list"]


def test_the_certificate_of_another_release_is_refused_as_such(office: Path, copy: Path) -> None:
    for name in ("certificate.json", "certificate.html"):
        shutil.copy2(office / "first" / name, copy / name)
    found = failing(copy, pub(office))
    assert found["files are those on the list"] == "the certificate is of another release than the one on the list"
    assert "file is the certified one" in found


@pytest.mark.parametrize("entry", ["title", "created", "rankveil_version"])
def test_a_manifest_that_says_something_else_of_the_release_is_refused(office: Path, copy: Path, entry: str) -> None:
    """Even if the office has signed it."""
    content = json.loads((copy / "manifest.json").read_text())
    content[entry] = "2001-01-01T00:00:00Z" if entry == "created" else "0.0.1"
    (copy / "manifest.json").write_text(json.dumps(content))
    key = signing_key(beside_ledger(office / "ledger.sqlite"))
    (copy / "manifest.sig").write_bytes(key.sign((copy / "manifest.json").read_bytes()))
    said = failing(copy, pub(office))
    assert set(said) == {"files are those on the list"}
    assert "manifest.json does not have the certificate's title" in said["files are those on the list"]


def test_all_papers_of_another_release_are_refused(office: Path, copy: Path) -> None:
    for name in SIGNED:
        shutil.copy2(office / "first" / name, copy / name)
    found = failing(copy, pub(office))
    assert "signature" not in found, "they are the office's own"
    assert "release.csv was changed" in found["files are those on the list"]


def test_a_page_that_says_more_than_the_certificate_is_refused_even_if_nobody_signed(
    table: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    release(table, Plan.parse(PLAN), out=out, ledger=tmp_path / "ledger.sqlite")
    page = (out / "certificate.html").read_text()
    (out / "certificate.html").write_text(page.replace("2.72", "1.72"))
    (out / "manifest.json").unlink()
    assert set(failing(out)) == {"page says what the certificate says"}


def refused(folder: Path, key: Path) -> dict[str, str]:
    """Of a folder that is named by itself."""
    return {check.check: check.detail for check in verify(folder, key=key).checks if not check.holds}


@pytest.mark.parametrize("name", ["more.csv", "release.parquet", "notes/read me.txt"])
def test_what_was_put_into_the_folder_is_named_and_refused(office: Path, copy: Path, name: str) -> None:
    assert refused(copy, pub(office)) == {}
    (copy / name).parent.mkdir(exist_ok=True)
    (copy / name).write_text("a corrected table")
    first = name.split("/")[0]
    said = f"{first} lies in the folder and is not on the list: it is no part of the release"
    assert refused(copy, pub(office)) == {"files are those on the list": said}
    assert failing(copy, pub(office)) == {}, "two files that are named may lie among others"


@pytest.mark.parametrize("name", ["release.csv", "certificate.json", "manifest.sig", "model/plan.toml"])
def test_a_file_that_became_a_link_out_of_the_folder_is_refused(
    office: Path, copy: Path, tmp_path: Path, name: str
) -> None:
    (copy / name).rename(tmp_path / "elsewhere")
    (copy / name).symlink_to(tmp_path / "elsewhere")
    said = f"{name} is a link to a place outside the folder, where it can be changed unseen"
    assert refused(copy, pub(office)) == {"files are those on the list": said}


def test_a_file_that_is_missing_is_named_the_release_and_the_certificate_too(office: Path, copy: Path) -> None:
    (copy / "release.csv").unlink()
    found = refused(copy, pub(office))
    assert found["file is the certified one"] == "release.csv is missing"
    assert found["files are those on the list"] == "release.csv is on the list, and missing"
    (copy / "model" / "rows.parquet").unlink()
    assert refused(copy, pub(office))["model is the certified one"] == "rows.parquet is missing"
    (copy / "certificate.json").unlink()
    assert refused(copy, pub(office)) == {"certificate can be read": "certificate.json is missing"}


# The ledger


def ledger_copy(office: Path, to: Path) -> Path:
    for name in ("ledger.sqlite", "ledger.sqlite.key"):
        shutil.copy2(office / name, to / name)
    with Ledger(to / "ledger.sqlite"):
        return to / "ledger.sqlite"


def test_a_ledger_that_was_rolled_back_shows(office: Path, copy: Path, table: Path, tmp_path: Path) -> None:
    path = ledger_copy(office, tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER no_delete")
    connection.execute("DELETE FROM entries WHERE number > 2")  # the first release, as it was then
    connection.commit()
    connection.close()
    with Ledger(path) as ledger:
        assert ledger.broken_at() is None, "its own seals do not show it"
    found = failing(copy, pub(office), path)
    assert set(found) == {"ledger"}
    assert found["ledger"].startswith(
        "the ledger ends with entry 2, and this release is entry 3: the ledger was rolled"
    )
    release(table, Plan.parse(PLAN), out=tmp_path / "third", ledger=path)
    assert "entry 3 of the ledger is not this release" in failing(copy, pub(office), path)["ledger"]


def test_a_price_that_is_rewritten_with_the_ledgers_own_key_shows_against_the_signed_head(
    office: Path, copy: Path, tmp_path: Path
) -> None:
    path = ledger_copy(office, tmp_path)
    with Ledger(path) as ledger:
        connection, before = ledger._connection, "0" * 64
        for trigger in ("no_update", "no_delete"):
            connection.execute(f"DROP TRIGGER {trigger}")
        for entry in ledger.entries():
            if entry.number == 1:
                connection.execute("UPDATE entries SET epsilon = '1/10' WHERE number = 1")
        for entry in ledger.entries():
            seal = ledger._seal_of(entry, before)
            connection.execute("UPDATE entries SET seal = ? WHERE number = ?", (seal, entry.number))
            before = seal
        assert ledger.broken_at() is None, "whoever holds the key can write another history"
        head = read_manifest(copy / "manifest.json")[0].ledger
        assert head is not None
        wrong = rolled_back(ledger, head.entry, head.receipt, head.head)
    assert wrong == "the entries up to 3 are not those the ledger had when this was signed: they were rewritten"
    assert failing(copy, pub(office), path) == {"ledger": wrong}


def test_the_head_does_not_depend_on_which_table_was_released(tmp_path: Path) -> None:
    """PRIVACY: identities follow exact values, so a head that is published leaves them out."""
    heads = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "ledger.sqlite.key").write_bytes(bytes(32))
        with Ledger(tmp_path / name / "ledger.sqlite") as ledger:
            ledger.spend([Identity("table", name * 64, name)], None, Fraction(0), "note")
            [found] = ledger.entries()
            same = replace(found, note="the same note", at="the same time")
            heads.append(_digest(ledger.key, [same]))
            assert _digest(ledger.key, [replace(same, epsilon="1")]) != heads[-1], "a price does change it"
    assert heads[0] == heads[1]


def test_a_damaged_or_missing_ledger_is_a_failed_check(office: Path, copy: Path, tmp_path: Path) -> None:
    assert "there is no ledger" in failing(copy, None, tmp_path / "none.sqlite")["ledger"]
    path = ledger_copy(office, tmp_path)
    connection = sqlite3.connect(path)
    connection.execute("DROP TRIGGER no_update")
    connection.execute("UPDATE entries SET note = 'x' WHERE number = 1")
    connection.commit()
    connection.close()
    assert "entry 1 of the ledger does not fit its seal" in failing(copy, None, path)["ledger"]


# Keys


def test_a_key_is_readable_by_its_owner_only_and_never_shown(tmp_path: Path, cli: Cli) -> None:
    done = cli("key", "new", "--out", tmp_path / "key.pem", "--name", "Me")
    assert done.code == 0, done.text
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    secret = (tmp_path / "key.pem").read_text().splitlines()[-2]
    shown = cli("key", "show", tmp_path / "key.pem")
    assert "PUBLIC KEY" in shown.out
    assert secret not in done.text + shown.text
    assert "PRIVATE" not in shown.text
    assert secret not in repr(signing_key(tmp_path / "key.pem"))


def test_a_key_is_not_replaced(tmp_path: Path, cli: Cli) -> None:
    new_key(tmp_path / "key.pem")
    done = cli("key", "new", "--out", tmp_path / "key.pem")
    assert (done.code, "already there" in done.err) == (2, True)


def test_a_key_that_others_can_read_does_not_sign(tmp_path: Path, table: Path) -> None:
    new_key(tmp_path / "key.pem")
    (tmp_path / "key.pem").chmod(0o644)
    with pytest.raises(SigningError, match="can be read by others"):
        release(table, Plan.parse(PLAN), out=tmp_path / "out", ledger=tmp_path / "l.sqlite", key=tmp_path / "key.pem")
    assert not (tmp_path / "l.sqlite").exists(), "nothing was spent"


def test_a_locked_key_needs_its_passphrase(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PASSPHRASE, raising=False)
    new_key(tmp_path / "key.pem", passphrase="open sesame")
    assert "ENCRYPTED" in (tmp_path / "key.pem").read_text()
    with pytest.raises(SigningError, match="locked with a passphrase"):
        signing_key(tmp_path / "key.pem")
    with pytest.raises(SigningError, match="passphrase is wrong"):
        signing_key(tmp_path / "key.pem", "close sesame")
    made = signing_key(tmp_path / "key.pem", "open sesame")
    assert made.public.has_signed(b"text", made.sign(b"text"))
    assert not made.public.has_signed(b"texts", made.sign(b"text"))
    monkeypatch.setenv(PASSPHRASE, "open sesame")
    assert signing_key(tmp_path / "key.pem").public == made.public


@pytest.mark.parametrize("text", ["", "no key", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n"])
def test_a_file_that_is_no_key_is_refused_in_words(tmp_path: Path, cli: Cli, office: Path, text: str) -> None:
    (tmp_path / "key.pem").write_text(text)
    done = cli("verify", office / "second", "--key", tmp_path / "key.pem")
    assert done.code == 3
    assert "is no public key" in " ".join(done.out.split())


def test_a_private_key_is_not_taken_for_a_public_one(tmp_path: Path) -> None:
    new_key(tmp_path / "key.pem")
    with pytest.raises(SigningError, match="is a private key"):
        public_key(tmp_path / "key.pem")


def test_without_the_library_a_signed_release_says_what_to_install(office: Path) -> None:
    code = (
        "import sys\nsys.modules['cryptography'] = None\n"
        "from rankveil.verify import verify\n"
        f"found = verify({str(office / 'second/certificate.json')!r}, {str(office / 'second/release.csv')!r})\n"
        "print([check.detail for check in found.checks if not check.holds])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "optional part 'sign'" in done.stdout
    assert done.stdout.count("needs the optional") == 1


def test_the_library_is_loaded_only_where_there_is_a_signature(tmp_path: Path, table: Path) -> None:
    code = (
        "import sys, rankveil as rv\n"
        f"plan = rv.Plan.parse({PLAN!r})\n"
        f"rv.release({str(table)!r}, plan, out={str(tmp_path / 'out')!r}, ledger={str(tmp_path / 'l.sqlite')!r})\n"
        "from rankveil.verify import verify\n"
        f"assert verify({str(tmp_path / 'out/certificate.json')!r}, {str(tmp_path / 'out/release.csv')!r}).verified\n"
        "assert 'cryptography' not in sys.modules and 'jinja2' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


# Files that never end


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with a name are of POSIX")
@pytest.mark.parametrize("name", [*SIGNED, "release.csv", "weights.csv", "model/model.json"])
def test_a_pipe_in_place_of_a_file_fails_a_check_and_nobody_waits_for_it(name: str, copy: Path, office: Path) -> None:
    if name == "weights.csv":
        name = next(path.name for path in copy.iterdir() if "weights" in path.name)
    (copy / name).unlink()
    os.mkfifo(copy / name)
    outcome: list[dict[str, str]] = []
    waiting = threading.Thread(target=lambda: outcome.append(failing(copy, pub(office))), daemon=True)
    waiting.start()
    waiting.join(60)
    assert outcome and outcome[0]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there is no file without end")
@pytest.mark.parametrize("name", ["certificate.json", "manifest.sig"])
def test_a_link_to_a_device_is_refused(name: str, copy: Path, office: Path) -> None:
    (copy / name).unlink()
    (copy / name).symlink_to("/dev/zero")
    assert failing(copy, pub(office))
