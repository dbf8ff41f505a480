"""Adding a server to `mcp-servers.json` and removing one; all else in the file stays to the letter."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ironcurtain.errors import FormatError, PublishError, ServerConfigError
from ironcurtain.integrations.clients.jsonc import JsonNode, parse
from ironcurtain.integrations.clients.server_permissions import Permissions
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, has_content, read_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import members
from ironcurtain.system.locks import directory_lock
from ironcurtain.system.text import quoted

_HOLDER = "mcpServers"
_INDENT = re.compile(r"(?:\n|\A)([ \t]*)\Z")
_UNIT = "  "


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Keep others who do the same from writing the file meanwhile; the lock is on its directory."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with directory_lock(path.parent):
        yield


def read_or_start(path: Path) -> str:
    """Return the file's text, or that of a file without servers where there is none.

    Raises:
        FileError: If it is there and cannot be read.
    """
    return read_text(path) if has_content(path) else json_text.pretty({_HOLDER: {}})


def with_server(text: str, source: str, name: str, entry: JsonValue) -> str:
    """Return the text with a server more, behind the others.

    Args:
        text: The file's text.
        source: The file, for errors.
        name: The server's name; it is not there yet.
        entry: Its configuration.

    Raises:
        FormatError: If the text is no object with an object `mcpServers`.
    """
    holder = _holder(text, source)
    last = holder.members[-1] if holder.members else None
    indent = _indent(text, last.start) if last is not None else _indent(text, _line_start(text, holder.start))
    if last is None:
        indent = (indent or "") + _UNIT
    if indent is None:  # all on one line
        return f"{text[: holder.end - 1].rstrip()}, {_member(name, entry, None)}{text[holder.end - 1 :]}"
    written = f"\n{indent}{_member(name, entry, indent)}"
    if last is None:
        return f"{text[: holder.start]}{{{written}\n{indent[: -len(_UNIT)]}}}{text[holder.end :]}"
    return f"{text[: last.end]},{written}{text[last.end :]}"


def with_permissions(text: str, source: str, name: str, more: Permissions, permitted: Iterable[str]) -> str:
    """Return the text with permissions more for a server that is there; its entry alone is written anew.

    Args:
        text: The file's text.
        source: The file, for errors.
        name: The server's name.
        more: What is added.
        permitted: Domains that the rules open to it.

    Raises:
        FormatError: If the text is no object with an object `mcpServers`.
        ServerConfigError: If there is no such server, or it is not contained.
    """
    member = _holder(text, source).member(name)
    if member is None:
        raise ServerConfigError(f"there is no server {quoted(name)}", where=source)
    entry = member.node.fields
    if entry.get("sandbox") is False:
        raise ServerConfigError(
            f"{quoted(name)} has no sandbox that could be opened",
            where=source,
            hint='It says "sandbox": false.',
        )
    made = more.added_to(members(entry.get("sandbox")), permitted)
    if made == entry.get("sandbox"):
        return text
    indent = _indent(text, member.start)
    if indent is None:
        written = json.dumps({**entry, "sandbox": made}, ensure_ascii=False)
    else:
        lines = json.dumps({**entry, "sandbox": made}, ensure_ascii=False, indent=len(_UNIT))
        written = lines.replace("\n", f"\n{indent}")
    return f"{text[: member.node.start]}{written}{text[member.node.end :]}"


def without_server(text: str, source: str, name: str) -> str:
    """Return the text with a server less.

    Raises:
        FormatError: If the text is no object with an object `mcpServers`.
        ServerConfigError: If it has no such server, or no other.
    """
    members = _holder(text, source).members
    at = next((number for number, member in enumerate(members) if member.name == name), None)
    if at is None:
        names = ", ".join(member.name for member in members)
        raise ServerConfigError(
            f"there is no server {quoted(name)}", where=source, hint=f"There are: {names}."
        )
    if len(members) == 1:
        raise ServerConfigError(
            f"{quoted(name)} is the only server, and the file must name one",
            where=source,
            hint="Add the one that is to replace it first.",
        )
    if at == 0:
        return text[: members[0].start] + text[members[1].start :]
    return text[: members[at - 1].end] + text[members[at].end :]


def write(path: Path, text: str) -> None:
    """Replace the file at once, with the permissions that it has; behind a link the file it leads to.

    Raises:
        PublishError: If it cannot be written; it is then as it was.
    """
    target = path.resolve()
    try:
        mode = stat.S_IMODE(target.stat().st_mode) if has_content(target) else 0o644
        atomic_write(target, text.encode(), mode=mode)
    except OSError as error:
        raise PublishError(
            f"the file cannot be written: {error.strerror or error}",
            where=str(path),
            hint="It is as it was before.",
        ) from error


def _holder(text: str, source: str) -> JsonNode:
    root = parse(text, source)
    member = root.member(_HOLDER)
    if member is None or not isinstance(member.node.value, dict):
        raise FormatError(f'the file has no object "{_HOLDER}"', where=source)
    return member.node


def _member(name: str, entry: JsonValue, indent: str | None) -> str:
    if indent is None:
        return f"{json.dumps(name)}: {json.dumps(entry, ensure_ascii=False)}"
    lines = json.dumps(entry, ensure_ascii=False, indent=len(_UNIT)).replace("\n", f"\n{indent}")
    return f"{json.dumps(name)}: {lines}"


def _indent(text: str, at: int) -> str | None:
    """Return what stands before a place on its line, None if it is more than blanks."""
    found = _INDENT.search(text, 0, at)
    return found.group(1) if found else None


def _line_start(text: str, at: int) -> int:
    start = text.rfind("\n", 0, at) + 1
    return start + len(text[start:at]) - len(text[start:at].lstrip(" \t"))
