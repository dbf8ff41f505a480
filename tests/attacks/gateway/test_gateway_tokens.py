"""A client over HTTP shows a token that it made, stole, kept too long, or signed by another key.

Held by: a key is good for one algorithm and chosen by `kid` alone; `exp` is required and counts to the
second; issuer and audience where they are configured; settings and keys are read again when they change.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from pathlib import Path
from typing import Any, TypeAlias

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from ironcurtain.enforcement.proxy.transport import tokens
from ironcurtain.enforcement.proxy.transport.tokens import BadTokenError, Tokens
from ironcurtain.errors import FileError, GatewayError

EC, OTHER_EC = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
RSA = rsa.generate_private_key(65_537, 2_048)
Key: TypeAlias = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
GOOD = {"sub": "ada", "permissions": ["tickets:read"], "aud": "desk", "iss": "https://id.example"}


def pem(key: Key) -> bytes:
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form)


class Place:
    """Settings of tokens in a directory of their own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.keys: dict[str, tuple[str, Key]] = {"ec": ("ES256", EC), "rsa": ("RS256", RSA)}
        self.write()
        self.tokens = Tokens(root / "tokens.json")

    def write(self, **more: Any) -> None:
        for name, (_, key) in self.keys.items():
            (self.root / f"{name}.pem").write_bytes(pem(key))
        keys = [{"kid": kid, "algorithm": a, "file": f"{kid}.pem"} for kid, (a, _) in self.keys.items()]
        told = {
            "format": "ironcurtain/tokens/v1",
            "keys": keys,
            "issuer": "https://id.example",
            "audience": "desk",
            **more,
        }
        (self.root / "tokens.json").write_text(json.dumps(told))

    def sub_of(self, token: str | bytes) -> str:
        raw = token.encode() if isinstance(token, str) else token
        return self.tokens.principal_of({b"authorization": b"Bearer " + raw}).sub


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def made(key: Any = EC, algorithm: str = "ES256", kid: str | None = "ec", **claims: Any) -> str:
    """Make a token; a claim that is None is left out."""
    told = {**GOOD, "exp": time.time() + 300, **claims}
    headers = {"kid": kid} if kid else {}
    kept = {name: value for name, value in told.items() if value is not None}
    return jwt.encode(kept, key, algorithm=algorithm, headers=headers)


def by_hand(header: dict[str, Any], claims: dict[str, Any], key: bytes = b"") -> str:
    """Make a token as no library would."""

    def part(value: bytes) -> bytes:
        return base64.urlsafe_b64encode(value).rstrip(b"=")

    signed = part(json.dumps(header).encode()) + b"." + part(json.dumps(claims).encode())
    mac = hmac.new(key, signed, hashlib.sha256).digest() if key else b""
    return (signed + b"." + part(mac)).decode()


def test_tokens_of_the_keys_count(place: Place) -> None:
    assert place.sub_of(made()) == "ada"
    assert place.sub_of(made(RSA, "RS256", "rsa")) == "ada"


CLAIMS = {**GOOD, "exp": 4_000_000_000}


def refused(place: Place, token: str | bytes) -> str:
    with pytest.raises(BadTokenError) as told:
        place.sub_of(token)
    return str(told.value)


def test_algorithm_none_does_not_count(place: Place) -> None:
    for name in ("none", "None", "NONE", ""):
        assert refused(place, by_hand({"alg": name, "kid": "ec"}, CLAIMS))


def test_algorithm_confusion_a_public_key_is_no_secret(place: Place) -> None:
    for kid, key in (("rsa", RSA), ("ec", EC)):
        assert "another algorithm" in refused(place, by_hand({"alg": "HS256", "kid": kid}, CLAIMS, pem(key)))


def test_algorithm_confusion_a_key_is_good_for_its_own_algorithm_only(place: Place) -> None:
    assert "another algorithm" in refused(place, made(RSA, "PS256", "rsa"))
    assert "another algorithm" in refused(place, made(RSA, "RS512", "rsa"))


def test_key_confusion_a_token_signed_by_one_key_names_another(place: Place) -> None:
    assert refused(place, made(EC, "ES256", "rsa"))
    assert refused(place, made(OTHER_EC, "ES256", "ec"))


def test_key_confusion_a_token_brings_its_own_key(place: Place) -> None:
    jwk = json.loads(jwt.algorithms.ECAlgorithm.to_jwk(OTHER_EC.public_key()))
    for more in ({"jwk": jwk}, {"jku": "https://evil.example/keys"}, {"x5u": "https://evil.example/cert"}):
        headers = {"kid": "ec", **more}
        token = jwt.encode({**GOOD, "exp": time.time() + 300}, OTHER_EC, "ES256", headers=headers)
        assert refused(place, token)


def test_a_token_without_a_kid_names_no_key_of_several(place: Place) -> None:
    assert "unknown key" in refused(place, made(kid=None))
    assert "unknown key" in refused(place, made(kid="../rsa"))


def test_missing_exp(place: Place) -> None:
    assert "MissingRequiredClaim" in refused(place, made(exp=None))


