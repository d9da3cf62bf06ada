"""Starting and ending the page.

The socket is bound to 127.0.0.1 and nothing else. When the page is closed, by Ctrl-C or SIGTERM, copies of uploaded
tables are removed and the cookie is forgotten; plans, releases and evaluations stay in the private folder until their
session is removed. A release that is at work is left to finish: it was, or will be, paid for.
"""

from __future__ import annotations

import logging
import os
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from rankveil.errors import OutputError, RankveilError
from rankveil.web.app import application
from rankveil.web.guard import Door, Events, forward, secret
from rankveil.web.home import Home, Working
from rankveil.web.jobs import is_read, remove_copy
from rankveil.web.private import held, is_held, keep, only_for_me
from rankveil.web.site import Site
from rankveil.web.tables import Codebooks, example, left_behind, open_path
from rankveil.write import recover

DEFAULT_PORT = 8722
_OPENED = "The page was opened. If that was not you: press Ctrl-C, somebody else has used the address."
_LOCKED = (
    "WARNING: the address was used a second time, by another browser. The page is locked.\n"
    "If the first use was not yours, somebody else on this machine has had the address, and may have seen the table.\n"
    "Press Ctrl-C and start rankveil web again; your work is kept."
)


@dataclass(frozen=True)
class Options:
    table: Path | None = None
    plan: Path | None = None
    out: Path | None = None
    ledger: Path | None = None
    port: int | None = None
    upload_limit: int = 512 << 20
    codebooks: tuple[Path, ...] = ()
    extract: bool = False
    sheet: str | None = None  # of a workbook
    demo: bool = False  # begin with the example that comes with rankveil


def serve(
    options: Options, home_folder: Path, announce: Callable[[str, str], None], tell: Callable[[str], None]
) -> None:
    """Run the page until it is ended.

    `announce` is told the address that opens it, once, and that of a private file that leads there: the latter may
    stand in a command line. `tell` says in the terminal what happens at the door.
    """
    home = Home(home_folder)
    owner = secret(8)
    with _listening(options.port) as listener, _alive(home, owner):
        port: int = listener.getsockname()[1]
        remove_left_behind(home)
        own_folder = only_for_me(home.servers_folder / owner)
        tempfile.tempdir = str(own_folder)  # uploads pass through here
        door_file = home.servers_folder / f"door-{port}.json"
        door = Door.kept(door_file)
        site = Site(
            home=home,
            base=door.path,
            owner=owner,
            upload_limit=options.upload_limit,
            out=None if options.out is None else options.out.resolve(),
            ledger=None if options.ledger is None else options.ledger.resolve(),
        )
        address = f"http://127.0.0.1:{port}{door.path}/open/{door.token}"
        landing = "/"
        table, plan = example() if options.demo else (options.table, options.plan)
        if table is not None:
            documents = Codebooks(options.codebooks, options.extract)
            landing = f"/w/{open_path(home, table, plan, owner, documents, sheet=options.sheet).id}/columns"
        way_in = own_folder / "open.html"
        keep(way_in, forward(address).encode())

        def opened() -> None:
            way_in.unlink(missing_ok=True)
            tell(_OPENED)

        events = Events(opened=opened, locked=lambda: tell(_LOCKED))
        app = application(site, door=door, port=port, door_file=door_file, landing=landing, events=events)
        server = _Server(app, lambda: announce(address, way_in.as_uri()))
        try:
            server.run(sockets=[listener])
        finally:
            close(home, owner, door_file)


class _Server(uvicorn.Server):
    """Uvicorn without its log of requests, which announces the page once it listens."""

    def __init__(self, app: object, started: Callable[[], None]) -> None:
        logging.getLogger("rankveil.web").addHandler(logging.StreamHandler(sys.stderr))
        super().__init__(
            uvicorn.Config(
                app,  # type: ignore[arg-type]
                access_log=False,
                log_level="critical",  # an exception's text may quote data; bugs are logged by site.py, without it
                server_header=False,
                date_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=2,
                lifespan="off",
                ws="none",
            )
        )
        self._announce = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._announce()


@contextmanager
def _listening(port: int | None) -> Iterator[socket.socket]:
    """A socket on 127.0.0.1: the port asked for, or the usual one, or any that is free."""
    for candidate in (DEFAULT_PORT, 0) if port is None else (port,):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind(("127.0.0.1", candidate))
            listener.listen()  # two that have only bound it could both have the port, until one of them listens
            break
        except OSError as error:
            listener.close()
            if port is not None or candidate == 0:
                raise OutputError(
                    f"Port {candidate} of 127.0.0.1 cannot be used: {error.strerror}.",
                    remedy="Choose another one with --port, or leave it out.",
                ) from None
    with listener:
        yield listener


@contextmanager
def _alive(home: Home, owner: str) -> Iterator[None]:
    """A lock that tells other servers that this one lives, however it may end."""
    path = home.servers_folder / f"{owner}.lock"
    with held(path):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _is_alive(home: Home, owner: str) -> bool:
    return is_held(home.servers_folder / f"{owner}.lock")


def close(home: Home, owner: str, door_file: Path) -> None:
    """Remove the copies this server made, what passed through its temporary folder, and the way in."""
    door_file.unlink(missing_ok=True)
    tempfile.tempdir = None
    shutil.rmtree(home.servers_folder / owner, ignore_errors=True)
    for working in home.workings():
        try:
            if working.read().owner == owner:
                remove_copy(working)
        except RankveilError:
            continue


def remove_left_behind(home: Home, now: float | None = None) -> None:
    """What servers and jobs that were killed could not remove."""
    now = now or time.time()
    for place, _, _ in os.walk(home.folder):
        recover(Path(place))
    for path in home.servers_folder.iterdir():
        owner = path.name.removesuffix(".lock")
        if not path.name.startswith(("door-", ".rankveil-")) and not _is_alive(home, owner):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
    for folder in home.workings_folder.iterdir():
        if not (folder / "working.json").exists():
            if now - folder.stat().st_mtime > 3600:
                shutil.rmtree(folder, ignore_errors=True)
            continue
        working = Working(folder)
        try:
            if left_behind(working, now) and not _is_alive(home, working.read().owner) and not is_read(working):
                remove_copy(working)
        except RankveilError:
            continue
