"""`rankveil verify`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from rankveil.cli.output import json_option, print_json, print_table
from rankveil.cli.run import EXIT_CODES

_NOT_VERIFIED = 3


class _Published(click.Path):
    """A path into the folder of a release, where a killed run's last step is completed, or taken back, first."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from rankveil.formats.addresses import is_address
        from rankveil.write import recover

        if is_address(value):
            return value
        recover(Path(value).parent)
        return super().convert(value, param, ctx)


@click.command("verify", epilog=EXIT_CODES)
@click.argument("certificate", type=_Published(exists=True, dir_okay=False, path_type=Path))
@click.argument("release", type=_Published(exists=True, path_type=Path))
@json_option
def command(certificate: Path, release: str | Path, as_json: bool) -> None:
    """Check RELEASE (a file, the folder of a release, or that of a model alone) against its CERTIFICATE. RELEASE may
    also be the address of a table in a database that was loaded from the release beside the certificate.

    Reads these files only, and the model beside the release if one was kept. Shows that the file is the certified one,
    that its columns, rows and values are those declared, that the budget adds up, and that the claim is the one
    rankveil makes for the method. It cannot show that the noise was really drawn, or who wrote the certificate. Ends
    with exit code 3 if a check fails.

    \b
      rankveil verify 2031-q1/certificate.json 2031-q1/release.csv
      rankveil verify 2031-q1/certificate.json 'postgresql://me@host/clinic?table=patients_2031'
    """
    from rankveil.verify import verify

    result = verify(certificate, release)
    if as_json:
        print_json(result.as_dict())
    else:
        rows = [["holds" if check.holds else "FAILS", check.check, check.detail] for check in result.checks]
        print_table("", ["", "check", ""], rows)
        if result.certificate is not None:
            click.echo(f"\nThe certificate says: {result.certificate.statement}")
        failed = sum(not check.holds for check in result.checks)
        click.echo("Verified." if result.verified else f"NOT VERIFIED: {failed} of {len(result.checks)} checks fail.")
    if not result.verified:
        sys.exit(_NOT_VERIFIED)