@pytest.mark.parametrize("exp", [0, -1, True, "soon", [4_000_000_000], 1e400])
def test_exp_that_is_no_time_to_come(place: Place, exp: Any) -> None:
    told = {**CLAIMS, "exp": exp}
    signing = jwt.PyJWS()
    token = signing.encode(json.dumps(told).encode(), EC, algorithm="ES256", headers={"kid": "ec"})
    assert refused(place, token)


def test_a_minute_for_clocks_is_no_minute_for_expired_tokens(place: Place) -> None:
    assert "expired" in refused(place, made(exp=time.time() - 1))
    assert place.sub_of(made(nbf=time.time() + 20, iat=time.time() + 20)) == "ada"
    assert refused(place, made(nbf=time.time() + 600))
    assert refused(place, made(iat=time.time() + 600))


def test_other_audience(place: Place) -> None:
    assert refused(place, made(aud="billing"))
    assert refused(place, made(aud=None))
    assert place.sub_of(made(aud=["billing", "desk"])) == "ada"


def test_other_issuer(place: Place) -> None:
    assert refused(place, made(iss="https://id.example.evil.example"))
    assert refused(place, made(iss=None))


@pytest.mark.parametrize(
    "claims",
    [
        {"permissions": None},
        {"permissions": "tickets:read"},
        {"permissions": [1]},
        {"permissions": {"tickets:read": True}},
        {"sub": None},
        {"sub": ""},
        {"sub": "x" * 257},
        {"sub": "\ud800"},
        {"sub": "ada\x1b[2J"},
    ],
)
def test_claims_that_name_nobody_or_nothing(place: Place, claims: dict[str, Any]) -> None:
    assert refused(place, made(**claims))


def test_critical_extensions_that_nobody_knows(place: Place) -> None:
    headers = {"kid": "ec", "crit": ["exp2"], "exp2": 1}
    token = jwt.encode({**GOOD, "exp": time.time() + 300}, EC, "ES256", headers=headers)
    assert refused(place, token)


@pytest.mark.parametrize("token", [b"", b"a.b.c", b"\xff\xfe", b"x" * 20_000, b"..", b"null.null.null"])
def test_what_is_no_token(place: Place, token: bytes) -> None:
    assert refused(place, token)


def test_a_rotated_key_counts_and_a_removed_one_does_not(place: Place) -> None:
    old, new = made(), made(OTHER_EC, kid="new")
    assert place.sub_of(old) == "ada"
    assert refused(place, new)
    place.keys["new"] = ("ES256", OTHER_EC)
    place.write()
    assert [place.sub_of(old), place.sub_of(new)] == ["ada", "ada"]
    del place.keys["ec"]
    place.write()
    assert "unknown key" in refused(place, old)
    assert place.sub_of(new) == "ada"


def test_settings_that_cannot_be_read_let_nobody_in_and_are_told_once(place: Place) -> None:
    token = made()
    said: list[str] = []
    place.tokens.say = said.append
    assert place.sub_of(token) == "ada"
    (place.root / "tokens.json").write_text("{")
    assert "cannot be read" in refused(place, token)
    assert "cannot be read" in refused(place, token)
    assert len(said) == 1
    assert said[0].startswith("every token is refused: not valid JSON")
    place.write()
    assert place.sub_of(token) == "ada"
    assert place.sub_of(token) == "ada"
    assert said[1:] == [f"tokens count again: {place.root / 'tokens.json'} is read"]


def test_a_key_that_is_missing_private_or_no_key_is_told_as_that(place: Place) -> None:
    private = EC.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    for content, words in ((private, "it is a private key"), (b"ssh-rsa AAAA", "it is no public key")):
        (place.root / "ec.pem").write_bytes(content)
        with pytest.raises(GatewayError, match=words):
            Tokens(place.root / "tokens.json").read()
    (place.root / "ec.pem").unlink()
    with pytest.raises(FileError, match="the key cannot be read: No such file"):
        Tokens(place.root / "tokens.json").read()


def test_a_weak_key_or_one_of_another_algorithm_is_refused_at_start(place: Place) -> None:
    weak = rsa.generate_private_key(65_537, 1_024)
    for key in (("RS256", weak), ("ES256", RSA), ("ES256", ec.generate_private_key(ec.SECP384R1()))):
        place.keys["ec"] = key
        place.write()
        with pytest.raises(GatewayError, match="no key for"):
            Tokens(place.root / "tokens.json").read()


def test_a_key_that_is_replaced_while_it_is_read_is_read_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    stolen = made()
    reads = iter([True])

    def read(path: Path, algorithm: Any) -> Any:
        found = original(path, algorithm)
        if path.name == "ec.pem" and next(reads, False):
            place.keys["ec"] = ("ES256", OTHER_EC)
            path.write_bytes(pem(OTHER_EC))
        return found

    original = tokens._key
    monkeypatch.setattr(tokens, "_key", read)
    assert place.sub_of(stolen) == "ada"
    assert refused(place, stolen)
    assert place.sub_of(made(OTHER_EC)) == "ada"
