"""`rankveil web`"""

from __future__ import annotations

from typing import Any

import click

from rankveil.cli.output import PATH, SHEET_HELP


@click.command("web")
@click.argument("table", type=PATH, required=False)
@click.option("--sheet", metavar="NAME", help=SHEET_HELP)
@click.option("--plan", type=PATH, help="Begin with this plan instead of a draft.")
@click.option(
    "--codebook", "codebooks", type=PATH, multiple=True, help="Draft from this description of TABLE (see: init)."
)
@click.option("--extract", is_flag=True, help="The table has only some of the variables of its codebook.")
@click.option("--out", type=PATH, help="Folder for releases; by default the page's private one.")
@click.option("--ledger", type=PATH, help="Enter releases here instead of the user's ledger.")
@click.option("--port", type=click.IntRange(0, 65535), help="Listen on this port of 127.0.0.1; 0 is any that is free.")
@click.option(
    "--upload-limit",
    type=click.IntRange(1, 1 << 20),
    default=512,
    show_default=True,
    metavar="MIB",
    help="The largest upload.",
)
@click.option("--demo", is_flag=True, help="Begin with the example that comes with rankveil: Adult, and its plan.")
@click.option("--no-browser", is_flag=True, help="Print the address only; do not open a browser.")
def command(upload_limit: int, no_browser: bool, **options: Any) -> None:
    """Open the local page: draft and confirm a plan, look before you spend, release, evaluate.

    The page listens on 127.0.0.1 only. The address that is printed works once. TABLE is read where it lies; without
    it, upload one on the page. What you do is kept, so that you may close the page and go on later; copies of uploads
    are removed when it closes.

    \b
      rankveil web --demo
      rankveil web people.csv
      rankveil web survey.csv --codebook survey.xml
      rankveil web people.csv --plan plan.toml --out releases/
    """
    from rankveil.extras import need

    if options["plan"] is not None and options["table"] is None:
        raise click.UsageError("--plan needs a TABLE.")
    if options["codebooks"] and (options["table"] is None or options["plan"] is not None):
        raise click.UsageError("--codebook needs a TABLE, and no --plan.")
    if options["sheet"] is not None and options["table"] is None:
        raise click.UsageError("--sheet needs a TABLE.")
    if options["demo"] and options["table"] is not None:
        raise click.UsageError("--demo brings its own table: give either.")
    need("The local page", "web", "jinja2", "python_multipart", "starlette", "uvicorn", "vl_convert")
    from rankveil.web.home import default_home
    from rankveil.web.serve import Options, serve

    def announce(address: str, way_in: str) -> None:
        click.echo(f"The page is open to you at\n\n  {address}\n\nThis address works once. Ctrl-C closes the page.")
        if not no_browser:
            import webbrowser

            webbrowser.open(way_in)  # never the address itself: other users of this machine see command lines

    serve(
        Options(upload_limit=upload_limit << 20, **options),
        default_home(),
        announce,
        lambda text: click.echo(text, err=True),
    )
