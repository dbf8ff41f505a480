"""Fetching a server from npm: no package runs code while it is installed."""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from ironcurtain.errors import FetchError
from ironcurtain.servers.fetched.lock import Wanted
from ironcurtain.servers.fetched.running import Staged, find_program, run
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.text import quoted, visible

_LOCK = "package-lock.json"
_MANIFEST = "package.json"
_NOTE = "node_modules/.package-lock.json"
_OPTIONS = (
    "--ignore-scripts",
    "--omit=dev",
    "--no-audit",
    "--no-fund",
    "--no-update-notifier",
    "--omit-lockfile-registry-resolved",
    "--install-strategy=hoisted",
    "--loglevel=error",
)


def platform() -> str:
    """Return on what kind of machine an installation runs."""
    return sysconfig.get_platform()


def fetch(wanted: Wanted, pins: Sequence[str], where: Path) -> Staged:
    """Install a server into an empty directory.

    Args:
        wanted: What is fetched.
        pins: The lines of the lock file that it is to be fetched by; without any, what the registry has.
        where: The directory.

    Raises:
        FetchError: If npm is missing or fails, or the package has not the program.
    """
    npm = find_program("npm")
    if npm is None:
        raise FetchError("npm is not installed, and the server is an npm package", hint="Install Node.js.")
    names = [_name_and_range(package) for package in wanted.packages]
    if pins:
        text = "\n".join(pins) + "\n"
        (where / _LOCK).write_text(text)
        (where / _MANIFEST).write_text(
            _manifest(json_text.members(_top(_parsed(text, _LOCK)).get("dependencies")))
        )
    else:
        (where / _MANIFEST).write_text(_manifest(dict(names)))
    what = visible(wanted.packages[0])
    run([npm, "ci" if pins else "install", *_OPTIONS], where, told=f"npm cannot fetch {what}")
    if not pins:
        text = _exact(_object(where / _LOCK), [name for name, _ in names])
    for left in (_NOTE, _LOCK, _MANIFEST):  # the first differs by npm's version, and nothing of them runs
        (where / left).unlink(missing_ok=True)
    package = names[0][0]
    described = _object(where / "node_modules" / package / _MANIFEST)
    return Staged(
        directory=where,
        package=package,
        version=str(described.get("version", "")),
        run=f"node_modules/.bin/{_program(package, described, wanted.program)}",
        pins=tuple(text.splitlines()),
        unrun=_with_scripts(text),
    )


def _name_and_range(package: str) -> tuple[str, str]:
    name, _, wanted = package[1:].partition("@")
    return package[0] + name, wanted or "latest"


def _manifest(dependencies: Mapping[str, JsonSource]) -> str:
    return json_text.pretty(
        {"name": "fetched", "version": "0.0.0", "private": True, "dependencies": {**dependencies}}
    )


def _exact(lock: dict[str, JsonValue], names: Sequence[str]) -> str:
    """Return a lock that asks for the versions that it has: npm asks the registry again what a tag is."""
    packages = json_text.members(lock.get("packages"))
    _top(lock)["dependencies"] = {
        name: json_text.members(packages.get(f"node_modules/{name}")).get("version", "") for name in names
    }
    return json_text.pretty(lock)


def _top(lock: dict[str, JsonValue]) -> dict[str, JsonValue]:
    packages = lock.get("packages")
    top = packages.get("") if isinstance(packages, dict) else None
    if not isinstance(top, dict):
        raise FetchError("what npm wrote as its lock names no packages")
    return top


def _program(package: str, described: Mapping[str, JsonValue], named: str | None) -> str:
    """Return the name of the program: the one that is named, or what npx would run of the package."""
    found = described.get("bin")
    unscoped = package.rpartition("/")[2]
    programs = {unscoped: found} if isinstance(found, str) else found if isinstance(found, dict) else {}
    usual = next(iter(programs)) if len({*programs.values()}) == 1 else unscoped
    wanted = named or usual
    if "/" in wanted or (named is None and wanted not in programs):
        has = ", ".join(map(visible, programs)) or "none"
        raise FetchError(
            f"the npm package {quoted(package)} has no program {quoted(wanted)}", hint=f"It has: {has}."
        )
    return wanted


def _with_scripts(lock: str) -> tuple[str, ...]:
    """Return the packages that wanted to run code when they are installed."""
    packages = _parsed(lock, _LOCK).get("packages")
    entries = packages.items() if isinstance(packages, dict) else ()
    return tuple(
        sorted(
            {
                path.rpartition("node_modules/")[2]
                for path, entry in entries
                if isinstance(entry, dict) and entry.get("hasInstallScript") is True
            }
        )
    )


def _object(path: Path) -> dict[str, JsonValue]:
    try:
        return _parsed(path.read_text("utf-8"), path.name)
    except (OSError, UnicodeDecodeError):
        raise FetchError(f"what npm installed has no {path.name}", where=str(path.parent)) from None


def _parsed(text: str, what: str) -> dict[str, JsonValue]:
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise FetchError(f"what npm wrote as {what} is no object")
    return value
