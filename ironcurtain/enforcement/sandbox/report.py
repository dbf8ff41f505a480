"""What the runner saw of a contained server: its report, read as it grows, and what mends a refusal."""

from __future__ import annotations

import json
import os
import re
import shlex
from pathlib import Path, PurePosixPath

from ironcurtain.servers.fetched.tree import managed_directory
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_MOST = 1 << 20
_WRITTEN = re.compile(r"deny \w+ (?P<path>/.*)")
_COMPILED = "__pycache__"
_CACHES = (".cache", ".npm", ".node-gyp", ".yarn", ".bun", ".deno", ".local/share/uv", "Library/Caches")
"""Where interpreters and their package managers keep what they can make again, below the home."""
TOLD = frozenset({"violation", "open", "refused", "repository", "unexamined"})
"""The kinds of `Observation` that the person at the proxy must know of."""
_TRIED = {
    "write": "write a file outside",
    "read": "read a denied file",
    "network": "connect to this machine",
    "system": "change a setting of the system",
}


class Observation(Struct):
    """One thing that was seen.

    Attributes:
        kind: `observed` (what a probe inside an identical sandbox could not do), `open` (something that it
            could), `violation` (what the server tried and was refused, or a repository that nobody is let
            make), `refused` (why nothing was started), `repository` (a new one, which a server may have
            been let make), `unexamined` (what was not looked at).
        text: What, safe to show.
    """

    kind: str
    text: str


class Report:
    """A report file; `new` returns what has been added since the last time."""

    def __init__(self, path: Path, home: Path) -> None:
        """Read what is written to `path`; of the home, caches are known by their places."""
        self._path, self._caches = path, [home / name for name in _CACHES]
        self._read = 0
        self._rest = b""

    def new(self) -> list[Observation]:
        """Return what is new; nothing once the file has gone."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                data = file.read(_MOST)
        except OSError:
            return []
        self._read += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        seen = [_seen(json.loads(line)) for line in lines if line]
        return [entry for entry in seen if not self._is_cache(entry)]

    def _is_cache(self, seen: Observation) -> bool:
        """Tell whether an interpreter only wanted to keep what it has made: it goes on without."""
        written = _WRITTEN.fullmatch(seen.text) if seen.kind == "violation" else None
        if written is None:
            return False
        path = Path(written["path"])
        return _COMPILED in path.parts or any(path.is_relative_to(cache) for cache in self._caches)


def _seen(line: dict[str, JsonValue]) -> Observation:
    held = line.get("observed")
    if isinstance(held, dict):
        open_ = [_TRIED[name] for name, is_held in held.items() if not is_held]
        if open_:
            return Observation("open", f"a probe in the sandbox could {', '.join(open_)}")
        return Observation(
            "observed", f"a probe in the sandbox could not {', nor '.join(map(_TRIED.__getitem__, held))}"
        )
    kind, text = next(iter(line.items()))
    return Observation(kind, visible(str(text))[:500])


# -- what mends a refusal ----------------------------------------------------------------------

_WRITE = re.compile(r"deny \w+ (?P<path>/.*)")
_NETWORK = re.compile(r"deny network-outbound (?P<host>\S+?):(?P<port>\d+)(?: .*)?")
_FILE_SUFFIX = re.compile(r".+\.[A-Za-z0-9]{1,8}")


def offer(server: str, what: str, value: str, file: Path, home: str) -> str:
    """Return what mends a refusal, as a command where one does; `file` configures the server."""
    if what == "contact":
        host = re.sub(r"^[a-z]+://|[/?#].*", "", value)
        return command_for(server, "--allow-domain", host, file)
    if what == "write":
        return _to_write(server, value, file, home)
    return f"name it in allowRead of {server} in {visible(str(file))}, if it is no key or sign-in"


def offer_for(server: str, violation: str, file: Path, home: str) -> str:
    """Return what mends what a server was seen to be refused; empty where nothing does."""
    if match := _NETWORK.fullmatch(violation):
        return command_for(server, "--allow-domain", match["host"], file)
    if match := _WRITE.fullmatch(violation):
        return _to_write(server, match["path"], file, home)
    return ""


def _to_write(server: str, path: str, file: Path, home: str) -> str:
    """Return what lets a server write a path: neither the whole home for one file, nor what is pinned."""
    if Path(path).is_relative_to(os.path.realpath(managed_directory())):
        return "nothing opens its own program, which is pinned: tell it to keep its files elsewhere"
    if (directory := _directory(path)) == home:
        return "shells and programs run what lies directly in the home: have it write in a directory below"
    command = command_for(server, "--allow-write", directory, file)
    # What is not there when the server starts is opened to nobody.
    made = "" if Path(directory).is_dir() else f"mkdir -p {visible(shlex.quote(directory))} && "
    return f"`{made}{command[1:]}"


def command_for(server: str, option: str, value: str, file: Path) -> str:
    """Return the command that gives a server one permission more, wherever a person types it.

    It names the file: that of a wrapped client is no project's.
    """
    named, given = shlex.quote(str(file.absolute())), shlex.quote(value)
    return f"`ironcurtain servers add {server} --servers {visible(named)} {option} {visible(given)}`"


def _directory(path: str) -> str:
    """Return the directory to open so that a path can be written: that of what looks like a file."""
    pure = PurePosixPath(path)
    return str(pure.parent if _FILE_SUFFIX.fullmatch(pure.name) else pure)
