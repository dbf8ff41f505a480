"""What is examined, the words for what is wrong with it, and the report of what was found."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, Self

from ironcurtain.errors import IronCurtainError, SeveralErrors
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.structs import Struct, field


class Diagnosis(Frozen):
    """One thing that was looked at.

    Attributes:
        name: The part, as `opa`, `servers/notes` or `client/FILE`; one part can have several.
        status: `warn` is what a person should know and can live with; `skip` is what could not be looked
            at for the reason given.
        what: What was found, in one sentence.
        fix: What mends it; empty where nothing has to be mended.
        code: The error that it is elsewhere, as `IC3001`; its page is `docs/errors/IC3001.md`.
    """

    name: str
    status: Literal["ok", "warn", "fail", "skip"]
    what: str
    fix: str = ""
    code: str = ""

    @classmethod
    def ok(cls, name: str, what: str) -> Self:
        """Return that a part is well."""
        return cls(name=name, status="ok", what=what)

    @classmethod
    def warn(cls, name: str, what: str, fix: str = "", *, code: str = "") -> Self:
        """Return what a person should know of a part."""
        return cls(name=name, status="warn", what=what, fix=fix, code=code)

    @classmethod
    def fail(cls, name: str, what: str, fix: str = "", *, code: str = "") -> Self:
        """Return what is wrong with a part."""
        return cls(name=name, status="fail", what=what, fix=fix, code=code)

    @classmethod
    def skip(cls, name: str, what: str, fix: str = "") -> Self:
        """Return why a part could not be looked at."""
        return cls(name=name, status="skip", what=what, fix=fix)


class DoctorReport(Frozen):
    """Everything that was looked at, in order."""

    format: Literal["ironcurtain/doctor/v1"] = "ironcurtain/doctor/v1"
    ok: bool
    checks: tuple[Diagnosis, ...]


def nearest_existing(place: Path) -> Path:
    """Return a place, or the nearest of its parents that exists."""
    absolute = place.absolute()
    return next(path for path in (absolute, *absolute.parents) if os.path.lexists(path))


def is_writable(place: Path) -> bool:
    """Tell whether a place is a directory in which we may make files."""
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)


DEFAULT_TIMEOUT = 30.0


class GatewayFiles(Struct):
    """The files that `ironcurtain serve` is given, as far as they are named."""

    permissions: Path | None = None
    tokens: Path | None = None
    domain: Path | None = None
    domain_key: Path | None = None


class Installation(Struct):
    """An installation.

    Attributes:
        bundle: The policy that is enforced.
        servers: The servers' configuration.
        bundle_alone: Whether a bundle was named outside a project, and there are no servers.
        user: The directory of the user's own files.
        approvals: The approvals directory and its key.
        audit: The directory of audit logs.
        cwd: The directory that the command runs in.
        project: Whether there is a project, or a bundle or servers were named.
        opa: The OPA executable, if one is named.
        workspace: The session's working directory, if there is one.
        verify_key: The public key that the bundle has to be signed with, if there is one.
        expect_revision: The revision that it has to have, if one is known.
        min_serial: The least serial number that it may have, if one is known.
        clients: Names or files of clients that have to be wrapped.
        timeout: Seconds for each server.
        problem: Why it could not be read; then defaults hold.
        models: Who answers a compile's questions, as the environment and the project's file name them.
        sources: The constitution that the bundle was made from, the user's own guidance if it is read, and
            the project's directory; None for a bundle that is not the project's.
        engine: The addresses of the OPAs that decide, if others run them.
        engine_ca: Who vouches for these; `engine_token_file` holds their token.
        publish_to: Where bundles are published to: directories and URLs.
        publish_token_file: The file with the token for these.
        gateway_files: Who may call a gateway's tools.
        state: Where totals of callers are kept, if it is said.
        online: Whether the model's provider may be asked for its list of models.
    """

    bundle: Path
    servers: Path
    user: Path
    approvals: tuple[Path, Path]
    audit: Path
    cwd: Path
    opa: Path | None = None
    workspace: Path | None = None
    verify_key: Path | None = None
    clients: tuple[str, ...] = ()
    timeout: float = DEFAULT_TIMEOUT
    expect_revision: str | None = None
    min_serial: int | None = None
    problem: IronCurtainError | None = None
    project: bool = True
    bundle_alone: bool = False
    models: tuple[str, ...] = ()
    sources: tuple[Path, Path | None, Path] | None = None
    engine: tuple[str, ...] = ()
    engine_ca: str | None = None
    engine_token_file: str | None = None
    publish_to: tuple[str, ...] = ()
    publish_token_file: str | None = None
    gateway_files: GatewayFiles = field(default_factory=GatewayFiles)
    state: str | None = None
    online: bool = False


def failed(name: str, error: IronCurtainError, fix: str = "") -> list[Diagnosis]:
    """Return what an error says as failures, each with the fix given or the error's own hint."""
    errors = error.errors if isinstance(error, SeveralErrors) else [error]
    return [
        Diagnosis.fail(
            name,
            f"{each.what} ({each.where})" if each.where is not None else each.what,
            " ".join(filter(None, (fix, each.hint))) or f"See `ironcurtain error {each.code}`.",
            code=each.code,
        )
        for each in errors
    ]
