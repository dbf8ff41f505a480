"""The command that lets a server do what its sandbox refused it."""

from __future__ import annotations

import re
import shlex
from pathlib import PurePosixPath

from ironcurtain.system.text import visible

_WRITE = re.compile(r"deny \w+ (?P<path>/.*)")
_NETWORK = re.compile(r"deny network-outbound (?P<host>\S+?):(?P<port>\d+)(?: .*)?")
_FILE_SUFFIX = re.compile(r".+\.[A-Za-z0-9]{1,8}")


def offer(server: str, what: str, value: str) -> str:
    """Return what mends a refusal, as a command where one does.

    Args:
        server: The server's name.
        what: `read`, `write` or `contact`.
        value: The path or URL.
    """
    if what == "contact":
        host = re.sub(r"^[a-z]+://|[/?#].*", "", value)
        return command_for(server, "--allow-domain", host)
    if what == "write":
        return command_for(server, "--allow-write", _directory(value))
    return f"name it in allowRead of {server} in mcp-servers.json, if it is no key or sign-in"


def offer_for(server: str, violation: str) -> str:
    """Return the command that allows what a server was seen to be refused; empty where there is none."""
    if found := _NETWORK.fullmatch(violation):
        return command_for(server, "--allow-domain", found["host"])
    if found := _WRITE.fullmatch(violation):
        return command_for(server, "--allow-write", _directory(found["path"]))
    return ""


def command_for(server: str, option: str, value: str) -> str:
    """Return the command that gives a server one permission more."""
    return f"`ironcurtain servers add {server} {option} {visible(shlex.quote(value))}`"


def _directory(path: str) -> str:
    """Return the directory to open so that a path can be written: that of what looks like a file."""
    pure = PurePosixPath(path)
    return str(pure.parent if _FILE_SUFFIX.fullmatch(pure.name) else pure)
