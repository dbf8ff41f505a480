"""The signed configuration of a domain: the tools of a gateway that one deployment has, and permissions.

What an agent factory deploys is this one file. It holds the configuration and a JSON Web Signature over
exactly that (its canonical JSON), of a type of its own: no other signature of the same key stands in for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from jwt import PyJWS
from jwt.exceptions import PyJWTError
from pydantic import Field

from ironcurtain.bundle.signing.keys import PrivateKey, PublicKey
from ironcurtain.errors import (
    BundleSignatureError,
    FormatError,
    GatewayError,
    IronCurtainError,
    SeveralErrors,
    raise_all,
)
from ironcurtain.gateway.gateway import Gateway
from ironcurtain.gateway.principal import Principal
from ironcurtain.system import json_text
from ironcurtain.system.files import load
from ironcurtain.system.frozen import Frozen, JsonValue, ServerName, Slug
from ironcurtain.system.text import quoted

_TYPE = "ironcurtain-domain"


class Domain(Frozen):
    """What one deployment has.

    Attributes:
        domain: Its name.
        gateway: The gateway whose tools it has.
        tools: These, and no others.
        permissions: What its callers can have at most.
        sub: Whom its agent acts for, where clients show no tokens of their own.
        allow_destructive: Whether destructive tools may be called at all.
    """

    format: Literal["ironcurtain/domain/v1"]
    domain: Slug
    gateway: ServerName
    tools: tuple[str, ...] = Field(min_length=1)
    permissions: tuple[str, ...]
    sub: str | None = Field(default=None, min_length=1, max_length=256)
    allow_destructive: bool = False

    def principal(self) -> Principal | None:
        """Return whom its agent acts for; None where clients show that."""
        if self.sub is None:
            return None
        return Principal(self.sub, frozenset(self.permissions), self.allow_destructive)

    def limited(self, principal: Principal) -> Principal:
        """Return a principal with no more than the domain has."""
        permissions = principal.permissions & frozenset(self.permissions)
        return Principal(principal.sub, permissions, principal.allow_destructive and self.allow_destructive)

    def of(self, gateways: Mapping[str, Gateway], where: str) -> dict[str, Gateway]:
        """Return the domain's gateway, with its tools alone.

        Raises:
            GatewayError, SeveralErrors: For each gateway, tool and permission that does not exist.
        """
        gateway = gateways.get(self.gateway)
        if gateway is None:
            raise GatewayError(
                f"the domain names the gateway {quoted(self.gateway)}, which does not exist",
                where=where,
                hint=f"There is {', '.join(map(quoted, sorted(gateways)))}.",
            )
        missing = [("tool", name) for name in self.tools if name not in gateway.tools]
        missing += [("permission", name) for name in self.permissions if name not in gateway.permissions]
        errors: list[IronCurtainError] = [
            GatewayError(
                f"the domain names the {kind} {quoted(name)}, which does not exist",
                where=where,
                hint=f"Add it to the gateway {quoted(self.gateway)}, or sign another configuration.",
            )
            for kind, name in missing
        ]
        raise_all(errors)
        return {self.gateway: gateway.restricted(self.tools)}


class SignedDomain(Frozen):
    """The file: a domain, and the signature over it."""

    format: Literal["ironcurtain/signed-domain/v1"] = "ironcurtain/signed-domain/v1"
    domain: Domain
    signature: str


def sign_domain(domain: Domain, key: PrivateKey) -> bytes:
    """Return the signed file of a domain."""
    header = {"typ": _TYPE, "kid": key.public.id}
    algorithm = key.public.algorithm
    token = PyJWS(algorithms=[algorithm]).encode(
        _content(domain), key.key, algorithm=algorithm, headers=header
    )
    signed = SignedDomain(domain=domain, signature=token)
    return json_text.pretty(signed.model_dump(mode="json")).encode()


def open_domain(path: Path, key: PublicKey) -> Domain:
    """Read a signed file.

    Raises:
        FileError, FormatError: If it cannot be read, or is none.
        BundleSignatureError: If the key's owner did not sign exactly what it says, as a domain.
    """
    try:
        signed = load(path, SignedDomain)
    except (FormatError, SeveralErrors):
        _check_signed(path)
        raise
    try:
        jws = PyJWS(algorithms=[key.algorithm])
        decoded = jws.decode_complete(signed.signature, key.key, algorithms=[key.algorithm])
    except PyJWTError:
        raise BundleSignatureError(
            f"the signature is not of the key {key.id}",
            where=str(path),
            hint="It was signed with another key, or changed afterwards.",
        ) from None
    if decoded["header"].get("typ") != _TYPE or decoded["payload"] != _content(signed.domain):
        raise BundleSignatureError(
            "the signature is over something else", where=str(path), hint="Sign the domain again."
        )
    return signed.domain


def read_domain(path: Path) -> Domain:
    """Read a domain that is not signed yet.

    Raises:
        FileError, FormatError: If it cannot be read, or is none.
    """
    return load(path, Domain)


def _check_signed(path: Path) -> None:
    """Say of the configuration itself that it is not signed, rather than how it differs from a signed one.

    Raises:
        FormatError: If the file is one.
    """
    try:
        read_domain(path)
    except (FormatError, SeveralErrors):
        return
    hint = f"Sign it: ironcurtain key sign-domain {path.name} -o {path.stem}.signed.json."
    raise FormatError("the domain's configuration is not signed", where=str(path), hint=hint)


def _content(domain: Domain) -> bytes:
    told: dict[str, JsonValue] = json.loads(domain.model_dump_json())
    return json_text.canonical(told)
