"""Nothing is called proved that a call contradicts: schemas as servers write them, expressions with flags."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from support.projects.policies import annotations_of, compiled

from ironcurtain.analysis.coverage.coverage import coverage
from ironcurtain.analysis.diff.difference import difference
from ironcurtain.analysis.diff.report import text_lines
from ironcurtain.analysis.engine.evaluate import decide_prepared, load_described
from ironcurtain.analysis.engine.policy_analysis import analyse_policy
from ironcurtain.analysis.findings.contradictions import CONTRADICTED
from ironcurtain.analysis.findings.findings import Material, find
from ironcurtain.analysis.guarantees.guarantees import check_guarantees, report_lines, status_words
from ironcurtain.analysis.matrix.matrix import decision_matrix
from ironcurtain.analysis.narrowing.live import LiveTool
from ironcurtain.analysis.narrowing.narrowing import narrowing
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.compiler.verify.evidence import Evidence
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find as find_opa
from ironcurtain.integrations.gate.change_approvals import difference_check
from ironcurtain.model.decision import Decision
from ironcurtain.model.guarantees import GuaranteeResult, Guarantees
from ironcurtain.model.scenarios import DescribedWorld, Scenario, ScenarioCall, Scenarios
from ironcurtain.model.verdict import Verdict

WORLD = DescribedWorld(home="/home/user", sandbox="/home/user/box")
PEOPLE = {"anyOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}], "default": None}
ROLES = {"to": ["recipient"], "cc": ["recipient"], "path": ["read-path"], "url": ["fetch-url"]}


def bundle_of(
    rules: list[dict[str, Any]],
    properties: dict[str, Any],
    required: tuple[str, ...] = (),
    more: dict[str, Any] | None = None,
    args: dict[str, dict[str, Any]] | None = None,
) -> Bundle:
    """Return a policy over one tool `s/t`."""
    schema = {"type": "object", "properties": properties, "required": list(required), **(more or {})}
    known = args or {}
    listed = [
        {"name": name, **known.get(name, {"roles": ROLES.get(name, ["none"])})}
        for name in {**properties, **known}
        if name in properties or name.startswith("/")
    ]
    tool = {"tool": "t", "side_effects": True, "input_schema": schema, "args": listed}
    annotated = annotations_of({"s": [tool]})
    release = Release(engine_version="test")
    return assemble(compiled(rules), annotated, registry=Registry(()), release=release)


def rule(name: str, then: str, **conditions: Any) -> dict[str, Any]:
    return {"name": name, "clause": "C1", "reason": "so", "then": then, "if": conditions}


def on(name: str, then: str, *tests: dict[str, Any]) -> dict[str, Any]:
    return rule(name, then, tool=["t"], args=list(tests))


def matches(name: str, pattern: str) -> dict[str, Any]:
    return {"name": name, "op": "matches", "value": pattern}


def opa() -> OpaCommand:
    return OpaCommand(find_opa())


def decided(bundle: Bundle, arguments: dict[str, Any]) -> Decision:
    policy = load_described(bundle, WORLD)
    prepared = prepare(Call("s", "t", arguments), policy)
    return decide_prepared({"c": prepared}, bundle, policy, opa())["c"]


def guaranteed(bundle: Bundle, **statement: Any) -> GuaranteeResult:
    each = {"id": "G1", "when": {"tool": ("t",)}, **statement}
    read = Guarantees.model_validate(
        {"format": "ironcurtain/guarantees/v1", "guarantees": (each,)}, strict=False
    )
    report = check_guarantees(bundle, read, WORLD, opa())
    (result,) = report.results
    assert report.ok is result.holds
    assert list(report_lines(report))
    return result


def kinds_of_findings(bundle: Bundle) -> set[str]:
    report = find(analyse_policy(bundle, WORLD, opa()), Material(lambda _: {}), opa())
    return {each.kind for each in report.findings}


MAIL = [
    rule("team", "allow", lists={"roles": ["recipient"], "allowed": ["alice@example.com"]}),
    rule("others", "deny", roles=["recipient"]),
]


@pytest.mark.parametrize(
    "schema",
    [
        PEOPLE,
        {"type": ["array", "null"], "items": {"type": "string"}},
        {"oneOf": [{"type": "array", "items": {"type": "string"}}, {"type": "null"}]},
        {"allOf": [{"type": "array", "items": {"type": "string"}}]},
        {"$ref": "#/$defs/People"},
        {"anyOf": [{"$ref": "#/$defs/People"}, {"type": "null"}], "default": None},
        {"anyOf": [{"type": "string"}, {"type": "array", "items": {"$ref": "#/$defs/Person"}}]},
        {"type": "array", "items": {"type": "string"}, "minItems": 2},
        {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 1},
        {"type": "array", "items": {"type": "string", "format": "email"}, "default": ["alice@example.com"]},
    ],
)
def test_the_elements_of_a_list_are_examined_however_the_schema_writes_it(schema: dict[str, Any]) -> None:
    defs = {"$defs": {"People": {"type": "array", "items": {"type": "string"}}, "Person": {"type": "string"}}}
    bundle = bundle_of(MAIL, {"cc": schema}, more=defs)
    team, other = ["alice@example.com"] * 2, ["alice@example.com", "eve@evil.example"]
    if "uniqueItems" in schema:
        team = team[:1]
    assert decided(bundle, {"cc": team}).verdict == "allow"
    assert decided(bundle, {"cc": other}).verdict == "deny"
    result = guaranteed(bundle, never="allow", when={"roles": ("recipient",)})
    assert result.status == "broken"
    kept = {"roles": ("recipient",), "outside": ("alice@example.com",)}
    assert guaranteed(bundle, never="escalate", when=kept).status == "proved"
    (tool,) = narrowing(bundle, WORLD, opa()).tools
    assert tool.reachable
    assert not {"dead-rule", "shadowed-rule"} & kinds_of_findings(bundle)
    denied = bundle_of([rule("others", "deny", roles=["recipient"])], {"cc": schema}, more=defs)
    assert difference(bundle, denied, WORLD, opa()).changes


@pytest.mark.parametrize(
    "pattern", ["(?s).*{}.*", "(?i).*{}.*", "(?is).*{}.*", ".*(?i:{}).*", "(?m)^.*{}.*$"]
)
def test_an_expression_with_flags_is_followed(pattern: str) -> None:
    def policy(word: str) -> Bundle:
        rules = [
            on("word", "deny", matches("text", pattern.format(word))),
            rule("rest", "allow", tool=["t"]),
        ]
        return bundle_of(rules, {"text": {"type": "string"}}, ("text",))

    secret, zzz = policy("secret"), policy("zzz")
    text = "a SECRET b" if "i" in pattern else "a secret b"
    assert [decided(each, {"text": text}).verdict for each in (secret, zzz)] == ["deny", "allow"]
    found = difference(secret, zzz, WORLD, opa())
    assert found.exactness == "exact"
    assert {change.direction for change in found.changes} == {"loosened", "tightened"}
    assert not kinds_of_findings(secret) & {"dead-rule", "shadowed-rule"}
    (table,) = decision_matrix(secret, WORLD, opa()).servers["s"]
    assert {outcome.verdict.value for row in table.rows for outcome in row.outcomes} == {"allow", "deny"}
    assert coverage(analyse_policy(secret, WORLD, opa()), (), opa()).rules.total == 2


def test_an_expression_that_cannot_be_followed_is_sampled_and_its_texts_are_sought() -> None:
    rules = [
        on("letters", "deny", matches("text", "\\pL{3}-[0-9]{3}")),
        rule("rest", "allow", tool=["t"]),
    ]
    bundle = bundle_of(rules, {"text": {"type": "string"}}, ("text",))
    result = guaranteed(bundle, never="allow")
    assert result.status == "broken"
    (table,) = decision_matrix(bundle, WORLD, opa()).servers["s"]
    assert table.exactness == "sampled"
    assert "a set of Unicode" in table.reasons[0]
    assert {outcome.verdict.value for row in table.rows for outcome in row.outcomes} == {"allow", "deny"}
    assert "dead-rule" not in kinds_of_findings(bundle)
    never = [on("never", "deny", matches("text", "\\pL\\b\\pL")), rule("rest", "deny", tool=["t"])]
    result = guaranteed(bundle_of(never, {"text": {"type": "string"}}, ("text",)), never="escalate")
    assert result.status == "not found"
    assert result.reasons


def test_a_short_argument_does_not_hide_what_is_allowed() -> None:
    # None of our witnesses has ten characters; /srv/a/x has eight.
    rules = [rule("srv", "allow", paths={"roles": ["read-path"], "within": ["/srv/a"]})]
    bundle = bundle_of(rules, {"path": {"type": "string", "maxLength": 10}}, ("path",))
    assert decided(bundle, {"path": "/srv/a/x"}).verdict == "allow"
    assert guaranteed(bundle, never="allow").status in ("broken", "not found")
    (tool,) = narrowing(bundle, WORLD, opa()).tools
    assert tool.reachable
    deep = [rule("deep", "allow", paths={"roles": ["read-path"], "within": ["/srv/a/b/c/d/e"]})]
    long = bundle_of(deep, {"path": {"type": "string", "maxLength": 10}}, ("path",))
    assert guaranteed(long, never="allow").status == "not found"
    assert (
        guaranteed(long, never="allow", when={"roles": ("read-path",), "outside": ("/srv/a",)}).status
        == "proved"
    )


def test_an_enumeration_of_paths_is_examined_value_by_value() -> None:
    rules = [rule("srv", "allow", paths={"roles": ["read-path"], "within": ["/srv/a", "/srv/b"]})]
    bundle = bundle_of(rules, {"path": {"enum": ["/srv/a/x", "/etc/y"]}}, ("path",))
    assert decided(bundle, {"path": "/srv/a/x"}).verdict == "allow"
    assert guaranteed(bundle, never="allow").status == "broken"
    outside = {"roles": ("read-path",), "outside": ("/srv/a",)}
    assert guaranteed(bundle, never="allow", when=outside).status == "proved"
    inside = {"roles": ("read-path",), "within": ("/srv/b",)}
    assert guaranteed(bundle, never="allow", when=inside).status == "says nothing"


def test_a_default_that_is_not_of_its_role_does_not_hide_other_calls() -> None:
    rules = [rule("srv", "allow", paths={"roles": ["read-path"], "within": ["/srv/a"]})]
    for default in (5, "https://example.com", ["/srv/a/x", 5]):
        bundle = bundle_of(rules, {"path": {"type": ["string", "array"], "default": default}})
        assert decided(bundle, {"path": "/srv/a/x"}).verdict == "allow"
        assert guaranteed(bundle, never="allow").status == "broken"


def test_what_is_left_out_below_a_value_is_its_default() -> None:
    """It is absent to the test where there is no default: only `hard` itself is allowed here."""
    inside = {"type": "object", "properties": {"mode": {"type": "string", "default": "soft"}}}
    deep = {"type": "object", "properties": {"deep": inside}, "required": ["deep"]}
    hard = {"op": "equals", "value": "hard", "or_absent": True}
    for schema, place, given in (
        (inside, "/p/mode", {"mode": "hard"}),
        (listed(inside), "/p/*/mode", [{"mode": "hard"}]),
        (listed(deep), "/p/*/deep/mode", [{"deep": {"mode": "hard"}}]),
    ):
        over = {"over": "some"} if "*" in place else {}
        rules = [on("hard", "allow", {"name": place, **hard, **over})]
        bundle = bundle_of(rules, {"p": schema}, ("p",), args={place: {"roles": ["none"]}})
        assert decided(bundle, {"p": given}).verdict == "allow"
        assert guaranteed(bundle, never="allow").status == "broken"


def listed(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def test_a_default_outside_the_enumeration_is_examined() -> None:
    rules = [rule("srv", "allow", paths={"roles": ["read-path"], "within": ["/srv/a"]})]
    bundle = bundle_of(rules, {"path": {"enum": ["/etc/y"], "default": "/srv/a/x"}})
    assert decided(bundle, {}).verdict == "allow"
    assert guaranteed(bundle, never="allow").status == "broken"
    soft = [on("soft", "allow", {"name": "mode", "op": "equals", "value": "soft"})]
    modes = bundle_of(soft, {"mode": {"enum": ["hard"], "default": "soft"}})
    assert decided(modes, {}).verdict == "allow"
    assert guaranteed(modes, never="allow").status == "broken"


def test_a_format_that_nobody_asserts_hides_nothing() -> None:
    rules = [on("x", "allow", {"name": "when", "op": "equals", "value": "now"})]
    bundle = bundle_of(rules, {"when": {"type": "string", "format": "date-time"}}, ("when",))
    assert decided(bundle, {"when": "now"}).verdict == "allow"
    assert guaranteed(bundle, never="allow").status == "broken"


def test_roles_that_depend_on_an_absent_list_are_followed() -> None:
    conditional = {
        "default": ["write-path", "read-path"],
        "when": [{"arg": "cc", "present": False, "roles": ["read-path"]}],
    }
    rules = [
        rule("read", "allow", paths={"roles": ["read-path"], "within": ["/srv"]}),
        rule("write", "allow", paths={"roles": ["write-path"], "within": ["/srv/w"]}),
        rule("mail", "allow", roles=["recipient"]),
    ]
    bundle = bundle_of(
        rules,
        {"path": {"type": "string"}, "cc": PEOPLE},
        ("path",),
        args={"path": {"conditional": conditional}},
    )
    assert decided(bundle, {"path": "/srv/x"}).verdict == "allow"
    assert decided(bundle, {"path": "/srv/x", "cc": ["a@example.com"]}).verdict == "deny"
    assert decided(bundle, {"path": "/srv/w/x", "cc": ["a@example.com"]}).verdict == "allow"
    written = {"roles": ("write-path",), "within": ("/srv/w",)}
    assert guaranteed(bundle, never="allow", when=written).status == "broken"
    elsewhere = {"roles": ("write-path",), "outside": ("/srv/w",)}
    assert guaranteed(bundle, never="allow", when=elsewhere).status == "proved"


def test_lengths_beyond_what_was_tried_before_are_followed() -> None:
    rules = [on("long", "allow", {"name": "text", "op": "ge", "value": 500, "measure": "length"})]
    bundle = bundle_of(rules, {"text": {"type": "string"}}, ("text",))
    assert decided(bundle, {"text": "x" * 600}).verdict == "allow"
    assert guaranteed(bundle, never="allow").status == "broken"
    short = bundle_of(rules, {"text": {"type": "string", "maxLength": 499}}, ("text",))
    assert guaranteed(short, never="allow").status == "proved"


def test_policies_are_called_alike_only_where_that_is_proved() -> None:
    def policy(pattern: str, then: str) -> Bundle:
        rules = [on("word", then, matches("text", pattern)), rule("rest", "deny", tool=["t"])]
        return bundle_of(rules, {"text": {"type": "string"}}, ("text",))

    proved = difference(policy("(?i)a+", "deny"), policy("(?i)b+", "deny"), WORLD, opa())
    assert (proved.proof, proved.changes) == ("proved", ())
    unread = difference(policy("\\pL+", "deny"), policy("(?i)b+", "deny"), WORLD, opa())
    assert (unread.proof, unread.changes) == ("not found", ())
    assert "not proved" in " ".join(text_lines(unread))
    today = date(2026, 1, 1)
    assert difference_check(proved, None, None, today).status == "passed"
    assert difference_check(unread, None, None, today).status == "failed"
    assert difference_check(unread, None, None, today, sampled=True).status == "passed"


def test_a_scenario_overrules_what_was_not_found_and_what_was_proved() -> None:
    rules = [on("letters", "deny", matches("text", "\\pL\\pN{3}")), rule("rest", "allow", tool=["t"])]
    bundle = bundle_of(rules, {"text": {"type": "string"}}, ("text",))
    call = ScenarioCall(server="s", tool="t", arguments={"text": "é٣٣٣"})
    scenario = Scenario(id="s1", call=call, expect=Verdict.DENY, origin="generated")
    examined = analyse_policy(bundle, WORLD, opa())

    def kinds(*scenarios: Scenario) -> set[tuple[str, str]]:
        report = find(examined, Material(lambda _: {}, scenarios), opa())
        return {(each.kind, each.proof) for each in report.findings}

    assert ("dead-rule", "not found") in kinds()
    assert not [kind for kind, _ in kinds(scenario) if kind == "dead-rule"]
    examined.tools["s", "t"].gaps = frozenset()  # as if nothing had been left out
    assert ("dead-rule", "proved") in kinds()
    report = find(examined, Material(lambda _: {}, (scenario,)), opa())
    (told,) = (each for each in report.findings if each.kind == "contradicted-proof")
    assert (told.severity, told.proof) == ("note", "found")
    assert (
        "proved that the rule letters decides no call of t, and the scenario s1 shows otherwise"
        in told.message
    )
    assert told.witness is not None
    assert told.witness.rule == "letters"
    assert not [each for each in report.findings if each.kind == "dead-rule" or each.proof == "proved"]
    assert report.reasons == {"s/t": (CONTRADICTED,)}
    demanded = scenario.model_copy(update={"origin": "handwritten"})
    covered = coverage(examined, (demanded,), opa())
    assert (covered.sampled, covered.rules.reached) == (("s/t",), 1)
    evidence = Evidence(
        bundle,
        Scenarios(format="ironcurtain/scenarios/v1", world=WORLD, scenarios=(demanded,)),
        None,
        find_opa(),
    )
    vars(evidence)["_exact"] = examined  # what it would have worked out
    assert "contradicted-proof" in {each.kind for each in evidence.gathered().findings.findings}
    assert [each.exactness for each in evidence.matrix.servers["s"]] == ["sampled"]
    assert evidence.coverage.sampled == ("s/t",)


def test_a_guarantee_that_speaks_of_no_call_says_nothing() -> None:
    rules = [rule("srv", "allow", paths={"roles": ["read-path"], "within": ["/srv/a"]})]
    bundle = bundle_of(rules, {"path": {"type": "string"}, "mode": {"enum": ["a"]}}, ("path",))
    never = {"tool": ("t",), "args": ({"name": "mode", "op": "equals", "value": "b"},)}
    result = guaranteed(bundle, never="allow", when=never)
    assert (result.status, result.holds, result.cells) == ("says nothing", False, 0)


def test_a_place_that_only_a_default_names_is_in_the_matrix() -> None:
    rules = [rule("srv", "allow", paths={"roles": ["read-path"], "within": ["/srv/a"]})]
    bundle = bundle_of(rules, {"path": {"enum": ["/etc/y"], "default": "/srv/a/x"}})
    (table,) = decision_matrix(bundle, WORLD, opa()).servers["s"]
    rows = {(o.verdict.value, row.where) for row in table.rows for o in row.outcomes}
    assert rows == {("deny", ("everything else",)), ("allow", ("/srv/a/x",))}


def test_a_tested_part_of_a_joined_resource_is_sampled_and_breaks_nothing() -> None:
    parts = {"owner": {"type": "string"}, "repo": {"type": "string"}}
    tool = {
        "tool": "t",
        "side_effects": True,
        "input_schema": {"type": "object", "properties": parts, "required": ["owner", "repo"]},
        "args": [{"name": name, "roles": ["none"]} for name in parts],
        "composites": [{"role": "repository", "join": ["owner", "repo"], "with": "/"}],
    }
    rules = [on("short", "allow", {"name": "repo", "op": "le", "value": 3, "measure": "length"})]
    annotated, release = annotations_of({"s": [tool]}), Release(engine_version="test")
    bundle = assemble(compiled(rules), annotated, registry=Registry(()), release=release)
    assert decided(bundle, {"owner": "acme", "repo": "web"}).verdict == "allow"
    result = guaranteed(bundle, never="allow", when={"roles": ("repository",)})
    assert result.cells
    assert result.status in ("broken", "not found")
    (shown,) = narrowing(bundle, WORLD, opa()).tools
    assert shown.reachable


def test_a_required_argument_whose_values_nothing_can_be_found_for_stops_nothing() -> None:
    rules = [on("x", "allow", {"name": "code", "op": "equals", "value": "abc"})]
    odd = {"type": "string", "pattern": "^\\pL{90,120}$", "not": {"const": "q"}}
    bundle = bundle_of(rules, {"code": odd}, ("code",))
    assert guaranteed(bundle, never="allow").status == "not examined"


def test_tied_arguments_are_proved_about_and_never_found_to_break() -> None:
    rules = [rule("both", "allow", tool=["t"])]
    tied = {"not": {"required": ["path"]}}
    bundle = bundle_of(rules, {"path": {"type": "string"}, "n": {"type": "integer"}}, more=tied)
    assert decided(bundle, {"path": "/srv/x"}).verdict == "deny"
    result = guaranteed(bundle, never="allow", when={"roles": ("read-path",)})
    assert result.status == "not examined"
    assert result.reasons[0] == "not examined: no call of s/t could be made that it speaks of"
    assert status_words(result) == "not examined"
    open_ = result.model_copy(update={"status": "not found"})
    assert status_words(open_) == "not proved: no counterexample found in 1 kind of resource"
    assert status_words(open_.model_copy(update={"cells": 2})).endswith("in 2 kinds of resources")
    denied = bundle_of([rule("no", "deny", tool=["t"])], {"path": {"type": "string"}}, more=tied)
    assert guaranteed(denied, never="escalate", when={"roles": ("read-path",)}).status == "proved"


@pytest.mark.parametrize("kind", ["integer", "number"])
@pytest.mark.parametrize("value", [1e300, 1e16, 9007199254740992.0, -1e16])
def test_no_call_holds_a_number_beyond_those_that_are_examined(kind: str, value: float) -> None:
    beyond = {"name": "n", "op": "gt", "value": 9007199254740991}
    below = {"name": "n", "op": "lt", "value": -9007199254740991}
    rules = [on("beyond", "allow", beyond), on("below", "allow", below)]
    bundle = bundle_of(rules, {"n": {"type": kind}})
    assert decided(bundle, {"n": value}).rule == "structural-malformed-call"
    guarantee = {"id": "g", "never": "allow", "when": {"server": ["s"], "tool": ["t"]}}
    demanded = Guarantees.model_validate(
        {"format": "ironcurtain/guarantees/v1", "guarantees": (guarantee,)}, strict=False
    )
    assert check_guarantees(bundle, demanded, WORLD, opa()).results[0].status == "proved"


def test_a_scenario_states_no_number_that_no_call_holds() -> None:
    with pytest.raises(ValueError, match="beyond"):
        ScenarioCall(server="s", tool="t", arguments={"n": 1e16})


def test_a_gap_tells_a_fact_of_the_caller_from_the_argument_of_its_name() -> None:
    compared = {"name": "/labels/*", "op": "equals", "value": {"caller": "/labels"}}
    policy = [rule("allow-own", "allow", tool=["t"], args=[compared])]
    (table,) = decision_matrix(
        bundle_of(policy, {"labels": {"type": "array", "items": {"type": "string"}}}), WORLD, opa()
    ).servers["s"]
    assert table.reasons
    assert all(reason.endswith("in labels, the caller's labels") for reason in table.reasons)


def test_a_tool_is_not_hidden_of_which_a_scenario_is_permitted(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = bundle_of([rule("allow-all", "allow", tool=["t"])], {"text": {"type": "string"}})
    monkeypatch.setattr(LiveTool, "possible", lambda _: False)
    call = ScenarioCall(server="s", tool="t", arguments={"text": "a"})
    permitted = Scenario(id="usual", call=call, expect=Verdict.ALLOW)
    (hidden,) = narrowing(bundle, WORLD, opa()).tools
    assert not hidden.reachable
    (shown,) = narrowing(bundle, WORLD, opa(), [permitted]).tools
    assert shown.reachable
    assert shown.input_schema is not None
    assert shown.reasons == ("the call of the scenario usual is permitted",)
