"""The arguments of a tool as its schema describes them: top-level ones and what lies below them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_MAX_DEPTH = 8
_COMBINERS = ("anyOf", "oneOf", "allOf")
_LAID_OVER = (*_COMBINERS, "$ref")
_TEXT_TYPES = frozenset({"string", "array"})


class SchemaLeaf(Struct):
    """A place in a tool's arguments.

    Attributes:
        name: The top-level name, or a JSON pointer with `*` for every element.
        schema: What the schema says there (merged over its alternatives); empty if nothing.
        inner: Whether more named places lie below it.
    """

    name: str
    schema: dict[str, JsonValue]
    inner: bool = False

    @property
    def top_level(self) -> str:
        """The top-level argument's name."""
        return self.name if not self.name.startswith("/") else _unescape(self.name.split("/", 2)[1])

    @property
    def last_name(self) -> str:
        """The last name in the pointer, `*` aside."""
        return _unescape(next((s for s in reversed(self.name.split("/")) if s != "*"), ""))

    @property
    def spellings(self) -> frozenset[str]:
        """The names under which annotations and answers can speak of it: alone, or of more that holds it."""
        return frozenset({self.name, self.top_level, f"/{_escape(self.top_level)}/*"})

    @property
    def is_plain_element(self) -> bool:
        """Whether it is an element `/name/*` of a top-level array, with nothing named below it."""
        return self.name == f"/{_escape(self.top_level)}/*" and not self.inner

    @property
    def is_open_object(self) -> bool:
        """Whether an object can stand there whose keys nobody names: free ones, or none that is described."""
        types = self.schema.get("type")
        extra = self.schema.get("additionalProperties")
        is_object = types == "object" or (isinstance(types, list) and "object" in types)
        return is_object and extra is not False and (extra is not None or not self.inner)

    @property
    def holds_text(self) -> bool:
        """Whether a string, or a list, may stand there; true where the schema does not say."""
        types = self.schema.get("type")
        if types is None:
            return not self.inner
        return not self.inner and bool(_TEXT_TYPES & set(types if isinstance(types, list) else [types]))


def argument_schemas(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the schemas of the top-level arguments that an input schema lists, by name."""
    return json_text.members(schema.get("properties"))


def required_arguments(schema: Mapping[str, JsonValue]) -> list[str]:
    """Return the names of the top-level arguments that an input schema demands."""
    return [name for name in _items(schema.get("required")) if isinstance(name, str)]


def leaves(tool: ToolAnnotation) -> list[SchemaLeaf]:
    """Return every place of a tool's arguments in document order; by `args` alone without a schema."""
    if tool.input_schema is None:
        return [SchemaLeaf(argument.name, {}) for argument in tool.args]
    return schema_leaves(tool.input_schema)


def has_open_objects(tool: ToolAnnotation) -> bool:
    """Tell whether an argument of a tool, or a place below one, is an object with keys of any name."""
    return any(leaf.is_open_object for leaf in leaves(tool))


def schema_leaves(schema: dict[str, JsonValue]) -> list[SchemaLeaf]:
    """Return every place that an input schema describes: `path`, `edits`, `/edits/*/oldText`, …."""
    found: list[SchemaLeaf] = []
    for name, child in _properties(schema, schema).items():
        below = list(_below(f"/{_escape(name)}", child, schema, 1))
        inner = any(leaf.inner or not leaf.is_plain_element for leaf in below)
        found.append(SchemaLeaf(name, child, inner=inner))
        found += below
    return list({leaf.name: leaf for leaf in found}.values())


def _below(
    pointer: str, node: dict[str, JsonValue], root: dict[str, JsonValue], depth: int
) -> Iterator[SchemaLeaf]:
    """Yield what lies below a place; recursive schemas end at a fixed depth."""
    if depth > _MAX_DEPTH:
        return
    children = {f"{pointer}/{_escape(name)}": child for name, child in _properties(node, root).items()}
    items = node.get("items")
    if isinstance(items, dict):
        children[f"{pointer}/*"] = _merged(items, root, 0)
    for name, child in children.items():
        below = list(_below(name, child, root, depth + 1))
        yield SchemaLeaf(name, child, inner=bool(below))
        yield from below


def _properties(node: dict[str, JsonValue], root: dict[str, JsonValue]) -> dict[str, dict[str, JsonValue]]:
    merged = _merged(node, root, 0)
    return {name: _merged(child, root, 0) for name, child in argument_schemas(merged).items()}


def _merged(node: JsonValue, root: dict[str, JsonValue], depth: int) -> dict[str, JsonValue]:
    """Return a schema node with its reference followed and its alternatives laid over one another.

    The union over alternatives is what an argument may hold: enough to find places and suspicions.
    """
    if not isinstance(node, dict) or depth > _MAX_DEPTH:
        return {}
    if not any(key in node for key in _LAID_OVER):
        return node
    merged = {key: value for key, value in node.items() if key not in _LAID_OVER}
    reference = node.get("$ref")
    parts = [_target(reference, root)] if isinstance(reference, str) else []
    parts += [part for key in _COMBINERS for part in _items(node.get(key))]
    for part in parts:
        for key, value in _merged(part, root, depth + 1).items():
            merged[key] = _joined(key, merged[key], value) if key in merged else value
    if "enum" not in node and not all("enum" in _merged(part, root, depth + 1) for part in parts):
        merged.pop("enum", None)  # one alternative without an enumeration takes any value
    return merged


def _joined(key: str, first: JsonValue, second: JsonValue) -> JsonValue:
    if key == "properties" and isinstance(first, dict) and isinstance(second, dict):
        return {**second, **first}
    if key == "type":
        names = [
            *(first if isinstance(first, list) else [first]),
            *(second if isinstance(second, list) else [second]),
        ]
        return list(dict.fromkeys(names))
    if key == "enum":
        known = _items(first)
        return [*known, *(value for value in _items(second) if value not in known)]
    return first


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


def _target(reference: str, root: dict[str, JsonValue]) -> JsonValue:
    """Follow a reference `#/a/b`; others (anchors) are left unread."""
    node: JsonValue = root
    for step in reference.removeprefix("#").split("/")[1:]:
        node = node.get(_unescape(step)) if isinstance(node, dict) else None
    return node if reference.startswith("#") else None


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _unescape(step: str) -> str:
    return step.replace("~1", "/").replace("~0", "~")
