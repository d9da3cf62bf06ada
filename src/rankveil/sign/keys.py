"""Keys for signatures (Ed25519): made, kept and read as PEM files that other programs read as well.

Guarantee    A private key is written once, readable by its owner only, and never shown: no message, manifest or result
             holds it. A key file that others can read is refused.
Argument     32 bytes of the operating system's generator; PKCS #8, encrypted if a passphrase is given (PBES2 as
             `cryptography` chooses). Files are written whole, with mode 0600, where there is none of that name.
Names        A line `Name: ...` above the PEM block says what the owner calls himself. It is a label, not a proof.
"""

from __future__ import annotations

import hashlib
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rankveil import system
from rankveil.errors import MissingExtraError, SigningError
from rankveil.ledger import default_ledger_path
from rankveil.noise import SystemSource
from rankveil.write import write_bytes

PASSPHRASE = "RANKVEIL_KEY_PASSPHRASE"  # the variable of the environment for runs without a terminal
_BEGIN = "-----BEGIN "
_LARGEST = 1 << 16  # bytes of a file that may hold a key


@dataclass(frozen=True)
class PublicKey:
    """What others need to check a signature."""

    pem: str  # without the name
    name: str | None = None

    @property
    def der(self) -> bytes:
        _, serialization, _ = _libraries()
        loaded = serialization.load_pem_public_key(self.pem.encode())
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        return bytes(loaded.public_bytes(serialization.Encoding.DER, form))

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the key in DER: what `openssl pkey -pubin -outform DER | sha256sum` prints."""
        return hashlib.sha256(self.der).hexdigest()

    def has_signed(self, content: bytes, signature: bytes) -> bool:
        _, serialization, invalid = _libraries()
        try:
            serialization.load_pem_public_key(self.pem.encode()).verify(signature, content)
        except (invalid, ValueError):
            return False
        return True

    def text(self) -> str:
        return _titled(self.name, self.pem)


@dataclass(frozen=True, repr=False)
class SigningKey:
    """A private key. Not shown by repr, and not written by anything but `new_key`."""

    private: Any
    public: PublicKey

    def sign(self, content: bytes) -> bytes:
        return bytes(self.private.sign(content))

    def __repr__(self) -> str:
        return f"SigningKey({self.public.fingerprint[:16]}…)"


def beside_ledger(ledger: str | Path) -> Path:
    """Where a key lies that signs the releases of a ledger."""
    path = Path(ledger)
    return path.with_name(path.name + ".signing.pem")


def public_path(private: Path) -> Path:
    return private.with_name(private.name.removesuffix(".pem") + ".pub.pem")


def new_key(path: Path, *, name: str | None = None, passphrase: str | None = None) -> PublicKey:
    """Make a key: `path` gets the private part, `….pub.pem` beside it the public one."""
    kinds, serialization, _ = _libraries()
    if name is not None and (not name.isprintable() or not name.strip() or len(name) > 200):
        raise SigningError("The name of a key must be one line of text, at most 200 characters.", remedy="Change it.")
    if passphrase is not None and not passphrase:
        raise SigningError("The passphrase is empty.", remedy="Give one, or leave it out.")
    for each in (path, public_path(path)):
        if os.path.lexists(each):
            raise SigningError(
                f"{each} is already there.",
                remedy="Choose another place with --out: a key is not replaced, for it may have signed something.",
            )
    private = kinds.Ed25519PrivateKey.from_private_bytes(SystemSource().random_bytes(32))
    locked = (
        serialization.NoEncryption()
        if passphrase is None
        else serialization.BestAvailableEncryption(passphrase.encode())
    )
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    public = _public_of(private, name.strip() if name else None)
    write_bytes(path, _titled(public.name, private.private_bytes(pem, form, locked).decode()).encode(), mode=0o600)
    write_bytes(public_path(path), public.text().encode())
    return public


def is_encrypted(path: Path) -> bool:
    return "ENCRYPTED PRIVATE KEY" in _read(path)


def signing_key(path: Path, passphrase: str | None = None) -> SigningKey:
    """Read a private key. Without a passphrase that of the environment is used, if the key needs one."""
    kinds, serialization, _ = _libraries()
    name, pem = _parts(_read(path))
    if not system.windows() and stat.S_IMODE(path.stat().st_mode) & 0o077:  # there, folders say who reads
        raise SigningError(f"The key {path} can be read by others.", remedy=f"Keep it to yourself: chmod 600 {path}")
    if "PUBLIC KEY" in pem:
        raise SigningError(f"{path} is a public key, which cannot sign.", remedy="Name the private key with --key.")
    passphrase = passphrase or os.environ.get(PASSPHRASE) or None
    encrypted = "ENCRYPTED PRIVATE KEY" in pem
    if encrypted and passphrase is None:
        raise SigningError(
            f"The key {path} is locked with a passphrase.",
            remedy=f"Run the command in a terminal, which asks for it, or set {PASSPHRASE}.",
        )
    try:
        private = serialization.load_pem_private_key(
            pem.encode(), passphrase.encode() if encrypted and passphrase else None
        )
    except ValueError:
        wrong = "The passphrase is wrong, or the key is damaged." if encrypted else f"{path} is no key in PEM form."
        raise SigningError(wrong, remedy="`rankveil key new` makes a key.") from None
    if not isinstance(private, kinds.Ed25519PrivateKey):
        raise SigningError(f"{path} is a key of another kind.", remedy="Signatures are made with Ed25519 keys.")
    return SigningKey(private, _public_of(private, name))


def public_key(path: Path) -> PublicKey:
    """Read a public key."""
    name, pem = _parts(_read(path))
    if "PRIVATE KEY" in pem:
        raise SigningError(
            f"{path} is a private key.", remedy="Name the public one (….pub.pem); nobody needs the other to check."
        )
    return checked_public_key(pem, name, str(path))


def checked_public_key(pem: str, name: str | None, where: str) -> PublicKey:
    """A public key from text that anybody may have written."""
    kinds, serialization, _ = _libraries()
    try:
        loaded = serialization.load_pem_public_key(pem.encode())
    except (ValueError, TypeError):
        loaded = None
    if not isinstance(loaded, kinds.Ed25519PublicKey):
        raise SigningError(f"{where} is no public key for Ed25519 signatures.", remedy="Ask its owner for the key.")
    return PublicKey(pem, name)


def _public_of(private: Any, name: str | None) -> PublicKey:
    _, serialization, _ = _libraries()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return PublicKey(private.public_key().public_bytes(serialization.Encoding.PEM, form).decode(), name)


def _titled(name: str | None, pem: str) -> str:
    return pem if name is None else f"Name: {name}\n{pem}"


def _parts(text: str) -> tuple[str | None, str]:
    """The name above a PEM block, and the block."""
    above, begin, block = text.partition(_BEGIN)
    names = [line.removeprefix("Name:").strip() for line in above.splitlines() if line.startswith("Name:")]
    return (names[0] or None if names else None), begin + block


def _read(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return file.read(_LARGEST).decode("utf-8")
    except OSError as error:
        raise SigningError(
            f"The key {path} cannot be read: {error.strerror}.", remedy="`rankveil key new` makes a key."
        ) from None
    except UnicodeError:
        raise SigningError(f"{path} is no key in PEM form.", remedy="`rankveil key new` makes a key.") from None


def _libraries() -> tuple[Any, Any, Any]:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        raise MissingExtraError("Making or checking signatures", "sign") from None
    return ed25519, serialization, InvalidSignature


def signing_key_for(key: str | Path | None, ledger: str | Path | None, passphrase: str | None) -> SigningKey | None:
    """The key that was named, or the one beside the ledger, if there is one. Opened before anything is spent."""
    path = beside_ledger(default_ledger_path() if ledger is None else ledger) if key is None else Path(key)
    return None if key is None and not path.exists() else signing_key(path, passphrase)
