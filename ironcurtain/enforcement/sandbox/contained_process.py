"""Starting a server inside the sandbox: its private directory, the command that starts it, and its end.

The private directory holds what the sandbox's program reads, and placeholder mounts. A placeholder keeps a
server from creating a protected path that is not there yet: something mounted read-only in its place. Such a
mount goes with what is below it, for every server that has it, so it stays until the last of these servers
has ended, and people see it, too. So it is an empty directory, of which git takes no notice; where git itself
would read a file, a file that says nothing to git.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import stat
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import TypeAdapter

from ironcurtain.enforcement.sandbox.data_directory import DataDirectory
from ironcurtain.enforcement.sandbox.profile import Profile
from ironcurtain.enforcement.sandbox.programs import Programs
from ironcurtain.enforcement.sandbox.reach.repositories import is_same_with_commondir
from ironcurtain.errors import FileError, ServerFailedError
from ironcurtain.servers.server_process import ServerStart
from ironcurtain.system import private_runtime
from ironcurtain.system.files import read_regular
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.private_runtime import runtime_directory
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

_RUNNER = Path(__file__).with_name("run.mjs")
_OPEN = ("own", "here", "tmp")
"""What a server's sandbox sees of its directory; it writes the last alone."""
_BWRAP = """#!/bin/sh
# bubblewrap leaves the system's settings open to root; a root user of the sandbox could change them.
# The names and sizes of the user's keys are none of its business.
# Where the server starts is there, and what its entry names, though what is around it may be hidden; what is
# hidden takes no files.
open=yes
for word; do
  shift
  if [ "$word" = -- ] && [ "$open" = yes ]; then
    for keys in /proc/keys /proc/key-users; do
      if [ -e "$keys" ]; then set -- "$@" --ro-bind /dev/null "$keys"; fi
    done
    set -- "$@" --ro-bind /proc/sys /proc/sys --dir {directory} {named} {sealed}
    open=no
  fi
  set -- "$@" "$word"
done
if [ "$open" = yes ]; then exec {bwrap} "$@"; fi  # the runtime asks what bubblewrap can do
exec 8< {environment}
rm -f -- {environment}
exec {bwrap} --args 8 "$@"
"""
_READ_BY_THE_RUNTIME = re.compile(r"GIT_CONFIG_\w+|(?i:https?_proxy|no_proxy)|JAVA_TOOL_OPTIONS")
"""What the runtime adds to, or goes through itself; none of it makes a program run another one."""


class ContainedStart(Struct):
    """How a contained server is started.

    Attributes:
        start: Program, arguments, environment and working directory of the start.
        report: The file that what is seen is written to.
        held: Places that are there and mounted read-only. A mount goes with what is below it.
    """

    start: ServerStart
    report: Path
    held: tuple[Path, ...]


@contextmanager
def contained(
    start: ServerStart,
    profile: Profile,
    programs: Programs,
    data: DataDirectory | None = None,
    *,
    strict: bool = True,
) -> Iterator[ContainedStart]:
    """Make what a contained start needs; remove it when the server has ended.

    Args:
        start: How the server is started without a sandbox.
        profile: What its sandbox lets it do.
        programs: What that is made of.
        data: Where its home is; None leaves it where it is.
        strict: Whether nothing is started where a probe is not held.

    Raises:
        FileError, OSError: If the private files cannot be made.
    """
    # Where there are no mounts, what is not there is held by a rule of the runtime instead.
    absent = profile.deny_write if programs.bwrap is not None else ()
    with private_workspace(absent, profile.git_files) as (workspace, standing):
        for name in _OPEN:
            (workspace / name).mkdir(mode=0o700)
        directory = Path(start.cwd or Path.cwd())
        written = [workspace / "tmp"]
        if data is not None:
            place = data.place or workspace / "tmp" / "home"
            data.furnish(place)
            start, written = data.moved(place), [*written, place]
        settings = _settings(workspace, profile, standing, programs, directory, written)
        write_private(workspace / "settings.json", json.dumps(settings))
        write_private(workspace / "secret", secrets.token_hex(16))
        write_private(workspace / "report", "")
        write_private(workspace / "environment", _environment(start))
        mode = "strict" if strict else "lax"
        words = [str(_RUNNER), programs.library, str(workspace), mode, str(directory)]
        yield ContainedStart(
            ServerStart(
                command=programs.node,
                args=[*words, start.command, *start.args],
                env=_our_environment(start, workspace, programs),
                cwd=workspace / "here",
            ),
            workspace / "report",
            tuple(standing),
        )


