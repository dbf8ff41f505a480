"""Names in a project's own Rego that OPA does not check: roles in comparisons, keys of resources.

OPA's type checker knows the policy input by its schema, but takes every string for one that `role` may
equal, and forgets the type of what `some id, resource in input.subjects` yields. A misspelt name there is
true of nothing, and the rule never denies. So it is looked up here, on the syntax tree: wherever it is
certain that a variable is a resource of the call, or the role of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ironcurtain.compiler.render.input_schema import (
    RESOURCE_PROPERTIES,
    derived_properties,
    policy_input_properties,
)
from ironcurtain.compiler.render.rego_syntax import Node
from ironcurtain.decision.roles import NONE, Registry
from ironcurtain.errors import CustomModuleError, IronCurtainError, Place
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import did_you_mean, quoted

VariableKind: TypeAlias = Literal["resource", "role", "other"]
VariableKinds: TypeAlias = Mapping[str, VariableKind]
"""What each variable of a rule is; one that may be several things is `other`."""

_SUBJECTS, _ROLE = "subjects", "role"
_RESOURCES = ["input", _SUBJECTS]
_COMPARISONS = {"equal", "eq", "neq"}
_BINDINGS = {"assign", "eq"}
_MEMBER = {"member_2", "member_3"}
_ROUNDS = 5


class _Names(Struct):
    """What may be named: keys of the input, of a resource and of what is derived from them, and roles."""

    input: Sequence[str]
    resource: Sequence[str]
    derived: Sequence[str]
    roles: Sequence[str]


@dataclass
class _Module:
    """A module whose names are being checked.

    Attributes:
        constants: The strings of each rule that is nothing but a set or an array of strings.
        parameters: What the arguments of each function are, wherever it is called.
    """

    rules: list[Node]
    constants: dict[str, list[Node]] = field(default_factory=dict)
    parameters: dict[tuple[str, int], set[VariableKind]] = field(default_factory=dict)


def name_problems(source: str, module: Node, registry: Registry) -> list[IronCurtainError]:
    """Return an error for each name in a module that is true of no call.

    Args:
        source: The author's file, for the places of errors.
        module: The module's syntax tree, with locations.
        registry: The roles of the policy.
    """
    names = _Names(
        input=tuple(policy_input_properties(registry)),
        resource=tuple(RESOURCE_PROPERTIES),
        derived=tuple(derived_properties(registry)),
        roles=(*(role.name for role in registry.resources), NONE),
    )
    rules = module.children("rules")
    checked = _Module(rules, _constants(rules))
    for _ in range(_ROUNDS):
        for rule in rules:
            _note_calls(rule, _kinds(rule, checked), checked)
    problems = {
        (place.line, place.column, error.what): error
        for rule in rules
        for error in _problems(source, rule, checked, names)
        if (place := error.where) is not None
    }
    return [error for _, error in sorted(problems.items(), key=lambda item: item[0])]


def _problems(source: str, rule: Node, module: _Module, names: _Names) -> Iterator[IronCurtainError]:
    kinds = _kinds(rule, module)
    for node in rule.walk():
        if node.kind == "ref":
            yield from _of_reference(source, node.terms, kinds, names)
        operator, arguments = node.call()
        literals: list[Node] = []
        if operator in _COMPARISONS and any(_kind(argument, kinds) == _ROLE for argument in arguments):
            literals = arguments
        elif operator == "member_2" and _kind(arguments[0], kinds) == _ROLE:
            literals = _members(arguments[1], module)
        for literal in literals:
            yield from _unknown(source, literal, names.roles, "role")


def _of_reference(
    source: str, terms: Sequence[Node], kinds: VariableKinds, names: _Names
) -> Iterator[CustomModuleError]:
    head, *rest = terms
    if head.kind != "var":
        return
    if kinds.get(head.text) == "resource" and rest:
        yield from _unknown(source, rest[0], names.resource, "key of a resource")
    if head.text != "input" or not rest:
        return
    yield from _unknown(source, rest[0], names.input, "key of the input")
    key, rest = rest[0].text, rest[1:]
    if key == _SUBJECTS and len(rest) > 1:
        yield from _unknown(source, rest[1], names.resource, "key of a resource")
    if key == "sandboxed" and rest:
        yield from _unknown(source, rest[0], names.derived, "key of `input.sandboxed`")
        key, rest = rest[0].text, rest[1:]
    if key in names.derived and rest:
        yield from _unknown(source, rest[0], names.roles, "role")


def _unknown(source: str, term: Node, known: Sequence[str], what: str) -> Iterator[CustomModuleError]:
    """Yield an error if a term is a string that is none of the known names."""
    if term.kind != "string" or term.text in known:
        return
    yield CustomModuleError(
        f"there is no {what} {quoted(term.text)}",
        where=Place(source, term.row, term.column),
        hint=did_you_mean(term.text, known, f"There are: {', '.join(known)}."),
    )


def _constants(rules: Sequence[Node]) -> dict[str, list[Node]]:
    constants: dict[str, list[Node]] = {}
    for rule in rules:
        head = rule.child("head")
        value = head.child("value")
        if len(head.children("ref")) == 1 and "args" not in head.content and value.kind in ("set", "array"):
            constants.setdefault(rule.name, []).extend(value.terms)
    return constants


def _members(term: Node, module: _Module) -> list[Node]:
    """Return the elements of a collection that is written out, here or as a rule of the module."""
    if term.kind in ("set", "array"):
        return term.terms
    return module.constants.get(term.text, []) if term.kind == "var" else []


def _kinds(rule: Node, module: _Module) -> VariableKinds:
    """Return what the variables of a rule are; what is bound to two different things is neither."""
    kinds: dict[str, VariableKind] = {}
    for _ in range(_ROUNDS):
        possible: dict[str, set[VariableKind]] = {}
        for name, kind in (*_of_arguments(rule, module), *_of_bindings(rule, kinds)):
            possible.setdefault(name, set()).add(kind)
        kinds = {name: next(iter(of)) if len(of) == 1 else "other" for name, of in possible.items()}
    return kinds


def _of_arguments(rule: Node, module: _Module) -> Iterator[tuple[str, VariableKind]]:
    for position, argument in enumerate(rule.child("head").children("args")):
        if argument.kind == "var":
            for kind in module.parameters.get((rule.name, position), {"other"}):
                yield argument.text, kind


def _of_bindings(rule: Node, kinds: VariableKinds) -> Iterator[tuple[str, VariableKind]]:
    for node in rule.walk():
        terms = node.child("terms")  # an object for `some` and `every`, an array for a call
        for symbol in terms.children("symbols"):
            operator, arguments = symbol.call()
            if operator in _MEMBER:
                yield from _of_iteration(arguments[-2], arguments[-1])
        if "domain" in terms.content:
            yield from _of_iteration(terms.child("value"), terms.child("domain"))
        operator, arguments = node.call()
        if operator in _BINDINGS and arguments[0].kind == "var":
            yield arguments[0].text, _kind(arguments[1], kinds)


def _of_iteration(value: Node, collection: Node) -> Iterator[tuple[str, VariableKind]]:
    if value.kind == "var":
        is_resources = collection.kind == "ref" and _names(collection.terms) == _RESOURCES
        yield value.text, "resource" if is_resources else "other"


def _note_calls(rule: Node, kinds: VariableKinds, module: _Module) -> None:
    for node in rule.walk():
        operator, arguments = node.call()
        for position, argument in enumerate(arguments):
            module.parameters.setdefault((operator, position), set()).add(_kind(argument, kinds))


def _kind(term: Node, kinds: VariableKinds) -> VariableKind:
    if term.kind == "var":
        return kinds.get(term.text, "other")
    if term.kind != "ref":
        return "other"
    head, *rest = term.terms
    if _names(term.terms[:2]) == _RESOURCES:
        is_resource, rest = len(rest) > 1, rest[2:]
    else:
        is_resource = head.kind == "var" and kinds.get(head.text) == "resource"
    if not is_resource:
        return "other"
    if not rest:
        return "resource"
    return "role" if len(rest) == 1 and rest[0].text == _ROLE else "other"


def _names(terms: Sequence[Node]) -> list[str]:
    return [term.text for term in terms]
