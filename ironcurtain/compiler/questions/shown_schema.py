"""A tool's input schema as questions show it: what its arguments are, with references followed.

An enumeration behind a `$ref` is as visible as one that stands in its place. A reference that leads to
itself, or a schema that would grow beyond bounds, keeps its reference, and what it names is shown once.
"""

from __future__ import annotations

from ironcurtain.decision.canonical.pointers import tokens
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system.frozen import JsonValue

MAX_FOLLOWED = 200
"""The most references of one schema that are replaced by what they name."""

_SHOWN = ("properties", "required", "anyOf", "oneOf", "allOf")


def shown_schema(schema: dict[str, JsonValue] | None) -> dict[str, JsonValue]:
    """Return the parts of an input schema that say what a call may hold."""
    if not schema:
        return {}
    follower = _Follower(schema)
    shown = {key: follower.followed(schema[key], ()) for key in _SHOWN if key in schema}
    return {**shown, **({"definitions": follower.left} if follower.left else {})}


def tool_for_rules(tool: ToolAnnotation) -> dict[str, JsonValue]:
    """Return a tool as rules need to know it: of a resource its roles, of any other argument its schema."""
    data = tool.model_dump(
        mode="json",
        by_alias=True,
        exclude_unset=True,
        exclude={"args", "input_schema", "schema_digest", "listing_digest", "source"},
    )
    args = [arg.model_dump(mode="json", by_alias=True, exclude_unset=True) for arg in tool.args]
    resources = [arg for arg in args if arg != {"name": arg["name"], "roles": ["none"]}]
    schema = shown_schema(tool.input_schema)
    if isinstance(properties := schema.get("properties"), dict):
        known = {arg["name"] for arg in resources if arg.get("roles") != ["none"]}
        schema["properties"] = {
            name: _undescribed(shown) if name in known else shown for name, shown in properties.items()
        }
    return {**data, "args": resources, "input_schema": schema}


def _undescribed(shown: JsonValue) -> JsonValue:
    if not isinstance(shown, dict):
        return shown
    return {key: value for key, value in shown.items() if key != "description"}


class _Follower:
    """Follows the references of one schema.

    Attributes:
        left: What the references name that were left in place, by reference.
    """

    def __init__(self, schema: dict[str, JsonValue]) -> None:
        self._schema = schema
        self._count = 0
        self.left: dict[str, JsonValue] = {}

    def followed(self, node: JsonValue, above: tuple[str, ...]) -> JsonValue:
        """Return a part of the schema with its references replaced.

        `above` are the references that led here.
        """
        if isinstance(node, list):
            return [self.followed(item, above) for item in node]
        if not isinstance(node, dict):
            return node
        name = node.get("$ref")
        target = self._target(name) if isinstance(name, str) else None
        if target is None or not isinstance(name, str):
            return {key: self.followed(value, above) for key, value in node.items()}
        beside = {key: self.followed(value, above) for key, value in node.items() if key != "$ref"}
        if name in above or self._count >= MAX_FOLLOWED:
            self._leave(target, name)
            return {"$ref": name, **beside}
        self._count += 1
        target_shown = self.followed(target, (*above, name))
        return {**target_shown, **beside} if isinstance(target_shown, dict) else target_shown

    def _leave(self, node: JsonValue, name: str = "") -> None:
        """Keep what a reference names, and what that refers to in turn."""
        if name in self.left:
            return
        if name:
            self.left[name] = node
        for item in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
            self._leave(item)
        inner = node.get("$ref") if isinstance(node, dict) else None
        if isinstance(inner, str) and (target := self._target(inner)) is not None:
            self._leave(target, inner)

    def _target(self, name: str) -> JsonValue | None:
        """Return what a reference to a place of this schema names; None for any other."""
        if not name.startswith("#/"):
            return None
        node: JsonValue = self._schema
        for token in tokens(name[1:]):
            node = node.get(token) if isinstance(node, dict) else None
        return node
