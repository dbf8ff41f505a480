"""Adding a server to `mcp-servers.json` and removing one; all else in the file stays to the letter.

What `servers add --allow-write --allow-domain` adds to the sandbox of one server.
"""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ironcurtain.enforcement.sandbox.profile import can_be_let_through
from ironcurtain.errors import FormatError, PublishError, ServerConfigError, UsageError
from ironcurtain.integrations.clients.edit import JsonNode, parse
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, has_content, read_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import members
from ironcurtain.system.locks import directory_lock
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible

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

    Raises:
        FormatError: If the text is no object with an object `mcpServers`.
        ServerConfigError: If there is no such server, or it is not contained.
    """
    member = _holder(text, source).member(name)
    if member is None:
        raise ServerConfigError(
            f"there is no server {quoted(name)}",
            where=source,
            hint="Where it is not added yet, give its command, too: … --allow-write DIR -- COMMAND",
        )
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
    match = _INDENT.search(text, 0, at)
    return match.group(1) if match else None


def _line_start(text: str, at: int) -> int:
    start = text.rfind("\n", 0, at) + 1
    return start + len(text[start:at]) - len(text[start:at].lstrip(" \t"))


class Permissions(Struct):
    """Directories to write, and domains to contact.

    Attributes:
        write: Absolute, or from the home on.
        domains: Names, `*.` for subdomains.
    """

    write: tuple[str, ...]
    domains: tuple[str, ...]

    @classmethod
    def of(cls, write: Iterable[str], domains: Iterable[str]) -> Permissions:
        """Take what the command line says; what is relative there starts where the command runs.

        Raises:
            UsageError: If one is no domain.
        """
        for domain in (found := tuple(domains)):
            if not can_be_let_through(domain):
                raise UsageError(
                    f"{quoted(domain)} is no domain", hint="Write a name: example.com, or *.example.com."
                )
        return cls(tuple(_placed(path) for path in write), found)

    @property
    def any(self) -> bool:
        """Whether there are some."""
        return bool(self.write or self.domains)

    @property
    def words(self) -> list[str]:
        """What the server may do by them, a few words each."""
        return [
            *(f"may write {visible(path)}" for path in self.write),
            *(f"may contact {visible(domain)}" for domain in self.domains),
        ]

    def added_to(self, sandbox: Mapping[str, JsonValue], permitted: Iterable[str]) -> dict[str, JsonValue]:
        """Return the key `sandbox` with these permissions more.

        Args:
            sandbox: The key as it is, of a file that is valid.
            permitted: Domains that the rules open, for a server that has no list of its own yet.
        """
        made = dict(sandbox)
        if self.write:
            files = members(made.get("filesystem"))
            made["filesystem"] = {**files, "allowWrite": _united(_texts(files.get("allowWrite")), self.write)}
        if self.domains:
            network = members(made.get("network"))
            there = _texts(network["allowedDomains"]) if "allowedDomains" in network else permitted
            made["network"] = {**network, "allowedDomains": _united(there, self.domains)}
        return made


def _placed(path: str) -> str:
    return path if path == "~" or path.startswith(("~/", "/")) else str(Path(path).absolute())


def _texts(value: JsonValue) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _united(there: Iterable[str], more: Iterable[str]) -> list[JsonValue]:
    return list(dict.fromkeys([*there, *more]))
