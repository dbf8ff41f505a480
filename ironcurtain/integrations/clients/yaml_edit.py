"""Changes of a YAML file: servers out, one in, everything else to the letter as it was.

Servers are the members of an object, or the items of a list that have a `name`. ruamel's parser says which
lines each takes; what is left is read back before it is written to a file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from ironcurtain.errors import FormatError
from ironcurtain.integrations.clients.edit import JsonNode, Member, Syntax, with_line_ends
from ironcurtain.system import yaml_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import members
from ironcurtain.system.text import quoted

_ITEM = "- "


def _read(text: str, source: str, pointer: tuple[str, ...]) -> tuple[JsonNode, JsonNode | None]:
    value = yaml_text.parse(text, source)
    (key,) = pointer
    holder = members(value).get(key)
    if isinstance(holder, list):
        holder = _by_name(holder, source)
        value = {**members(value), key: holder}
    root = JsonNode(0, len(text), value)
    if holder is None:
        return root, None
    found = _members(text, key, holder) if isinstance(holder, dict) else []
    start = min((each.start for each in found), default=0)
    end = max((each.end for each in found), default=0)
    return root, JsonNode(start, end, holder, tuple(found))


def _by_name(items: list[JsonValue], source: str) -> dict[str, JsonValue]:
    """Return the servers of a list by name; what has none is named by all that it holds."""
    found: dict[str, JsonValue] = {}
    for item in items:
        entry = members(item)
        name = entry.get("name")
        key = name if isinstance(name, str) else json.dumps(item)
        if key in found:
            raise FormatError(f"two servers have the name {quoted(key)}", where=source)
        found[key] = {each: value for each, value in entry.items() if each != "name"}
    return found


def _members(text: str, key: str, holder: dict[str, JsonValue]) -> list[Member]:
    """Return the servers that have lines of their own: not those in brackets."""
    node = next((value for name, value in yaml_text.nodes(text).value if name.value == key), None)
    if node is None or node.flow_style:
        return []
    is_list = node.id == "sequence"
    starts = [(each if is_list else each[0]).start_mark.index for each in node.value]
    lines = [text.rfind("\n", 0, start) + 1 for start in starts]
    if any(
        text[line:start].strip() != ("-" if is_list else "")
        for line, start in zip(lines, starts, strict=True)
    ):
        return []
    ends = [
        _end(text, start, after)
        for start, after in zip(lines, [*lines[1:], node.end_mark.index], strict=True)
    ]
    return [
        Member(name, start, JsonNode(start, end, value), None)
        for (name, value), start, end in zip(holder.items(), lines, ends, strict=True)
    ]


def _end(text: str, start: int, after: int) -> int:
    """Return where a server's last line ends that is neither blank nor a comment."""
    lines = text[start:after].splitlines(keepends=True)
    while lines and lines[-1].lstrip()[:1] in {"", "#"}:
        lines.pop()
    return start + sum(map(len, lines))


def _collapsed(
    text: str,
    holder: JsonNode,
    taken: Collection[str],
    name: str,
    value: dict[str, JsonValue],
    _pointer: tuple[str, ...],
) -> str:
    first, *others = (member for member in holder.members if member.name in taken)
    indent = text[first.start :][: len(text[first.start :]) - len(text[first.start :].lstrip(" "))]
    is_list = text[first.start + len(indent) :].startswith("-")
    written = yaml_text.written([{"name": name, **value}] if is_list else {name: value})
    entry = "".join(indent + line for line in written.splitlines(keepends=True))
    for member in reversed(others):
        text = text[: member.start] + text[member.end :]
    return text[: first.start] + with_line_ends(entry, text) + text[first.end :]


def _expanded(text: str, holder: JsonNode, name: str, source: str, members: Sequence[Member]) -> str:
    (gone,) = (member for member in holder.members if member.name == name)
    new = "".join(f"{source[member.start : member.end].rstrip()}\n" for member in members)
    return text[: gone.start] + with_line_ends(new, text) + text[gone.end :]


def _written(pointer: tuple[str, ...], name: str, value: dict[str, JsonValue]) -> str:
    (key,) = pointer
    return yaml_text.written({key: [{"name": name, **value}] if key == "mcpServers" else {name: value}})


def _on_one_line(pointer: tuple[str, ...], name: str, value: dict[str, JsonValue]) -> str:
    if pointer == ("mcpServers",):
        return f"- {json.dumps({'name': name, **value}, ensure_ascii=False)}"
    return f"{name}: {json.dumps(value, ensure_ascii=False)}"


YAML = Syntax("YAML", _read, _collapsed, _expanded, _written, _on_one_line)
