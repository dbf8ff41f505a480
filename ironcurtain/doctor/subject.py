"""What is examined, and the words for what is wrong with it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ironcurtain.errors import IronCurtainError, SeveralErrors
from ironcurtain.model.doctor import Diagnosis

DEFAULT_TIMEOUT = 30.0


@dataclass(frozen=True)
class Subject:
    """An installation.

    Attributes:
        bundle: The policy that is enforced.
        servers: The servers' configuration.
        user: The directory of the user's own files.
        approvals: The approvals directory and its key.
        audit: The directory of audit logs.
        cwd: The project's directory.
        opa: The OPA executable, if one is named.
        sandbox: The session's working directory, if there is one.
        verify_key: The public key that the bundle has to be signed with, if there is one.
        clients: Names or files of clients that have to be wrapped.
        timeout: Seconds for each server.
    """

    bundle: Path
    servers: Path
    user: Path
    approvals: tuple[Path, Path]
    audit: Path
    cwd: Path
    opa: Path | None = None
    sandbox: Path | None = None
    verify_key: Path | None = None
    clients: tuple[str, ...] = ()
    timeout: float = DEFAULT_TIMEOUT


def failed(name: str, error: IronCurtainError, fix: str = "") -> list[Diagnosis]:
    """Return what an error says as failures, each with the fix given or the error's own hint.

    Args:
        name: The part that fails.
        error: Why; several at once become several failures.
        fix: What mends it, if that is better known than by the error.
    """
    errors = error.errors if isinstance(error, SeveralErrors) else [error]
    return [
        Diagnosis(
            name=name,
            status="fail",
            what=f"{each.what} ({each.where})" if each.where is not None else each.what,
            fix=" ".join(filter(None, (fix, each.hint))) or f"See docs/errors/{each.code}.md.",
        )
        for each in errors
    ]
