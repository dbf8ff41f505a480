"""Entries of lists that are none of the protocol, by what is wrong with them, and how each is named."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fixtures import raw_server

OBJECT = {"type": "object"}
BAD_TOOLS: dict[str, tuple[Any, str]] = {
    "null": (None, "the tool at place 2 is left out: it is no object"),
    "number": (5, "the tool at place 2 is left out: it is no object"),
    "unnamed": ({"inputSchema": OBJECT}, "the tool at place 2 is left out: name"),
    "named-by-number": ({"name": 5, "inputSchema": OBJECT}, "the tool at place 2 is left out: name"),
    "badly-named": ({"name": "a b", "inputSchema": OBJECT}, 'the tool "a b" is left out: names are of'),
    "no-schema": ({"name": "bad"}, 'the tool "bad" is left out: inputSchema'),
    "null-schema": ({"name": "bad", "inputSchema": None}, 'the tool "bad" is left out: inputSchema'),
    "empty-schema": ({"name": "bad", "inputSchema": {}}, 'the tool "bad" is left out: inputSchema.type'),
    "rootless-schema": (
        {"name": "bad", "inputSchema": {"properties": {}}},
        'the tool "bad" is left out: inputSchema.type',
    ),
    "array-schema": (
        {"name": "bad", "inputSchema": {"type": "array"}},
        'the tool "bad" is left out: inputSchema.type',
    ),
    "no-schema-at-all": (
        {"name": "bad", "inputSchema": {"type": "object", "required": 5}},
        'the tool "bad" is left out: inputSchema.required',
    ),
    "reference-to-nothing": (
        {"name": "bad", "inputSchema": {**OBJECT, "properties": {"x": {"$ref": "#/$defs/x"}}}},
        'the tool "bad" is left out: its input schema is no usable JSON Schema',
    ),
    "hint": (
        {"name": "bad", "inputSchema": OBJECT, "annotations": {"readOnlyHint": "perhaps"}},
        'the tool "bad" is left out: annotations.readOnlyHint',
    ),
    "icon": (
        {"name": "bad", "inputSchema": OBJECT, "icons": [{"src": 5}]},
        'the tool "bad" is left out: icons.0.src',
    ),
    "output-schema": (
        {"name": "bad", "inputSchema": OBJECT, "outputSchema": "text"},
        'the tool "bad" is left out: outputSchema',
    ),
    "rootless-output-schema": (
        {"name": "bad", "inputSchema": OBJECT, "outputSchema": {"properties": {}}},
        'the tool "bad" is left out: outputSchema.type',
    ),
    "description": (
        {"name": "bad", "inputSchema": OBJECT, "description": ["x"]},
        'the tool "bad" is left out: description',
    ),
    "meta": ({"name": "bad", "inputSchema": OBJECT, "_meta": 5}, 'the tool "bad" is left out: _meta'),
}


def answering(directory: Path, name: str, results: Mapping[str, Iterable[Any]]) -> list[str]:
    """Return the arguments of Python for a server that gives these results, by method."""
    file = directory / f"{name}.json"
    file.write_text(json.dumps({method: [*each] for method, each in results.items()}))
    return [raw_server.__file__, str(file)]


def listing(directory: Path, name: str, *tools: Any) -> list[str]:
    """Return the arguments of Python for a server that lists these tools, and nothing else."""
    return answering(directory, name, {"tools/list": [{"tools": tools}]})


def server_of(arguments: list[str]) -> dict[str, Any]:
    """Return how a server is configured that is started without a sandbox."""
    return {"command": sys.executable, "args": arguments, "sandbox": False}
