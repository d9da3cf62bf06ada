"""Signatures: who stands for a release, checkable by anyone, offline, with rankveil or without.

keys.py       keys: made, kept, read
manifest.py   the list of everything a release consists of, and its signature
"""

from rankveil.sign.keys import (
    PublicKey,
    SigningKey,
    beside_ledger,
    is_encrypted,
    new_key,
    public_key,
    signing_key,
    signing_key_for,
)
from rankveil.sign.manifest import FileNote, HeadNote, Manifest, papers, read_manifest

__all__ = [
    "FileNote",
    "HeadNote",
    "Manifest",
    "PublicKey",
    "SigningKey",
    "beside_ledger",
    "is_encrypted",
    "new_key",
    "papers",
    "public_key",
    "read_manifest",
    "signing_key",
    "signing_key_for",
]
