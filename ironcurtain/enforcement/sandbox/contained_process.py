"""Starting a server inside the sandbox: its private files, the command that does it, and their end."""

from __future__ import annotations

import json
import re
import secrets
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp import StdioServerParameters

from ironcurtain.enforcement.sandbox.profile import Profile
from ironcurtain.enforcement.sandbox.programs import Programs
from ironcurtain.enforcement.sandbox.server_workspace import private_workspace, write_private
from ironcurtain.errors import ServerFailedError
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.private_runtime import runtime_directory
from ironcurtain.system.text import quoted

_RUNNER = Path(__file__).with_name("run.mjs")
_OPEN = ("own", "here", "tmp")
"""What a server's sandbox sees of its directory; it writes the last alone."""
_BWRAP = """#!/bin/sh
# bubblewrap leaves the system's settings open to root; a root user of the sandbox could change them.
# Where the server starts is there, though what is around it may be hidden; what is hidden takes no files.
open=yes
for word; do
  shift
  if [ "$word" = -- ] && [ "$open" = yes ]; then
    set -- "$@" --ro-bind /proc/sys /proc/sys --dir {directory} {sealed}
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


@dataclass(frozen=True)
class ContainedStart:
    """How a contained server is started.

    Attributes:
        start: Program, arguments, environment and working directory of the start.
        report: The file that what is seen is written to.
        held: Places that are there and mounted read-only. A mount goes with what is below it.
    """

    start: StdioServerParameters
    report: Path
    held: tuple[Path, ...]


@contextmanager
def contained(
    start: StdioServerParameters, profile: Profile, programs: Programs, *, strict: bool = True
) -> Iterator[ContainedStart]:
    """Make what a contained start needs; remove it when the server has ended.

    Args:
        start: The start without a sandbox.
        profile: What its sandbox lets it do.
        programs: What the survey found.
        strict: Whether nothing is started where a probe shows that the sandbox does not hold.

    Raises:
        FileError, OSError: If the private files cannot be made.
    """
    # Where there are no mounts, what is not there is held by a rule of the runtime instead.
    with private_workspace(list(profile.deny_write) if programs.bwrap is not None else []) as (
        workspace,
        standing,
    ):
        for name in _OPEN:
            (workspace / name).mkdir(mode=0o700)
        directory = Path(start.cwd or Path.cwd())
        settings = _settings(workspace, profile, standing, programs, directory)
        write_private(workspace / "settings.json", json.dumps(settings))
        write_private(workspace / "secret", secrets.token_hex(16))
        write_private(workspace / "report", "")
        write_private(workspace / "environment", _environment(start))
        mode = "strict" if strict else "lax"
        words = [str(_RUNNER), programs.library, str(workspace), mode, str(directory)]
        yield ContainedStart(
            StdioServerParameters(
                command=programs.node,
                args=[*words, start.command, *start.args],
                env=_our_environment(start, workspace, programs),
                cwd=workspace / "here",
            ),
            workspace / "report",
            tuple(standing),
        )


def _our_environment(start: StdioServerParameters, workspace: Path, programs: Programs) -> dict[str, str]:
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


def _environment(start: StdioServerParameters) -> str:
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
    workspace: Path, profile: Profile, standing: list[Path], programs: Programs, directory: Path
) -> dict[str, JsonValue]:
    """Return the runtime's whole configuration: of what is ours a server sees its own part alone."""
    settings: dict[str, JsonValue] = {
        "network": {
            "allowedDomains": list(profile.allowed_domains),
            "deniedDomains": list(profile.denied_domains),
        },
        "filesystem": {
            "denyRead": _literals([*profile.deny_read, runtime_directory()]),
            "allowRead": _literals([*profile.allow_read, *(workspace / name for name in _OPEN)]),
            "allowWrite": _literals([*profile.allow_write, workspace / "tmp"]),
            "denyWrite": _literals(standing or profile.deny_write),
        },
    }
    if programs.bwrap is not None:
        wrapper = workspace / "bwrap"
        made = _BWRAP.format(
            bwrap=shlex.quote(programs.bwrap),
            directory=shlex.quote(str(directory)),
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
