"""What tests of the local page share: the page inside the process, the page as a process, a worker that waits."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rankveil.web.app import application
from rankveil.web.guard import COOKIE, Door
from rankveil.web.home import Home, Working
from rankveil.web.site import Site

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the client's own library, which is about to be replaced by a fork
    from starlette.testclient import TestClient

PORT = 8722
HOST = f"127.0.0.1:{PORT}"
REPOSITORY = Path(__file__).resolve().parents[1]

PEOPLE = "name,age,city,smokes\n" + "".join(
    f"person {place},{20 + place % 60},{('Ulm', 'Bonn', 'Jena')[place % 3]},{'true' if place % 4 else 'false'}\n"
    for place in range(300)
)
PEOPLE_PLAN = """
[release]
method = "synthetic"
epsilon = 1
[columns.name]
kind = "drop"
[columns.age]
kind = "integer"
lower = 0
upper = 120
[columns.city]
kind = "category"
categories = ["Bonn", "Jena", "Ulm"]
[columns.smokes]
kind = "boolean"
"""

# Loaded by every Python that is started with it on its path: a job stops at a named stage until a file appears.
_WAITS = """
import os, pathlib, time
import rankveil.write as write
_write = write.write_bytes

def write_bytes(path, content, mode=0o644):
    _write(path, content, mode)
    if path.name == "stage" and content.decode() == os.environ["TEST_WAIT_AT"]:
        while not pathlib.Path(os.environ["TEST_GO_ON"]).exists():
            time.sleep(0.02)

write.write_bytes = write_bytes
"""
BEFORE_THE_SPEND = "reading the table and grouping"
AFTER_THE_SPEND = "drawing noise"


def waiting_jobs(folder: Path, stage: str) -> tuple[dict[str, str], Path]:
    """The environment in which jobs wait at a stage, and the file that lets them go on."""
    hook = folder / "hook"
    hook.mkdir(exist_ok=True)
    (hook / "sitecustomize.py").write_text(_WAITS)
    go_on = folder / "go-on"
    path = os.pathsep.join(part for part in (str(hook), os.environ.get("PYTHONPATH", "")) if part)
    return {"PYTHONPATH": path, "TEST_WAIT_AT": stage, "TEST_GO_ON": str(go_on)}, go_on


def until(condition: Callable[[], Any], seconds: float = 40) -> Any:
    """Wait for something to become true, and give it back."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("waited in vain")


class Visitor:
    """A browser without a screen: the page inside this process, its cookie, and the headers a browser sends."""

    def __init__(self, folder: Path, *, admitted: bool = True, **settings: Any) -> None:
        self.home = Home(folder / "state")
        self.door = Door.new()
        self.site = Site(
            home=self.home, base=self.door.path, owner="test", upload_limit=settings.pop("limit", 1 << 20), **settings
        )
        self.token = self.door.token
        self.app = application(self.site, door=self.door, port=PORT)
        self.client = TestClient(self.app, base_url=f"http://{HOST}", follow_redirects=False)
        if admitted:
            assert self.get(f"/open/{self.token}").status_code == 303

    def get(self, path: str, **named: Any) -> Any:
        return self.client.get(self.door.path + path, **named)

    def post(self, path: str, data: Mapping[str, Any] | None = None, **named: Any) -> Any:
        headers = {"origin": f"http://{HOST}", **named.pop("headers", {})}
        answer = self.client.post(self.door.path + path, data=data, headers=headers, **named)
        again = answer.headers.get("location", "")
        return self.client.get(again) if "again=" in again else answer  # a refused form is shown by its page

    @property
    def cookie(self) -> str | None:
        return self.client.cookies.get(COOKIE)

    def upload(
        self, content: str | bytes = PEOPLE, name: str = "people.csv", plan: str | None = None, **fields: str
    ) -> Working:
        files = {"table": (name, content)}
        if plan is not None:
            files["plan"] = ("plan.toml", plan)
        answer = self.post("/tables", fields, files=files)
        assert answer.status_code == 303, answer.text
        found = self.home.working(answer.headers["location"].split("/")[3])
        assert found is not None
        return found

    def release_form(self, working: Working) -> dict[str, str]:
        """What the form on the page Release would send."""
        text = self.get(f"/w/{working.id}/release").text
        names = ("release_id", "plan_sha256")
        return {name: re.search(rf'name="{name}" value="([0-9a-f]+)"', text)[1] for name in names}  # type: ignore[index]


class Server:
    """`rankveil web` as a process of its own, with a private folder and a ledger of the test's."""

    def __init__(
        self, folder: Path, *arguments: object, env: Mapping[str, str] | None = None, browser: bool = False
    ) -> None:
        self.folder = folder
        self._browser = [] if browser else ["--no-browser"]
        self.state = folder / "state"
        self.ledger = folder / "ledger.sqlite"
        self._arguments = [str(argument) for argument in arguments]
        self._env = dict(env or {})
        self.process: subprocess.Popen[str] | None = None
        self.address = ""
        self.port = 0

    def start(self) -> str:
        """Start it, on the same port as before if it was started before; the address that opens the page."""
        code = "from rankveil.cli import main; main()"
        port = ["--port", str(self.port)]  # at first 0, any that is free
        own = {"RANKVEIL_STATE": str(self.state), "RANKVEIL_LEDGER": str(self.ledger), "PYTHONUTF8": "1"}
        with (self.folder / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", code, "web", *self._arguments, *port, *self._browser],
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=REPOSITORY,
                env={**os.environ, **self._env, **own},
            )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:(\d+)/\S+", line)
            if found:
                self.address, self.port = found[0], int(found[1])
                return self.address
        raise AssertionError((self.folder / "server.log").read_text())

    @property
    def base(self) -> str:
        return self.address.partition("/open/")[0]

    @property
    def home(self) -> Home:
        return Home(self.state)

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        code = self.process.wait(timeout=20)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self.process = None
        return code

    def log(self) -> str:
        return (self.folder / "server.log").read_text()


@contextmanager
def serving(
    folder: Path, *arguments: object, env: Mapping[str, str] | None = None, browser: bool = False
) -> Iterator[Server]:
    server = Server(folder, *arguments, env=env, browser=browser)
    server.start()
    try:
        yield server
    finally:
        if server.process is not None:
            server.end()
