"""OPA's bundle signature (specification 5.4): `.signatures.json`, one JSON Web Signature over all digests.

OPA checks it, too, whenever it loads a signed bundle. This check comes first and is narrower:

1. There is one signatures file, at the top, and it holds one signature and nothing else.
2. Its algorithm is the key's; a header that names keys, addresses or critical extensions is refused.
3. It is valid, and only then is it read any further.
4. It lists every file of the bundle once, with the SHA-256 of each, and no file that is not there.
"""

from __future__ import annotations

import hashlib
import json
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from json.encoder import encode_basestring
from pathlib import PurePosixPath
from typing import Literal, TypeVar

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from jwt import PyJWS
from jwt.algorithms import ECAlgorithm
from jwt.exceptions import PyJWTError
from jwt.utils import der_to_raw_signature
from pydantic import Field, ValidationError

from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.revision import SIGNATURES, is_test
from ironcurtain.bundle.signing.keys import PrivateKey, PublicKey, SigningAlgorithm
from ironcurtain.errors import BundleSignatureError, SystemFailedError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import quoted, visible

_STRUCTURED = {"data.json", ".manifest"}
# Go escapes these two inside strings, Python does not.
_SEPARATORS = str.maketrans({"\u2028": "\\u2028", "\u2029": "\\u2029"})


def opa_digest(name: str, content: bytes) -> str:
    """Return the SHA-256 (hex) of a file of a bundle as OPA's signatures state it.

    Raises:
        MalformedJsonError: If the file has to be JSON and is no strict JSON.
    """
    if PurePosixPath(name).name not in _STRUCTURED:
        return hashlib.sha256(content).hexdigest()
    json_text.parse(content, max_bytes=len(content), any_double=True)
    value = json.loads(content.decode(), parse_int=_Number, parse_float=_Number)
    return hashlib.sha256(_text(value).encode()).hexdigest()


class _Number(str):
    """A number as it stands in the text."""

    __slots__ = ()


def _text(value: JsonValue) -> str:
    if isinstance(value, dict):
        members = (f"{_text(key)}:{_text(value[key])}" for key in sorted(value))
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, str):
        return encode_basestring(value).translate(_SEPARATORS)
    return json.dumps(value)


M = TypeVar("M", bound=Frozen)

_SHA256: Literal["SHA-256"] = "SHA-256"
_MAX_BYTES = 16 << 20
_NAMED = 5
_SEGMENT = re.compile(r"[A-Za-z0-9_-]+")


class _Signatures(Frozen):
    signatures: tuple[str, ...] = Field(min_length=1, max_length=1)


class _Header(Frozen):
    alg: str
    kid: str | None = None
    typ: Literal["JWT"] = "JWT"


class _SignedFile(Frozen):
    name: str
    hash: str = Field(pattern=r"^[0-9a-f]{64}$")
    algorithm: Literal["SHA-256"]


class _Payload(Frozen):
    files: tuple[_SignedFile, ...] = Field(min_length=1)


class _Deterministic(ECAlgorithm):
    """ECDSA whose signature is a function of key and content (RFC 6979): a release can be made again."""

    def sign(self, msg: bytes, key: ec.EllipticCurvePrivateKey) -> bytes:
        scheme = ec.ECDSA(self.hash_alg(), deterministic_signing=True)
        return der_to_raw_signature(key.sign(msg, scheme), key.curve)


def sign(bundle: Bundle, key: PrivateKey) -> Bundle:
    """Return what the bundle's archive holds, signed: the same bytes for the same bundle and key.

    Raises:
        SystemFailedError: If this machine's OpenSSL cannot sign like that.
    """
    files = {name: data for name, data in bundle.files.items() if name != SIGNATURES and not is_test(name)}
    payload = {
        "files": [
            {"name": name, "hash": opa_digest(name, data), "algorithm": _SHA256}
            for name, data in files.items()
        ]
    }
    try:
        token = _signer(key.public.algorithm).encode(
            json_text.canonical(payload),
            key.key,
            algorithm=key.public.algorithm,
            headers={"kid": key.public.id},
        )
    except UnsupportedAlgorithm as error:
        raise SystemFailedError(
            "OpenSSL cannot sign with this key without random numbers",
            hint="Use an RSA key: ironcurtain key new --algorithm RS256.",
        ) from error
    return bundle.with_signatures(json_text.pretty({"signatures": [token]}).encode())


