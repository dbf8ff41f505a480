"""Keys, signed bundles, and the means to forge them: archives and tokens made by hand."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from jwt.algorithms import get_default_algorithms

from ironcurtain.bundle.archive import Bundle, compress
from ironcurtain.bundle.revision import SIGNATURES
from ironcurtain.bundle.signing.keys import PrivateKey, SigningAlgorithm, new_key
from ironcurtain.bundle.signing.signature import opa_digest, sign
from ironcurtain.errors import BundleIntegrityError, BundleSignatureError
from ironcurtain.policy import Policy
from support.projects.shipped import GENERATED

Members = Iterable[tuple[str | tarfile.TarInfo, bytes]]


def shipped() -> Bundle:
    """Return the shipped bundle as its archive holds it."""
    return Bundle.read(GENERATED / "bundle.tar.gz")


def with_serial(bundle: Bundle, serial: int, **added: bytes) -> Bundle:
    """Return a bundle with another serial number, and perhaps other data documents."""
    kept = {name: data for name, data in bundle.files.items() if not name.startswith(".")}
    changed = {f"ironcurtain/{name}/data.json": data for name, data in added.items()}
    return Bundle.build({**kept, **changed}, bundle.manifest.metadata.model_copy(update={"serial": serial}))


def encoded(content: bytes) -> str:
    """Encode as base64url without padding."""
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def signatures(*tokens: str, **more: object) -> bytes:
    """Return the content of a `.signatures.json`."""
    return json.dumps({"signatures": list(tokens), **more}).encode()


def archive(members: Members) -> bytes:
    """Pack members, in this order and with these names, whatever they are."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, content in members:
            member = tarfile.TarInfo(name) if isinstance(name, str) else name
            member.size = len(content) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(content))
    return compress(stream.getvalue())


@dataclass(frozen=True)
class Scene:
    """A signed bundle, the key that signed it, and everything an attacker may do.

    Attributes:
        key: The key that the victim trusts.
        other: A key of the attacker's.
        bundle: What was released, signed.
        older: The release before, signed, of a lower serial.
    """

    key: PrivateKey
    other: PrivateKey
    bundle: Bundle
    older: Bundle
    public: Path = field(default=Path())

    @property
    def files(self) -> dict[str, bytes]:
        """The signed bundle's files, to be changed."""
        return dict(self.bundle.files)

    @property
    def token(self) -> str:
        """The one token of the signed bundle."""
        token: str = json.loads(self.bundle.files[SIGNATURES])["signatures"][0]
        return token

    def listed(self, files: Mapping[str, bytes] | None = None) -> list[dict[str, str]]:
        """Return the list of signed files as OPA writes it."""
        of = self.bundle.files if files is None else files
        return [
            {"name": name, "hash": opa_digest(name, data), "algorithm": "SHA-256"}
            for name, data in of.items()
            if name != SIGNATURES
        ]

    def forged(
        self,
        payload: object = None,
        header: Mapping[str, object] | None = None,
        *,
        key: PrivateKey | bytes | None = None,
    ) -> str:
        """Return a token with a valid signature by a key (the victim's own, if none is given).

        Args:
            payload: The claims, or their text as bytes; None for the bundle's own.
            header: What the header says beside its algorithm.
            key: Bytes are a secret for HS256.
        """
        claims = {"files": self.listed()} if payload is None else payload
        text = claims if isinstance(claims, bytes) else json.dumps(claims).encode()
        by = self.key if key is None else key
        algorithm = "HS256" if isinstance(by, bytes) else by.public.algorithm
        head = {"alg": algorithm, "typ": "JWT", **(header or {})}
        content = f"{encoded(json.dumps(head).encode())}.{encoded(text)}"
        signer = get_default_algorithms()[algorithm]
        signature = (
            signer.sign(content.encode(), by)
            if isinstance(by, bytes)
            else signer.sign(content.encode(), by.key)
        )
        return f"{content}.{encoded(signature)}"

    def carrying(self, token: str, **more: object) -> bytes:
        """Return the released archive with another token."""
        return archive({**self.files, SIGNATURES: signatures(token, **more)}.items())


def scene(directory: Path, algorithm: SigningAlgorithm) -> Scene:
    """Sign the shipped bundle, as serial 8 and before that as serial 7, with a new key."""
    key = new_key(directory / "key.pem", algorithm)
    public = directory / "key.pub.pem"
    public.write_text(key.public.pem)
    released, older = (sign(with_serial(shipped(), serial), key) for serial in (8, 7))
    return Scene(key, new_key(directory / "other.pem", algorithm), released, older, public)


Attack = Callable[[Scene], bytes]


class Attacks(dict[str, tuple[Attack, str]]):
    """Attacks by name: what makes the archive, and a pattern of the sentence that refuses it."""

    def __call__(self, refusal: str) -> Callable[[Attack], Attack]:
        """Register an attack that is refused with a sentence."""

        def register(function: Attack) -> Attack:
            self[function.__name__] = (function, refusal)
            return function

        return register

    def is_refused(self, name: str, released: Scene, tripwire: Path) -> None:
        """Make an attack's archive beside an OPA that leaves a trace: it is refused before OPA is started."""
        make, refusal = self[name]
        path = tripwire.with_name("bundle.tar.gz")
        path.write_bytes(make(released))
        with pytest.raises((BundleSignatureError, BundleIntegrityError), match=refusal):
            load_signed(path, released, tripwire)
        assert not tripwire.with_name("started").exists()


def load_signed(path: Path, released: Scene, opa: Path) -> Policy:
    """Load a bundle as somebody does who demands the release's key and its serial number."""
    return Policy.load(path, verify_key=released.public, min_serial=8, opa=opa, home="/home/user")
