from __future__ import annotations

import hashlib
import json
import stat
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import dsa, ec, ed25519, rsa
from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from ironcurtain.bundle.signing.keys import SigningAlgorithm, new_key, read_private_key, read_public_key
from ironcurtain.errors import FileError, FormatError, IronCurtainError

PLAIN = NoEncryption()
KINDS: list[SigningAlgorithm] = ["ES256", "ES384", "ES512", "RS256"]


def public(key: PrivateKeyTypes) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def private(key: PrivateKeyTypes, encryption: KeySerializationEncryption = PLAIN) -> bytes:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)


@pytest.mark.parametrize("algorithm", KINDS)
def test_a_key_is_written_and_read(algorithm: SigningAlgorithm, tmp_path: Path) -> None:
    path = tmp_path / "keys" / "key.pem"
    made = new_key(path, algorithm)
    assert (stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(path.parent.stat().st_mode)) == (0o600, 0o700)
    read = read_private_key(path)
    (tmp_path / "public.pem").write_text(made.public.pem)
    again = read_public_key(tmp_path / "public.pem")
    assert made.public.algorithm == read.public.algorithm == again.algorithm == algorithm
    assert made.public.id == read.public.id == again.id


def test_the_id_is_the_thumbprint_of_the_standard(tmp_path: Path) -> None:
    made = new_key(tmp_path / "key.pem", "ES256").public
    assert isinstance(made.key, ec.EllipticCurvePublicKey)
    numbers = made.key.public_numbers()
    x, y = (
        urlsafe_b64encode(number.to_bytes(32, "big")).rstrip(b"=").decode()
        for number in (numbers.x, numbers.y)
    )
    text = json.dumps({"crv": "P-256", "kty": "EC", "x": x, "y": y}, separators=(",", ":"))
    assert made.id == urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    new_key(tmp_path / "key.pem", "ES256")
    before = (tmp_path / "key.pem").read_bytes()
    with pytest.raises(FileError, match="is kept"):
        new_key(tmp_path / "key.pem", "RS256")
    assert (tmp_path / "key.pem").read_bytes() == before


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_private_key_that_others_can_read(mode: int, tmp_path: Path) -> None:
    new_key(tmp_path / "key.pem", "ES256")
    (tmp_path / "key.pem").chmod(mode)
    with pytest.raises(FileError, match="others can read"):
        read_private_key(tmp_path / "key.pem")


BAD_PUBLIC = {
    "nothing": b"",
    "no-pem": b"not a key",
    "a-secret": b"-----BEGIN SECRET-----\nAAAA\n-----END SECRET-----\n",
    "private": private(ec.generate_private_key(ec.SECP256R1())),
    "small-rsa": public(rsa.generate_private_key(65537, 1024)),
    "another-curve": public(ec.generate_private_key(ec.SECP256K1())),
    "ed25519": public(ed25519.Ed25519PrivateKey.generate()),
    "dsa": public(dsa.generate_private_key(1024)),
}


@pytest.mark.parametrize("name", BAD_PUBLIC)
def test_no_public_key_for_a_bundle(name: str, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(BAD_PUBLIC[name])
    with pytest.raises(FormatError):
        read_public_key(path)


BAD_PRIVATE = {
    "nothing": b"",
    "public": public(ec.generate_private_key(ec.SECP256R1())),
    "passphrase": private(ec.generate_private_key(ec.SECP256R1()), BestAvailableEncryption(b"x")),
    "ed25519": private(ed25519.Ed25519PrivateKey.generate()),
    "small-rsa": private(rsa.generate_private_key(65537, 1024)),
    "another-curve": private(ec.generate_private_key(ec.SECP256K1())),
}


@pytest.mark.parametrize("name", BAD_PRIVATE)
def test_no_private_key_for_a_bundle(name: str, tmp_path: Path) -> None:
    path = tmp_path / "key.pem"
    path.write_bytes(BAD_PRIVATE[name])
    path.chmod(0o600)
    with pytest.raises(IronCurtainError):
        read_private_key(path)
