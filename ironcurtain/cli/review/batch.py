"""Reading the calls of `ironcurtain decide --batch`: one line, one call, whatever the line holds."""

from __future__ import annotations

import json
from pathlib import Path

from ironcurtain.decision.decide import Call
from ironcurtain.errors import UsageError
from ironcurtain.system import json_text
from ironcurtain.system.files import read_bytes
from ironcurtain.system.frozen import JsonValue

_MAX_BYTES = 1 << 30
_KEYS = {"id", "server", "tool", "arguments", "caller"}


def read_batch(path: Path, caller: dict[str, JsonValue] | None) -> list[Call]:
    """Return a call for each line of a file, so that line N of the result is about line N of the file.

    Args:
        path: The file: JSON lines.
        caller: Facts about the caller for lines that say none.

    Raises:
        FileError: If the file cannot be read.
        UsageError: If it is empty.
    """
    data = read_bytes(path, max_bytes=_MAX_BYTES)
    if not data.strip():
        raise UsageError(
            "the batch is empty", where=str(path), hint="Write one JSON object a line, one for each call."
        )
    return [_call(line, caller) for line in data.removesuffix(b"\n").split(b"\n")]


def _call(line: bytes, caller: dict[str, JsonValue] | None) -> Call:
    """Read one line; what is no call becomes one that is denied as malformed."""
    try:
        value = json_text.parse(line, max_bytes=2 * json_text.MAX_BYTES)
    except json_text.MalformedJsonError:
        return Call("", "", line)
    if isinstance(value, dict) and value.keys() <= _KEYS:
        server, tool, own = value.get("server"), value.get("tool"), value.get("caller", {})
        if isinstance(server, str) and isinstance(tool, str) and isinstance(own, dict):
            facts = own if "caller" in value else caller
            return Call(server, tool, value.get("arguments"), facts, id=_id(value))
    return Call("", "", "no call", id=_id(value))


def _id(value: JsonValue) -> str | None:
    found = value.get("id") if isinstance(value, dict) else None
    return found if found is None or isinstance(found, str) else json.dumps(found)
