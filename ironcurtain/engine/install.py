"""Installing the pinned OPA into the managed cache: built with Go where it can be, else downloaded."""

from __future__ import annotations

import hashlib
import os
import platform
import re
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path

from ironcurtain.engine.locate import Opa, cache_directory, examine, pin
from ironcurtain.errors import EngineMissingError, EngineVersionError
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write
from ironcurtain.system.locks import work_lock
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.subprocess_runner import ProcessOutput, run
from ironcurtain.system.text import visible

_BUILD_TIMEOUT = 1800.0
_QUICK_TIMEOUT = 30.0
_READ_TIMEOUT = 15.0
_MAX_ASSET = 256 << 20
_MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}

ReportProgress = Callable[[str], None]
"""Takes one sentence about what is being done, for a person who waits."""


def install(
    *,
    report: ReportProgress,
    cache: Path | None = None,
    search_path: str | None = None,
    release: str | None = None,
) -> Opa:
    """Put the pinned OPA into the managed cache, unless it is there; it appears whole or not at all.

    Args:
        report: Told what is being done.
        cache: The managed cache instead of the user's.
        search_path: Where to look for `go` instead of the environment's PATH.
        release: Where the release assets lie, instead of the pinned place.

    Raises:
        EngineMissingError: If there is no Go and no network to install it with.
        EngineVersionError: If what was built or downloaded is not what it must be.
    """
    directory = cache_directory() if cache is None else cache
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with work_lock(directory / "lock"):
            return _installed(directory) or _install(
                directory, report, search_path, pin().release if release is None else release
            )
    except OSError as error:
        raise EngineMissingError(
            f"OPA cannot be installed into {visible(str(directory))}: {visible(str(error))}",
            hint="Make the directory writable, or put opa on PATH.",
        ) from error


def find_go(search_path: str | None = None) -> Path | None:
    """Return the `go` command on PATH if it is new enough to build the pinned OPA."""
    go = (ProgramSearch.own() if search_path is None else ProgramSearch(search_path)).find("go")
    if go is None:
        return None
    try:
        output = _run_go(go, ["env", "GOVERSION"], _QUICK_TIMEOUT)
    except OSError:
        return None
    version = re.match(rb"go(\d+)\.(\d+)", output.stdout)
    minimum = tuple(int(part) for part in pin().minimum_go.split("."))
    if output.status != 0 or version is None or (int(version[1]), int(version[2])) < minimum:
        return None
    return go


def check_build(executable: Path, go: Path) -> None:
    """Check that an executable was built from exactly the pinned source of OPA.

    The proof is the module hash that Go embeds. It shows what an honest toolchain built from, so it finds
    a wrong version or an altered module, not an executable that was made to lie.

    Raises:
        EngineVersionError: If it was built from anything else.
    """
    output = _run_go(go, ["version", "-m", str(executable)], _QUICK_TIMEOUT)
    expected = ["mod", pin().module, f"v{pin().version}", pin().module_hash]
    lines = output.stdout.decode("utf-8", "replace").splitlines()
    if output.status != 0 or expected not in [line.split() for line in lines]:
        raise EngineVersionError(
            f"{visible(str(executable))} was not built from {pin().module} v{pin().version} with the hash"
            f" {pin().module_hash}",
            hint="Check GOFLAGS, GOPROXY and GOSUMDB, then run `ironcurtain opa install` again.",
        )


def download(directory: Path, release: str) -> Path:
    """Download this platform's asset of the release and compare it with the digest that lies beside it.

    Raises:
        EngineMissingError: If there is no asset for this platform or it cannot be fetched.
        EngineVersionError: If the digests differ.
    """
    asset = pin().assets.get(_platform())
    if asset is None:
        raise EngineMissingError(f"OPA has no release for {_platform()}")
    try:
        data = _fetch(f"{release}/{asset.name}")
        beside = _fetch(f"{release}/{asset.name}.sha256").decode("ascii", "replace").split()
    except (OSError, ValueError) as error:
        raise EngineMissingError(f"OPA cannot be downloaded ({visible(str(error))})") from None
    digest = hashlib.sha256(data).hexdigest()
    expected = asset.sha256 or (beside[0] if beside else "")
    if digest != expected:
        raise EngineVersionError(
            f"the downloaded {asset.name} has the digest {digest}, its release says {visible(expected)}",
            hint="Try again; if it happens twice, something on the way alters it.",
        )
    path = directory / "opa"
    path.write_bytes(data)
    path.chmod(0o755)
    return path


def _installed(directory: Path) -> Opa | None:
    """Return what is installed; None if nothing is, or nothing that can be used."""
    try:
        return examine(directory / "opa", "cache")
    except (EngineMissingError, EngineVersionError):
        return None


def _install(directory: Path, report: ReportProgress, search_path: str | None, release: str) -> Opa:
    with tempfile.TemporaryDirectory(dir=directory, prefix="new-") as name:
        new = _obtain(Path(name), report, search_path, release)
        examine(new, "cache")
        _record(directory, new)
        new.replace(directory / "opa")
    return examine(directory / "opa", "cache")


def _obtain(directory: Path, report: ReportProgress, search_path: str | None, release: str) -> Path:
    go = find_go(search_path)
    if go is not None:
        report(f"building OPA {pin().version} with Go (a few minutes)")
        problem = _build(directory, go)
        if problem is None:
            check_build(directory / "opa", go)
            return directory / "opa"
        report(f"Go could not build it: {problem}")
    report(f"downloading OPA {pin().version}")
    try:
        return download(directory, release)
    except EngineMissingError as error:
        why = "Go could not build it" if go else f"there is no Go {pin().minimum_go} to build it with"
        raise EngineMissingError(
            f"OPA is not installed, {why}, and the download failed: {error.what}",
            hint=f"Put an opa {pin().version} or newer from another machine on PATH.",
        ) from None


def _build(directory: Path, go: Path) -> str | None:
    """Build OPA into the directory; return None, or the last thing Go said where it failed."""
    package = f"{pin().module}@v{pin().version}"
    settings = {"GOBIN": str(directory), "CGO_ENABLED": "0"}
    try:
        output = _run_go(go, ["install", "-trimpath", package], _BUILD_TIMEOUT, settings)
    except OSError as error:
        return visible(str(error))
    if output.status == 0 and (directory / "opa").is_file():
        return None
    lines = output.stderr.decode("utf-8", "replace").strip().splitlines()
    return visible(lines[-1]) if lines else f"status {output.status}"


def _run_go(
    go: Path, arguments: list[str], timeout: float, settings: dict[str, str] | None = None
) -> ProcessOutput:
    # Go needs the person's own environment: proxies, module cache, certificates.
    environment = {**os.environ, **(settings or {})}
    return run([str(go), *arguments], cwd=Path("/"), environment=environment, timeout=timeout)


def _fetch(url: str) -> bytes:
    with urllib.request.urlopen(url, timeout=_READ_TIMEOUT) as answer:  # noqa: S310 - https, from our own pin
        data: bytes = answer.read(_MAX_ASSET + 1)
    if len(data) > _MAX_ASSET:
        raise ValueError(f"larger than {_MAX_ASSET:,} bytes")
    return data


def _record(directory: Path, executable: Path) -> None:
    """Keep the digest of what was installed, so that a person can compare machines."""
    with executable.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    record = {"version": pin().version, "sha256": digest}
    atomic_write(directory / "opa.json", json_text.pretty(record).encode())


def _platform() -> str:
    machine = platform.machine().lower()
    return f"{platform.system().lower()}_{_MACHINES.get(machine, machine)}"
