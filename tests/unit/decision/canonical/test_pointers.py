"""Pointers: what a name or pointer of an annotation means inside arguments."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironcurtain.decision.canonical import pointers

FILES: dict[str, Any] = {"files": [{"path": "a"}, {"path": "b", "x": None}], "a/b": {"~": 1}, "*": 2}


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("files", [(("files",), FILES["files"])]),
        ("/files/*/path", [(("files", "0", "path"), "a"), (("files", "1", "path"), "b")]),
        ("/files/1/path", [(("files", "1", "path"), "b")]),
        ("/files/01/path", []),
        ("/files/-1/path", []),
        ("/files/2/path", []),
        ("/files/\u0661/path", []),
        ("a/b", [(("a/b",), {"~": 1})]),
        ("/a~1b/~0", [(("a/b", "~"), 1)]),
        ("/a~1b/*", []),
        ("*", [(("*",), 2)]),
        ("nothing", []),
    ],
)
def test_what_a_pointer_names(name: str, found: list[Any]) -> None:
    assert list(pointers.matches(FILES, pointers.tokens(pointers.of_name(name)))) == found


@given(st.lists(st.text(), min_size=1))
def test_joining_and_splitting_are_inverse(steps: list[str]) -> None:
    assert pointers.tokens(pointers.join(tuple(steps))) == tuple(steps)


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("files", False),
        ("nothing", True),
        ("/files/*/path", False),
        ("/files/*/x", True),
        ("/files/0/path", False),
        ("/files/1/x", True),
    ],
)
def test_missing(name: str, missing: bool) -> None:
    assert pointers.is_missing(FILES, pointers.tokens(pointers.of_name(name))) is missing


def test_ends_are_the_scalars_and_whatever_is_empty_in_document_order() -> None:
    value: dict[str, Any] = {"b": [1, []], "a": {"x": {}, "y": None}}
    assert list(pointers.ends(value)) == [
        (("b", "0"), 1),
        (("b", "1"), []),
        (("a", "x"), {}),
        (("a", "y"), None),
    ]


@pytest.mark.parametrize(
    ("pattern", "steps", "meets"),
    [
        (("f", "*", "p"), ("f", "0"), True),
        (("f", "*", "p"), ("f", "0", "p", "q"), True),
        (("f", "*", "p"), ("f", "0", "q"), False),
    ],
)
def test_meets(pattern: tuple[str, ...], steps: tuple[str, ...], meets: bool) -> None:
    assert pointers.meets(pattern, steps) is meets


def test_assign_reaches_into_arrays_and_objects() -> None:
    value: dict[str, Any] = {"a": [{"b": 1}]}
    pointers.assign(value, ("a", "0", "b"), 2)
    assert value == {"a": [{"b": 2}]}
