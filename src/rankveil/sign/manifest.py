"""The manifest: everything a release consists of, byte for byte, in one list that is signed.

Guarantee    A signature that fits says: whoever holds this key has listed these very files (release, certificate, page,
             model, weights), and has seen the ledger at this head. A changed byte in any of them does not fit.
Argument     The list has the SHA-256 of every file; the signature (Ed25519) is over the bytes of manifest.json as they
             lie there. Nothing is put in a canonical form first, so nothing can be read in two ways: other programs
             sign and check the file itself (docs/signing.md).
Bytes        UTF-8 JSON with an indent of two and a line end; entries in the order of the classes below. The signature
             lies beside in manifest.sig: 64 bytes.
Not covered  Who holds the key. Compare it, or its fingerprint, with what its owner shows elsewhere.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from rankveil.certificate import Certificate, SignerNote
from rankveil.certificate.page import page
from rankveil.certificate.reading import content_of, unambiguous
from rankveil.ledger import Head
from rankveil.sign.keys import SigningKey
from rankveil.write import CERTIFICATE_NAME, MANIFEST_NAME, PAGE_NAME, SIGNATURE_NAME

FORMAT = 1


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileNote(_Part):
    name: str = Field(description="In the folder of the release, with / before files of a folder in it.")
    sha256: str
    bytes: int


class HeadNote(_Part):
    """The ledger when the release was made, or when figures of its accuracy were added last."""

    entry: int = Field(description="The entry of the release, or of those figures: the last one then.")
    receipt: str = Field(description="Random, and noted with the entry.")
    head: str = Field(description="Stands for all entries up to it.")


class KeyNote(_Part):
    algorithm: Literal["Ed25519"]
    key: str = Field(description="SHA-256 of the public key in DER.")
    name: str | None
    public_key: str = Field(description="PEM. To know whose it is, compare it with what its owner shows elsewhere.")


class Manifest(_Part):
    manifest_format: Literal[1]
    rankveil_version: str
    created: datetime
    title: str | None
    files: tuple[FileNote, ...] = Field(min_length=1)
    ledger: HeadNote | None
    signed_by: KeyNote | None = Field(description="Whose signature lies beside; null if nobody has signed.")

    def to_bytes(self) -> bytes:
        return (self.model_dump_json(indent=2) + "\n").encode()


def signer_note(key: SigningKey) -> SignerNote:
    """What a certificate says of the key that is about to sign."""
    return SignerNote(algorithm="Ed25519", key=key.public.fingerprint, name=key.public.name)


def papers(certificate: Certificate, head: Head | None, key: SigningKey | None) -> dict[str, bytes]:
    """What lies beside a release: its certificate, the page, the manifest of everything, and the signature."""
    made = {CERTIFICATE_NAME: certificate.to_json().encode(), PAGE_NAME: page(certificate).encode()}
    manifest = Manifest(
        manifest_format=1,
        rankveil_version=certificate.rankveil_version,
        created=certificate.created,
        title=certificate.title,
        files=(*_certified(certificate), *(_file(name, content) for name, content in made.items())),
        ledger=None if head is None else HeadNote(entry=head.entry, receipt=head.receipt, head=head.digest),
        signed_by=None
        if key is None
        else KeyNote(
            algorithm="Ed25519",
            key=key.public.fingerprint,
            name=key.public.name,
            public_key=key.public.pem,
        ),
    ).to_bytes()
    made[MANIFEST_NAME] = manifest
    return made if key is None else {**made, SIGNATURE_NAME: key.sign(manifest)}


def _certified(certificate: Certificate) -> Iterator[FileNote]:
    """Files that the certificate knows by their fingerprints."""
    release = certificate.release
    if release is not None and release.parts is None:
        yield FileNote(name=release.file, sha256=release.sha256, bytes=release.bytes)
    folders = [(release.file, release.parts or ())] if release is not None else []
    folders += [(certificate.model.folder, certificate.model.parts)] if certificate.model is not None else []
    for folder, parts in folders:
        for part in parts:
            yield FileNote(name=f"{folder}/{part.name}", sha256=part.sha256, bytes=part.bytes)
    if certificate.weights is not None:
        weights = certificate.weights
        yield FileNote(name=weights.file, sha256=weights.sha256, bytes=weights.bytes)


def _file(name: str, content: bytes) -> FileNote:
    return FileNote(name=name, sha256=hashlib.sha256(content).hexdigest(), bytes=len(content))


def read_manifest(path: Path) -> tuple[Manifest, bytes]:
    """A manifest and the bytes that were signed. ValueError if it is none."""
    content = content_of(path)
    try:
        unambiguous(content)
        return Manifest.model_validate_json(content), content
    except (ValidationError, ValueError, RecursionError):
        raise ValueError("not a manifest of format 1, or one whose readers may disagree") from None
