"""Whom a client acts for, by the signed token that it shows with each request (JWT, RFC 7519).

Held against a token, in this order: its size and header; the key that its `kid` names, which is good for one
algorithm only, never the one that the token chooses; the signature; `exp`, which must be there and to come;
`nbf` and `iat`, with a minute for clocks that differ; `iss` and `aud` where they are configured; then `sub`
and `permissions`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import jwt
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt.exceptions import PyJWTError
from pydantic import JsonValue

from ironcurtain.errors import FileError, GatewayError, IronCurtainError
from ironcurtain.gateway.principal import Algorithm, Principal, TokenKey, TokenSettings
from ironcurtain.system.files import load, read_regular
from ironcurtain.system.frozen import is_number
from ironcurtain.system.ownership import check_own
from ironcurtain.system.text import quoted, visible

PublicKey: TypeAlias = rsa.RSAPublicKey | ec.EllipticCurvePublicKey | ed25519.Ed25519PublicKey

SKEW = 60
_MOST_BYTES = 16 << 10
_LEAST_BITS = 2_048
_BEARER = b"bearer "
_PRIVATE = b"PRIVATE KEY-----"
_MOST_SUB = 256


class BadTokenError(Exception):
    """A token that does not count; the message is for the audit log, and holds nothing of the token."""


@dataclass
class Tokens:
    """Which tokens count: read again whenever the file of settings or a key changes, so that keys rotate.

    Attributes:
        path: The file of settings.
        say: Tells the person who serves that it cannot be read any more, once, and when it can be again.
    """

    path: Path
    say: Callable[[str], None] = lambda _: None
    _settings: TokenSettings | None = None
    _keys: dict[str, tuple[Algorithm, PublicKey]] = field(default_factory=dict)
    _seen: tuple[object, ...] = ()
    _trouble: str = ""

    def read(self) -> None:
        """Read settings and keys, unless they are as they were.

        Raises:
            IronCurtainError: If they cannot be read, others could change them, or a key is none of its kind.
        """
        files = [self.path, *(self._place(key) for key in (self._settings.keys if self._settings else ()))]
        seen = tuple(_state(file) for file in files)
        if self._settings is not None and seen == self._seen:
            return
        self._settings, own = None, _state(self.path)
        check_own(self.path, "the settings of tokens")
        settings = load(self.path, TokenSettings)
        # Before the keys are read: one that is replaced meanwhile is read again with the next request.
        seen = (own, *(_state(self._place(key)) for key in settings.keys))
        keys = {key.kid: (key.algorithm, _key(self._place(key), key.algorithm)) for key in settings.keys}
        if len(keys) < len(settings.keys):
            raise GatewayError("two keys have one kid", where=str(self.path), hint="Give each its own.")
        self._settings, self._keys, self._seen = settings, keys, seen

    @property
    def keys(self) -> int:
        """How many keys tokens may be signed with."""
        return len(self._keys)

    def notes(self) -> list[str]:
        """Return what a person should know of the settings, a sentence each; they have been read."""
        assert self._settings is not None  # noqa: S101 - as said
        named = {"audience": self._settings.audience, "issuer": self._settings.issuer}
        return [
            f"tokens of any {what} count: {self.path.name} names none"
            for what, value in named.items()
            if value is None
        ]

    def principal_of(self, headers: Mapping[bytes, bytes]) -> Principal:
        """Return whom a request acts for.

        Raises:
            BadTokenError: If it shows no token that counts.
        """
        shown = headers.get(b"authorization", b"")
        if shown[: len(_BEARER)].lower() != _BEARER:
            raise BadTokenError("no token")
        token = shown[len(_BEARER) :].strip()
        if len(token) > _MOST_BYTES:
            raise BadTokenError("a token that is too long")
        try:
            self.read()
        except (IronCurtainError, OSError) as error:
            self._tell(visible(str(error)))
            raise BadTokenError("the settings of tokens cannot be read") from error
        self._tell("")
        assert self._settings is not None  # noqa: S101 - just read
        return _principal(self._claims(token, self._settings), self._settings)

    def _tell(self, trouble: str) -> None:
        """Say what is wrong with the settings, or that nothing is any more, unless that was said last."""
        if trouble == self._trouble:
            return
        self._trouble = trouble
        self.say(
            f"every token is refused: {trouble}" if trouble else f"tokens count again: {self.path} is read"
        )

    def _claims(self, token: bytes, settings: TokenSettings) -> dict[str, JsonValue]:
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key = self._chosen(header)
            required = [
                "exp",
                "sub",
                *(["iss"] if settings.issuer else []),
                *(["aud"] if settings.audience else []),
            ]
            claims: dict[str, JsonValue] = jwt.decode(
                token,
                key,
                algorithms=[algorithm],
                audience=settings.audience,
                issuer=settings.issuer,
                leeway=SKEW,
                options={"require": required, "verify_aud": settings.audience is not None},
            )
        except (PyJWTError, ValueError, TypeError) as error:
            raise BadTokenError(f"a token that does not count ({type(error).__name__})") from None
        return claims

    def _chosen(self, header: Mapping[str, object]) -> tuple[Algorithm, PublicKey]:
        """Return the key that a token is to be held against, and the algorithm that this one is good for."""
        if "crit" in header:
            raise BadTokenError("a token with critical extensions")
        kid = header.get("kid")
        if kid is None and len(self._keys) == 1:
            kid = next(iter(self._keys))
        if not isinstance(kid, str) or kid not in self._keys:
            raise BadTokenError("a token of an unknown key")
        algorithm, key = self._keys[kid]
        if header.get("alg") != algorithm:
            raise BadTokenError("a token of another algorithm than its key's")
        return algorithm, key

    def _place(self, key: TokenKey) -> Path:
        return self.path.parent / key.file


def _principal(claims: Mapping[str, JsonValue], settings: TokenSettings) -> Principal:
    """Return whom verified claims name.

    Raises:
        BadTokenError: If they name nobody, or the time is over, for which clocks that differ are no excuse.
    """
    ends, sub, permissions = claims.get("exp"), claims.get("sub"), claims.get("permissions")
    if not is_number(ends) or ends <= time.time():
        raise BadTokenError("a token that has expired")
    # It names the client in log and terminal; what is no text could not be recorded at all.
    if not isinstance(sub, str) or not 0 < len(sub) <= _MOST_SUB or not sub.isprintable():
        raise BadTokenError("a token without a usable sub")
    if not isinstance(permissions, list) or not all(isinstance(name, str) for name in permissions):
        raise BadTokenError("a token whose permissions are no list of names")
    return Principal(sub, frozenset(map(str, permissions)), settings.allow_destructive)


def _key(path: Path, algorithm: Algorithm) -> PublicKey:
    """Read a public key.

    Raises:
        GatewayError: If it is none, or none of its algorithm.
    """
    try:
        check_own(path, "a key of tokens")
        content = read_regular(path, max_bytes=_MOST_BYTES)
    except OSError as error:
        raise FileError(
            f"the key cannot be read: {error.strerror}",
            where=str(path),
            hint="The settings of tokens name it.",
        ) from error
    try:
        found = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        if _PRIVATE in content:
            hint = "Give its public half: openssl pkey -in PRIVATE.pem -pubout."
            raise GatewayError("it is a private key", where=str(path), hint=hint) from None
        raise GatewayError(
            "it is no public key in PEM form", where=str(path), hint="It begins with BEGIN PUBLIC KEY."
        ) from None
    is_good = {
        "RS256": isinstance(found, rsa.RSAPublicKey),
        "PS256": isinstance(found, rsa.RSAPublicKey),
        "ES256": isinstance(found, ec.EllipticCurvePublicKey) and isinstance(found.curve, ec.SECP256R1),
        "EdDSA": isinstance(found, ed25519.Ed25519PublicKey),
    }[algorithm]
    if isinstance(found, rsa.RSAPublicKey) and found.key_size < _LEAST_BITS:
        is_good = False
    if not is_good or not isinstance(found, PublicKey):
        raise GatewayError(
            f"it is no key for {quoted(algorithm)}",
            where=str(path),
            hint="RS256 and PS256 take RSA keys of at least 2,048 bits, ES256 P-256, EdDSA Ed25519.",
        )
    return found


def _state(path: Path) -> object:
    """Return what changes when a file does."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_size
