"""Starting and ending the page as a process."""

from __future__ import annotations

import signal
import socket
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

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
