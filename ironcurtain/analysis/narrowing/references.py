"""References of a schema to its own arguments, kept at what the server published.

Some servers write the schema of one argument as a reference to another one's. What a policy takes away from
the other one is not taken from this one.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator

from ironcurtain.system.frozen import JsonValue

_DEFINITIONS = ("#/$defs/", "#/definitions/")
_DATA = frozenset({"enum", "const", "default", "examples"})


def detached(schema: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return a copy of a tool's schema whose arguments can be changed one by one.

    References to definitions stay: those are not changed. All others lead into a copy of the whole schema,
    which stands among the definitions.
    """
    copied: dict[str, JsonValue] = copy.deepcopy(schema)
    tied = [node for node in _referring(copied) if not node["$ref"].startswith(_DEFINITIONS)]
    if not tied:
        return copied
    definitions = copied.setdefault("$defs", {})
    name = "published"
    while name in definitions:
        name += "-"
    for node in tied:
        node["$ref"] = f"#/$defs/{name}{node['$ref'].removeprefix('#')}"
    whole = {key: value for key, value in copied.items() if key not in ("$schema", "$id", "$defs")}
    definitions[name] = copy.deepcopy(whole)
    return copied


def _referring(value: JsonValue) -> Iterator[dict[str, JsonValue]]:
    """Yield every schema in a schema that refers to another place of it."""
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str) and value["$ref"].startswith("#"):
            yield value
        for key, below in value.items():
            if key not in _DATA:
                yield from _referring(below)
    elif isinstance(value, list):
        for below in value:
            yield from _referring(below)
