"""Whom an agent acts for, and what that one may do."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field, JsonValue

from ironcurtain.errors import GatewayError
from ironcurtain.gateway.definition import PUBLIC
from ironcurtain.system.files import load
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.ownership import check_own
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

Algorithm: TypeAlias = Literal["RS256", "PS256", "ES256", "EdDSA"]


class Principal(Struct):
    """Whom an agent acts for, from start configuration or a verified token, never from a call.

    Attributes:
        allow_destructive: Whether destructive tools may be called at all.
    """

    sub: str
    permissions: frozenset[str]
    allow_destructive: bool = False

    def facts(self) -> dict[str, JsonValue]:
        """Return what the policy sees of it."""
        return {"sub": self.sub, "permissions": [*sorted(self.permissions)]}

    def has(self, required: Iterable[str]) -> bool:
        """Tell whether all of these are among its permissions; everybody has `public`."""
        return set(required) <= self.permissions | {PUBLIC}


class PermissionsFile(Frozen):
    """The file of a gateway that works for one principal: what its agent may do."""

    format: Literal["ironcurtain/permissions/v1"]
    sub: str = Field(min_length=1, max_length=256)
    permissions: tuple[str, ...]
    allow_destructive: bool = False


class TokenKey(Frozen):
    """A key that tokens are signed with.

    Attributes:
        kid: The name that tokens call it by.
        algorithm: The one algorithm that it is good for.
        file: Its public half, PEM; relative to the settings.
    """

    kid: str = Field(min_length=1, max_length=256)
    algorithm: Algorithm
    file: str


class TokenSettings(Frozen):
    """The file that says which tokens count.

    Attributes:
        keys: While keys are rotated there are several.
        issuer: What `iss` must be; None asks for nothing.
        audience: What `aud` must be, or hold; None asks for nothing.
        allow_destructive: Whether destructive tools may be called at all.
    """

    format: Literal["ironcurtain/tokens/v1"]
    keys: tuple[TokenKey, ...] = Field(min_length=1)
    issuer: str | None = None
    audience: str | None = None
    allow_destructive: bool = False


def read_permissions(path: Path, known: frozenset[str]) -> Principal:
    """Read the permissions of the one principal.

    Raises:
        FileError, FormatError: If it cannot be read, or others could change it.
        GatewayError: If it names a permission that no tool knows.
    """
    told = load(path, PermissionsFile)
    check_own(path, "the permissions file")
    for name in told.permissions:
        if name not in known:
            raise GatewayError(
                f"the permission {quoted(name)} does not exist",
                where=str(path),
                hint=f"Permissions of the gateway: {', '.join(sorted(known))}.",
            )
    return Principal(told.sub, frozenset(told.permissions), told.allow_destructive)
