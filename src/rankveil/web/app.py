"""The page as an application: which address is which view."""

from __future__ import annotations

from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Mount, Route

from rankveil import report
from rankveil.web.guard import Door, Events, Guard
from rankveil.web.site import Ask, Site, View, answered
from rankveil.web.views import columns, method, release, result, table

_STATIC = Path(__file__).parent / "static"
_LOOK = Path(report.__file__).parent / "look"
FILES = {
    "htmx-2.0.11.min.js": (_STATIC, "text/javascript"),
    "page.js": (_STATIC, "text/javascript"),
    "page.css": (_STATIC, "text/css"),
    "tokens.css": (_LOOK, "text/css"),
    "preview.css": (_LOOK, "text/css"),
}


def application(
    site: Site,
    *,
    door: Door,
    port: int,
    door_file: Path | None = None,
    landing: str = "/",
    events: Events | None = None,
) -> Guard:
    """The whole page behind its guard."""
    pages = Starlette(routes=[Mount(site.base, routes=_routes(site))])
    return Guard(pages, door=door, port=port, door_file=door_file, landing=landing, events=events)


def _routes(site: Site) -> list[BaseRoute]:
    def get(path: str, view: View) -> Route:
        return Route(path, answered(site, view), methods=["GET"])

    def post(path: str, view: View, *, limit: int | None = None) -> Route:
        endpoint = answered(site, view) if limit is None else answered(site, view, limit=limit)
        return Route(path, endpoint, methods=["POST"])

    session, one = "/w/{working}", "/w/{working}/releases/{job}"
    return [
        get("/", table.start_page),
        post("/tables", table.open_page, limit=site.upload_limit),
        get(session, _to_columns),
        get(f"{session}/table", table.table_page),
        post(f"{session}/table", table.give_again, limit=site.upload_limit),
        post(f"{session}/remove", table.remove),
        get(f"{session}/columns", columns.columns_page),
        get(f"{session}/columns/{{place:int}}", columns.column_card),
        post(f"{session}/columns/{{place:int}}", columns.save_column),
        post(f"{session}/columns/table", columns.save_table),
        get(f"{session}/method", method.method_page),
        post(f"{session}/method", method.save_method),
        get(f"{session}/dry-run", method.dry_run),
        get(f"{session}/release", release.release_page),
        post(f"{session}/release", release.begin),
        post(f"{session}/cap", release.save_cap),
        get(one, result.result_page),
        get(f"{one}/progress", release.progress),
        post(f"{one}/cancel", release.cancel),
        post(f"{one}/evaluate", result.evaluate),
        post(f"{one}/compare", result.compare),
        get(f"{one}/files/{{name}}", result.download),
        get(f"{one}/report/{{name}}", result.report),
        Route("/static/{name}", _static, methods=["GET"]),
        Route("/{rest:path}", answered(site, _missing), methods=["GET"]),
    ]


def _to_columns(ask: Ask) -> Response:
    return ask.go("w", ask.working.id, "columns")


def _missing(ask: Ask) -> Response:
    return ask.page("missing.html.jinja", code=404)


async def _static(request: Request) -> Response:
    folder, kind = FILES.get(request.path_params["name"], (None, ""))
    if folder is None:
        return Response(status_code=404)
    return FileResponse(folder / request.path_params["name"], media_type=kind)
