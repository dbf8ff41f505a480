"""A server's data directory: its home in the sandbox, where what it keeps for itself stays.

Many servers make a directory in the home (`~/.NAME`), or write a file that a variable names, and end where
they cannot. The home of people is not theirs, so each gets one of its own: `HOME` names it, `~` in its
command line is still the person's home. A server that is started for its tool list alone gets an empty one,
which goes with it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias

from ironcurtain.decision.canonical.git.process import Git, GitFailedError, run_git
from ironcurtain.enforcement.sandbox.server_program import needs_home, npm_package, with_home
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.server_process import ServerStart
from ironcurtain.settings import clients_directory, user_directory
from ironcurtain.system.assets import KNOWN_SERVERS
from ironcurtain.system.files import atomic_write
from ironcurtain.system.structs import Struct, replace

_GIT_CONFIG = ".gitconfig"
_WHO = ("config", "--global", "--includes", "--get-regexp", r"^user\.(name|email)$")

Moved: TypeAlias = Callable[[Path], ServerStart]
"""Returns a start whose home is a directory."""


class DataDirectory(Struct):
    """Where one start of a server has its home.

    Attributes:
        place: The directory, there or not; None for an empty one that goes with the start.
        moved: Returns the start with its home in a directory.
        git: What git is to read there: who commits; empty where the server changes no repositories.
    """

    place: Path | None
    moved: Moved
    git: str = ""

    def furnish(self, place: Path) -> None:
        """Make the directory, and write git's file there anew.

        Raises:
            OSError: If that cannot be done.
        """
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self.git:
            atomic_write(place / _GIT_CONFIG, self.git.encode(), mode=0o600)


def data_place(servers: Path, name: str) -> Path:
    """Return the data directory of a server of a file; its namesake of another file has another one.

    All wraps of one client's file have the same.
    """
    file, clients = Path(os.path.realpath(servers)), Path(os.path.realpath(clients_directory()))
    whose = clients / file.relative_to(clients).parts[0] if file.is_relative_to(clients) else file
    digest = hashlib.sha256(os.fsencode(whose)).hexdigest()[:12]
    return Path(os.path.realpath(user_directory())) / "data" / f"{name}-{digest}"


def data_directory(
    server: Server,
    start: ServerStart,
    directory: Path,
    home: Path,
    place: Path | None,
    *,
    git: Git | None = None,
) -> DataDirectory | None:
    """Return where a server has its home; None where that stays the person's.

    It stays that where the entry says so, and for a manager of interpreters, which looks for them there.

    Args:
        server: The server.
        start: How it is started without a sandbox.
        directory: What relative paths of its entry start from.
        home: The person's home.
        place: The directory; None for an empty one.
        git: What knows who commits, for a server whose tools could change repositories; None for others.
    """
    if "HOME" in server.env or needs_home(server, directory):
        return None
    known = _kept(npm_package(server, directory))
    made = _git_config(home, git) if git is not None else ""
    # What programs of the person's own home read there, if the sandbox shows it, is no other file.
    configuration = None if made else home / _GIT_CONFIG
    return DataDirectory(place, partial(_moved, start, {*server.env}, home, configuration, known), made)


def _git_config(home: Path, git: Git) -> str:
    """Return a configuration of git with the person's name and address; empty if git knows neither.

    Of their own file nothing else is handed on: it may hold passwords, and name programs. Where the sandbox
    shows it, it counts.
    """
    try:
        answer = run_git(_WHO, directory=str(home), git=git)
    except GitFailedError:
        return ""
    who = [line.removeprefix("user.").partition(" ") for line in answer.output.splitlines()]
    if not who:
        return ""
    lines = [f"\t{name} = {_quoted(value)}" for name, _, value in who]
    return "\n".join(["[user]", *lines, "[include]", f"\tpath = {_quoted(str(home / _GIT_CONFIG))}", ""])


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _moved(
    start: ServerStart,
    named: set[str],
    home: Path,
    configuration: Path | None,
    known: Mapping[str, str],
    data: Path,
) -> ServerStart:
    given = {name: with_home(value, home) for name, value in (start.env or {}).items()}
    made = {
        "HOME": str(data),
        "GIT_CONFIG_GLOBAL": str(configuration or data / _GIT_CONFIG),
        "PYTHONUSERBASE": str(home / ".local"),
        **{name: str(data / path) for name, path in known.items()},
    }
    own = {name: value for name, value in made.items() if name not in named}
    return replace(start, args=[_with_home(word, home) for word in start.args], env={**given, **own})


def _with_home(word: str, home: Path) -> str:
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    return f"{option}{equals}{with_home(value, home)}"


def _kept(package: str) -> Mapping[str, str]:
    """Return the variables by which a well-known server is told where to keep its data, with paths there."""
    if not package:
        return {}
    for path in KNOWN_SERVERS.glob("*.json"):
        known = json.loads(path.read_bytes())
        if known["package"] == {"name": package, "registry": "npm"}:
            data: dict[str, str] = known.get("data", {})
            return data
    return {}
