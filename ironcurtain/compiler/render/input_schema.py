"""The policy input's shape for OPA's type checker, generated from the role registry.

OPA reads `properties` and `additionalProperties` only, so this schema finds a misspelt key or role in
Rego (`opa check --schema`); inputs themselves are validated where they are built.
"""

from __future__ import annotations

from typing import Final

from ironcurtain.compiler.questions.schema_parts import BOOLEAN, STRING, Schema, array_of
from ironcurtain.decision.roles import NONE, Registry

SCHEMA = "input"
"""The name of the schema for OPA's type checker, without `.json`."""

_ANY_OBJECT: Final[Schema] = {"type": "object"}

RESOURCE_PROPERTIES: Final[Schema] = {"role": STRING, "at": STRING, "value": STRING, "discharged": BOOLEAN}
"""The members of one entry of `input.subjects`."""


def policy_input_schema(registry: Registry, *, facts: bool = False) -> Schema:
    """Return the JSON Schema of the policy input, with the registry's roles listed and no others.

    Args:
        registry: The roles.
        facts: Whether the policy declares facts: there is no member for them otherwise.
    """
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Policy input",
        "description": "What a policy is asked about one tool call: the call and its subjects.",
        **_closed(policy_input_properties(registry, facts=facts)),
    }


def policy_input_properties(registry: Registry, *, facts: bool = False) -> Schema:
    """Return the schemas of the members of the policy input."""
    derived = derived_properties(registry)
    return {
        "server": STRING,
        "tool": STRING,
        "side_effects": BOOLEAN,
        "args": _ANY_OBJECT,
        "caller": _ANY_OBJECT,
        **({"facts": _ANY_OBJECT} if facts else {}),
        "subjects": _map_of(_closed(RESOURCE_PROPERTIES)),
        **derived,
        "sandboxed": _closed(derived),
    }


def derived_properties(registry: Registry) -> Schema:
    """Return the schemas of what is derived from the resources, by role."""
    roles = [role.name for role in registry.resources]
    ids = _map_of(BOOLEAN)
    return {
        "roles": _closed(dict.fromkeys((NONE, *roles), ids)),
        "patterns": _closed({role: array_of(STRING) for role in roles}),
        "within": _closed({role: _map_of(ids) for role in roles}),
    }


def _closed(properties: Schema) -> Schema:
    return {**_ANY_OBJECT, "properties": properties, "additionalProperties": False}


def _map_of(values: Schema) -> Schema:
    return {**_ANY_OBJECT, "additionalProperties": values}