@asynccontextmanager
async def contained_in_thread(
    start: ServerStart, profile: Profile, programs: Programs, data: DataDirectory | None, *, strict: bool
) -> AsyncIterator[ContainedStart]:
    """`contained`, in threads: it waits for other processes, and removes whatever the server has left."""
    made = contained(start, profile, programs, data, strict=strict)
    try:
        inside = await to_thread.run_sync(made.__enter__)
    except OSError as error:
        raise ServerFailedError(f"its sandbox cannot be prepared: {visible(str(error))}") from error
    try:
        yield inside
    finally:
        with anyio.CancelScope(shield=True):
            await to_thread.run_sync(made.__exit__, None, None, None)


def _our_environment(start: ServerStart, workspace: Path, programs: Programs) -> dict[str, str]:
    """Return the environment of all that starts the server from outside its sandbox: it is not the server's.

    A variable of the server's could make these programs run code of its own (`NODE_OPTIONS`, `LD_PRELOAD`).
    """
    given = start.env or {}
    return {
        **{name: value for name, value in given.items() if _READ_BY_THE_RUNTIME.fullmatch(name)},
        "HOME": str(Path.home()),
        "PATH": programs.path,
        "TMPDIR": str(workspace / "own"),
        "CLAUDE_CODE_TMPDIR": str(workspace / "tmp"),
    }


def _environment(start: ServerStart) -> str:
    """Return the server's environment as bubblewrap's arguments: they come before the runtime's, which win.

    Raises:
        ServerFailedError: If a variable can be in no environment.
    """
    words = []
    for name, value in (start.env or {}).items():
        if not name or "=" in name or "\0" in name + value:
            raise ServerFailedError(f"the server cannot be started: {quoted(name)} can be no variable")
        words += ["--setenv", name, value]
    return "".join(f"{word}\0" for word in words)


def _settings(
    workspace: Path,
    profile: Profile,
    standing: list[Path],
    programs: Programs,
    directory: Path,
    written: list[Path],
) -> dict[str, JsonValue]:
    """Return the runtime's whole configuration: of what is ours a server sees its own part alone."""
    settings: dict[str, JsonValue] = {
        "network": {
            "allowedDomains": list(profile.allowed_domains),
            "deniedDomains": list(profile.denied_domains),
        },
        "filesystem": {
            "denyRead": _literals([*profile.deny_read, runtime_directory()]),
            "allowRead": _literals([*profile.allow_read, *(workspace / name for name in _OPEN), *written]),
            "allowWrite": _literals([*profile.allow_write, *written]),
            "denyWrite": _literals(standing or profile.deny_write),
        },
    }
    if programs.bwrap is not None:
        wrapper = workspace / "bwrap"
        made = _BWRAP.format(
            bwrap=shlex.quote(programs.bwrap),
            directory=shlex.quote(str(directory)),
            named=shlex.join(word for path in profile.named for word in ("--dir", str(path))),
            sealed=shlex.join(word for path in profile.sealed for word in ("--remount-ro", str(path))),
            environment=shlex.quote(str(workspace / "environment")),
        )
        write_private(wrapper, made)
        wrapper.chmod(0o700)
        settings |= {
            "bwrapPath": str(wrapper),
            "socatPath": programs.socat,
            "ripgrep": {"command": programs.rg},
        }
    return settings


def _literals(paths: Iterable[Path]) -> list[JsonValue]:
    """Return paths as entries that are no patterns, whatever their names are."""
    return [{"path": str(path), "literal": True} for path in paths]


_KIND = "server"
_ABSENT = "absent.json"
_COMMON = "commondir"
_SAME = ".\n"
"""In the place of `commondir`, the git directory itself: git would stop at an empty one."""
_PATHS = TypeAdapter(list[str])


