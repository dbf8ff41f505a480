"""Protecting more, naming more, and knowing less of the caller never loosen a verdict."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from support.called import answering, decide_with, one_tool
from support.examples import examples
from support.generators import rendered
from support.generators.drawn import PATHS, PROTECTED, ROLES, TEXTS, WORLD, plausible, tools
from support.oracles import twin
from support.projects.policies import rule, tool

from ironcurtain.decision.decide import Call
from ironcurtain.model.verdict import Verdict

RULES = [
    rule("src", "allow", paths={"roles": ["read-path"], "within": ["/srv"]}),
    rule("web", "allow", domains={"roles": ["fetch-url"], "allowed": ["github.com", "*.example.com"]}),
    rule("mail", "allow", lists={"roles": ["recipient"], "allowed": ["*@example.com"]}),
    rule("write", "escalate", roles=["write-path", "fetch-url"]),
]
TOOL = tool("t", a=["read-path"], w=["write-path"], u=["fetch-url"], m=["recipient"], n=["none"])
stable = settings(max_examples=examples(50), deadline=None)
fields = {name: st.sampled_from(TEXTS) for name in ("a", "w", "u", "m", "n")}
OTHERS = {name: drawn for name, drawn in fields.items() if name != "a"}


def severity(policy: Any, arguments: Any) -> int:
    verdict: Verdict = decide_with(policy, Call("s", "t", arguments), answering(RULES)).verdict
    return verdict.severity


@stable
@given(tools(), plausible, st.sampled_from(["/", "/srv", "/home/user/sandbox/file", "~/x", "/etc/passwd"]))
def test_a_further_protected_path_never_loosens(drawn: dict[str, Any], arguments: Any, more: str) -> None:
    less = one_tool(drawn, RULES, roles=ROLES, **WORLD)
    tighter = one_tool(drawn, RULES, roles=ROLES, **WORLD | {"protected": (*PROTECTED, more)})
    assert severity(tighter, arguments) >= severity(less, arguments)


POLICY = one_tool(TOOL, RULES, **WORLD)


@stable
@given(st.fixed_dictionaries({"a": fields["a"]}, optional=OTHERS), st.sampled_from(list(fields)), st.data())
def test_a_further_argument_never_loosens(given_: dict[str, str], name: str, data: Any) -> None:
    more = given_ | {name: given_.get(name, data.draw(fields[name]))}
    assert severity(POLICY, more) >= severity(POLICY, given_)


@stable
@given(st.lists(st.sampled_from(PATHS), min_size=1, max_size=4), st.sampled_from(PATHS), st.integers(0, 4))
def test_a_further_element_never_loosens(paths: list[str], more: str, place: int) -> None:
    longer = [*paths[:place], more, *paths[place:]]
    assert severity(POLICY, {"a": longer}) >= severity(POLICY, {"a": paths})
    assert severity(POLICY, {"a": longer[::-1]}) == severity(POLICY, {"a": longer})


FACTS = ["sub", "age", "a", "list"]


def _forgotten(facts: dict[str, Any], name: str, how: str) -> dict[str, Any]:
    """Return facts of which one is missing or null."""
    rest = {key: value for key, value in facts.items() if key != name}
    return rest if how == "missing" else {**rest, name: None}


@stable
@given(st.integers(0, 10**9), st.sampled_from(FACTS), st.sampled_from(["missing", "null"]))
def test_a_forgotten_fact_never_loosens(seed: int, name: str, how: str) -> None:
    random = Random(seed)
    rules = [rendered.random_rule(random, f"r{number}") for number in range(random.choice([1, 3, 6]))]
    call = rendered.random_call(random, "s0")
    known, forgotten = (
        twin.decide(rules, {**call, "caller": facts})["verdict"]
        for facts in (call["caller"], _forgotten(call["caller"], name, how))
    )
    # A question to a person may take the place of a refusal, if its rule comes first; permission never does.
    assert forgotten != "allow" or known == "allow"
    if all(rule["then"] != "escalate" for rule in rules):
        assert twin.SEVERITY[forgotten] >= twin.SEVERITY[known]


@stable
@given(st.lists(st.sampled_from(PATHS), min_size=1, max_size=4))
def test_an_array_is_as_severe_as_its_worst_element(paths: list[str]) -> None:
    assert severity(POLICY, {"a": paths}) == max(severity(POLICY, {"a": path}) for path in paths)
