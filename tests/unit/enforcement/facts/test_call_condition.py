"""What a counter counts is what a rule that denies, with the same condition, would speak of."""

from __future__ import annotations

from random import Random

from support.called import load, one_tool, prepared
from support.generators import spaces
from support.oracles import twin
from support.projects.policies import rule, tool

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.enforcement.facts.call_condition import CallCondition
from ironcurtain.model.conditions import If


def test_a_condition_matches_the_calls_that_a_deny_rule_would_speak_of() -> None:
    random, seen = Random(17), {True: 0, False: 0}
    for _ in range(60):
        made = {**spaces.random_rule(random, "counted"), "then": "deny"}
        conditions = made["if"]
        for key in ("paths", "domains", "lists"):
            conditions[key] = [
                {name: value for name, value in one.items() if name != "or_none"}
                for one in conditions.get(key, [])
            ]
        made["if"] = {key: value for key, value in conditions.items() if value != []} | {"in_sandbox": True}
        bundle = spaces.bundle_of([made])
        content, policy = PolicyContent.of(bundle), load(bundle)
        found = content.rules["counted"].if_
        assert found is not None
        canonical = {**made, "if": found.model_dump(mode="json", by_alias=True, exclude_defaults=True)}
        condition = CallCondition(found)
        for _ in range(40):
            name = random.choice(list(spaces.SCHEMA))
            call = Call("s", name, spaces.random_arguments(random, name), spaces.random_caller(random))
            ready = prepare(call, policy)
            annotation = policy.annotation("s", name)
            if not isinstance(ready, Prepared) or annotation is None:
                continue
            judged = twin.decide([canonical], ready.input)["subjects"].values()
            expected = any(each["rule"] == "counted" for each in judged)
            is_known = all(each.unresolved is None for each in ready.call.resources)
            matches = condition.concerns("s", annotation) and condition.matches(ready)
            assert matches == expected or (matches and not is_known), (made, call)
            seen[matches] += 1
    assert min(seen.values()) > 100


def test_a_resource_that_is_not_known_counts_as_matching() -> None:
    push = tool("push", path={"roles": ["write-history"], "repository": True}, remote=["git-remote-url"])
    policy = one_tool(push, [rule("r", "deny", tool=["push"])])
    ready = prepared(policy, "push", {"path": "/home/user/sandbox", "remote": "origin"})
    assert [each.unresolved is not None for each in ready.call.resources if each.at == "/remote"] == [True]
    domains = {"roles": ["git-remote-url"], "allowed": ["github.com"]}
    assert CallCondition(If.model_validate({"domains": domains}, strict=False)).matches(ready)


def test_what_containment_discharges_counts() -> None:
    read = tool("read", path=["read-path"])
    policy = one_tool(read, [rule("r", "deny", paths={"roles": ["read-path"], "within": ["~/sandbox"]})])
    ready = prepared(policy, "read", {"path": "/home/user/sandbox/secret"})
    assert ready.minimum.discharged
    within = {"paths": {"roles": ["read-path"], "within": ["~/sandbox"]}}
    assert CallCondition(If.model_validate(within, strict=False)).matches(ready)
