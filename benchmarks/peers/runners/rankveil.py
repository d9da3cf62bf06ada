"""rankveil itself, as a user calls it: a plan, a table, a folder. Neighbours: one record replaced, n public.

Variants: the method's name, with `, pure ε` where δ is not to be used. It needs no repairs, so it does not load pandas.
"""

import json
import sys
from pathlib import Path

import rankveil as rv
from rankveil.noise import SeededSource


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    method, _, pure = request["variant"].partition(", ")
    delta = {"delta": request["delta"]} if method == "synthetic" and not pure else {}
    # Without a seed the system's generator is used and the release entered in the ledger, as in earnest: for timing.
    source = None if request["seed"] is None else SeededSource(request["seed"])
    # user: begin
    settings = {"method": method, "epsilon": request["epsilon"], "k": request["k"], **delta}
    columns = {
        c["name"]: {"kind": "category", "categories": c["labels"]}
        if c["kind"] == "category"
        else {"kind": "integer", "lower": c["lower"], "upper": c["upper"]}
        for c in request["columns"]
    }
    plan = rv.Plan.from_dict({"release": settings, "columns": columns})
    out = Path(request["folder"]) / "release"
    rv.release(request["table"], plan, out=out, accept_no_guarantee=True, source=source)
    # user: end
    (out / "release.csv").rename(request["output"])
    report = {"version": f"rankveil {rv.__version__}", "repairs": {}}
    Path(request["report"]).write_text(json.dumps(report), encoding="utf-8")


if __name__ == "__main__":
    main()
