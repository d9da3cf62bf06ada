"""Who may talk to the page, and what every answer carries."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from rankveil.web.guard import COOKIE, HEADERS, LIFETIME, Door, Events
from tests.web_support import HOST, PORT, Visitor


@pytest.fixture
def stranger(tmp_path: Path) -> Visitor:
    return Visitor(tmp_path, admitted=False)


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    return Visitor(tmp_path)


def test_the_printed_address_is_exchanged_for_a_cookie_that_scripts_and_other_sites_cannot_use(
    stranger: Visitor,
) -> None:
    answer = stranger.get(f"/open/{stranger.token}")
    assert answer.status_code == 303
    assert answer.headers["location"] == f"{stranger.door.path}/"
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"{COOKIE}=")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert f"Path={stranger.door.path}" in cookie
    assert stranger.token not in cookie
    assert stranger.get("/").status_code == 200


def test_the_printed_address_works_once(stranger: Visitor) -> None:
    assert stranger.get(f"/open/{stranger.token}").status_code == 303
    stranger.client.cookies.clear()
    again = stranger.get(f"/open/{stranger.token}")
    assert again.status_code == 403
    assert "set-cookie" not in again.headers
    assert stranger.get("/").status_code == 403


def test_a_second_use_of_the_address_locks_the_page_and_is_reported(stranger: Visitor) -> None:
    told: list[str] = []
    stranger.app.events = Events(opened=lambda: told.append("opened"), locked=lambda: told.append("locked"))
    assert stranger.get(f"/open/{stranger.token}").status_code == 303
    assert stranger.get(f"/open/{stranger.token}").status_code == 303, "whoever opened it may come again"
    assert stranger.get("/").status_code == 200
    thief = dict(stranger.client.cookies)
    stranger.client.cookies.clear()
    owner = stranger.get(f"/open/{stranger.token}")
    assert owner.status_code == 403
    assert "used before, and not by this browser" in owner.text
    assert told == ["opened", "locked"]
    stranger.client.cookies.update(thief)
    shut_out = stranger.get("/")
    assert shut_out.status_code == 403
    assert "locked" in shut_out.text


def test_a_wrong_address_locks_nothing(visitor: Visitor, stranger: Visitor) -> None:
    assert stranger.get(f"/open/{stranger.token}").status_code == 303
    cookies = dict(stranger.client.cookies)
    stranger.client.cookies.clear()
    assert stranger.get("/open/" + "0" * 64).status_code == 403
    stranger.client.cookies.update(cookies)
    assert stranger.get("/").status_code == 200


def test_who_comes_from_a_file_is_led_on_by_the_page_itself(stranger: Visitor) -> None:
    """Browsers keep a strict cookie back on a way that began elsewhere."""
    answer = stranger.get(f"/open/{stranger.token}", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert f'content="0; url={stranger.door.path}/"' in answer.text
    assert stranger.token not in answer.text
    assert stranger.get("/").status_code == 200


def test_a_look_at_the_headers_alone_does_not_use_up_the_address(stranger: Visitor) -> None:
    assert stranger.client.head(f"{stranger.door.path}/open/{stranger.token}").status_code == 403
    assert stranger.get(f"/open/{stranger.token}").status_code == 303


@pytest.mark.parametrize("token", ["", "0" * 64, "%00", "ä" * 64])
def test_a_wrong_token_opens_nothing(stranger: Visitor, token: str) -> None:
    assert stranger.get(f"/open/{token}").status_code == 403
    assert stranger.get("/").status_code == 403


@pytest.mark.parametrize("path", ["/", "/w/0123456789abcdef/columns", "/static/page.css", "/nothing"])
def test_without_the_cookie_nothing_is_shown(stranger: Visitor, path: str) -> None:
    answer = stranger.get(path)
    assert answer.status_code == 403
    assert "Open the address" in answer.text


@pytest.mark.parametrize("cookie", ["", "0" * 64, "x"])
def test_another_cookie_is_worth_nothing(visitor: Visitor, cookie: str) -> None:
    assert visitor.get("/").status_code == 200
    visitor.client.cookies.clear()
    assert visitor.get("/", headers={"cookie": f"{COOKIE}={cookie}"}).status_code == 403


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", f"[::1]:{PORT}", ""]
)
def test_another_host_name_is_refused_even_with_the_cookie(visitor: Visitor, host: str) -> None:
    assert visitor.get("/", headers={"host": host}).status_code == 421


def test_the_page_answers_to_localhost_as_well(visitor: Visitor) -> None:
    headers = {"host": f"localhost:{PORT}", "cookie": f"{COOKIE}={visitor.cookie}"}
    assert visitor.get("/", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": f"https://{HOST}"},
        {"origin": "http://127.0.0.1:9999"},
        {"origin": "null"},
        {"origin": "null", "sec-fetch-site": "cross-site"},
        {"origin": f"http://{HOST}", "sec-fetch-site": "cross-site"},
        {"origin": f"http://{HOST}", "sec-fetch-site": "same-site"},
        {},
    ],
)
def test_a_form_of_another_site_changes_nothing_even_with_the_cookie(visitor: Visitor, headers: dict[str, str]) -> None:
    working = visitor.upload()
    answer = visitor.client.post(f"{visitor.door.path}/w/{working.id}/remove", headers=headers)
    assert answer.status_code == 403
    assert visitor.home.working(working.id) is not None


@pytest.mark.parametrize("headers", [{"origin": f"http://{HOST}"}, {"origin": "null", "sec-fetch-site": "same-origin"}])
def test_a_form_of_the_page_itself_is_taken(visitor: Visitor, headers: dict[str, str]) -> None:
    working = visitor.upload()
    assert visitor.client.post(f"{visitor.door.path}/w/{working.id}/remove", headers=headers).status_code == 303
    assert visitor.home.working(working.id) is None


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/nothing", "/w/0123456789abcdef/release"])
def test_every_answer_carries_the_strict_headers(visitor: Visitor, path: str) -> None:
    answer = visitor.get(path)
    for name, value in HEADERS.items():
        assert answer.headers[name] == value
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert answer.headers["cache-control"] == "no-store"


def test_refusals_carry_the_strict_headers_too(stranger: Visitor) -> None:
    assert stranger.get("/").headers["content-security-policy"].startswith("default-src 'none'")


def test_the_pages_hold_nothing_that_the_policy_would_block(visitor: Visitor) -> None:
    working = visitor.upload()
    for path in (
        "/",
        *(f"/w/{working.id}/{step}" for step in ("table", "columns", "columns?edit=1", "method", "release")),
    ):
        text = visitor.get(path).text
        assert " style=" not in text
        assert "<style" not in text
        assert "<script>" not in text
        assert " onclick=" not in text
        assert "hx-on" not in text
        assert "http://" not in text.replace("http://www.w3.org", "")
        assert "https://" not in text


def test_htmx_is_told_to_run_nothing_that_comes_as_text(visitor: Visitor) -> None:
    text = visitor.get("/").text
    assert '"allowEval": false' in text
    assert '"includeIndicatorStyles": false' in text


@pytest.mark.parametrize("name", ["../guard.py", "..%2fguard.py", "page.css%00", "htmx-2.0.11.LICENSE.txt", ""])
def test_only_listed_files_are_served(visitor: Visitor, name: str) -> None:
    assert visitor.get(f"/static/{name}").status_code == 404


def test_a_door_is_kept_for_open_tabs_when_the_page_is_killed(tmp_path: Path) -> None:
    door = Door.new()
    cookie = door.exchange(door.token or "")
    door.keep(tmp_path / "door.json")
    assert (tmp_path / "door.json").stat().st_mode & 0o777 == 0o600
    assert cookie is not None
    assert cookie not in (tmp_path / "door.json").read_text()
    again = Door.kept(tmp_path / "door.json")
    assert again.admits(cookie)
    assert again.path == door.path
    assert again.token not in (None, door.token)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"path": "/x"}', "null"])
def test_a_damaged_door_file_means_a_new_door(tmp_path: Path, content: str) -> None:
    (tmp_path / "door.json").write_text(content)
    assert not Door.kept(tmp_path / "door.json").admits("x")


def test_a_door_that_was_left_open_too_long_is_not_used_again(tmp_path: Path) -> None:
    door = Door.new()
    cookie = door.exchange(door.token or "")
    door.keep(tmp_path / "door.json")
    long_ago = time.time() - LIFETIME - 1
    os.utime(tmp_path / "door.json", (long_ago, long_ago))
    assert not Door.kept(tmp_path / "door.json").admits(cookie)
