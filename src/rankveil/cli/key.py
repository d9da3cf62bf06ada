"""`rankveil key`"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from rankveil.cli.output import PATH, json_option, print_json


@click.group("key")
def command() -> None:
    """Keys with which releases are signed (Ed25519). Needs: pip install 'rankveil[sign]'.

    A key that lies beside the ledger signs every release that is entered there. Its public part (….pub.pem) is for
    everybody: show it where people know that it is yours.

    \b
      rankveil key new --name "Statistical Office"
      rankveil key show
    """


_ledger = click.option("--ledger", type=PATH, help="The ledger beside which the key lies.")


@command.command("new")
@click.option("--out", type=PATH, help="Where the key goes, instead of beside the ledger; its name ends in .pem.")
@_ledger
@click.option("--name", help="What you call yourself; written into the key, and shown with signatures.")
@click.option("--passphrase", "locked", is_flag=True, help="Lock the key; asks for a passphrase.")
@json_option
def new_command(out: Path | None, ledger: Path | None, name: str | None, locked: bool, as_json: bool) -> None:
    """Make a key. The private part is readable by you only (0600); keep a copy of it.

    Without a terminal the passphrase is taken from RANKVEIL_KEY_PASSPHRASE.

    \b
      rankveil key new
      rankveil key new --out office.pem --name "Statistical Office" --passphrase
    """
    from rankveil.ledger import default_ledger_path
    from rankveil.sign import beside_ledger, new_key
    from rankveil.sign.keys import PASSPHRASE, public_path

    path = out or beside_ledger(ledger or default_ledger_path())
    passphrase = None
    if locked:
        passphrase = os.environ.get(PASSPHRASE) or _asked()
    made = new_key(path, name=name, passphrase=passphrase)
    if as_json:
        print_json({"private": str(path), "public": str(public_path(path)), "key": made.fingerprint, "name": made.name})
        return
    click.echo(f"Private key  {path}  (keep it, and a copy, to yourself)")
    click.echo(f"Public key   {public_path(path)}  (for everybody)")
    click.echo(f"Fingerprint  {made.fingerprint}")


def _asked() -> str:
    if not sys.stdin.isatty():
        raise click.UsageError("--passphrase asks at a terminal; without one, set RANKVEIL_KEY_PASSPHRASE.")
    return str(click.prompt("New passphrase", hide_input=True, confirmation_prompt=True, err=True))


@command.command("show")
@click.argument("key", type=PATH, required=False)
@_ledger
@json_option
def show_command(key: Path | None, ledger: Path | None, as_json: bool) -> None:
    """Print the public part of a key, its name and its fingerprint. KEY is a public key, or the private one beside it.

    \b
      rankveil key show
      rankveil key show office.pub.pem
    """
    from rankveil.ledger import default_ledger_path
    from rankveil.sign import beside_ledger, public_key
    from rankveil.sign.keys import public_path

    path = key or public_path(beside_ledger(ledger or default_ledger_path()))
    if not path.name.endswith(".pub.pem") and public_path(path).exists():
        path = public_path(path)  # a private key is not even opened
    found = public_key(path)
    if as_json:
        print_json({"public": str(path), "key": found.fingerprint, "name": found.name, "pem": found.pem})
        return
    if found.name:
        click.echo(f"Name         {found.name}")
    click.echo(f"Fingerprint  {found.fingerprint}")
    click.echo(found.pem.strip())
