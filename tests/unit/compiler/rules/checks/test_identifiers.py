"""What compares identifiers with the caller's, and what is refused: nothing else could be decided exactly."""

from __future__ import annotations

from typing import Any

import pytest
from support.projects.policies import annotations_of, compiled, of_caller, rule, tool

from ironcurtain.compiler.rules.checks.policy import check_policy
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import IronCurtainError, RuleError, SeveralErrors

ROLES: list[dict[str, Any]] = [
    {"name": "user-id", "description": "A customer.", "case": "fold"},
    {"name": "number", "description": "A number.", "case": "exact", "numbers": True},
]


def _tool(name: str, **roles: list[str]) -> dict[str, Any]:
    args: dict[str, Any] = {**roles}
    schema = {"type": "object", "properties": {arg: {"type": "string"} for arg in roles}}
    return {**tool(name, **args), "input_schema": schema}


TOOLS = [
    _tool("look", user=["user-id"], note=["none"]),
    _tool("mail", user=["recipient"], note=["none"]),
    _tool("plain", user=["none"]),
]
CALLER: dict[str, Any] = {
    "sub": {**of_caller("string", "ada"), "role": "user-id"},
    "family": {**of_caller("strings", ["ada"]), "role": "user-id"},
    "name": of_caller("string", "ada"),
}
ALONE = "is declared as an identifier (user-id)"
OWN = {"name": "user", "op": "equals", "value": {"caller": "/sub"}}


def problems(declared: dict[str, Any], *tools: str, **conditions: Any) -> list[str]:
    """Return what a build says of one rule over some tools."""
    annotated = annotations_of({"s": TOOLS}, ROLES)
    policy = compiled([rule("r", "deny", tool=[*tools], **conditions)], caller=declared)
    try:
        check_policy(policy, annotated, None, Registry(annotated.roles))
    except SeveralErrors as errors:
        return [error.what for error in errors.errors if isinstance(error, IronCurtainError)]
    except RuleError as error:
        return [error.what]
    return []


@pytest.mark.parametrize(
    "conditions",
    [
        {"args": [OWN]},
        {"args": [{**OWN, "op": "not_equals"}]},
        {"caller": [{"name": "sub", "op": "equals", "value": {"arg": "/user"}}]},
        {"caller": [{"name": "/family/*", "op": "equals", "over": "some", "value": {"arg": "/user"}}]},
    ],
)
def test_an_identifier_is_compared_with_the_callers(conditions: dict[str, Any]) -> None:
    assert problems(CALLER, "look", **conditions) == []


@pytest.mark.parametrize(
    ("tools", "conditions", "said"),
    [
        (["mail"], {"args": [OWN]}, "of the role user-id, and this of mail of recipient"),
        (["look", "plain"], {"args": [OWN]}, "of the role user-id, and this of plain of none"),
        (["look"], {"args": [{**OWN, "name": "note"}]}, "and this of look of none"),
        (["look"], {"args": [{**OWN, "value": {"caller": "/name"}}]}, "takes a resource there (user-id)"),
        (["look"], {"args": [{**OWN, "value": "ada"}]}, "takes a resource there (user-id)"),
        (["look"], {"args": [{**OWN, "op": "le"}]}, "takes a resource there (user-id)"),
        (
            ["look"],
            {"caller": [{"name": "sub", "op": "equals", "value": "ada"}]},
            ALONE,
        ),
        (
            ["look"],
            {"caller": [{"name": "sub", "op": "present", "value": True}]},
            ALONE,
        ),
        (
            ["look"],
            {"caller": [{"name": "name", "op": "equals", "value": {"caller": "/sub"}}]},
            ALONE,
        ),
    ],
)
def test_nothing_else_is_compared_with_an_identifier(
    tools: list[str], conditions: dict[str, Any], said: str
) -> None:
    assert any(said in problem for problem in problems(CALLER, *tools, **conditions))


def test_what_asks_for_a_list_is_told_how_its_elements_are_tested() -> None:
    annotated = annotations_of({"s": TOOLS}, ROLES)
    asked = {"name": "user", "op": "in", "value": {"caller": "/family"}}
    policy = compiled([rule("r", "deny", tool=["look"], args=[asked])], caller=CALLER)
    with pytest.raises(IronCurtainError) as caught:
        check_policy(policy, annotated, None, Registry(annotated.roles))
    errors = caught.value.errors if isinstance(caught.value, SeveralErrors) else [caught.value]
    assert any('"over": "some"' in error.hint for error in errors if isinstance(error, IronCurtainError))


@pytest.mark.parametrize(
    ("role", "said"),
    [
        ("read-path", "is no role of identifiers"),
        ("nobody", "is no role of identifiers"),
        ("number", "takes numbers, too"),
    ],
)
def test_a_role_of_a_fact_is_one_of_identifiers_that_are_texts(role: str, said: str) -> None:
    declared = {**CALLER, "id": {**of_caller("string", "x"), "role": role}}
    assert any(said in problem for problem in problems(declared, "look", args=[OWN]))
