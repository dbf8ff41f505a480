"""Finding a usable OPA on this machine; nothing is ever installed here."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import platformdirs

from ironcurtain.engine.pin import parse_version, pin
from ironcurtain.engine.subprocess_runner import clean_environment, run
from ironcurtain.errors import EngineMissingError, EngineVersionError, IronCurtainError
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.text import quoted, visible

Origin: TypeAlias = Literal["configured", "path", "cache"]
"""Where an OPA was found: named by configuration, on PATH, or in our own cache."""

_VERSION_TIMEOUT = 20.0
_VERSION_LINE = re.compile(rb"^Version:[ \t]*(\S+)[ \t]*\r?$", re.MULTILINE)


@dataclass(frozen=True)
class Opa:
    """An OPA executable that was run and is new enough.

    Attributes:
        path: Its absolute path.
        version: What it says its version is.
        origin: Where it was found.
    """

    path: Path
    version: str
    origin: Origin


def find(
    configured: Path | None = None,
    *,
    search_path: str | None = None,
    cache: Path | None = None,
    reachable: tuple[Path, ...] = (),
) -> Opa:
    """Find OPA: the configured path alone if there is one, else PATH, else the managed cache.

    Args:
        configured: A path from configuration. It is never skipped: if it is bad, that is the error.
        search_path: Directories to search instead of the environment's PATH.
        cache: The managed cache instead of the user's.
        reachable: Real paths of directories that tools or servers can write; nothing there is run.

    Raises:
        EngineMissingError: If there is none.
        EngineVersionError: If all that were found are too old or no OPA, or others could change them; it
            names each.
    """
    search = ProgramSearch.own(reachable) if search_path is None else ProgramSearch(search_path, reachable)
    if configured is not None:
        return _safe(configured.expanduser().absolute(), "configured", search)
    refused: list[str] = []
    for path, origin in _candidates(search, cache_directory() if cache is None else cache):
        try:
            return _safe(path, origin, search)
        except IronCurtainError as error:
            refused.append(error.what)
    hint = f"Run `ironcurtain opa install`, or put opa {pin().version} or newer on PATH."
    if refused:
        raise EngineVersionError(f"no usable OPA was found: {'; '.join(refused)}", hint=hint)
    raise EngineMissingError("no OPA was found on PATH or in the managed cache", hint=hint)


def cache_directory() -> Path:
    """Return the directory in which `ironcurtain opa install` keeps the pinned version."""
    return platformdirs.user_cache_path("ironcurtain") / "opa" / pin().version


def examine(path: Path, origin: Origin) -> Opa:
    """Run an executable to see whether it is an OPA that is new enough.

    Raises:
        EngineMissingError: If there is no such file.
        EngineVersionError: If it does not run, is no OPA, or is too old; the message says why.
    """
    if not path.is_file():
        raise EngineMissingError(
            f"{visible(str(path))} is no file", hint="Correct the configured path of OPA, or remove it."
        )
    version = _version(path)
    refusal = pin().refusal(version)
    if refusal:
        raise _refused(path, refusal)
    return Opa(path, version, origin)


def _safe(path: Path, origin: Origin, search: ProgramSearch) -> Opa:
    """Examine an executable that nobody else can have put there: looking at it means running it."""
    refusal = search.refusal(path) if path.is_file() else None
    if refusal is not None:
        raise _refused(path, refusal, hint="Use an OPA that is yours, outside what tools and servers write.")
    return examine(path, origin)


def _candidates(search: ProgramSearch, cache: Path) -> Iterator[tuple[Path, Origin]]:
    for path, _ in search.candidates("opa"):
        yield path, "path"
    if (cache / "opa").is_file():
        yield cache / "opa", "cache"


def _version(path: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="ironcurtain-") as name:
        directory = Path(name)
        try:
            output = run(
                [str(path), "version"],
                cwd=directory,
                environment=clean_environment(directory),
                timeout=_VERSION_TIMEOUT,
            )
        except OSError as error:
            raise _refused(path, f"it does not run ({error.strerror or error})") from None
    match = _VERSION_LINE.search(output.stdout)
    if output.status != 0 or match is None:
        raise _refused(path, f"it is no OPA: `opa version` ended with status {output.status}")
    version = match.group(1).decode("utf-8", "replace")
    try:
        parse_version(version)
    except ValueError:
        raise _refused(path, f"it calls its version {quoted(version)}") from None
    return version


def _refused(path: Path, reason: str, *, hint: str = "") -> EngineVersionError:
    return EngineVersionError(
        f"{visible(str(path))} cannot be used: {reason}",
        hint=hint or f"Use opa {pin().version} or newer; `ironcurtain opa install` builds or fetches it.",
    )
