"""Annotations against schemas, roles and themselves: a table of mistakes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ironcurtain.compiler.annotate.checks import check_annotations, tool_problems
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import AnnotationError, SeveralErrors
from ironcurtain.model.annotations import Annotations, ToolAnnotation

SCHEMA = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "paths": {"type": "array", "items": {"type": "string"}},
        "mode": {"type": "string", "enum": ["list", "delete"], "description": "Omit to list."},
        "count": {"type": "integer"},
        "files": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
            },
        },
    },
}
GOOD: dict[str, dict[str, Any]] = {
    "path": {"roles": ["read-path"]},
    "paths": {"roles": ["read-path"], "relative_to": "path"},
    "mode": {"roles": ["none"]},
    "count": {"roles": ["none"]},
    "/files/*/path": {"roles": ["write-path"]},
    "/files/*/content": {"roles": ["none"]},
}


def annotation(args: dict[str, dict[str, Any] | None], *, schema: bool = True, **more: Any) -> ToolAnnotation:
    merged = {name: value for name, value in {**GOOD, **args}.items() if value is not None}
    document = {
        "tool": "t",
        "side_effects": True,
        "args": [{"name": name, **value} for name, value in merged.items()],
        **({"input_schema": SCHEMA} if schema else {}),
        **more,
    }
    return ToolAnnotation.model_validate_json(json.dumps(document))


def when(
    *branches: dict[str, Any], default: tuple[str, ...] = ("read-path", "delete-path")
) -> dict[str, Any]:
    return {"conditional": {"default": list(default), "when": list(branches)}}


VALID: list[dict[str, Any]] = [
    {},
    {"path": when({"arg": "mode", "equals": "list", "roles": ["read-path"]})},
    {"path": when({"arg": "mode", "in": ["list"], "roles": ["read-path"]})},
    {"path": when({"arg": "mode", "present": False, "roles": ["read-path"]})},
    {"path": when({"arg": "count", "present": True, "roles": ["read-path"]})},
    {"files": {"roles": ["none"]}, "/files/*/path": None, "/files/*/content": None},
    {"paths": None, "/paths/*": {"roles": ["read-path"]}},
    {"path": {"roles": ["read-path"], "recursive": True, "repository": True}},
    {"path": {"roles": ["fetch-url"], "assume_scheme": "https"}, "paths": {"roles": ["none"]}},
    {"path": {"roles": ["recipient"], "codec": "addresses"}, "paths": {"roles": ["none"]}},
]
NO_URL = {"paths": {"roles": ["none"]}}
INVALID: list[tuple[dict[str, Any], str]] = [
    ({"mode": None}, '"mode" is not annotated'),
    ({"/files/*/content": None}, '"/files/*/content" is missing'),
    ({"other": {"roles": ["none"]}}, '"other" is not in the tool'),
    ({"/files/*/size": {"roles": ["none"]}}, '"/files/*/size" is not in the tool'),
    ({"files": {"roles": ["none"]}}, "both as a whole and by pointers"),
    ({"path": {"roles": ["read-pth"]}}, 'unknown role "read-pth"'),
    ({"path": {"roles": ["read-path", "fetch-url"]}}, "several categories"),
    ({"path": {"roles": ["read-path", "none"]}}, "several categories"),
    ({"path": {"roles": ["read-path", "read-path"]}}, "names a role twice"),
    ({"count": {"roles": ["read-path"]}}, "can hold no string"),
    ({"files": {"roles": ["read-path"]}, "/files/*/path": None, "/files/*/content": None}, "holds objects"),
    ({"mode": {"roles": ["none"], "recursive": True}}, "only a path can be"),
    ({"mode": {"roles": ["none"], "repository": True}}, "only a path can be"),
    ({"mode": {"roles": ["none"], "codec": "comma"}}, "has a codec"),
    ({"path": {"roles": ["read-path"], "codec": "addresses"}}, "role recipient only"),
    ({"mode": {"roles": ["none"], "relative_to": "path"}}, "which only a path can have"),
    ({"paths": {"roles": ["read-path"], "relative_to": "nowhere"}}, "no other annotated argument"),
    ({"path": {"roles": ["read-path"], "relative_to": "path"}}, "no other annotated argument"),
    ({"paths": {"roles": ["read-path"], "relative_to": "mode"}}, "no single path"),
    ({"path": {"roles": ["read-path"], "assume_scheme": "https"}}, "assumes the scheme"),
    ({"path": {"roles": ["fetch-url"], "assume_scheme": "ftp"}, **NO_URL}, "assumes the scheme"),
    ({"path": when({"arg": "mode", "equals": "list", "roles": ["write-path"]})}, "may only narrow"),
    ({"path": when({"arg": "mode", "equals": "drop", "roles": ["read-path"]})}, "impossible value"),
    ({"path": when({"arg": "mode", "in": ["list", 1], "roles": ["read-path"]})}, "impossible value"),
    ({"path": when({"arg": "count", "equals": "1", "roles": ["read-path"]})}, "impossible value"),
    ({"path": when({"arg": "mode", "equals": None, "roles": ["read-path"]})}, "compares with null"),
    ({"path": when({"arg": "nothing", "equals": 1, "roles": ["read-path"]})}, "not annotated"),
    ({"path": when({"arg": "path", "present": True, "roles": ["read-path"]})}, "the argument itself"),
    ({"path": when({"arg": "count", "present": False, "roles": ["read-path"]})}, "what absent means"),
]


@pytest.mark.parametrize("args", VALID)
def test_an_annotation_that_fits(args: dict[str, Any]) -> None:
    assert tool_problems(annotation(args), Registry()) == []


@pytest.mark.parametrize(("args", "said"), INVALID)
def test_an_annotation_that_does_not_fit(args: dict[str, Any], said: str) -> None:
    problems = tool_problems(annotation(args), Registry())
    assert any(said in problem for problem in problems), problems


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"side_effects": False}, "side_effects is false"),
        ({"composites": [{"role": "repository", "join": ["mode", "path"], "with": "/"}]}, "of its own"),
        (
            {"composites": [{"role": "repository", "join": ["mode", "x"], "with": "/"}]},
            "no annotated argument",
        ),
        ({"composites": [{"role": "read-path", "join": ["mode", "count"], "with": "/"}]}, "no identifier"),
        ({"composites": [{"role": "repository", "join": ["mode", "mode"], "with": "/"}]}, "joined twice"),
        ({"confirmed": [{"arg": "x", "by": "me", "reason": "r"}]}, "unknown argument"),
        ({"tool": "t\u202e"}, "invisible"),
        ({"input_schema": {"type": "object", "properties": {"x": {"$ref": "https://x"}}}}, "no usable"),
    ],
)
def test_a_tool_that_contradicts_itself(more: dict[str, Any], said: str) -> None:
    problems = tool_problems(annotation({}, **more), Registry())
    assert any(said in problem for problem in problems), problems


def test_without_a_schema_arguments_are_known_by_the_annotation_alone() -> None:
    assert tool_problems(annotation({"anything": {"roles": ["none"]}}, schema=False), Registry()) == []
    narrowed: dict[str, dict[str, Any] | None] = {
        "path": when({"arg": "mode", "present": False, "roles": ["read-path"]})
    }
    assert tool_problems(annotation(narrowed, schema=False), Registry())


def test_all_mistakes_of_a_file_are_raised_together_with_server_and_tool() -> None:
    bad = {"tool": "t", "side_effects": True, "args": [{"name": "x", "roles": ["nonsense"]}]}
    document = {"format": "ironcurtain/annotations/v1", "servers": {"s": {"tools": [bad, bad]}}}
    with pytest.raises(SeveralErrors) as caught:
        check_annotations(Annotations.model_validate_json(json.dumps(document)), Registry())
    assert [str(error.where) for error in caught.value.errors] == ["s", "s", "s"]
    assert all(isinstance(error, AnnotationError) for error in caught.value.errors)
    assert '"t" is annotated 2 times' in caught.value.errors[0].what
