"""The JSON Schema of an answer of the rules stage: rules of one server, in lists, with closed enums."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.questions.schema_parts import array_of, closed_object, reference, with_definitions
from ironcurtain.compiler.rules.allow_checks import resource_roles
from ironcurtain.compiler.rules.clause_coverage import KINDS
from ironcurtain.decision.roles import NONE, Registry
from ironcurtain.model.annotations import ServerAnnotations
from ironcurtain.model.policy import Operator
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue

_STRING: dict[str, JsonValue] = {"type": "string"}
_BOOLEAN: dict[str, JsonValue] = {"type": "boolean"}


def rules_schema(
    annotated: ServerAnnotations, clauses: Sequence[PlacedClause], registry: Registry
) -> dict[str, JsonValue]:
    """Return the schema for one server's rules: only its tools, their roles and the clauses it was given."""
    ids = reference("clause")
    rule = closed_object(
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
    tools = array_of(reference("tool"))
    not_enforceable = closed_object(
        {"clause": ids, "reason": _STRING},
        {"kind": {"enum": list(KINDS)}, "tools": tools, "into": array_of(ids)},
    )
    return with_definitions(
        closed_object({"rules": array_of(rule), "not_enforceable": array_of(not_enforceable)}),
        {
            "clause": {"enum": [placed.clause.id for placed in clauses]},
            "tool": {"enum": [tool.tool for tool in annotated.tools]},
            "scalar": {"anyOf": [_STRING, {"type": "number"}, _BOOLEAN]},
            "test": _argument_test(),
        },
    )


def _condition(annotated: ServerAnnotations, registry: Registry) -> dict[str, JsonValue]:
    used = {role for tool in annotated.tools for role in resource_roles(tool)}
    resources = [role for role in registry.resources if role.name in used]
    optional: dict[str, JsonValue] = {
        "tool": array_of(reference("tool")),
        "roles": array_of({"enum": [*(role.name for role in resources), NONE]}),
        "side_effects": _BOOLEAN,
        "args": array_of(reference("test")),
        "caller": array_of(reference("test")),
        "in_sandbox": _BOOLEAN,
    }
    for key, values, matches in (
        ("paths", "within", ("path",)),
        ("domains", "allowed", ("url",)),
        ("lists", "allowed", ("identifier",)),
    ):
        roles = [role.name for role in resources if role.category in matches]
        if roles:
            optional[key] = array_of(
                closed_object(
                    {"roles": array_of({"enum": roles}), values: array_of(_STRING)}, {"or_none": _BOOLEAN}
                )
            )
    return closed_object({}, optional)


def _argument_test() -> dict[str, JsonValue]:
    scalar = reference("scalar")
    referred = [closed_object({"caller": _STRING}), closed_object({"arg": _STRING})]
    return closed_object(
        {
            "name": _STRING,
            "op": {"enum": list(get_args(Operator))},
            "value": {"anyOf": [scalar, array_of(scalar), *referred]},
        },
        {
            "over": {"enum": ["every", "some"]},
            "or_absent": _BOOLEAN,
            "measure": {"enum": ["count", "length"]},
        },
    )
