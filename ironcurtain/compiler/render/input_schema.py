"""The policy input's shape for OPA's type checker, generated from the role registry.

OPA reads `properties` and `additionalProperties` only, so this schema finds a misspelt key or role in
Rego (`opa check --schema`); inputs themselves are validated where they are built.
"""

from __future__ import annotations

from ironcurtain.decision.roles import NONE, Registry
from ironcurtain.system.frozen import JsonValue


def policy_input_schema(registry: Registry) -> dict[str, JsonValue]:
    """Return the JSON Schema of the policy input, with the registry's roles listed and no others."""
    roles = [role.name for role in registry.resources]
    ids = {"type": "object", "additionalProperties": {"type": "boolean"}}
    derived = {
        "roles": _closed({NONE: ids, **{role: ids.copy() for role in roles}}),
        "patterns": _closed({role: {"type": "array", "items": {"type": "string"}} for role in roles}),
        "within": _closed({role: {"type": "object", "additionalProperties": ids} for role in roles}),
    }
    subject = _closed(
        {
            "role": {"type": "string"},
            "at": {"type": "string"},
            "value": {"type": "string"},
            "discharged": {"type": "boolean"},
        }
    )
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Policy input",
        "description": "What a policy is asked about one tool call: the call and its subjects.",
        **_closed(
            {
                "server": {"type": "string"},
                "tool": {"type": "string"},
                "side_effects": {"type": "boolean"},
                "args": {"type": "object"},
                "caller": {"type": "object"},
                "subjects": {"type": "object", "additionalProperties": subject},
                **derived,
                "sandboxed": _closed(derived),
            }
        ),
    }


def _closed(properties: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {"type": "object", "properties": properties, "additionalProperties": False}
