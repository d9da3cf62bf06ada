"""`rankveil verify`"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from rankveil.cli.output import PATH, harmless, json_option, print_json, print_table
from rankveil.cli.run import EXIT_CODES

_NOT_VERIFIED = 3


class _Published(click.Path):
    """A path into the folder of a release, or that folder, where a killed run's last step is completed first, or taken
    back."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from rankveil.formats.addresses import is_address
        from rankveil.write import recover

        if is_address(value):
            return value
        path = Path(value)
        recover(path.parent)
        if path.is_dir():
            recover(path)
        return super().convert(value, param, ctx)


@click.command("verify", epilog=EXIT_CODES)
@click.argument("certificate", type=_Published(exists=True, path_type=Path))
@click.argument("release", type=_Published(exists=True, path_type=Path), required=False)
@click.option("--key", type=PATH, help="The public key of whom you expect to have signed.")
@click.option("--ledger", type=PATH, help="The publisher's ledger, for publishers: was it rolled back since?")
@json_option
def command(
    certificate: Path, release: str | Path | None, key: Path | None, ledger: Path | None, as_json: bool
) -> None:
    """Check a release: its folder by itself, or RELEASE (a file, a folder, or that of a model) against its CERTIFICATE.
    RELEASE may also be the address of a table in a database that was loaded from the release beside the certificate.

    Reads these files only, and what lies beside the certificate. Shows that every file is the one that was listed and
    certified, that columns, rows and values are those declared, that the budget adds up, that the claim is the one
    rankveil makes for the method, that the page says what the certificate says, and who has signed. It cannot show that
    the noise was really drawn. Works without the original and without a network. Ends with exit code 3 if a check
    fails.

    \b
      rankveil verify 2031-q1/ --key office.pub.pem
      rankveil verify 2031-q1/certificate.json 2031-q1/release.csv
      rankveil verify 2031-q1/certificate.json 'postgresql://me@host/clinic?table=patients_2031'
      rankveil verify 2031-q1/ --ledger office.sqlite
    """
    from rankveil.verify import verify
    from rankveil.write import CERTIFICATE_NAME

    if certificate.is_dir():
        if release is not None:
            raise click.UsageError("Give the folder of a release by itself, or a certificate and a release.")
        if not (certificate / CERTIFICATE_NAME).is_file():
            raise click.UsageError(f"There is no {CERTIFICATE_NAME} in {certificate}.")
    result = verify(certificate, release, key=key, ledger=ledger)
    if as_json:
        print_json(result.as_dict())
    else:
        rows = [["holds" if check.holds else "FAILS", check.check, check.detail] for check in result.checks]
        print_table("", ["", "check", ""], rows)
        if result.certificate is not None:
            read = result.certificate
            said = " ".join([read.statement, *([read.in_all] if read.in_all else [])]).replace("\n", " ")
            click.echo(f"\nThe certificate says: {harmless(said)}")
        failed = sum(not check.holds for check in result.checks)
        click.echo("Verified." if result.verified else f"NOT VERIFIED: {failed} of {len(result.checks)} checks fail.")
    if not result.verified:
        sys.exit(_NOT_VERIFIED)
