"""Starting and ending the page as a process."""

from __future__ import annotations

import json
import os
import signal
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest

from rankveil.web.home import Home, State, Working
from rankveil.web.jobs import READ, Job, remove_copy
from rankveil.web.private import held, keep
from rankveil.web.tables import REMOVE_COPY
from tests.support import Ran
from tests.web_support import PEOPLE, serving


def test_the_page_listens_on_the_loopback_address_only(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        with socket.create_connection(("127.0.0.1", server.port), timeout=5):
            pass
        with socket.socket() as other:  # free on every other address of this machine
            other.bind(("127.0.0.2", server.port))


def test_ctrl_c_ends_the_page_and_makes_its_cookie_worthless(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        opened = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert opened.open(server.address, timeout=20).status == 200
        server.end(signal.SIGINT)
        assert list((server.state / "servers").iterdir()) == []
        server.start()
        try:
            opened.open(server.base + "/", timeout=20)
        except urllib.error.HTTPError as refusal:
            assert refusal.code == 403
        else:
            raise AssertionError("the old cookie still opens the page")


def test_the_address_is_in_no_command_line(tmp_path: Path) -> None:
    """A browser that notes its command line, as other users of the machine could."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser.sh"
    browser.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {seen}.part; mv {seen}.part {seen}\n')
    browser.chmod(0o755)
    with serving(tmp_path, env={"BROWSER": f"{browser} %s"}, browser=True) as server:
        deadline = time.monotonic() + 60
        while not seen.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        (argument,) = seen.read_text().split()
        token = server.address.rpartition("/")[2]
        assert argument.startswith("file://") and token not in argument
        way_in = Path(argument.removeprefix("file://"))
        assert token in way_in.read_text()
        assert (way_in.stat().st_mode & 0o777, way_in.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        opened = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        assert opened.open(server.address, timeout=20).status == 200
        assert not way_in.exists()
        server.end(signal.SIGTERM)
        assert "The page was opened." in server.log()


def test_a_second_use_of_the_address_is_said_in_the_terminal(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        for code in (200, 403):
            opened = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            try:
                assert opened.open(server.address, timeout=20).status == code
            except urllib.error.HTTPError as refusal:
                assert refusal.code == code
        server.end(signal.SIGTERM)
        assert "used a second time, by another browser. The page is locked." in server.log()


@pytest.mark.parametrize("change", ["writable by all", "of another user", "a link of another user"])
def test_a_folder_that_others_could_exchange_is_refused(
    change: str, tmp_path: Path, run_cli: Callable[..., Ran]
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    state = shared / "mine" / "state"
    if change == "writable by all":
        shared.chmod(0o777)
        words = "can be changed by other users"
    else:
        if os.getuid() != 0:
            pytest.skip("needs the right to give a folder away")
        if change == "of another user":
            os.chown(shared, 12345, 12345)
        else:
            (tmp_path / "elsewhere").mkdir()
            (shared / "mine").symlink_to(tmp_path / "elsewhere")
            os.lchown(shared / "mine", 12345, 12345)
        words = "belongs to another user"
    ran = run_cli("web", "--no-browser", env={"RANKVEIL_STATE": str(state)})
    assert ran.code == 2
    assert words in ran.err and "RANKVEIL_STATE" in ran.err
    assert not state.exists()


def test_a_sticky_folder_on_the_way_is_no_danger(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    home = Home(shared / "state")
    assert home.folder.stat().st_mode & 0o777 == 0o700


def test_a_port_that_is_taken_is_refused_in_words(tmp_path: Path, run_cli: Callable[..., Ran]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = run_cli("web", "--port", port, "--no-browser", env={"RANKVEIL_STATE": str(tmp_path / "state")})
    assert ran.code == 2
    assert f"Port {port} of 127.0.0.1 cannot be used" in ran.err


def test_a_table_that_is_missing_is_refused_before_the_page_opens(tmp_path: Path, run_cli: Callable[..., Ran]) -> None:
    ran = run_cli("web", "nowhere.csv", "--no-browser", env={"RANKVEIL_STATE": str(tmp_path / "state")})
    assert ran.code == 3
    assert "does not exist" in ran.err
    assert ran.out == ""
    assert list((tmp_path / "state" / "workings").iterdir()) == []


def test_a_plan_without_a_table_is_a_usage_error(run_cli: Callable[..., Ran]) -> None:
    ran = run_cli("web", "--plan", "plan.toml", "--no-browser")
    assert ran.code == 2
    assert "--plan needs a TABLE" in ran.err


def test_a_plan_that_is_not_about_the_table_is_refused_before_the_page_opens(
    tmp_path: Path, run_cli: Callable[..., Ran]
) -> None:
    (tmp_path / "people.csv").write_text(PEOPLE)
    (tmp_path / "plan.toml").write_text('[release]\nepsilon = 1\n[columns.other]\nkind = "boolean"\n')
    env = {"RANKVEIL_STATE": str(tmp_path / "state")}
    ran = run_cli("web", "people.csv", "--plan", "plan.toml", "--no-browser", env=env)
    assert ran.code == 3
    assert "which the table people.csv does not have" in ran.err


@pytest.mark.parametrize("has_read", [False, True])
def test_the_copy_of_an_upload_goes_with_the_page_or_with_the_job_that_still_reads_it(
    has_read: bool, tmp_path: Path
) -> None:
    """A job lives on for a moment after its result is there; it does not look for requests again."""
    working = uploaded(tmp_path)
    job = Job(working.jobs_folder / ("0" * 16))
    job.folder.mkdir(parents=True)
    copy = Path(working.read().table)
    with held(job.folder / "running"):
        if has_read:
            keep(job.folder / READ, b"")
        remove_copy(working)
        assert copy.exists() == (not has_read)
        if not has_read:  # it ends now, and finds the request
            keep(job.folder / READ, b"")
            assert (working.folder / REMOVE_COPY).exists()
            remove_copy(working)
    assert not copy.exists() and not (working.folder / REMOVE_COPY).exists()


def uploaded(folder: Path) -> Working:
    working = Working(folder / "working")
    copy = working.folder / "table" / "people.csv"
    copy.parent.mkdir(parents=True)
    copy.write_text(PEOPLE)
    state = State(str(copy), "people.csv", uploaded=True, plan="", created=0.0, next_release="")
    keep(working.folder / "working.json", json.dumps(asdict(state)).encode())
    return working
