"""Fetching a server from npm, which may start no program meanwhile: git, scripts, another npm.

It resolves first, and installs what its lock then names if that is of the grammar of `pins.py`.
"""

from __future__ import annotations

import json
import sysconfig
from collections.abc import Mapping, Sequence
from pathlib import Path

from ironcurtain.errors import FetchError
from ironcurtain.servers.fetched.lock import Wanted
from ironcurtain.servers.fetched.pins import npm_lock
from ironcurtain.servers.fetched.running import Staged, find_program, run
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted, visible

_LOCK = "package-lock.json"
_MANIFEST = "package.json"
_NOTE = "node_modules/.package-lock.json"
_OF_REGISTRY = "Only packages of the registry are fetched, which it, or one that it needs, is not."
_PERMISSIONS = ("--permission --allow-net", "--permission", "--experimental-permission")
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
    wanted_versions = dict(_name_and_range(package) for package in wanted.packages)
    package, *_ = names = list(wanted_versions)
    what = visible(wanted.packages[0])
    try:
        if not pins:
            (where / _MANIFEST).write_text(_manifest(wanted_versions))
            _run(npm, "install", "--package-lock-only", where=where, what=what)
        lock = npm_lock("\n".join(pins) or (where / _LOCK).read_text("utf-8"))
        (where / _LOCK).write_text(text := lock.text(names))
        (where / _MANIFEST).write_text(_manifest(lock.versions(names)))
    except (OSError, ValueError) as error:
        raise FetchError(f"npm cannot fetch {what}: {error}") from None
    _run(npm, "ci", where=where, what=what)
    for left in (_NOTE, _LOCK, _MANIFEST):  # the first differs by npm's version, and nothing of them runs
        (where / left).unlink(missing_ok=True)
    return Staged(
        directory=where,
        package=package,
        version=lock.versions(names)[package],
        run=program(where, wanted),
        pins=tuple(pins) or tuple(text.splitlines()),
        unrun=tuple(
            sorted({_named(path) for path, each in lock.packages.items() if each.has_install_script})
        ),
    )


def program(installed: Path, wanted: Wanted) -> str:
    """Return the program of what is installed in a directory, relative to it: what npx would run.

    Raises:
        FetchError: If the package has it not, or is not there.
    """
    package, _ = _name_and_range(wanted.packages[0])
    manifest = installed / "node_modules" / package / _MANIFEST
    try:
        described = json_text.members(json.loads(manifest.read_text("utf-8")))
    except (OSError, ValueError):
        raise FetchError(f"what npm installed has no {_MANIFEST}", where=str(manifest.parent)) from None
    return f"node_modules/.bin/{_program(package, described, wanted.program)}"


def _run(npm: Path, *words: str, where: Path, what: str) -> None:
    command = [str(npm), *words, *_OPTIONS, f"--prefix={where}"]
    try:
        run(command, where, told=f"npm cannot fetch {what}", more=_alone(npm, where))
    except FetchError as error:
        if "EALLOW" in error.hint or "ERR_ACCESS_DENIED" in error.hint:
            error.hint = f"{_OF_REGISTRY} {error.hint}"
        raise


def _alone(npm: Path, where: Path) -> dict[str, str]:
    """Return the environment in which npm can start no program, as its Node.js spells it.

    npm clones and prepares dependencies from git even where scripts are ignored, by programs that they name.
    """
    for flags in _PERMISSIONS:
        # The user's own options are left out: one of them may permit again what these do not.
        alone = {
            "NODE_OPTIONS": f"{flags} --allow-fs-read=* --allow-fs-write=*",
            "npm_config_allow_git": "none",
        }
        try:
            run([npm, "--version"], where, told="npm", more=alone)
        except FetchError:
            continue
        return alone
    raise FetchError(
        "npm cannot be kept from starting programs, and packages would name some",
        hint="Install Node.js 20 or newer.",
    )


def _name_and_range(package: str) -> tuple[str, str]:
    name, _, wanted = package[1:].partition("@")
    return package[0] + name, wanted or "latest"


def _named(path: str) -> str:
    return path.rpartition("node_modules/")[2]


def _manifest(dependencies: Mapping[str, str]) -> str:
    return json_text.pretty(
        {"name": "fetched", "version": "0.0.0", "private": True, "dependencies": {**dependencies}}
    )


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
