"""Who may talk to the page.

Guarantee    A request reaches the page only if it names this server as its host, comes from the page itself if it
             changes anything, and carries the cookie that the one-time address was exchanged for.
Argument     A site that lets its own name point to 127.0.0.1 (DNS rebinding) is betrayed by the Host header, which
             scripts cannot set. A form or script of another site is betrayed by Origin or Sec-Fetch-Site, which
             scripts cannot set either. The cookie holds 256 random bits, is invisible to scripts, is not sent on
             requests that other sites start (SameSite=Strict), and is bound to a random path: browsers share cookies
             between the ports of one host, and another local server does not know the path. The one-time address is
             in no command line: other users of the machine see those. Should someone get hold of it all the same and
             use it first, its owner, who then comes second, locks the page for both by that.
Not covered  Programs that run as the same user: they can read the private folder anyway. Browser extensions.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from http.cookies import CookieError, SimpleCookie
from pathlib import Path

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rankveil.noise import SystemSource
from rankveil.web.private import keep

COOKIE = "rankveil"
LIFETIME = 12 * 3600  # seconds that a cookie is good for
HEADERS: Mapping[str, str] = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_WRONG = (
    "This address is not the one that was printed.\n\n"
    "Open the address that rankveil web has printed in the terminal, as a whole.\n"
)
_LOCKED = (
    "This address was used before, and not by this browser. The page is locked now, for whoever has opened it too.\n\n"
    "If that was you, in another browser: stop rankveil web and start it again. Your work is kept.\n"
    "If it was not: somebody else on this machine has had the address, and may have seen your table.\n"
)
_NO_COOKIE = (
    "This page belongs to whoever started it.\n\nOpen the address that rankveil web has printed in the terminal.\n"
)


def secret(size: int = 32) -> str:
    """Random bits as hexadecimal digits, from the one source of randomness of rankveil."""
    return SystemSource().random_bytes(size).hex()


@dataclass
class Door:
    """What opens the page: a path, a cookie known by its hash, and a token that works once."""

    path: str
    cookie_sha256: str
    token: str | None
    used_sha256: str = ""  # of the token, once it was exchanged
    locked: bool = False

    def __post_init__(self) -> None:
        self._lock = threading.Lock()

    @classmethod
    def new(cls) -> Door:
        return cls(path=f"/{secret(8)}", cookie_sha256="", token=secret())

    @classmethod
    def kept(cls, file: Path) -> Door:
        """The door a server on the same port left behind when it was killed, so that open tabs go on; else a new one.

        A server that ends in good order removes the file: its cookie is then worth nothing.
        """
        try:
            known = json.loads(file.read_bytes())
            if time.time() - file.stat().st_mtime > LIFETIME:
                return cls.new()
            return cls(path=str(known["path"]), cookie_sha256=str(known["cookie_sha256"]), token=secret())
        except (OSError, ValueError, KeyError, TypeError):
            return cls.new()

    def keep(self, file: Path) -> None:
        keep(file, json.dumps({"path": self.path, "cookie_sha256": self.cookie_sha256}).encode())

    def exchange(self, token: str) -> str | None:
        """A new cookie for the token; None if it is wrong or was used. Whoever held a cookie before loses it."""
        with self._lock:
            if self.token is None or not hmac.compare_digest(token.encode(), self.token.encode()):
                return None
            self.token, self.used_sha256 = None, _sha256(token)
            cookie = secret()
            self.cookie_sha256 = _sha256(cookie)
            return cookie

    def lock_if_used(self, token: str) -> bool:
        """Shut out everybody if this is the token, and somebody has used it. Whether it was so."""
        with self._lock:
            if not self.used_sha256 or not hmac.compare_digest(_sha256(token), self.used_sha256):
                return False
            self.locked, self.cookie_sha256 = True, ""
            return True

    def admits(self, cookie: str | None) -> bool:
        if not cookie or not self.cookie_sha256:
            return False
        return hmac.compare_digest(_sha256(cookie), self.cookie_sha256)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Events:
    """Who is told what happens at the door."""

    opened: Callable[[], None] = lambda: None
    locked: Callable[[], None] = lambda: None


@dataclass
class Guard:
    """ASGI middleware: everything above, for every request, and the headers of every answer."""

    app: ASGIApp
    door: Door
    port: int
    door_file: Path | None = None
    landing: str = "/"  # where the one-time address leads
    events: Events = Events()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # the page has no use for web sockets
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send_with_headers)
            return
        await self.app(scope, receive, send_with_headers)

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if host not in (f"127.0.0.1:{self.port}", f"localhost:{self.port}"):
            return PlainTextResponse("This server answers to its own name only.\n", status_code=421)
        if scope["method"] not in ("GET", "HEAD") and not _from_the_page_itself(headers, host):
            return PlainTextResponse("This request did not come from the page itself.\n", status_code=403)
        path: str = scope["path"]
        admitted = self.door.admits(_cookie(headers))
        opening = f"{self.door.path}/open/"
        if path.startswith(opening):
            if scope["method"] == "HEAD":
                return PlainTextResponse(_WRONG, status_code=403)
            from_elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
            return self._opened(path.removeprefix(opening), admitted=admitted, from_elsewhere=from_elsewhere)
        if not admitted:
            return PlainTextResponse(_LOCKED if self.door.locked else _NO_COOKIE, status_code=403)
        return None

    def _opened(self, token: str, *, admitted: bool, from_elsewhere: bool) -> Response:
        landing = f"{self.door.path}{self.landing}"
        home: Response = RedirectResponse(landing, status_code=303)
        cookie = self.door.exchange(token)
        if cookie is None:
            if admitted:
                return home
            if self.door.lock_if_used(token):
                if self.door_file is not None:
                    self.door_file.unlink(missing_ok=True)
                self.events.locked()
            return PlainTextResponse(_LOCKED if self.door.locked else _WRONG, status_code=403)
        if self.door_file is not None:
            self.door.keep(self.door_file)
        if from_elsewhere:  # the file that leads here: on its way browsers keep the cookie back, on one from here not
            home = HTMLResponse(forward(landing))
        home.set_cookie(COOKIE, cookie, path=self.door.path, httponly=True, samesite="strict", max_age=LIFETIME)
        self.events.opened()
        return home


def forward(address: str) -> str:
    """A page that leads to another one, without scripts."""
    address = escape(address)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>rankveil</title>'
        '<link rel="icon" href="data:,">'
        f'<meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url={address}"></head>'
        f'<body><p><a href="{address}">Go on to the page</a></p></body></html>\n'
    )


def _from_the_page_itself(headers: Headers, host: str) -> bool:
    """Browsers say where a request comes from. Under `no-referrer` a form's Origin is null, hence the second sign."""
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None and site != "same-origin":
        return False
    if origin is None or origin == "null":
        return site == "same-origin"
    return origin == f"http://{host}"


def _cookie(headers: Headers) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return None if found is None else found.value
