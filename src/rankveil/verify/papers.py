"""The papers beside a release: the page, the manifest, the signature, and the ledger that they quote.

A check of something that is not there fails only where something else says that it must be.
"""

from __future__ import annotations

from pathlib import Path

from rankveil._version import __version__
from rankveil.certificate import Certificate
from rankveil.certificate.page import page
from rankveil.certificate.reading import content_of
from rankveil.errors import RankveilError
from rankveil.ledger import Ledger, lacks, rolled_back
from rankveil.sign.keys import PublicKey, checked_public_key, public_key
from rankveil.sign.manifest import FileNote, KeyNote, Manifest, read_manifest
from rankveil.verify.numbers import Fails
from rankveil.verify.release import fingerprint_of
from rankveil.write import CERTIFICATE_NAME, MANIFEST_NAME, MODEL_NAME, PAGE_NAME, SIGNATURE_NAME

_NEEDED = (CERTIFICATE_NAME,)


class Papers:
    """What lies in the folder of a certificate."""

    def __init__(self, read: Certificate, certificate: Path, release: Path, *, alone: bool) -> None:
        self.read, self.certificate, self.release = read, certificate, release
        self.folder = certificate.parent
        self.alone = alone  # the folder was named: it is the release and nothing else

    # The page

    def shown(self) -> str:
        """The page is the one that follows from the certificate."""
        path = self.folder / PAGE_NAME
        if not path.is_file():
            return "no page beside the certificate: not checked"
        if self.read.rankveil_version != __version__:
            return "a page of another version of rankveil: checked by the manifest only"
        try:
            made = page(self.read)
        except (ValueError, ArithmeticError):
            raise Fails("no page can be made of the certificate: a number in it is none") from None
        if self._content(path) != made.encode():
            raise Fails(f"{PAGE_NAME} is not the page of this certificate: one of them was changed")
        return f"{PAGE_NAME} is what follows from {CERTIFICATE_NAME}"

    # The manifest

    def listed(self) -> str:
        """Every file on the list is the one that was listed."""
        path = self.folder / MANIFEST_NAME
        if not path.is_file():
            if self.read.signed is not None:
                raise Fails(f"the certificate says that it is signed, and {MANIFEST_NAME} is missing")
            return "no manifest beside the certificate: not checked"
        listed, _ = self._manifest()
        names = [file.name for file in listed.files]
        if len(set(names)) < len(names) or not all(map(_proper, names)):
            raise Fails("a file on the list has no proper name, or the name of another one")
        missing = [name for name in _NEEDED if name not in names]
        missing += [PAGE_NAME] if PAGE_NAME not in names and (self.folder / PAGE_NAME).exists() else []
        if missing:
            raise Fails(f"{missing[0]} is not on the list")
        left_out = False
        for file in listed.files:
            if file.name.startswith(f"{MODEL_NAME}/") and not (self.folder / MODEL_NAME).is_dir():
                left_out = True
                continue
            self._is_listed(file)
        self._same_release(listed)
        own = self.read.created, self.read.title, self.read.rankveil_version
        if (listed.created, listed.title, listed.rankveil_version) != own:
            raise Fails(
                f"{MANIFEST_NAME} does not have the certificate's title, time and version: it is of another one"
            )
        if self.alone:
            self._nothing_else(names)
        return f"{len(names)} files, byte for byte" + ("; the model is not there: not checked" if left_out else "")

    def _nothing_else(self, names: list[str]) -> None:
        """Whatever else lies there would be taken for a part of the release, and nobody stands for it."""
        known = {MANIFEST_NAME, SIGNATURE_NAME, *(name.partition("/")[0] for name in names)}
        if self.release == self.folder:  # a release in parts, which were checked by themselves
            known |= {name.rpartition("/")[2] for name in names}
        others = sorted(each.name for each in self.folder.iterdir() if each.name not in known)
        others = [name for name in others if not name.startswith(".")]  # notes of file systems
        if others:
            more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
            raise Fails(f"{others[0]}{more} lies in the folder and is not on the list: it is no part of the release")
        for name in (MANIFEST_NAME, SIGNATURE_NAME):
            self._stays_inside(name, self.folder / name)

    def _stays_inside(self, name: str, path: Path) -> None:
        if self.alone and not path.resolve().is_relative_to(self.folder.resolve()):
            raise Fails(f"{name} is a link to a place outside the folder, where it can be changed unseen")

    def _is_listed(self, file: FileNote) -> None:
        path = self._place(file.name)
        if not path.is_file():
            raise Fails(f"{file.name} is on the list, and missing")
        self._stays_inside(file.name, path)
        digest, size = fingerprint_of(path)
        if (digest, size) == (file.sha256, file.bytes):
            return
        if file.name == CERTIFICATE_NAME and self.read.release is not None:
            self._same_release(self._manifest()[0])
        raise Fails(f"{file.name} was changed: SHA-256 {digest} instead of {file.sha256}")

    def _place(self, name: str) -> Path:
        """Where a file of the list lies: the release and the certificate may have been named by themselves."""
        first, _, part = name.partition("/")
        if name == CERTIFICATE_NAME:
            return self.certificate
        if self.read.release is not None and first == self.read.release.file:
            return self.release / part if part else self.release
        return self.folder / name

    def _same_release(self, listed: Manifest) -> None:
        release = self.read.release
        if release is None:
            return
        whole = {(file.name, file.sha256) for file in listed.files}
        parts = [(f"{release.file}/{part.name}", part.sha256) for part in release.parts or ()]
        if not whole.issuperset(parts or [(release.file, release.sha256)]):
            raise Fails("the certificate is of another release than the one on the list")

    def _content(self, path: Path) -> bytes:
        try:
            return content_of(path)
        except OSError as error:
            raise Fails(f"{path.name} cannot be read: {error.strerror}") from None
        except ValueError as error:
            raise Fails(f"{path.name} cannot be read: {error}") from None

    def _manifest(self) -> tuple[Manifest, bytes]:
        try:
            return read_manifest(self.folder / MANIFEST_NAME)
        except ValueError as error:
            raise Fails(f"{MANIFEST_NAME} cannot be read: {error}") from None

    # The signature

    def signature(self, key: Path | None) -> str:
        """Somebody has signed the list; with a key, its owner has."""
        wanted = None if key is None else public_key(key)
        if not (self.folder / MANIFEST_NAME).is_file():
            if wanted is not None:
                raise Fails(f"not signed: there is no {MANIFEST_NAME}")
            return "not signed: nobody stands for it"
        listed, content = self._manifest()
        self._agree(listed.signed_by)
        if listed.signed_by is None:
            if wanted is not None:
                raise Fails("not signed: the manifest names no key")
            if (self.folder / SIGNATURE_NAME).exists():
                raise Fails(f"{SIGNATURE_NAME} is there, and the manifest names no key")
            return "not signed: nobody stands for it"
        own = self._key_of(listed.signed_by)
        signature = self.folder / SIGNATURE_NAME
        if not signature.is_file():
            raise Fails(f"the manifest says that it is signed, and {SIGNATURE_NAME} is missing")
        if wanted is not None and wanted.fingerprint != own.fingerprint:
            raise Fails(f"signed with another key than the one given: {_named(own)} instead of {_named(wanted)}")
        if not own.has_signed(content, self._content(signature)):
            raise Fails(f"the signature does not fit {MANIFEST_NAME}: one of them was changed")
        if wanted is None:
            return f"signed with the key {_named(own)}; whose that is, --key tells: compare it with its owner's"
        return f"signed with the key that was given, {_named(wanted)}"

    def _agree(self, said: KeyNote | None) -> None:
        signer = self.read.signed
        if (said.key if said else None) != (signer.key if signer else None):
            raise Fails("certificate and manifest do not name the same key")

    def _key_of(self, said: KeyNote) -> PublicKey:
        own = checked_public_key(said.public_key, said.name, f"The key in {MANIFEST_NAME}")
        if own.fingerprint != said.key:
            raise Fails("the manifest's key does not have the fingerprint that it states")
        return own

    # The ledger

    def ledger(self, path: Path) -> str:
        """The publisher's ledger still has what it had when the release was made."""
        if self.read.ledger is None:
            raise Fails("the certificate quotes no ledger: the release was not entered in one")
        entry, receipt = self.read.ledger.entry, self.read.ledger.receipt
        statements = [
            (each.ledger_entry, each.ledger_receipt, f"statement {place} of published accuracy")
            for place, each in enumerate(self.read.published_accuracy or (), start=1)
            if each.ledger_entry is not None
        ]
        at: tuple[int, str | None, str | None] = entry, receipt, None
        if (self.folder / MANIFEST_NAME).is_file():
            quoted = self._manifest()[0].ledger
            own = {(entry, receipt), *((number, said) for number, said, _ in statements)}
            if quoted is None or (quoted.entry, quoted.receipt) not in own:
                raise Fails("certificate and manifest do not quote the same entry of the ledger")
            at = quoted.entry, quoted.receipt, quoted.head
        if not path.is_file():
            raise Fails(f"there is no ledger {path}")
        try:
            with Ledger(path) as ledger:
                wrong = lacks(ledger, entry, receipt)
                wrong = wrong or next(filter(None, (lacks(ledger, *one) for one in statements)), None)
                wrong = wrong or rolled_back(ledger, *at)
        except RankveilError as error:
            raise Fails(error.problem) from None
        if wrong is not None:
            raise Fails(wrong)
        also = f", what was published of its accuracy is in entry {statements[-1][0]}" if statements else ""
        return f"entry {entry} is this release{also}, and nothing up to entry {at[0]} was changed"


def _named(key: PublicKey) -> str:
    name = f" ({key.name})" if key.name else ""
    return f"{key.fingerprint}{name}"


def _proper(name: str) -> bool:
    parts = name.split("/")
    return len(parts) <= 2 and all(part and not part.startswith(".") and "\\" not in part for part in parts)
