"""Reading the engine's answer: the closed set of ways in which it can be no decision."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ironcurtain.engine.answer import BUNDLE_NAME, EngineAnswerError, read_answer

REVISION = "sha256:" + "a" * 64


def answer(revision: Any = REVISION, **members: Any) -> bytes:
    return json.dumps({"provenance": {"bundles": {BUNDLE_NAME: {"revision": revision}}}, **members}).encode()


def rule_of(status: int, body: bytes) -> str:
    with pytest.raises(EngineAnswerError) as caught:
        read_answer(status, body, REVISION)
    return caught.value.rule


def test_decision_object_of_the_expected_revision() -> None:
    read = read_answer(200, answer(result={"verdict": "allow"}), REVISION)
    assert (read.result, read.revision, read.decision_id) == ({"verdict": "allow"}, REVISION, None)


@pytest.mark.parametrize(
    ("given", "kept"),
    [("9c0d-1", "9c0d-1"), (7, None), ("x" * 129, None), ("a\n", None)],
    ids=["id", "number", "long", "control"],
)
def test_the_engines_own_id_of_a_decision_is_kept_where_it_is_one(given: Any, kept: str | None) -> None:
    assert read_answer(200, answer(result={}, decision_id=given), REVISION).decision_id == kept


@pytest.mark.parametrize(
    ("status", "body", "rule"),
    [
        (200, answer(), "engine-undefined"),
        (200, answer(result=None), "engine-malformed"),
        (200, answer(result=True), "engine-malformed"),
        (200, answer(result="allow"), "engine-malformed"),
        (200, answer(result=[{"verdict": "allow"}]), "engine-malformed"),
        (200, b"", "engine-malformed"),
        (200, b"allow", "engine-malformed"),
        (200, b"[]", "engine-malformed"),
        (200, b"\xff", "engine-malformed"),
        (200, b"[" * 200_000, "engine-malformed"),
        (200, answer("sha256:" + "b" * 64, result={"verdict": "allow"}), "engine-revision"),
        (200, answer("", result={"verdict": "allow"}), "engine-revision"),
        (200, answer(None, result={"verdict": "allow"}), "engine-revision"),
        (200, b'{"result": {"verdict": "allow"}}', "engine-revision"),
        (200, b'{"provenance": 1, "result": {"verdict": "allow"}}', "engine-revision"),
        (200, b'{"provenance": {"bundles": {}}, "result": {"verdict": "allow"}}', "engine-revision"),
        (204, b"", "engine-status"),
        (301, answer(result={"verdict": "allow"}), "engine-status"),
        (400, b"{}", "engine-status"),
        (401, answer(result={"verdict": "allow"}), "engine-status"),
        (500, answer(result={"verdict": "allow"}), "engine-status"),
    ],
)
def test_everything_else_has_its_rule(status: int, body: bytes, rule: str) -> None:
    assert rule_of(status, body) == rule


def test_engine_words_are_shown_escaped() -> None:
    with pytest.raises(EngineAnswerError) as caught:
        read_answer(500, b'{"message": "\x1b[2Jgone"}', REVISION)
    assert "\x1b" not in caught.value.reason
    assert "gone" in caught.value.reason


@given(st.integers(100, 599), st.binary(max_size=200))
def test_no_bytes_become_a_decision_by_chance(status: int, body: bytes) -> None:
    assert rule_of(status, body).startswith("engine-")