def check_signature(files: Mapping[str, bytes], key: PublicKey, where: str) -> None:
    """See that the files of a bundle are exactly those that the holder of a key signed.

    Args:
        files: All files by normalised path, as they were read.
        key: The public key.
        where: The bundle, for errors.

    Raises:
        BundleSignatureError: If the bundle is unsigned, or anything is not as it was signed.
    """
    if SIGNATURES not in files:
        raise BundleSignatureError(
            "the bundle is unsigned", where=where, hint="Sign it: ironcurtain compile --sign."
        )
    document = _parse(files[SIGNATURES], _Signatures, SIGNATURES, where)
    payload = _parse(_verified(document.signatures[0], key, where), _Payload, "the signature", where)
    signed = {file.name: file.hash for file in payload.files}
    if len(signed) != len(payload.files):
        raise BundleSignatureError("the signature names a file twice", where=where)
    _same_files(signed, files, where)
    for name, digest in signed.items():
        if _digest(name, files[name], where) != digest:
            raise BundleSignatureError(f"{quoted(name)} is not as it was signed", where=where)


def _verified(token: str, key: PublicKey, where: str) -> bytes:
    """Return the payload of a token whose signature is the key's."""
    segments = token.split(".")
    if len(segments) != len(("header", "payload", "signature")):
        raise BundleSignatureError("the signature is no compact JSON Web Signature", where=where)
    header, payload, _ = (_decoded(segment, where) for segment in segments)
    _check_header(_parse(header, _Header, "the signature's header", where), key, where)
    try:
        PyJWS(algorithms=[key.algorithm]).decode(token, key.key, algorithms=[key.algorithm])
    except PyJWTError:
        raise BundleSignatureError(
            f"the signature is not of the key {key.id}",
            where=where,
            hint="It was signed with another key, or changed afterwards.",
        ) from None
    return payload


def _check_header(header: _Header, key: PublicKey, where: str) -> None:
    if header.alg != key.algorithm:
        raise BundleSignatureError(
            f"the signature is made with {quoted(header.alg)}, and the key is for {key.algorithm}",
            where=where,
        )
    if header.kid not in (None, key.id):
        raise BundleSignatureError(
            f"the signature is of the key {quoted(str(header.kid))}, not of {key.id}",
            where=where,
            hint="Name the public key of whoever released the bundle.",
        )


def _same_files(signed: Mapping[str, str], files: Mapping[str, bytes], where: str) -> None:
    """Refuse files that are not signed, and signed ones that are not there."""
    extra = sorted(files.keys() - signed.keys() - {SIGNATURES})
    missing = sorted(signed.keys() - files.keys() | signed.keys() & {SIGNATURES})
    for found, problem in ((extra, "not signed"), (missing, "signed, but not there")):
        if found:
            named = ", ".join(quoted(name) for name in found[:_NAMED])
            raise BundleSignatureError(f"files that are {problem}: {named}", where=where)
    tests = sorted(name for name in signed if is_test(name))
    if tests:
        raise BundleSignatureError(
            f"a signed bundle holds no tests, and {quoted(tests[0])} is one", where=where
        )


def _digest(name: str, content: bytes, where: str) -> str:
    try:
        return opa_digest(name, content)
    except json_text.MalformedJsonError as error:
        raise BundleSignatureError(
            f"{quoted(name)} is no strict JSON: {visible(str(error))}", where=where
        ) from None


def _decoded(segment: str, where: str) -> bytes:
    """Decode base64url as the standard writes it: no padding, no other characters, no loose bits."""
    if _SEGMENT.fullmatch(segment) and len(segment) % 4 != 1:
        content = urlsafe_b64decode(segment + "=" * (-len(segment) % 4))
        if urlsafe_b64encode(content).rstrip(b"=").decode() == segment:
            return content
    raise BundleSignatureError("the signature is no compact JSON Web Signature", where=where)


def _parse(content: bytes, model: type[M], what: str, where: str) -> M:
    try:
        value: JsonValue = json_text.parse(content, max_bytes=_MAX_BYTES)
        return model.model_validate_json(json_text.canonical(value))
    except json_text.MalformedJsonError as error:
        reason = str(error)
    except ValidationError as error:
        problem = error.errors()[0]
        reason = f"{'/'.join(str(step) for step in problem['loc'])}: {problem['msg']}"
    raise BundleSignatureError(f"{what} is not as we write it: {visible(reason)}", where=where)


def _signer(algorithm: SigningAlgorithm) -> PyJWS:
    jws = PyJWS(algorithms=[algorithm])
    if algorithm != "RS256":
        hash_algorithm = {
            "ES256": ECAlgorithm.SHA256,
            "ES384": ECAlgorithm.SHA384,
            "ES512": ECAlgorithm.SHA512,
        }
        jws.unregister_algorithm(algorithm)
        jws.register_algorithm(algorithm, _Deterministic(hash_algorithm[algorithm]))
    return jws
