"""The JSON Schema of an answer of the rules stage: rules of one server, in lists, with closed enums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from ironcurtain.model.annotations import ServerAnnotations
from ironcurtain.model.base import Json
from ironcurtain.model.policy import Operator
from ironcurtain.model.verdict import Verdict
from ironcurtain.pipeline.allow_checks import resource_roles
from ironcurtain.pipeline.clause_coverage import KINDS
from ironcurtain.pipeline.clauses import PlacedClause
from ironcurtain.roles.registry import NONE, Registry

_STRING: dict[str, Json] = {"type": "string"}
_BOOLEAN: dict[str, Json] = {"type": "boolean"}


def rules_schema(
    annotated: ServerAnnotations, clauses: Sequence[PlacedClause], registry: Registry
) -> dict[str, Json]:
    """Return the schema for one server's rules: only its tools, their roles and the clauses it was given."""
    ids = {"enum": [placed.clause.id for placed in clauses]}
    rule = _object(
        {
            "name": _STRING,
            "description": _STRING,
            "clause": ids,
            "if": _condition(annotated, registry),
            "then": {"enum": [verdict.value for verdict in Verdict]},
            "reason": _STRING,
        },
        {"clause_says": _STRING},
    )
    tools = _array({"enum": [tool.tool for tool in annotated.tools]})
    not_enforceable = _object(
        {"clause": ids, "reason": _STRING}, {"kind": {"enum": list(KINDS)}, "tools": tools}
    )
    return _object({"rules": _array(rule), "not_enforceable": _array(not_enforceable)})


def _condition(annotated: ServerAnnotations, registry: Registry) -> dict[str, Json]:
    used = {role for tool in annotated.tools for role in resource_roles(tool)}
    resources = [role for role in registry.resources if role.name in used]
    optional: dict[str, Json] = {
        "tool": _array({"enum": [tool.tool for tool in annotated.tools]}),
        "roles": _array({"enum": [*(role.name for role in resources), NONE]}),
        "side_effects": _BOOLEAN,
        "args": _array(_argument_test()),
        "caller": _array(_argument_test()),
        "in_sandbox": _BOOLEAN,
    }
    for key, values, matches in (
        ("paths", "within", ("path",)),
        ("domains", "allowed", ("url",)),
        ("lists", "allowed", ("identifier",)),
    ):
        roles = [role.name for role in resources if role.category in matches]
        if roles:
            optional[key] = _array(
                _object({"roles": _array({"enum": roles}), values: _array(_STRING)}, {"or_none": _BOOLEAN})
            )
    return _object({}, optional)


def _argument_test() -> dict[str, Json]:
    scalar = [_STRING, {"type": "number"}, _BOOLEAN]
    reference = [_object({"caller": _STRING}), _object({"arg": _STRING})]
    return _object(
        {
            "name": _STRING,
            "op": {"enum": list(get_args(Operator))},
            "value": {"anyOf": [*scalar, _array({"anyOf": scalar}), *reference]},
        },
        {
            "over": {"enum": ["every", "some"]},
            "or_absent": _BOOLEAN,
            "measure": {"enum": ["count", "length"]},
        },
    )


def _object(required: dict[str, Json], optional: dict[str, Json] | None = None) -> dict[str, Json]:
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def _array(items: Json) -> dict[str, Json]:
    return {"type": "array", "items": items}
