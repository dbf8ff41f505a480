"""The JSON Schema of an answer of the rules stage: rules of one server, in lists, with closed enums."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import get_args

from ironcurtain.compiler.annotate.schema_leaves import has_open_objects
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.questions.schema_parts import (
    BOOLEAN,
    STRING,
    WHOLE,
    Schema,
    array_of,
    closed_object,
    one_of,
    reference,
    with_definitions,
)
from ironcurtain.compiler.rules.checks.allow_rules import resource_roles
from ironcurtain.compiler.rules.clause_coverage import KINDS
from ironcurtain.compiler.rules.offered_facts import OfferedFacts, fact_test
from ironcurtain.decision.roles import NONE, Registry
from ironcurtain.model.annotations import ServerAnnotations
from ironcurtain.model.conditions import ArgOperator
from ironcurtain.model.moments import Part
from ironcurtain.model.verdict import Verdict


def rules_schema(
    annotated: ServerAnnotations,
    clauses: Sequence[PlacedClause],
    registry: Registry,
    approvers: Collection[str] = (),
    offered: OfferedFacts | None = None,
) -> Schema:
    """Return the schema for one server's rules: only its tools, their roles and the clauses it was given.

    Args:
        annotated: The server's tools.
        clauses: The clauses.
        registry: The roles.
        approvers: Whose approval rules can ask for.
        offered: What facts can be declared of, where they are offered.
    """
    clause = reference("clause")
    not_enforceable = closed_object(
        {"clause": clause, "reason": STRING},
        {"kind": one_of(KINDS), "tools": array_of(reference("tool")), "into": array_of(clause)},
    )
    with_facts = offered is not None
    rules = array_of(rule_schema(annotated, registry, approvers, with_facts=with_facts))
    declared = {"facts": offered.schema(_condition(annotated, registry))} if offered is not None else {}
    return with_definitions(
        closed_object({"rules": rules, "not_enforceable": array_of(not_enforceable)}, declared),
        rule_definitions(annotated, clauses, with_facts=with_facts),
    )


def rule_schema(
    annotated: ServerAnnotations,
    registry: Registry,
    approvers: Collection[str] = (),
    *,
    with_facts: bool = False,
) -> Schema:
    """Return the schema of one rule, which may test facts or not; it refers to `rule_definitions`."""
    approver: Schema = {"approver": one_of(sorted(approvers))} if approvers else {}
    condition = _condition(annotated, registry)
    if with_facts:
        condition = closed_object({}, {**_members(condition), "facts": array_of(reference("fact"))})
    return closed_object(
        {
            "name": STRING,
            "description": STRING,
            "clause": reference("clause"),
            "if": condition,
            "then": one_of(verdict.value for verdict in Verdict),
            "reason": STRING,
        },
        {"clause_says": STRING, **approver},
    )


def rule_definitions(
    annotated: ServerAnnotations, clauses: Sequence[PlacedClause], *, with_facts: bool = False
) -> Schema:
    """Return what the schema of a rule refers to."""
    return {
        "clause": one_of(placed.clause.id for placed in clauses),
        "tool": one_of(tool.tool for tool in annotated.tools),
        "scalar": {"anyOf": [STRING, {"type": "number"}, BOOLEAN]},
        "test": _argument_test(with_keys=any(map(has_open_objects, annotated.tools))),
        **({"fact": fact_test()} if with_facts else {}),
    }


def _condition(annotated: ServerAnnotations, registry: Registry) -> Schema:
    used = {role for tool in annotated.tools for role in resource_roles(tool)}
    resources = [role for role in registry.resources if role.name in used]
    optional: Schema = {
        "tool": array_of(reference("tool")),
        "roles": array_of(one_of([*(role.name for role in resources), NONE])),
        "side_effects": BOOLEAN,
        "args": array_of(reference("test")),
        "caller": array_of(reference("test")),
        "in_sandbox": BOOLEAN,
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
                    {"roles": array_of(one_of(roles)), values: array_of(STRING)}, {"or_none": BOOLEAN}
                )
            )
    return closed_object({}, optional)


def _members(schema: Schema) -> Schema:
    members = schema["properties"]
    return members if isinstance(members, dict) else {}


def _argument_test(*, with_keys: bool) -> Schema:
    scalar = reference("scalar")
    scaled: Schema = {"times": WHOLE, "plus": {"anyOf": [WHOLE, STRING]}, "measure": one_of(["count"])}
    referred = [closed_object({kind: STRING}, scaled) for kind in ("caller", "arg")]
    return closed_object(
        {
            "name": STRING,
            "op": one_of(get_args(ArgOperator)),
            "value": {"anyOf": [scalar, array_of(scalar), *referred]},
        },
        {
            "count": {"anyOf": [closed_object({op: WHOLE}) for op in ("le", "ge", "equals")]},
            "ignore_case": BOOLEAN,
            "part": one_of(get_args(Part)),
            "also_in": array_of(STRING),
            "over": one_of(["every", "some"]),
            "or_absent": BOOLEAN,
            "measure": one_of(["count", "length"]),
            **({"of": one_of(["keys"])} if with_keys else {}),
        },
    )
