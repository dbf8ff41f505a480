"""Calls are made of values that steps 3 to 5 let pass; where none is, evidence says `not examined`."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from support.called import one_tool, prepared
from support.projects.planted import findings_of
from support.projects.policies import annotations_of, compiled, tool
from unit.analysis.engine.test_proof_places import (
    TEXT,
    WORLD,
    bundle_of,
    equals,
    guaranteed,
    on,
    role_of,
    rule,
    verdict,
)

from ironcurtain.analysis.attack.run import attack
from ironcurtain.analysis.coverage.coverage import coverage
from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import text_lines as difference_lines
from ironcurtain.analysis.engine.policy_analysis import PlainAnalysis, analyse_policy
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.explain.clause import explain_clause
from ironcurtain.analysis.findings.findings import Material, find
from ironcurtain.analysis.matrix.matrix import matrix_of
from ironcurtain.analysis.matrix.text import text_lines
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.roles import BUILT_IN, Registry, Role
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find as find_opa
from ironcurtain.model.annotations import IdentifierRole
from ironcurtain.model.scenarios import Scenarios

OPTIONS = [
    {"case": case, "separator": separator, "decode": decode, "numbers": numbers}
    for case, separator, decode, numbers in itertools.product(
        ("exact", "fold"), (None, "/", ":", ".", "o"), ("none", "percent"), (False, True)
    )
]
"""Every option that a role of a project's own can have, with every other one."""
SCHEMAS: list[dict[str, Any]] = [{}, {"minLength": 9}, {"maxLength": 60}, {"minLength": 7, "maxLength": 40}]


def examined(bundle: Bundle) -> PlainAnalysis:
    return analyse_policy(bundle, WORLD, OpaCommand(find_opa()))


def branch_bundle(*rules: dict[str, Any], **branch: Any) -> Bundle:
    """Return a policy over a tool as `create_or_update_file`, whose branch must be given."""
    return bundle_of(
        list(rules),
        {"owner": TEXT, "repo": TEXT, "branch": {**TEXT, **branch}},
        {"branch": {"roles": ["branch-name"]}},
        {"role": "repository", "join": ["owner", "repo"], "with": "/"},
    )


@pytest.mark.parametrize("role", BUILT_IN, ids=lambda role: role.name)
def test_a_call_has_the_value_that_a_role_says_it_takes(role: Role) -> None:
    policy = one_tool(tool("t", contained=False, x=[role.name]), sandbox=None)
    assert prepared(policy, "t", {"x": role.valid("other")})


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_a_call_has_the_value_that_a_role_of_a_project_takes(options: dict[str, Any]) -> None:
    declared = role_of(**options)
    value = Registry([IdentifierRole.model_validate(declared)])["thing"].valid("other")
    policy = one_tool(tool("t", contained=False, x=["thing"]), roles=[declared], sandbox=None)
    assert prepared(policy, "t", {"x": value})


@pytest.mark.parametrize("more", SCHEMAS, ids=str)
@pytest.mark.parametrize("role", BUILT_IN, ids=lambda role: role.name)
def test_calls_of_a_tool_with_a_required_argument_of_any_role_are_made(
    role: Role, more: dict[str, Any]
) -> None:
    bundle = bundle_of(
        [rule("r", "allow", side_effects=True)], {"x": {**TEXT, **more}}, {"x": {"roles": [role.name]}}
    )
    result = guaranteed(bundle)
    assert result.status == "broken"
    assert result.witness is not None
    assert verdict(bundle, result.witness.arguments) == "allow"


@pytest.mark.parametrize("options", OPTIONS[::3], ids=str)
def test_calls_with_an_identifier_of_a_project_are_made(options: dict[str, Any]) -> None:
    schema = {**TEXT, "pattern": "^[A-Z]{2,5}-[0-9]+$"}
    allowed = [rule("r", "allow", side_effects=True)]
    assert guaranteed(bundle_of(allowed, {"x": schema}, {"x": {"roles": ["thing"]}}, role=role_of(**options)))


@pytest.mark.parametrize(
    "branch", [{}, {"pattern": "^release/"}, {"minLength": 12}, {"enum": ["-d", "main"]}], ids=str
)
def test_a_tool_whose_branch_must_be_given_is_not_out_of_the_evidence(branch: dict[str, Any]) -> None:
    bundle = branch_bundle(rule("r", "allow", roles=["repository"]), **branch)
    result = guaranteed(bundle)
    assert result.status == "broken"
    assert result.witness is not None
    assert verdict(bundle, result.witness.arguments) == "allow"


def test_a_class_of_values_is_shown_by_one_that_the_role_takes() -> None:
    rules = [
        on("main", "deny", equals("branch", "main")),
        on("release", "escalate", equals("branch", "release/.*", "matches")),
        rule("rest", "allow", roles=["repository"]),
    ]
    bundle = branch_bundle(*rules)
    for statement in ({}, {"never": "escalate"}):
        result = guaranteed(bundle, **statement)
        assert result.status == "broken"
    about = {"tool": ("t",), "args": ({"name": "branch", "op": "matches", "value": "release/.*"},)}
    asked = guaranteed(bundle, when=about, never="escalate")
    assert asked.status == "broken"
    assert asked.witness is not None
    assert verdict(bundle, asked.witness.arguments) == "escalate"
    # No branch begins with a hyphen: that a rule allows such is proved to be of no consequence.
    options = {"tool": ("t",), "args": ({"name": "branch", "op": "matches", "value": "-.*"},)}
    assert guaranteed(bundle, when=options).status == "says nothing"


