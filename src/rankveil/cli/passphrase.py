"""Passphrases of keys: asked for at a terminal, and never shown."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click


def asked_passphrase(key: Path | None, ledger: Path | None) -> str | None:
    """For a locked key that is about to sign. None if it is not locked, or if there is nobody to ask."""
    from rankveil.ledger import default_ledger_path
    from rankveil.sign.keys import PASSPHRASE, beside_ledger, is_encrypted

    path = key or beside_ledger(ledger or default_ledger_path())
    if not path.is_file() or os.environ.get(PASSPHRASE) or not sys.stdin.isatty() or not is_encrypted(path):
        return None
    return str(click.prompt("Passphrase of the key", hide_input=True, err=True))
