"""Make the pictures of docs/charts.md from the example data: `python -m docs.make_charts`.

Needs the extras `report` and `evaluate`, and Chromium for the picture of the certificate. Releases have a fixed seed.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import tomllib
from decimal import Decimal
from pathlib import Path

from playwright.sync_api import sync_playwright

import rankveil as rv
from rankveil.declare import Plan
from rankveil.noise import SeededSource
from rankveil.release import release
from rankveil.report import charts
from rankveil.report import risk as risk_report
from rankveil.risk import risk

FIGURES = Path(__file__).parent / "figures"
EXAMPLES = Path(__file__).parents[1] / "examples"
TABLE, HELD_OUT = EXAMPLES / "adult_test.csv.gz", EXAMPLES / "adult.csv.gz"  # the smaller part is quick
SHOWN = ("age", "workclass", "education", "sex", "hours-per-week", "income")


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "adult"
        plan = _plan()
        release(TABLE, plan, out=folder, replicates=20, source=SeededSource(1))
        _svg("dry-run", rv.preview(plan, 16_281).plot().svg())
        _svg("estimates", rv.estimate(folder, "share(income = '>50K') by education").plot().svg())
        found = rv.evaluate(TABLE, folder / "release.csv", plan)
        _svg("column", found.plot("age", "workclass").svg())
        _svg("pairs", found.plot(what="pairs").svg())
        _svg("queries", found.plot(what="queries").svg())
        _svg("groups", found.plot(what="groups").svg())
        curves = rv.compare(None, plan, stand_in="made", epsilons=[0.1, 1, 10], runs=1, baselines=False)
        _svg("curves", curves.plot().svg())
        attacked = risk(TABLE, folder, plan, held_out=HELD_OUT, targets=300, shadows=0)
        _svg("risk", charts.drawn(risk_report.specification(attacked))[0])
        _certificate(folder)


def _plan() -> Plan:
    """That of the example without the columns that are not shown."""
    whole = tomllib.loads((EXAMPLES / "adult.toml").read_text(encoding="utf-8"), parse_float=Decimal)
    columns = {name: entry if name in SHOWN else {"kind": "drop"} for name, entry in whole["columns"].items()}
    made = {**whole, "columns": columns, "release": {**whole["release"], "delta": Decimal("1e-9")}}
    return Plan.from_dict(made, name="adult.toml", folder=EXAMPLES)


def _svg(name: str, text: str) -> None:
    """Without the first line, which says that pictures of people's tables are internal: these data are public."""
    _written(FIGURES / f"chart-{name}.svg", re.sub(r"\A<!--.*?-->\s*", "", text, flags=re.DOTALL).encode())


def _written(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    sys.stdout.write(f"{path.name}  {len(content) >> 10} KiB\n")


def _certificate(folder: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("Chromium is not installed: the picture of the certificate stays as it was.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 900, "height": 760})
        page.goto((folder / "certificate.html").as_uri())
        _written(FIGURES / "chart-certificate.png", page.screenshot())
        browser.close()


if __name__ == "__main__":
    main()
