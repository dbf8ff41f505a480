"""Step 3: names, schema, required arguments, null and defaults."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.decision.canonical.validate import InvalidArgumentsError, ValidatedTool
from ironcurtain.model.annotations import ToolAnnotation

NONE = ["none"]


def fitted(properties: dict[str, Any] | None, *args: dict[str, Any], **schema: Any) -> ValidatedTool:
    document: dict[str, Any] = {"tool": "t", "side_effects": True, "args": list(args)}
    if properties is not None:
        document["input_schema"] = {"type": "object", "properties": properties} | schema
    return ValidatedTool(ToolAnnotation.model_validate_json(json.dumps(document)))


def arg(name: str, **options: Any) -> dict[str, Any]:
    return {"name": name, "roles": NONE} | options


def fit(tool: ValidatedTool, arguments: dict[str, Any], *, root: bool = True) -> dict[str, Any]:
    return tool.validate(arguments, has_working_root=root)


TEXT, MAYBE = {"type": "string"}, {"type": ["string", "null"]}


@pytest.mark.parametrize("additional", [True, False, {"type": "string"}])
def test_an_unknown_name_is_refused_whatever_additional_properties_says(additional: Any) -> None:
    tool = fitted({"a": TEXT}, arg("a"), additionalProperties=additional)
    with pytest.raises(InvalidArgumentsError, match=r'unknown argument "b\\n". Valid arguments: a.'):
        fit(tool, {"b\n": "x"})


def test_an_argument_of_the_schema_that_is_not_annotated_is_unknown() -> None:
    with pytest.raises(InvalidArgumentsError, match="unknown argument"):
        fit(fitted({"a": TEXT, "b": TEXT}, arg("a")), {"b": "x"})


@pytest.mark.parametrize(
    ("properties", "given", "filled"),
    [
        ({"a": TEXT | {"default": "."}}, {}, {"a": "."}),
        ({"a": TEXT | {"default": "."}}, {"a": "x"}, {"a": "x"}),
        ({"a": TEXT}, {}, {}),
        ({"a": MAYBE | {"default": "."}}, {"a": None}, {"a": "."}),
        ({"a": MAYBE}, {"a": None}, {"a": None}),
        ({"a": MAYBE | {"default": None}}, {}, {}),
        ({"a": {"default": False}}, {}, {"a": False}),
        ({"a": {"$ref": "#/$defs/d"}}, {}, {"a": "~"}),
        ({"a": {"anyOf": [TEXT, {"type": "null"}], "default": "/etc"}}, {}, {"a": "/etc"}),
    ],
)
def test_defaults(properties: dict[str, Any], given: dict[str, Any], filled: dict[str, Any]) -> None:
    tool = fitted(properties, arg("a"), **{"$defs": {"d": {"type": "string", "default": "~"}}})
    assert fit(tool, given) == filled


def test_null_where_the_schema_does_not_permit_it_is_refused() -> None:
    with pytest.raises(InvalidArgumentsError, match=r"a must be a string \(got null\)"):
        fit(fitted({"a": TEXT | {"default": "."}}, arg("a")), {"a": None})


def test_defaults_of_members_are_filled_where_their_object_is_given() -> None:
    nested = {"type": "object", "properties": {"path": TEXT | {"default": "/etc"}, "x": TEXT}}
    tool = fitted(
        {"options": nested, "files": {"type": "array", "items": nested}},
        arg("/options/path"),
        arg("/options/x"),
        arg("/files/*/path"),
        arg("/files/*/x"),
    )
    given = {"options": {}, "files": [{"x": "y"}, {"path": "/tmp"}]}
    assert fit(tool, given) == {
        "options": {"path": "/etc"},
        "files": [{"x": "y", "path": "/etc"}, {"path": "/tmp"}],
    }
    assert given == {"options": {}, "files": [{"x": "y"}, {"path": "/tmp"}]}
    assert fit(tool, {}) == {}


def test_a_default_object_gets_the_defaults_of_its_members() -> None:
    options = {"default": {}, "properties": {"path": TEXT | {"default": "/etc"}}}
    assert fit(fitted({"options": options}, arg("/options/path")), {}) == {"options": {"path": "/etc"}}


def test_a_filled_default_is_a_copy() -> None:
    tool = fitted({"a": {"type": "array", "default": ["x"]}}, arg("a"))
    fit(tool, {})["a"].append("y")
    assert fit(tool, {}) == {"a": ["x"]}


@pytest.mark.parametrize(
    ("name", "given", "fits"),
    [
        ("a", {"a": "x"}, True),
        ("a", {}, False),
        ("a", {"a": None}, False),
        ("/a/b", {"a": {"b": 1}}, True),
        ("/a/b", {"a": {}}, False),
        ("/a/b", {}, False),
        ("/a/*/b", {"a": [{"b": 1}, {"b": 2}]}, True),
        ("/a/*/b", {"a": [{"b": 1}, {}]}, False),
        ("/a/*/b", {"a": [{"b": None}]}, False),
        ("/a/*/b", {"a": []}, True),
        ("/a/*/b", {}, False),
    ],
)
def test_required(name: str, given: dict[str, Any], fits: bool) -> None:
    tool = fitted(None, arg(name, required=True))
    if fits:
        assert fit(tool, given) == given
    else:
        with pytest.raises(InvalidArgumentsError, match="must be given"):
            fit(tool, given)


def test_a_required_argument_is_not_satisfied_by_its_default() -> None:
    with pytest.raises(InvalidArgumentsError, match="a must be given"):
        fit(fitted({"a": TEXT | {"default": "."}}, arg("a", required=True)), {})


REPOSITORY = {"roles": ["read-path"], "repository": True}


@pytest.mark.parametrize("name", ["path", "/path"])
def test_an_absent_repository_is_the_working_root(name: str) -> None:
    tool = fitted(None, arg(name, **REPOSITORY))
    assert fit(tool, {}) == {"path": "."}
    assert fit(tool, {"path": None}) == {"path": "."}
    with pytest.raises(InvalidArgumentsError, match="pass "):
        fit(tool, {}, root=False)


def test_an_absent_repository_with_a_default_is_the_default() -> None:
    tool = fitted({"path": TEXT | {"default": "sub"}}, arg("path", **REPOSITORY))
    assert fit(tool, {}, root=False) == {"path": "sub"}


def test_a_repository_inside_an_object_has_to_be_given() -> None:
    tool = fitted(None, arg("/options/path", **REPOSITORY))
    assert fit(tool, {"options": {"path": "x"}}) == {"options": {"path": "x"}}
    with pytest.raises(InvalidArgumentsError, match="pass /options/path"):
        fit(tool, {})


def test_a_schema_that_cannot_be_evaluated_makes_every_call_invalid() -> None:
    tool = fitted({"a": {"pattern": "(?=x)"}}, arg("a"))
    with pytest.raises(InvalidArgumentsError, match="cannot be evaluated"):
        fit(tool, {})


def test_a_tool_without_arguments_says_so() -> None:
    with pytest.raises(InvalidArgumentsError, match="takes no arguments"):
        fit(fitted({}), {"a": 1})
    assert fit(fitted({}), {}) == {}
