"""The keys that bundles are signed and verified with: PEM files, one algorithm per key.

The algorithm follows from the key and from nothing else, so no signature can choose how it is checked.
"""

from __future__ import annotations

import hashlib
import os
from base64 import urlsafe_b64encode
from pathlib import Path
from typing import Literal, TypeAlias

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
    load_pem_public_key,
)
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from ironcurtain.errors import FileError, FormatError, SystemFailedError
from ironcurtain.system import json_text
from ironcurtain.system.files import read_bytes
from ironcurtain.system.ownership import others_have_access
from ironcurtain.system.structs import Struct

SigningAlgorithm: TypeAlias = Literal["ES256", "ES384", "ES512", "RS256"]
"""What OPA can verify and we make: ECDSA on the curve of that size, or RSA (PKCS #1) with SHA-256."""

_CURVES: dict[str, SigningAlgorithm] = {"secp256r1": "ES256", "secp384r1": "ES384", "secp521r1": "ES512"}
_RSA_BITS = 3072
_MIN_RSA_BITS = 2048
_MAX_BYTES = 64 << 10
# The members of a JWK that its thumbprint is made of (RFC 7638).
_THUMBPRINT = {"crv", "e", "kty", "n", "x", "y"}


class PublicKey(Struct):
    """A key that verifies.

    Attributes:
        algorithm: The one algorithm of this key.
        id: Its name in signatures and in OPA's configuration: the thumbprint of RFC 7638.
        pem: The key as OPA takes it.
    """

    key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey
    algorithm: SigningAlgorithm
    id: str
    pem: str


class PrivateKey(Struct):
    """A key that signs; `public` is its other half."""

    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
    public: PublicKey


def read_public_key(path: Path) -> PublicKey:
    """Read the public key of a PEM file.

    Raises:
        FileError: If it cannot be read.
        FormatError: If it is no public key, or of a kind that is not used here.
    """
    content = read_bytes(path, max_bytes=_MAX_BYTES)
    if b"PRIVATE KEY" in content:
        raise FormatError(
            "this is a private key",
            where=str(path),
            hint="Whoever checks signatures needs the public one: ironcurtain key public --key FILE.",
        )
    try:
        return _public(load_pem_public_key(content), str(path))
    except (ValueError, UnsupportedAlgorithm):
        raise FormatError("no public key in PEM form", where=str(path)) from None


def read_private_key(path: Path) -> PrivateKey:
    """Read the private key of a PEM file that nobody but its owner can read.

    Raises:
        FileError: If it cannot be read, or others can read it.
        FormatError: If it is no private key, or of a kind that is not used here.
    """
    if not path.exists():
        raise FileError(
            "there is no such private key", where=str(path), hint="Make one: ironcurtain key new."
        )
    content = read_bytes(path, max_bytes=_MAX_BYTES)
    if others_have_access(path.stat()):
        raise FileError("others can read this private key", where=str(path), hint="Close it: chmod 600 FILE.")
    try:
        key = load_pem_private_key(content, password=None)
    except (TypeError, ValueError, UnsupportedAlgorithm):
        raise FormatError(
            "no private key in PEM form, or one with a passphrase",
            where=str(path),
            hint="Make one: ironcurtain key new.",
        ) from None
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise FormatError("the key is neither RSA nor ECDSA, which is what OPA can check", where=str(path))
    return PrivateKey(key, _public(key.public_key(), str(path)))


def new_key(path: Path, algorithm: SigningAlgorithm) -> PrivateKey:
    """Make a key and write it to a new file that only its owner can read.

    Raises:
        FileError: If the file exists: a key is never overwritten.
        SystemFailedError: If it cannot be written.
    """
    key = _generate(algorithm)
    content = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
    except FileExistsError:
        raise FileError(
            "there is a key already, and it is kept", where=str(path), hint="Name another file."
        ) from None
    except OSError as error:
        raise SystemFailedError(f"the key cannot be written: {error.strerror}", where=str(path)) from error
    return PrivateKey(key, _public(key.public_key(), str(path)))


def _generate(algorithm: SigningAlgorithm) -> ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey:
    if algorithm == "RS256":
        return rsa.generate_private_key(public_exponent=65537, key_size=_RSA_BITS)
    curves = {"ES256": ec.SECP256R1(), "ES384": ec.SECP384R1(), "ES512": ec.SECP521R1()}
    return ec.generate_private_key(curves[algorithm])


def _public(key: object, where: str) -> PublicKey:
    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size < _MIN_RSA_BITS:
            raise FormatError(f"the RSA key has {key.key_size} bits, fewer than {_MIN_RSA_BITS}", where=where)
        return PublicKey(key, "RS256", _thumbprint(RSAAlgorithm.to_jwk(key)), _pem(key))
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES:
        return PublicKey(key, _CURVES[key.curve.name], _thumbprint(ECAlgorithm.to_jwk(key)), _pem(key))
    raise FormatError(
        "the key is of no kind that OPA can check",
        where=where,
        hint="Use RSA, or ECDSA on P-256, P-384 or P-521.",
    )


def _thumbprint(jwk: str) -> str:
    members = {name: value for name, value in json_text.parse_object(jwk).items() if name in _THUMBPRINT}
    return urlsafe_b64encode(hashlib.sha256(json_text.canonical(members)).digest()).rstrip(b"=").decode()


def _pem(key: ec.EllipticCurvePublicKey | rsa.RSAPublicKey) -> str:
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