@contextmanager
def private_workspace(held: Iterable[Path], files: Iterable[Path] = ()) -> Iterator[tuple[Path, list[Path]]]:
    """Sweep, then yield a new private directory and what to hold in the stead of some places.

    This waits for other processes and removes whatever the server leaves: do it in a thread.

    Args:
        held: Places that must not change, each there or not. What is not there is given a stand-in, or the
            nearest directory above it is that is not there either.
        files: Those of them that git reads as files.

    Raises:
        FileError: If the place of all such directories is not ours alone.
        OSError: If these cannot be made.
    """
    for left, lock in private_runtime.abandoned(_KIND):
        _end(left, lock)
    workspace, lock = private_runtime.claim(_KIND)
    try:
        yield workspace, _stand_in_for(held, {*files}, workspace)
    finally:
        _end(workspace, lock)


def write_private(path: Path, text: str) -> None:
    """Write a new file that only we can read."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
        file.write(text)


def give_up_harmful(held: Iterable[Path]) -> None:
    """Remove each `commondir` that we made where git would be another one with it by now.

    The configuration that says so was written since. Until its next start a server can make its own.
    """
    for path in held:
        if path.name == _COMMON and stands_in(path) and not is_same_with_commondir(path.parent):
            path.unlink(missing_ok=True)


def _stand_in_for(held: Iterable[Path], files: set[Path], workspace: Path) -> list[Path]:
    """Make stand-ins and note them in the server's directory; return what is there to be held."""
    wanted = {*held}
    if not wanted:
        return []
    with private_runtime.turn():
        living = _of_the_living()
        standing = {_standing(path, living) for path in wanted}
        shared = living & {str(path) for path in standing}
        new = {path for path in standing if not os.path.lexists(path)}
        write_private(workspace / _ABSENT, json.dumps(sorted(shared | {str(path) for path in new})))
        closed = {path for path in new if not _made(path, directory=path not in files)}
    return sorted(standing - closed)


def _standing(path: Path, living: set[str]) -> Path:
    """Return the path itself, or what has to be held so that it cannot come into being."""
    if (shared := next((each for each in reversed(path.parents) if str(each) in living), None)) is not None:
        return shared
    below, here = path, path
    while not os.path.lexists(here):
        below, here = here, here.parent
    return below if here.is_dir() or here == path else here


def _made(path: Path, *, directory: bool) -> bool:
    """Make a stand-in; tell whether something is there now. Where we may make nothing, no server may."""
    with suppress(OSError):
        if directory:
            path.mkdir(mode=0o755)
        else:
            write_private(path, _content(path))
    return os.path.lexists(path)


def _of_the_living() -> set[str]:
    """Return the stand-ins of all servers that run."""
    return {path for workspace in private_runtime.present(_KIND) for path in _listed(workspace)}


def _listed(workspace: Path) -> list[str]:
    try:
        return _PATHS.validate_json((workspace / _ABSENT).read_bytes())
    except (OSError, ValueError):  # it was killed before that was written
        return []


def _end(workspace: Path, lock: int) -> None:
    """Remove the stand-ins that no other server has, then the directory, which may take long."""
    try:
        _remove_stand_ins(workspace)
    except (OSError, FileError):  # whoever starts the next server tries again
        os.close(lock)
        return
    private_runtime.remove(workspace, lock)


def _remove_stand_ins(workspace: Path) -> None:
    listed = _listed(workspace)
    if not listed:
        return
    with private_runtime.turn():
        (workspace / _ABSENT).unlink()
        for path in sorted({*listed} - _of_the_living(), reverse=True):
            with suppress(OSError):
                _remove_stand_in(Path(path))


def _content(path: Path) -> str:
    """Return what a stand-in holds that is a file."""
    return _SAME if path.name == _COMMON else ""


def stands_in(path: Path) -> bool:
    """Tell whether a file is a stand-in, or as one that nobody has written to."""
    try:
        return read_regular(path, max_bytes=len(_SAME)) == _content(path).encode()
    except OSError:
        return False


def _remove_stand_in(path: Path) -> None:
    kind = stat.S_IFMT(path.lstat().st_mode)
    if kind == stat.S_IFDIR:
        path.rmdir()  # it stays where somebody has put something there
    elif kind == stat.S_IFREG and stands_in(path):
        path.unlink()
