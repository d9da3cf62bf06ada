"""The page as an application: which address is which view."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from rankveil import report
from rankveil.web.guard import Guard
from rankveil.web.site import SMALL_FORM, Site, View, answered
from rankveil.web.views import ahead, columns, method, release, result, table

_STATIC = Path(__file__).parent / "static"
_LOOK = Path(report.__file__).parent / "look"
FILES = {
    "htmx-2.0.11.min.js": (_STATIC, "text/javascript"),
    "page.js": (_STATIC, "text/javascript"),
    "page.css": (_STATIC, "text/css"),
    "tokens.css": (_LOOK, "text/css"),
    "preview.css": (_LOOK, "text/css"),
}


def application(site: Site, **settings: Any) -> Guard:
    """The whole page behind its guard, which has further settings."""
    return Guard(Starlette(routes=[Mount(site.base, routes=_routes(site))]), **settings)


def _routes(site: Site) -> list[BaseRoute]:
    def get(path: str, view: View) -> Route:
        return Route(path, answered(site, view), methods=["GET"])

    def post(path: str, view: View, *, limit: int = SMALL_FORM) -> Route:
        return Route(path, answered(site, view, limit=limit), methods=["POST"])

    session, one = "/w/{working}", "/w/{working}/releases/{job}"
    return [
        get("/", table.start_page),
        post("/tables", table.open_page, limit=site.upload_limit),
        post("/example", table.open_example),
        get(session, lambda ask: ask.go(f"{ask.here}/columns")),
        get(f"{session}/table", table.table_page),
        post(f"{session}/table", table.give_again, limit=site.upload_limit),
        post(f"{session}/remove", table.remove),
        get(f"{session}/columns", columns.columns_page),
        get(f"{session}/columns/{{place:int}}", columns.column_card),
        post(f"{session}/columns/{{place:int}}", columns.save_column),
        post(f"{session}/columns/several", columns.save_columns),
        post(f"{session}/columns/table", columns.save_table),
        post(f"{session}/columns/privacy", columns.save_privacy),
        get(f"{session}/method", method.method_page),
        post(f"{session}/method", method.save_method),
        get(f"{session}/dry-run", method.dry_run),
        get(f"{session}/method/compare", ahead.compare_page),
        post(f"{session}/method/compare", ahead.compare),
        get(f"{session}/method/attack", ahead.attack_page),
        post(f"{session}/method/attack", ahead.attack),
        get(f"{session}/release", release.release_page),
        post(f"{session}/release", release.begin),
        post(f"{session}/cap", release.save_cap),
        get(one, result.result_page),
        get(f"{one}/progress", release.progress),
        post(f"{one}/cancel", release.cancel),
        post(f"{one}/evaluate", lambda ask: result.find_out(ask, "evaluate")),
        post(f"{one}/risk", lambda ask: result.find_out(ask, "risk")),
        get(f"{one}/files/{{name}}", result.download),
        get(f"{one}/report/{{name}}", result.report),
        Route("/static/{name}", _static, methods=["GET"]),
        get("/refused", lambda ask: ask.refused_before()),
        get("/{rest:path}", lambda ask: ask.page("missing.html.jinja", code=404)),
    ]


async def _static(request: Request) -> Response:
    folder, kind = FILES.get(request.path_params["name"], (None, ""))
    if folder is None:
        return Response(status_code=404)
    return FileResponse(folder / request.path_params["name"], media_type=kind)
