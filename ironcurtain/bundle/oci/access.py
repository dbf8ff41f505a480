"""Who we are to an OCI registry: a user with a password, a bearer token, or nobody.

A password is sent only over https, to the registry that it is for or to the token server that this registry
names, or to this machine.
"""

from __future__ import annotations

import base64
import binascii
import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field

from ironcurtain.bundle.oci.layout import Reference
from ironcurtain.errors import RegistryError, UsageError
from ironcurtain.system.files import load, read_text, read_token
from ironcurtain.system.loopback import is_loopback
from ironcurtain.system.structs import Struct

_PARAMETER = re.compile(r'(\w+)="([^"]*)"')
_MAX_CREDENTIALS = 1 << 14


class RegistryAccess(Struct):
    """What we show a registry.

    Attributes:
        user: `name:password`, if there is one.
        token: A bearer token, if there is one; it is sent as it is.
        plain_http: Whether a registry elsewhere is spoken to without TLS; nothing secret is then sent.
    """

    user: str | None = None
    token: str | None = None
    plain_http: bool = False

    @classmethod
    def of(
        cls,
        reference: Reference,
        *,
        token_file: str | None = None,
        credentials_file: str | None = None,
        plain_http: bool = False,
    ) -> RegistryAccess:
        """Read what is named, or else what `docker login` left for this registry.

        Raises:
            UsageError: If both are named, a file holds no such thing, or it would go out in the clear.
            FileError, FormatError: If a file cannot be read.
        """
        if token_file is not None and credentials_file is not None:
            raise UsageError("two ways to sign in are given", hint="Give a token or a user, not both.")
        token = read_token(Path(token_file)) if token_file is not None else None
        if credentials_file is not None:
            user: str | None = _user(Path(credentials_file))
        else:
            user = None if token is not None else _docker_login(reference.host)
        if (token or user) and plain_http and not reference.is_loopback:
            if token_file is None and credentials_file is None:
                return cls(plain_http=True)
            raise UsageError(
                "a password would go over the network in the clear", where=reference.text, hint="Use https."
            )
        return cls(user, token, plain_http)

    @property
    def basic(self) -> str | None:
        """The header of a user with a password."""
        if self.user is None:
            return None
        return f"Basic {base64.b64encode(self.user.encode()).decode()}"


class Challenge(Struct):
    """What a registry wants to see.

    Attributes:
        scheme: `basic` or `bearer`.
        parameters: Of a bearer: `realm`, `service`, `scope`.
    """

    scheme: str
    parameters: Mapping[str, str]

    @classmethod
    def parse(cls, header: str, where: str) -> Challenge:
        """Read a `WWW-Authenticate` header.

        Raises:
            RegistryError: If it is of another kind.
        """
        scheme, _, rest = header.partition(" ")
        if scheme.lower() not in {"basic", "bearer"}:
            raise RegistryError(
                "the registry wants to be signed in to in a way that is not known", where=where
            )
        return cls(scheme.lower(), dict(_PARAMETER.findall(rest)))

    def realm(self, reference: Reference) -> str:
        """Return the address of the token server.

        Raises:
            RegistryError: If what is sent there would go over a network in the clear.
        """
        realm = self.parameters.get("realm", "")
        try:
            parts = urlsplit(realm)
        except ValueError:
            parts = urlsplit("")
        is_here = parts.scheme == "http" and is_loopback(parts.hostname or "") and reference.is_loopback
        if not parts.hostname or (parts.scheme != "https" and not is_here):
            raise RegistryError("the registry names no token server over https", where=reference.text)
        return realm


class _Login(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    auth: str = ""


class _DockerConfig(BaseModel):
    """The part of `~/.docker/config.json` that holds passwords; helpers that hold them are not run."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)

    auths: dict[str, _Login] = Field(default_factory=dict)


def _docker_login(host: str) -> str | None:
    directory = os.environ.get("DOCKER_CONFIG")
    path = (Path(directory) if directory else Path.home() / ".docker") / "config.json"
    if not path.is_file():
        return None
    login = load(path, _DockerConfig).auths.get(host)
    if login is None or not login.auth:
        return None
    try:
        return base64.b64decode(login.auth, validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        raise UsageError(f"the login for {host} cannot be read", where=str(path)) from None


def _user(path: Path) -> str:
    text = read_text(path, max_bytes=_MAX_CREDENTIALS).strip()
    if ":" not in text or "\n" in text:
        raise UsageError("the file holds no user:password", where=str(path))
    return text
