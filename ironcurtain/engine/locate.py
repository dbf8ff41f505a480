"""Finding a usable OPA on this machine; nothing is ever installed here.

The pin (`opa/version.json`) says which OPA we use, what is known of it, and why an older one is refused.
"""

from __future__ import annotations

import functools
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, TypeAlias

import platformdirs

from ironcurtain.errors import EngineMissingError, EngineVersionError, IronCurtainError
from ironcurtain.system import assets
from ironcurtain.system.files import load
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.structs import Struct
from ironcurtain.system.subprocess_runner import clean_environment, run
from ironcurtain.system.text import quoted, visible

Version: TypeAlias = tuple[int, int, int, bool]
"""Major, minor, patch, and whether it is a release; a pre-release sorts below its release."""

_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})\.(\d{1,6})(-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?", re.ASCII)


class Asset(Frozen):
    """A file of the release: its name, and its SHA-256 where we know it."""

    name: str
    sha256: str | None


class Advisory(Frozen):
    """A reason to refuse the versions from `first` up to, not including, `before`."""

    first: str
    before: str
    what: str


class Pin(Frozen):
    """The contents of `opa/version.json`.

    Attributes:
        version: The version we build, test and require at least.
        module: Its Go module path.
        module_hash: The `h1:` hash that `go version -m` prints for an executable built from it.
        minimum_go: The oldest Go that builds it, `major.minor`.
        release: Where its release assets lie.
        digests: What is known of their digests, in words.
        assets: The asset of each platform (`linux_amd64`, …).
        advisories: What is wrong with older versions.
    """

    format: Literal["ironcurtain/opa-pin/v1"]
    version: str
    module: str
    module_hash: str
    minimum_go: str
    release: str
    digests: str
    assets: dict[str, Asset]
    advisories: tuple[Advisory, ...]

    def refusal(self, version: str) -> str | None:
        """Return why an OPA of this version is refused, or None if it is not."""
        found = parse_version(version)
        if found >= parse_version(self.version):
            return None
        known = [a.what for a in self.advisories if parse_version(a.first) <= found < parse_version(a.before)]
        reasons = f", and it has known defects: {'; '.join(known)}" if known else ""
        return f"it is OPA {version}, older than the required {self.version}{reasons}"


@functools.cache
def pin() -> Pin:
    """Return the pin that ships with this version."""
    return load(assets.OPA / "version.json", Pin)


def parse_version(text: str) -> Version:
    """Parse `1.22.2` or `v1.23.0-rc1` into something that sorts.

    Raises:
        ValueError: If it is no version.
    """
    found = _VERSION.fullmatch(text)
    if found is None:
        raise ValueError("not a version")
    major, minor, patch, before_release = found.groups()
    return int(major), int(minor), int(patch), before_release is None


Origin: TypeAlias = Literal["configured", "path", "cache"]
"""Where an OPA was found: named by configuration, on PATH, or in our own cache."""

_VERSION_TIMEOUT = 20.0
_VERSION_LINE = re.compile(rb"^Version:[ \t]*(\S+)[ \t]*\r?$", re.MULTILINE)


class Opa(Struct):
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
