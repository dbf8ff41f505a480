"""Schemas of servers: validated in words that help, and in bounded time whatever the server wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from ironcurtain.decision.canonical.json_schema import ArgumentSchema
from ironcurtain.decision.canonical.schema_patterns import UnusableSchemaError
from ironcurtain.system import json_text

T = TypeVar("T")


def check(schema: dict[str, Any], **arguments: Any) -> list[str]:
    return ArgumentSchema({"type": "object"} | schema).problems(arguments)


def prop(**schema: Any) -> dict[str, Any]:
    return {"properties": {"a": schema}}


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        (prop(type="string"), {"x": 1}, "a must be a string (got object)"),
        (prop(type="string"), 1, "a must be a string (got number)"),
        (prop(type="string"), True, "a must be a string (got boolean)"),
        (prop(type="string"), None, "a must be a string (got null)"),
        (prop(type="integer"), [1], "a must be an integer (got array)"),
        (prop(type=["string", "null"]), 1, "a must be a string or null (got number)"),
        (prop(enum=["x", "y"]), "z", 'a must be one of "x", "y"'),
        (prop(items={"type": "string"}), ["a", 1], "a/1 must be a string (got number)"),
        (prop(pattern="^a+$"), "b", 'a must match "^a+$"'),
        (prop(required=["b"]), {}, 'a must have "b"'),
        (prop(additionalProperties=False), {"b\n": 1}, 'a has no member "b\\n"'),
        (prop(uniqueItems=True), [1, 1.0], "a holds an element twice"),
    ],
)
def test_a_problem_is_said_in_plain_words(schema: dict[str, Any], value: Any, problem: str) -> None:
    assert check(schema, a=value) == [problem]


def test_true_and_one_are_two_elements() -> None:
    assert check(prop(uniqueItems=True), a=[True, 1, "1", [1], {"a": 1}]) == []


def test_formats_are_not_asserted() -> None:
    assert check(prop(type="string", format="uri"), a="no uri") == []


@pytest.mark.parametrize("pattern", ["(a)\\1", "(?=a)b", "(", "(?<n>a)(?P=n)", "a{1001}{1001}"])
def test_a_pattern_outside_re2_makes_the_schema_unusable(pattern: str) -> None:
    with pytest.raises(UnusableSchemaError):
        ArgumentSchema(prop(pattern=pattern))
    with pytest.raises(UnusableSchemaError):
        ArgumentSchema({"properties": {"default": {"patternProperties": {pattern: {}}}}})


def test_evil_patterns_take_linear_time() -> None:
    evil, text = "^(a|a)*(a*)*b$", "a" * 100_000
    assert check(prop(pattern=evil), a=text)
    assert check({"patternProperties": {evil: {"type": "string"}}}, **{text: 1}) == []
    assert check({"propertyNames": {"pattern": evil}}, **{text: 1})
    assert check({"patternProperties": {evil: {}}, "additionalProperties": False}, **{text: 1})


def test_pattern_properties_never_reach_pythons_own_expressions() -> None:
    """`unevaluatedProperties` would search them with `re`, wherever in the schema they stand."""
    schemas: tuple[dict[str, Any], ...] = (
        {"patternProperties": {"^(a*)*b$": {}}, "unevaluatedProperties": False},
        {"allOf": [{"patternProperties": {"^(a*)*b$": {}}}], "unevaluatedProperties": False},
        {"properties": {"default": {"patternProperties": {"a": {}}, "unevaluatedProperties": False}}},
    )
    for schema in schemas:
        with pytest.raises(UnusableSchemaError, match="unevaluatedProperties"):
            ArgumentSchema(schema)


def test_a_schema_that_grows_exponentially_is_given_up() -> None:
    definitions = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(40)}
    schema = {"$defs": definitions | {"d40": {"type": "string"}}, **prop(**{"$ref": "#/$defs/d0"})}
    assert check(schema, a="x") == ["the tool's schema takes too long to evaluate for these arguments"]


def test_a_long_array_of_mixed_types_is_compared_in_linear_time() -> None:
    assert check(prop(uniqueItems=True), a=[*({"n": n} for n in range(40_000)), "x"]) == []


def test_a_huge_wrong_argument_yields_few_words() -> None:
    problems = check(prop(items={"type": "string"}), a=[1] * 200_000)
    assert len(problems) == 5
    assert len(check(prop(const=1), a="x" * 500_000)[0]) < 2000


@pytest.mark.parametrize(
    "reference", ["https://example.com/s.json", "file:///etc/passwd", "other.json", "#/nowhere", "#anchor"]
)
def test_a_reference_that_leads_elsewhere_is_refused(reference: str) -> None:
    assert check(prop(**{"$ref": reference}), a=1) == [
        "the tool's schema refers to something that cannot be followed"
    ]


def test_a_reference_to_itself_ends() -> None:
    assert check({"$ref": "#"}, a=1) == ["the tool's schema refers to something that cannot be followed"]


@pytest.mark.parametrize("word", ["not", "allOf"])
def test_a_reference_to_itself_ends_wherever_the_stack_does(word: str) -> None:
    # Some of what it goes through is Rust, which panics where its part of the stack is the last.
    schema = ArgumentSchema({word: {"$ref": "#"} if word == "not" else [{"$ref": "#"}]})

    def below(frames: int, ask: Callable[[], T]) -> T:
        return below(frames - 1, ask) if frames else ask()

    for frames in range(40):
        assert below(frames, lambda: schema.problems({})) == [
            "the tool's schema refers to something that cannot be followed"
        ]
        assert below(frames, lambda: schema.checker([schema.schema])({})) is None


def test_recursive_schemas_work() -> None:
    tree = {"type": "object", "properties": {"child": {"$ref": "#/$defs/tree"}}, "required": ["name"]}
    schema = {"$defs": {"tree": tree}, **prop(**{"$ref": "#/$defs/tree"})}
    assert check(schema, a={"name": 1, "child": {"name": 2}}) == []
    assert check(schema, a={"name": 1, "child": {}}) == ['a/child must have "name"']


@pytest.mark.parametrize("schema", [{"type": 5}, {"properties": []}, {"pattern": 5}, {"$ref": 5}])
def test_no_schema_at_all(schema: dict[str, Any]) -> None:
    with pytest.raises(UnusableSchemaError):
        ArgumentSchema(schema)


def test_members_are_found_through_references() -> None:
    schema = ArgumentSchema(
        {
            "$defs": {
                "p": {"type": "string", "default": "."},
                "o": {"properties": {"p": {"$ref": "#/$defs/p"}}},
            },
            "properties": {
                "list": {"items": {"$ref": "#/$defs/o"}},
                "path": {"$ref": "#/$defs/p"},
                "b": True,
            },
        }
    )
    assert schema.properties["path"]["default"] == "."
    element = schema.below(schema.properties["list"], None)
    assert schema.below(element, "p")["default"] == "."
    assert schema.below(element, "q") == {}
    assert "b" not in schema.properties


def test_null_has_the_name_of_its_type() -> None:
    assert json_text.type_name(None) == "null"
