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

    References to definitions stay, since those are not changed. All others are rewritten to lead into a copy
    of the whole schema, which is added to the definitions.
    """
    copied = copy.deepcopy(schema)
    to_arguments = [
        (node, target) for node, target in _references(copied) if not target.startswith(_DEFINITIONS)
    ]
    if not to_arguments:
        return copied
    definitions = copied.setdefault("$defs", {})
    if not isinstance(definitions, dict):
        definitions = copied["$defs"] = {}  # nothing can refer to what is no object
    name = "published"
    while name in definitions:
        name += "-"
    for node, target in to_arguments:
        node["$ref"] = f"#/$defs/{name}{target.removeprefix('#')}"
    published = {key: value for key, value in copied.items() if key not in ("$schema", "$id", "$defs")}
    definitions[name] = copy.deepcopy(published)
    return copied


def _references(value: JsonValue) -> Iterator[tuple[dict[str, JsonValue], str]]:
    """Yield every schema in a schema that refers to another place of it, with the reference."""
    if isinstance(value, dict):
        target = value.get("$ref")
        if isinstance(target, str) and target.startswith("#"):
            yield value, target
        for key, child in value.items():
            if key not in _DATA:
                yield from _references(child)
    elif isinstance(value, list):
        for child in value:
            yield from _references(child)
