"""Authenticators for tests: the one of a browser, and one in Python that says whatever it is told to."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from playwright.sync_api import CDPSession, Page
from webauthn.helpers import bytes_to_base64url, encode_cbor

from ironcurtain.enforcement.approvals.inbox import account_name
from ironcurtain.web.passkeys import Passkey

PRESENT, VERIFIED, HAS_KEY = 0x01, 0x04, 0x40
NAME = "passkey-0123456789ab.localhost"


class Authenticator:
    """The virtual authenticator of a page in Chromium, which finds its user present and verified."""

    def __init__(self, page: Page) -> None:
        self._cdp: CDPSession = page.context.new_cdp_session(page)
        self._cdp.send("WebAuthn.enable")
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        made = self._cdp.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        self.id: str = made["authenticatorId"]

    def verifies(self, whether: bool) -> None:
        """Let it find the person who uses it to be its user, or not to be."""
        self._cdp.send("WebAuthn.setUserVerified", {"authenticatorId": self.id, "isUserVerified": whether})

    @property
    def credentials(self) -> list[dict[str, Any]]:
        """What it holds."""
        found: list[dict[str, Any]] = self._cdp.send("WebAuthn.getCredentials", {"authenticatorId": self.id})[
            "credentials"
        ]
        return found

    def put(self, credential: dict[str, Any]) -> None:
        """Let it hold the credential of another one."""
        self._cdp.send("WebAuthn.addCredential", {"authenticatorId": self.id, "credential": credential})


@dataclass
class Signer:
    """An authenticator that signs what it is told to.

    Attributes:
        used: How often it was used, as it says.
        counts: Whether it counts its uses; one whose passkey lies on several devices does not.
    """

    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    credential: bytes = b"0123456789abcdef"
    used: int = 1
    counts: bool = True

    @property
    def public_key(self) -> bytes:
        """The public key, a COSE key."""
        numbers = self.key.public_key().public_numbers()
        return encode_cbor({1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32), -3: numbers.y.to_bytes(32)})

    def make(self, options: str, origin: str, **said: Any) -> str:
        """Answer a page that registers a passkey; the arguments are those of `sign`."""
        asked = json.loads(options)
        client = {"type": "webauthn.create", "challenge": asked["challenge"], "origin": origin, **said}
        data = hashlib.sha256(asked["rp"]["id"].encode()).digest() + bytes([PRESENT | VERIFIED | HAS_KEY])
        data += bytes(4 + 16) + len(self.credential).to_bytes(2) + self.credential + self.public_key
        id_ = bytes_to_base64url(self.credential)
        response = {
            "clientDataJSON": bytes_to_base64url(json.dumps(client).encode()),
            "attestationObject": bytes_to_base64url(
                encode_cbor({"fmt": "none", "attStmt": {}, "authData": data})
            ),
        }
        return json.dumps({"id": id_, "rawId": id_, "type": "public-key", "response": response})

    def register(self, home: Path, **other: Any) -> Path:
        """Write the file of its passkey, as the pages do; return it."""
        values: dict[str, Any] = {
            "name": NAME,
            "user": account_name(),
            "handle": "aGFuZGxl",
            "credential": bytes_to_base64url(self.credential),
            "public_key": bytes_to_base64url(self.public_key),
            "used": 0,
            "registered": datetime.now(UTC),
        }
        file = home / ".ironcurtain" / "passkey.json"
        file.touch(mode=0o600)
        file.write_text(Passkey(**(values | other)).model_dump_json())
        return file

    def sign(
        self,
        options: str,
        origin: str,
        *,
        name: str = NAME,
        flags: int = PRESENT | VERIFIED,
        type_: str = "webauthn.get",
        credential: bytes | None = None,
        **more: Any,
    ) -> str:
        """Answer what a page asks for.

        Args:
            options: What the page gives the browser, as JSON.
            origin: Where the browser says that it is.
            name: For which name.
            flags: What it says of its user.
            type_: What it says that it does.
            credential: The id that it says the key has.
            more: What else the browser says.
        """
        said = {"type": type_, "challenge": json.loads(options)["challenge"], "origin": origin, **more}
        client = json.dumps(said).encode()
        data = hashlib.sha256(name.encode()).digest() + bytes([flags]) + self.used.to_bytes(4)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        self.used += self.counts
        id_ = bytes_to_base64url(credential or self.credential)
        response = {
            "clientDataJSON": bytes_to_base64url(client),
            "authenticatorData": bytes_to_base64url(data),
            "signature": bytes_to_base64url(signature),
        }
        return json.dumps({"id": id_, "rawId": id_, "type": "public-key", "response": response})