@pytest.mark.parametrize(
    ("properties", "args"),
    [
        (
            {"o": {"type": "object", "properties": {"b": TEXT, "n": TEXT}, "required": ["b", "n"]}},
            {"/o/b": {"roles": ["branch-name"]}, "/o/n": {"roles": ["none"]}},
        ),
        (
            {"files": {"type": "array", "minItems": 1, "items": {
                "type": "object", "properties": {"from": TEXT, "to": TEXT}, "required": ["from", "to"]}}},
            {"/files/*/from": {"roles": ["read-path"]}, "/files/*/to": {"roles": ["write-path"]}},
        ),
        (
            {"body": {"anyOf": [TEXT, {"type": "array", "items": {"properties": {"u": TEXT}}}]}},
            {"/body/*/u": {"roles": ["fetch-url"]}},
        ),
        ({"to": {**TEXT, "minLength": 40}}, {"to": {"roles": ["recipient"], "codec": "comma"}}),
        ({"repo": TEXT, "path": TEXT}, {"repo": {"roles": ["read-path"], "repository": True},
                                        "path": {"roles": ["read-path"], "relative_to": "repo"}}),
    ],
    ids=["a branch below", "siblings", "text or array", "codec", "relative"],
)  # fmt: skip
def test_calls_of_tools_with_dependent_arguments_are_made(
    properties: dict[str, Any], args: dict[str, dict[str, Any]]
) -> None:
    bundle = nested(properties, args, rule("r", "allow", side_effects=True))
    assert guaranteed(bundle).status == "broken"


def nested(properties: dict[str, Any], args: dict[str, dict[str, Any]], *rules: dict[str, Any]) -> Bundle:
    """Return a policy over one tool with arguments that are annotated by pointers."""
    annotated = annotations_of(
        {
            "s": [
                {
                    "tool": "t",
                    "side_effects": True,
                    "input_schema": {"type": "object", "properties": properties, "required": [*properties]},
                    "args": [{"name": name, **each} for name, each in args.items()],
                }
            ]
        }
    )
    return assemble(
        compiled([*rules]),
        annotated,
        registry=Registry(annotated.roles),
        release=Release(engine_version="test"),
    )


UNMADE = {"to": {**TEXT, "pattern": "^[0-9]+$"}}
"""No e-mail address consists of digits."""


def unmade(then: str = "allow", **more: Any) -> Bundle:
    return bundle_of([rule("r", then, roles=["recipient"])], UNMADE, {"to": {"roles": ["recipient"]}}, **more)


@pytest.mark.parametrize("then", ["allow", "deny"])
def test_a_guarantee_about_calls_that_could_not_be_made_is_not_examined(then: str) -> None:
    result = guaranteed(unmade(then))
    assert result.status == "not examined"
    assert not result.holds
    assert any(
        "s/t" in reason and "/to is not exactly one e-mail address" in reason for reason in result.reasons
    )


def test_what_a_guarantee_speaks_of_must_have_been_made() -> None:
    bundle = bundle_of(
        [rule("r", "allow", roles=["read-path"])],
        {"path": {**TEXT, "pattern": "^/srv/"}},
        {"path": {"roles": ["read-path"]}},
    )
    assert guaranteed(bundle).status == "broken"
    outside = {"tool": ("t",), "roles": ("read-path",), "outside": ("/srv",)}
    result = guaranteed(bundle, when=outside)
    assert result.status == "not examined"
    assert any("no call of s/t could be made that it speaks of" in reason for reason in result.reasons)


def test_every_other_command_says_that_the_tool_is_not_examined() -> None:
    bundle, opa = unmade(), OpaCommand(find_opa())
    analysis = examined(bundle)
    assert analysis.tools["s", "t"].exactness == "not examined"
    assert any(line.startswith("  not examined: no call of s/t") for line in text_lines(matrix_of(analysis)))
    report = find(analysis, Material(lambda _: {}), opa)
    (finding,) = [each for each in report.findings if each.kind == "unexamined-tool"]
    assert "/to is not exactly one e-mail address" in finding.message
    assert finding.proof is Proof.NOT_EXAMINED
    assert difference(bundle, unmade("deny"), WORLD, opa).exactness == "not examined"
    alike = difference(bundle, bundle, WORLD, opa)
    assert alike.proof is Proof.NOT_EXAMINED
    assert any("of some tools no call could be made" in line for line in difference_lines(alike))
    assert coverage(analysis, (), opa).unexamined == ("s/t",)
    assert any("not examined" in each.what for each in attack(analysis, (), opa).left_out)
    scenarios = Scenarios(format="ironcurtain/scenarios/v1", world=WORLD, scenarios=())
    assert explain_clause(bundle, "C1", scenarios, opa).exactness == "not examined"


def test_a_claim_about_calls_that_could_not_be_made_fails() -> None:
    numbers = {"type": "array", "items": {**TEXT, "pattern": "^[0-9]+$"}, "minItems": 1}
    document = {
        "tools": ["send_mail"],
        "schema": {"properties": {"to": numbers}},
        "rules": [],
        "claims": [
            {"clause": "C1", "server": "files", "kind": "judgement", "reason": "So.", "tools": ["send_mail"]}
        ],
    }
    (finding,) = [each for each in findings_of(document).findings if each.kind == "false-claim"]
    assert "no call of it could be made" in finding.message
    assert finding.proof is Proof.NOT_EXAMINED
