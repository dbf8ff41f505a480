"""Names in a project's own Rego that OPA does not check: roles in comparisons, keys of resources.

OPA's type checker knows the policy input by its schema, but takes every string for one that `role` may
equal, and forgets the type of what `some id, resource in input.subjects` yields. A misspelt name there is
true of nothing, and the rule never denies. So it is looked up here, on the syntax tree: wherever it is
certain that a variable is a resource of the call, or the role of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Literal, TypeAlias

from ironcurtain.compiler.render.input_schema import policy_input_schema
from ironcurtain.decision.roles import NONE, Registry
from ironcurtain.errors import CustomModuleError, IronCurtainError, Place
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import quoted

Kind: TypeAlias = Literal["resource", "role", "other"]
Kinds: TypeAlias = Mapping[str, Kind]
"""What each variable of a rule is; one that may be several things is `other`."""

_SUBJECTS, _ROLE = "subjects", "role"
_COMPARISONS = {"equal", "eq", "neq"}
_BINDINGS = {"assign", "eq"}
_MEMBER = {"member_2", "member_3"}
_ROUNDS = 5


@dataclass(frozen=True)
class _Names:
    """What may be named: keys of the input, of a resource and of what is derived from them, and roles."""

    input: Sequence[str]
    resource: Sequence[str]
    derived: Sequence[str]
    roles: Sequence[str]


@dataclass
class _Module:
    """A module while it is looked at.

    Attributes:
        constants: The strings of each rule that is nothing but a set or an array of strings.
        parameters: What the arguments of each function are, wherever it is called.
    """

    rules: list[JsonValue]
    constants: dict[str, list[JsonValue]] = field(default_factory=dict)
    parameters: dict[tuple[str, int], set[Kind]] = field(default_factory=dict)


def name_problems(source: str, tree: dict[str, JsonValue], registry: Registry) -> list[IronCurtainError]:
    """Return an error for each name in a module that is true of no call.

    Args:
        source: The author's file, for the places of errors.
        tree: The module as `opa parse` gives it, with locations.
        registry: The roles of the policy.
    """
    schema = policy_input_schema(registry)["properties"]
    names = _Names(
        input=tuple(schema),
        resource=tuple(schema[_SUBJECTS]["additionalProperties"]["properties"]),
        derived=tuple(schema["sandboxed"]["properties"]),
        roles=(*(role.name for role in registry.resources), NONE),
    )
    rules = tree.get("rules", [])
    module = _Module(rules, _constants(rules))
    for _ in range(_ROUNDS):
        for rule in rules:
            _note_calls(rule, _kinds(rule, module), module)
    found = {
        (place.line, place.column, error.what): error
        for rule in rules
        for error in _problems(source, rule, module, names)
        if (place := error.where) is not None
    }
    return [error for _, error in sorted(found.items(), key=lambda item: item[0])]


def _problems(source: str, rule: JsonValue, module: _Module, names: _Names) -> Iterator[IronCurtainError]:
    kinds = _kinds(rule, module)
    for node in _nodes(rule):
        if node.get("type") == "ref":
            yield from _of_reference(source, node["value"], kinds, names)
        operator, arguments = _call(node)
        literals: list[JsonValue] = []
        if operator in _COMPARISONS and any(_kind(each, kinds) == _ROLE for each in arguments):
            literals = arguments
        elif operator == "member_2" and _kind(arguments[0], kinds) == _ROLE:
            literals = _members(arguments[1], module)
        for each in literals:
            yield from _unknown(source, each, names.roles, "role")


def _of_reference(
    source: str, terms: Sequence[JsonValue], kinds: Kinds, names: _Names
) -> Iterator[CustomModuleError]:
    head, *rest = terms
    if head.get("type") != "var":
        return
    if kinds.get(head["value"]) == "resource" and rest:
        yield from _unknown(source, rest[0], names.resource, "key of a resource")
    if head["value"] != "input" or not rest:
        return
    yield from _unknown(source, rest[0], names.input, "key of the input")
    key, rest = rest[0].get("value"), rest[1:]
    if key == _SUBJECTS and len(rest) > 1:
        yield from _unknown(source, rest[1], names.resource, "key of a resource")
    if key == "sandboxed" and rest:
        yield from _unknown(source, rest[0], names.derived, "key of `input.sandboxed`")
        key, rest = rest[0].get("value"), rest[1:]
    if key in names.derived and rest:
        yield from _unknown(source, rest[0], names.roles, "role")


def _unknown(source: str, term: JsonValue, known: Sequence[str], what: str) -> Iterator[CustomModuleError]:
    """Yield an error if a term is a string that is none of the known names."""
    if term.get("type") != "string" or term["value"] in known:
        return
    near = get_close_matches(term["value"], known, n=1)
    yield CustomModuleError(
        f"there is no {what} {quoted(term['value'])}",
        where=Place(source, term["location"]["row"], term["location"]["col"]),
        hint=f"Did you mean {quoted(near[0])}?" if near else f"There are: {', '.join(known)}.",
    )


def _constants(rules: Sequence[JsonValue]) -> dict[str, list[JsonValue]]:
    found: dict[str, list[JsonValue]] = {}
    for rule in rules:
        head = rule["head"]
        value = head.get("value", {})
        if len(head["ref"]) == 1 and "args" not in head and value.get("type") in ("set", "array"):
            found.setdefault(head["ref"][0]["value"], []).extend(value["value"])
    return found


def _members(term: JsonValue, module: _Module) -> list[JsonValue]:
    """Return the elements of a collection that is written out, here or as a rule of the module."""
    if term.get("type") in ("set", "array"):
        return list(term["value"])
    return module.constants.get(term["value"], []) if term.get("type") == "var" else []


def _kinds(rule: JsonValue, module: _Module) -> Kinds:
    """Return what the variables of a rule are; what is bound to two different things is neither."""
    kinds: dict[str, Kind] = {}
    for _ in range(_ROUNDS):
        said: dict[str, set[Kind]] = {}
        for name, kind in (*_of_arguments(rule, module), *_of_bindings(rule, kinds)):
            said.setdefault(name, set()).add(kind)
        kinds = {name: next(iter(each)) if len(each) == 1 else "other" for name, each in said.items()}
    return kinds


def _of_arguments(rule: JsonValue, module: _Module) -> Iterator[tuple[str, Kind]]:
    head = rule["head"]
    for place, argument in enumerate(head.get("args", [])):
        if argument.get("type") == "var":
            for kind in module.parameters.get((head["ref"][0]["value"], place), {"other"}):
                yield argument["value"], kind


def _of_bindings(rule: JsonValue, kinds: Kinds) -> Iterator[tuple[str, Kind]]:
    for node in _nodes(rule):
        terms = node.get("terms")
        if isinstance(terms, dict) and "symbols" in terms:
            for symbol in terms["symbols"]:
                operator, arguments = _call(symbol)
                if operator in _MEMBER:
                    yield from _of_iteration(arguments[-2], arguments[-1])
        elif isinstance(terms, dict) and "domain" in terms:
            yield from _of_iteration(terms["value"], terms["domain"])
        operator, arguments = _call(node)
        if operator in _BINDINGS and arguments[0].get("type") == "var":
            yield arguments[0]["value"], _kind(arguments[1], kinds)


def _of_iteration(value: JsonValue, collection: JsonValue) -> Iterator[tuple[str, Kind]]:
    if value.get("type") == "var":
        yield value["value"], "resource" if _is_input(collection, _SUBJECTS) else "other"


def _note_calls(rule: JsonValue, kinds: Kinds, module: _Module) -> None:
    for node in _nodes(rule):
        operator, arguments = _call(node)
        for place, argument in enumerate(arguments):
            module.parameters.setdefault((operator, place), set()).add(_kind(argument, kinds))


def _kind(term: JsonValue, kinds: Kinds) -> Kind:
    if term.get("type") == "var":
        return kinds.get(term["value"], "other")
    if term.get("type") != "ref":
        return "other"
    head, *rest = term["value"]
    if _is_input({"type": "ref", "value": term["value"][:2]}, _SUBJECTS):
        is_resource, rest = len(rest) > 1, rest[2:]
    else:
        is_resource = head.get("type") == "var" and kinds.get(head["value"]) == "resource"
    if not is_resource:
        return "other"
    if not rest:
        return "resource"
    return "role" if len(rest) == 1 and rest[0].get("value") == _ROLE else "other"


def _is_input(term: JsonValue, key: str) -> bool:
    values = [part.get("value") for part in term["value"]] if term.get("type") == "ref" else []
    return values == ["input", key]


def _call(node: JsonValue) -> tuple[str, list[JsonValue]]:
    """Return the name of a function and its arguments, of a call as an expression or as a term."""
    terms = node.get("value") if node.get("type") == "call" else node.get("terms")
    if not isinstance(terms, list) or not terms or terms[0].get("type") != "ref":
        return "", []
    return str(terms[0]["value"][-1].get("value")), terms[1:]


def _nodes(tree: JsonValue) -> Iterator[dict[str, JsonValue]]:
    if isinstance(tree, dict):
        yield tree
        for key, child in tree.items():
            if key != "location":
                yield from _nodes(child)
    elif isinstance(tree, list):
        for child in tree:
            yield from _nodes(child)
