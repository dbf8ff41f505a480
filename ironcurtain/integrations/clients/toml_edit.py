"""Changes of a TOML file: the tables of servers out, one in, everything else to the letter as it was.

Whoever writes a TOML document anew loses where comments stood. So `tomllib` says what a text means, and the
lines of a server's tables are taken out of it; what is left is read back before it is written to a file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from typing import Any

from ironcurtain.errors import FormatError
from ironcurtain.integrations.clients.edit import JsonNode, Member, Syntax, with_line_ends
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_TOKEN = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'[^'\n]*'|#[^\n]*|\n|[^\"'#\n]+",
    re.DOTALL,
)
_BARE = re.compile(r"[A-Za-z0-9_-]+")


class _Section(Struct):
    """A table with its header.

    Attributes:
        path: The keys of the header.
        start: Where the header's line begins.
        end: Behind the last line that is neither blank nor a comment.
    """

    path: tuple[str, ...]
    start: int
    end: int


def _read(text: str, source: str, pointer: tuple[str, ...]) -> tuple[JsonNode, JsonNode | None]:
    try:
        value: dict[str, Any] = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise FormatError(f"not valid TOML: {error}", where=source) from None
    holder: Any = value
    for key in pointer:
        holder = holder.get(key) if isinstance(holder, dict) else None
    root = JsonNode(0, len(text), value)
    if holder is None:
        return root, None
    sections = list(_sections(text))
    found = _members(sections, pointer, holder) if isinstance(holder, dict) else ()
    return root, JsonNode(
        min((each.start for each in found), default=0),
        max((each.end for each in found), default=0),
        holder,
        tuple(found),
    )


def _members(
    sections: list[_Section], pointer: tuple[str, ...], holder: dict[str, Any]
) -> tuple[Member, ...]:
    """Return the servers whose tables stand one behind the other, each under a header of its own."""
    found = []
    for name, value in holder.items():
        path = (*pointer, name)
        own = [number for number, each in enumerate(sections) if each.path[: len(path)] == path]
        if own and own[-1] - own[0] == len(own) - 1:
            start, end = sections[own[0]].start, sections[own[-1]].end
            found.append(Member(name, start, JsonNode(start, end, value), None))
    return tuple(found)


def _sections(text: str) -> Iterator[_Section]:
    """Yield the tables that have headers, in their order."""
    headers = [*_headers(text), (len(text), ())]
    for (start, path), (after, _) in pairwise(headers):
        lines = text[start:after].splitlines(keepends=True)
        while lines and lines[-1].lstrip()[:1] in {"", "#"}:
            lines.pop()
        yield _Section(path, start, start + sum(map(len, lines)))


def _headers(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    depth, is_start = 0, True
    for token in _TOKEN.finditer(text):
        plain = token[0]
        if is_start and depth == 0 and plain.lstrip().startswith("["):
            line = text[token.start() :].splitlines()[0]
            yield token.start(), _path(line)
        if plain[0] not in "\"'#":
            depth += sum(plain.count(each) for each in "[{") - sum(plain.count(each) for each in "]}")
        is_start = plain == "\n" or (is_start and not plain.strip())


def _path(header: str) -> tuple[str, ...]:
    steps: list[str] = []
    node: Any = tomllib.loads(header)
    while isinstance(node, dict) and node:
        ((key, node),) = node.items()
        steps.append(key)
        node = node[0] if isinstance(node, list) else node
    return tuple(steps)


def _collapsed(
    text: str,
    holder: JsonNode,
    taken: Collection[str],
    name: str,
    value: dict[str, JsonValue],
    pointer: tuple[str, ...],
) -> str:
    first, *others = sorted((each for each in holder.members if each.name in taken), key=lambda m: m.start)
    entry = with_line_ends(_written(pointer, name, value), text)
    for member in reversed(others):
        rest = text[member.end :]
        text = text[: member.start] + rest[len(rest) - len(rest.lstrip("\r\n")) :]
    return text[: first.start] + entry + text[first.end :]


def _expanded(text: str, holder: JsonNode, name: str, source: str, members: Sequence[Member]) -> str:
    (gone,) = (member for member in holder.members if member.name == name)
    new = "\n".join(_ended(source[member.start : member.end]) for member in members)
    return text[: gone.start] + with_line_ends(new, text) + text[gone.end :]


def _ended(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"


def _written(pointer: tuple[str, ...], name: str, value: dict[str, JsonValue]) -> str:
    header = ".".join(key if _BARE.fullmatch(key) else _value(key) for key in (*pointer, name))
    plain = {key: each for key, each in value.items() if not isinstance(each, dict)}
    tables = {key: each for key, each in value.items() if isinstance(each, dict)}
    lines = [f"[{header}]", *(f"{key} = {_value(each)}" for key, each in plain.items())]
    text = "\n".join(lines) + "\n"
    return text + "".join("\n" + _written((*pointer, name), key, each) for key, each in tables.items())


def _value(value: JsonValue) -> str:
    """Return a value on one line; JSON's strings and numbers are TOML's, too."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {_value(each)}' for key, each in value.items())} }}"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _on_one_line(pointer: tuple[str, ...], name: str, value: dict[str, JsonValue]) -> str:
    return f"{name} = {_value(value)} (in [{'.'.join(pointer)}])"


TOML = Syntax("TOML", _read, _collapsed, _expanded, _written, _on_one_line)
