"""What an output policy leaves of a value, held against another evaluator and against what it promises."""

from __future__ import annotations

from random import Random
from typing import Any

import jsonschema
from hypothesis import assume, example, given, reject, settings
from hypothesis import strategies as st
from support.examples import examples
from support.oracles import output_paths as other

from ironcurtain.gateway.output.automaton import covers
from ironcurtain.gateway.output.paths import parse
from ironcurtain.gateway.output.policy import OutputPolicy
from ironcurtain.gateway.output.projection import project
from ironcurtain.gateway.output.rules import OutputPolicyError

quick = settings(max_examples=examples(200), deadline=None)

STEPS = st.sampled_from([".a", ".b", "..a", "..b", ".*", "[]", "[0]"])
PATHS = st.lists(STEPS, min_size=0, max_size=3).map(
    lambda steps: ("".join(steps) if "".join(steps).startswith(".") else "." + "".join(steps)) or "."
)
RULES = st.dictionaries(PATHS, st.sampled_from(["allow", "mask", "redact"]), max_size=4)
SCALARS = st.sampled_from(["", "x", "four", "longer text", 0, 1.5, True, None])
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, max_size=3)
    ),
    max_leaves=12,
)


def policy_of(rules: dict[str, str]) -> OutputPolicy | None:
    try:
        return OutputPolicy.parse(rules)
    except OutputPolicyError:
        return None


def usable(rules: dict[str, str]) -> OutputPolicy:
    """Return the policy of rules; rules that contradict each other are no example."""
    policy = policy_of(rules)
    return reject() if policy is None else policy


def left_of(policy: OutputPolicy, value: Any) -> Any:
    found = policy.apply(value)
    return other.GONE if found.is_empty else found.value


@quick
@given(PATHS, PATHS)
@example("..a", ".*..a")
@example(".a", "..a")
@example(".*", "..a")
def test_coverage_is_compared_as_over_every_small_address(one: str, two: str) -> None:
    assert covers(parse(one), parse(two)) == (other.coverage(one) >= other.coverage(two))


@quick
@given(RULES, VALUES)
@example({".a": "allow", "..b": "redact"}, {"a": {"b": 1, "c": [{"b": 2, "a": "x"}]}})
@example({".a": "redact", "..b": "allow"}, {"a": {"b": 1}})
@example({".a": "redact", ".a.b": "allow"}, {"a": {"b": "four", "c": 1}})
@example({"..a": "mask"}, {"a": {"a": "four", "b": "four"}})
def test_another_evaluator_leaves_the_same(rules: dict[str, str], value: Any) -> None:
    policy = usable(rules)
    assert left_of(policy, value) == other.filtered(rules, value)


@quick
@given(RULES)
def test_equal_coverage_with_two_actions_is_the_only_refusal(rules: dict[str, str]) -> None:
    contradicting = any(
        rules[one] != rules[two] and other.coverage(one) == other.coverage(two)
        for one in rules
        for two in rules
    )
    assert (policy_of(rules) is None) == contradicting


@quick
@given(RULES, VALUES, st.randoms())
def test_the_order_of_rules_changes_nothing(rules: dict[str, str], value: Any, random: Random) -> None:
    policy = usable(rules)
    items = list(rules.items())
    random.shuffle(items)
    assert left_of(OutputPolicy.parse(dict(items)), value) == left_of(policy, value)


@quick
@given(RULES, PATHS, st.sampled_from(["allow", "mask", "redact"]), VALUES)
def test_a_rule_changes_only_leaves_that_it_covers(
    rules: dict[str, str], path: str, action: str, value: Any
) -> None:
    assume(path not in rules)
    before, after = usable(rules), usable({**rules, path: action})
    outcomes = [dict(policy.outcomes(value)) for policy in (before, after)]
    changed = {at for at in outcomes[0] if outcomes[0][at].action is not outcomes[1][at].action}
    addresses = dict(zip(outcomes[0], (address for address, _ in other.leaves(value)), strict=True))
    assert all(other.covers(path, addresses[at]) for at in changed)


@quick
@given(RULES, PATHS, VALUES)
@example({".a": "allow", "..a": "redact"}, ".a.b", {"a": {"b": "x", "c": "y"}})
def test_adding_a_redact_reveals_nothing(rules: dict[str, str], path: str, value: Any) -> None:
    before, after = usable(rules), usable({**rules, path: "redact"})
    shown = [
        {at for at, outcome in policy.outcomes(value) if outcome.action.name in {"ALLOW", "MASK"}}
        for policy in (before, after)
    ]
    assert shown[1] <= shown[0]


SCHEMAS = st.recursive(
    st.sampled_from(
        [
            {"type": "string", "minLength": 1},
            {"type": "integer"},
            {"type": "null"},
            {"type": "boolean"},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ]
    ),
    lambda inner: st.one_of(
        inner.map(lambda item: {"type": "array", "items": item, "maxItems": 3}),
        st.tuples(
            st.dictionaries(st.sampled_from(["a", "b", "c"]), inner, min_size=1, max_size=3),
            st.booleans(),
            st.just(False) | inner,
        ).map(
            lambda told: {
                "type": "object",
                "properties": told[0],
                "required": sorted(told[0]) if told[1] else [],
                "additionalProperties": told[2],
            }
        ),
    ),
    max_leaves=6,
)


def instances(schema: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Draw values of a schema."""
    if "anyOf" in schema:
        return st.one_of(*map(instances, schema["anyOf"]))
    match schema["type"]:
        case "string":
            return st.sampled_from(["x", "four", "longer text"])
        case "integer":
            return st.integers(0, 5)
        case "boolean":
            return st.booleans()
        case "null":
            return st.none()
        case "array":
            return st.lists(instances(schema["items"]), max_size=3)
    named = {name: instances(each) for name, each in schema["properties"].items()}
    required = {name: named[name] for name in schema["required"]}
    own = st.fixed_dictionaries(required, optional={n: e for n, e in named.items() if n not in required})
    if schema["additionalProperties"] is False:
        return own
    more = st.dictionaries(
        st.sampled_from(["a", "b", "d", "e"]).filter(lambda name: name not in named),
        instances(schema["additionalProperties"]),
        max_size=2,
    )
    return st.tuples(more, own).map(lambda both: both[0] | both[1])


@quick
@given(
    RULES,
    SCHEMAS.map(
        lambda inner: {
            "type": "object",
            "properties": {"a": inner},
            "required": ["a"],
            "additionalProperties": False,
        }
    ),
    st.data(),
)
def test_what_is_left_is_of_the_projected_schema(
    rules: dict[str, str], schema: dict[str, Any], data: st.DataObject
) -> None:
    policy = usable(rules)
    value = data.draw(instances(schema))
    jsonschema.validate(value, schema)
    left = left_of(policy, value)
    jsonschema.validate({} if left is other.GONE else left, project(policy, schema))
