"""What every view needs: the settings of this page, the request and its form, and pages made from templates."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import jinja2
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.formparsers import FormParser, MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from rankveil._version import __version__
from rankveil.engines.source import MOST_COLUMNS
from rankveil.errors import BudgetError, RankveilError, TableError, bug_in
from rankveil.web import commands
from rankveil.web.guard import secret
from rankveil.web.home import Home, StaleError, Working
from rankveil.web.jobs import Job, job_named, releases_of
from rankveil.web.tables import SmallFile
from rankveil.web.words import in_page_words

log = logging.getLogger("rankveil.web")
SMALL_FORM = 32 << 20
STEPS = (("table", "Table"), ("columns", "Columns"), ("method", "Method"), ("release", "Release"), ("result", "Result"))


class TooLargeError(TableError):
    """An upload beyond the limit."""


@dataclass(frozen=True)
class Refused:
    """A form that was refused, as it was filled in."""

    error: RankveilError
    values: Mapping[str, Any]
    status: int
    about: str = ""  # which form of its page


class Refusals:
    """The latest refused forms, in memory: a refused form is answered by a redirection to the page that shows it once
    more, so that Back and Reload never ask to send anything again."""

    def __init__(self, most: int = 200) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._kept: dict[str, Refused] = {}

    def keep(self, refused: Refused) -> str:
        key = secret(8)
        with self._lock:
            self._kept[key] = refused
            while len(self._kept) > self._most:
                del self._kept[next(iter(self._kept))]
        return key

    def found(self, key: str) -> Refused | None:
        with self._lock:
            return self._kept.get(key)


@dataclass(frozen=True)
class Site:
    """The settings of this page."""

    home: Home
    base: str  # the path all addresses start with
    owner: str  # this server
    upload_limit: int  # bytes
    out: Path | None = None
    ledger: Path | None = None
    refusals: Refusals = field(default_factory=Refusals)
    environment: jinja2.Environment = field(default_factory=lambda: _environment())


@dataclass(frozen=True)
class Ask:
    """A request to a view, its form already read."""

    site: Site
    request: Request
    form: FormData

    @property
    def enhanced(self) -> bool:
        """Whether htmx asks, and wants a part of the page."""
        return self.request.headers.get("hx-request") == "true"

    def text(self, key: str, otherwise: str = "") -> str:
        value = self.form.get(key, otherwise)
        return value if isinstance(value, str) else otherwise

    def number(self, key: str) -> int:
        text = self.text(key)
        return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1

    def file(self, key: str) -> UploadFile | None:
        value = self.form.get(key)
        return value if isinstance(value, UploadFile) and value.filename else None

    def small_files(self, key: str) -> list[SmallFile]:
        found = [value for value in self.form.getlist(key) if isinstance(value, UploadFile) and value.filename]
        return [SmallFile(file.filename or "", file.file.read()) for file in found]

    @cached_property
    def working(self) -> Working:
        """The session that the address names."""
        found = self.site.home.working(self.request.path_params["working"])
        if found is None:
            raise HTTPException(404)
        if found.read().owner != self.site.owner:
            with found.changing() as state:
                state.owner = self.site.owner
        return found

    @cached_property
    def job(self) -> Job:
        """The job of that session that the address names."""
        found = job_named(self.working, self.request.path_params["job"])
        if found is None:
            raise HTTPException(404)
        return found

    @property
    def here(self) -> str:
        """Where all addresses of the session start."""
        return f"{self.site.base}/w/{self.working.id}"

    @cached_property
    def refused_form(self) -> Refused | None:
        """The form that this page is to show again, with what was wrong with it."""
        return self.site.refusals.found(self.request.query_params.get("again", ""))

    def again(
        self, address: str, error: RankveilError, values: Mapping[str, Any] | None = None, *, about: str = ""
    ) -> RedirectResponse:
        """Back to a page, which shows what was refused and why."""
        error = in_page_words(error)
        key = self.site.refusals.keep(Refused(error, values or {}, status_of(error), about))
        path, mark, fragment = address.partition("#")
        return self.go(f"{path}{'&' if '?' in path else '?'}again={key}{mark}{fragment}")

    def page(self, template: str, code: int = 200, **content: Any) -> HTMLResponse:
        text = self.site.environment.get_template(template).render(
            base=self.site.base, version=__version__, upload_limit=self.site.upload_limit, **content
        )
        return HTMLResponse(text, status_code=code)

    def step(self, template: str, step: str, *, error: RankveilError | None = None, **content: Any) -> HTMLResponse:
        """A page of the flow: with the stepper, what belongs beside it, and the refusal of what was sent."""
        return self.page(
            template,
            200 if error is None else status_of(error),
            state=self.working.read(),
            steps=_steps(self.here, step, releases_of(self.working)),
            here=self.here,
            error=error,
            **content,
        )

    def refused(self, error: RankveilError, code: int, *, bug: bool = False) -> HTMLResponse:
        return self.page("refused.html.jinja", code, error=error, bug=bug, back=_back(self.request))

    def refused_before(self) -> HTMLResponse:
        """The page of a refusal that belongs to no form."""
        found = self.refused_form
        if found is None:
            raise HTTPException(404)
        back = found.values.get("back", f"{self.site.base}/")
        return self.page("refused.html.jinja", found.status, error=found.error, bug=False, back=back)

    def go(self, address: str) -> RedirectResponse:
        return RedirectResponse(address, status_code=303)


View = Callable[[Ask], Response]


def answered(site: Site, view: View, *, limit: int = SMALL_FORM) -> Callable[[Request], Awaitable[Response]]:
    """A view as an endpoint: run in a thread, with refusals as pages and bugs without their text."""

    async def answer(request: Request) -> Response:
        ask = Ask(site, request, FormData())
        try:
            if request.method == "POST":
                ask = Ask(site, request, await _read_form(request, limit))
            try:
                return await run_in_threadpool(view, ask)
            finally:
                await ask.form.close()
        except ClientDisconnect:
            return Response(status_code=400)
        except HTTPException as error:
            return ask.page("missing.html.jinja", code=error.status_code)
        except RankveilError as error:
            if request.method == "POST" and not ask.enhanced:
                return ask.again(f"{site.base}/refused", error, {"back": _back(request)})
            return ask.refused(error, status_of(error))
        except Exception as error:
            log.error("%s", bug_in(error))  # never the exception's own text: it may quote data
            cost = "What the ledger says about a release stands on its page."
            return ask.refused(RankveilError(bug_in(error), cost=cost, remedy="Please report it."), 500, bug=True)

    return answer


def status_of(error: RankveilError) -> int:
    if isinstance(error, TooLargeError):
        return 413
    return 409 if isinstance(error, StaleError | BudgetError) else 422


def _back(request: Request) -> str:
    """The page of the flow that a refused form stood on."""
    parts = request.url.path.split("/")
    if request.method == "GET" or "w" not in parts:
        return "/".join(parts[:2]) + "/"
    place = parts.index("w")
    return "/".join(parts[: place + 3])


async def _read_form(request: Request, limit: int) -> FormData:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    stream = _limited(request, limit)
    try:
        if kind == "multipart/form-data":
            limits = {"max_files": 64, "max_fields": MOST_COLUMNS + 100, "max_part_size": 8 << 20}
            return await MultiPartParser(request.headers, stream, **limits).parse()
        if kind == "application/x-www-form-urlencoded":
            return await FormParser(request.headers, stream).parse()
    except MultiPartException:
        raise TableError("The form could not be read.", remedy="Send it again.") from None
    async for _ in stream:
        continue
    return FormData()


async def _limited(request: Request, limit: int) -> AsyncGenerator[bytes, None]:
    """The request's bytes, up to the limit. The rest is read and thrown away: a browser that is cut off while it sends
    shows a broken connection instead of the answer."""
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received <= limit:
            yield chunk
    if received > limit:
        raise TooLargeError(
            f"The upload is larger than {limit >> 20} MiB, which this page allows.",
            remedy="Start the page with the file's path, which copies nothing: rankveil web TABLE."
            " Or allow more: --upload-limit.",
        )


def _steps(here: str, current: str, releases: list[Job]) -> list[dict[str, Any]]:
    names = [name for name, _ in STEPS]
    last = f"{here}/releases/{releases[-1].id}" if releases else None
    links = {name: f"{here}/{name}" for name in names[:-1]} | {"result": last}
    at = names.index(current)
    return [
        {"name": name, "title": title, "link": links[name], "current": name == current, "done": place < at}
        for place, (name, title) in enumerate(STEPS)
    ]


def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["bytes"] = _bytes
    environment.filters["grouped"] = lambda number: f"{number:,}"
    environment.filters["ago"] = _ago
    environment.filters["short"] = lambda exact: f"{float(Fraction(exact)):.4g}"
    environment.globals["commands"] = commands
    return environment


def _bytes(size: int) -> str:
    return f"{size >> 20} MiB" if size >= 1 << 20 else f"{max(1, size >> 10)} KiB"


def _ago(moment: float) -> str:
    minutes = int((time.time() - moment) // 60)
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return f"{minutes} min ago"
    return f"{minutes // 60} h ago" if minutes < 48 * 60 else f"{minutes // 1440} days ago"
