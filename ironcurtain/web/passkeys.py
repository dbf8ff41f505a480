"""The passkey that is asked for when a page approves: registered once, kept in a private file.

The challenge that the passkey signs *is* the approval: the digest of the request's id, of the request as it
was shown, and of what is approved by it. So what was signed for one approval is good for no other one.

A browser uses a passkey only for the name that it was made for and for names below it. The name of the pages
is another one at each start, below the one in the file, which is drawn for the registration.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AwareDatetime, Field, StringConstraints, ValidationError
from webauthn import (
    generate_authentication_options,
    generate_registration_options,
    options_to_json,
    verify_authentication_response,
    verify_registration_response,
)
from webauthn.helpers import (
    base64url_to_bytes,
    bytes_to_base64url,
    parse_authentication_credential_json,
    parse_client_data_json,
    parse_registration_credential_json,
)
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)

from ironcurtain.enforcement.approvals.inbox import account_name
from ironcurtain.enforcement.approvals.private_directory import read_private
from ironcurtain.errors import ApprovalsError
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.locks import directory_lock
from ironcurtain.system.text import visible

FILE = "passkey.json"
_MAX_BYTES = 16 << 10
_VERIFIED = UserVerificationRequirement.REQUIRED
_Base64Url: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,4096}$")]


class Passkey(Frozen):
    """The file of a passkey. It holds nothing secret, but whoever can write it chooses who approves.

    Attributes:
        name: The host name that it was made for; the pages have names below it.
        user: The account that it belongs to.
        handle: What the authenticator knows the user by, drawn at random.
        credential: The authenticator's id of the passkey.
        public_key: Its public key, a COSE key.
        used: How often it was used, as far as the authenticator counts that.
    """

    format: Literal["ironcurtain/passkey/v1"] = "ironcurtain/passkey/v1"
    name: str = Field(pattern=r"^passkey-[0-9a-f]{12}\.localhost$")
    user: str
    handle: _Base64Url
    credential: _Base64Url
    public_key: _Base64Url
    used: int = Field(ge=0)
    registered: AwareDatetime


class PasskeyRefusedError(Exception):
    """What a browser sent is not the passkey's word; the message says why, in words for the person."""


class Passkeys:
    """The passkey of this user, asked for each approval. Threads take turns.

    Args:
        file: Where it is kept.

    Raises:
        ApprovalsError: If the file is not private, is malformed, or belongs to another account.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._secret = secrets.token_bytes(32)
        self._turn = threading.Lock()
        self._passkey = _read(file)
        # One that is removed meanwhile is missed, not asked for anew: that would let anybody take its place.
        self._may_register = self._passkey is None
        self.name = self._passkey.name if self._passkey else f"passkey-{secrets.token_hex(6)}.localhost"

    @property
    def is_registered(self) -> bool:
        """Whether there is a passkey.

        Raises:
            ApprovalsError: If the file cannot be trusted.
        """
        return self._registered() is not None

    def to_register(self, form_token: str) -> str:
        """Return what a browser needs to make a passkey, as JSON; empty where none can be registered.

        Args:
            form_token: Of the session that asks.

        Raises:
            ApprovalsError: If the file cannot be trusted.
        """
        if not self._may_register or self.is_registered:
            return ""
        user = account_name()
        options = generate_registration_options(
            rp_id=self.name,
            rp_name="IronCurtain approvals",
            user_name=user,
            user_id=self._handle(),
            challenge=self._registration(form_token),
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.PREFERRED, user_verification=_VERIFIED
            ),
        )
        return options_to_json(options)

    def register(self, given: str, form_token: str, origin: str) -> Passkey:
        """Keep the passkey that a browser made.

        Args:
            given: What the browser gave, as JSON.
            form_token: Of the session that asks.
            origin: Of our pages.

        Raises:
            PasskeyRefusedError: If it is none that was asked for, or there is one already.
            ApprovalsError, OSError: If it cannot be kept.
        """
        try:
            credential = parse_registration_credential_json(given)
            _check_not_framed(credential.response.client_data_json)
            made = verify_registration_response(
                credential=credential,
                expected_challenge=self._registration(form_token),
                expected_rp_id=self.name,
                expected_origin=origin,
                require_user_verification=True,
            )
        except Exception as error:  # noqa: BLE001 - whatever the library makes of bytes from anywhere, it is none
            raise PasskeyRefusedError(f"no passkey was registered: {_words(error)}") from None
        passkey = Passkey(
            name=self.name,
            user=account_name(),
            handle=bytes_to_base64url(self._handle()),
            credential=bytes_to_base64url(made.credential_id),
            public_key=bytes_to_base64url(made.credential_public_key),
            used=made.sign_count,
            registered=datetime.now(UTC),
        )
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._turn, directory_lock(self._file.parent):
            if not self._may_register or self.is_registered:
                raise PasskeyRefusedError("no passkey was registered: there is one already")
            self._keep(passkey)
            self._may_register = False
        return passkey

    def to_approve(self, id_: str, shown: str, choice: str) -> str:
        """Return what a browser needs to ask for the passkey, as JSON; empty where none is registered.

        Args:
            id_: Of the request.
            shown: The digest of the request as it is shown.
            choice: What is approved by it, as the form says.

        Raises:
            ApprovalsError: If the file cannot be trusted.
        """
        passkey = self._registered()
        if passkey is None:
            return ""
        return options_to_json(
            generate_authentication_options(
                rp_id=passkey.name,
                challenge=_approval(id_, shown, choice),
                allow_credentials=[PublicKeyCredentialDescriptor(id=base64url_to_bytes(passkey.credential))],
                user_verification=_VERIFIED,
            )
        )

    def refusal(self, given: str, challenge_of: tuple[str, str, str], origin: str) -> str:
        """Say why the passkey was not used for exactly this approval; nothing where it was.

        Args:
            given: What the browser gave, as JSON.
            challenge_of: What `to_approve` was given.
            origin: Of our pages.

        Raises:
            ApprovalsError, OSError: If the file cannot be trusted, or its count not be kept.
        """
        with self._turn, directory_lock(self._file.parent):
            passkey = self._registered()
            if passkey is None:
                return "no passkey is registered"
            try:
                credential = parse_authentication_credential_json(given)
                _check_not_framed(credential.response.client_data_json)
                seen = verify_authentication_response(
                    credential=credential,
                    expected_challenge=_approval(*challenge_of),
                    expected_rp_id=self.name,
                    expected_origin=origin,
                    credential_public_key=base64url_to_bytes(passkey.public_key),
                    credential_current_sign_count=passkey.used,
                    require_user_verification=True,
                )
            except Exception as error:  # noqa: BLE001 - as above
                return f"the passkey was not given for it ({_words(error)})"
            if bytes_to_base64url(seen.credential_id) != passkey.credential:
                return "another passkey was given"
            if seen.new_sign_count != passkey.used:
                self._keep(passkey.model_copy(update={"used": seen.new_sign_count}))
            return ""

    def _registered(self) -> Passkey | None:
        """Return the passkey of the start, or the one registered since; None where its file is gone.

        Raises:
            ApprovalsError: If the file holds another one: it counts at the next start only.
        """
        there, ours = _read(self._file), self._passkey
        if there is not None and (ours is None or _without_count(there) != _without_count(ours)):
            raise ApprovalsError(
                "the file of the passkey was replaced since this command started",
                where=str(self._file),
                hint="If you replaced it, end `ironcurtain web` and start it again.",
            )
        return there

    def _keep(self, passkey: Passkey) -> None:
        atomic_write(self._file, passkey.model_dump_json(indent=2).encode() + b"\n", mode=0o600)
        self._passkey = passkey

    def _registration(self, form_token: str) -> bytes:
        """Return the challenge of a registration: another one for each session of each start."""
        return hmac.digest(self._secret, f"register\n{form_token}".encode(), "sha256")

    def _handle(self) -> bytes:
        return hmac.digest(self._secret, b"handle", "sha256")


def _approval(id_: str, shown: str, choice: str) -> bytes:
    content = {"format": "ironcurtain/passkey-approval/v1", "request": id_, "shown": shown, "answer": choice}
    return hashlib.sha256(json_text.canonical(content)).digest()


def _check_not_framed(client_data: bytes) -> None:
    """Refuse what was asked for while our page stood in another one; the library leaves that to us."""
    if parse_client_data_json(client_data).cross_origin:
        raise PasskeyRefusedError("it was asked for inside another page")


def _read(file: Path) -> Passkey | None:
    content = read_private(file, max_bytes=_MAX_BYTES, what="the file of the passkey")
    if content is None:
        return None
    hint = "Remove it while no `ironcurtain web` runs, and register a passkey anew."
    try:
        passkey = Passkey.model_validate_json(content)
    except ValidationError:
        raise ApprovalsError("the file of the passkey is malformed", where=str(file), hint=hint) from None
    if passkey.user != account_name():
        raise ApprovalsError("the passkey was registered by another account", where=str(file), hint=hint)
    return passkey


def _without_count(passkey: Passkey) -> Passkey:
    return passkey.model_copy(update={"used": 0})


def _words(error: Exception) -> str:
    return visible(str(error)[:300]) or type(error).__name__
