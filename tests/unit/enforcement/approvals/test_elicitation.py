"""What an answer through the client means: only an exact `approved` approves."""

from __future__ import annotations

from typing import Any

import pytest
from jsonschema import Draft202012Validator
from support.documents import at, object_at
from support.records.approvals import written

from ironcurtain.enforcement.approvals.elicitation import elicitation_schema, elicited_outcome
from ironcurtain.enforcement.approvals.messages import SessionOffer

YES = {"answer": "approved"}
REQUEST = written()
NARROW = REQUEST.model_copy(update={"session_offer": SessionOffer(why_not="history")})


@pytest.mark.parametrize(
    ("action", "content", "state", "scope"),
    [
        ("accept", YES, "approved", "once"),
        ("accept", YES | {"session": False, "reason": "fine"}, "approved", "once"),
        ("accept", YES | {"session": True}, "approved", "session"),
        ("accept", {"answer": "denied", "session": True, "reason": "no"}, "denied", "once"),
        ("decline", None, "denied", "once"),
        ("decline", YES, "denied", "once"),
    ],
)
def test_what_counts(action: str, content: Any, state: str, scope: str) -> None:
    outcome = elicited_outcome(REQUEST, action, content, by="owner\x07")
    assert (outcome.state, outcome.scope, outcome.fault) == (state, scope, None)
    assert (outcome.by, outcome.request) == ("owner\\x07", REQUEST.id)


@pytest.mark.parametrize(
    ("action", "content", "fault"),
    [
        ("cancel", None, "cancelled"),
        ("cancel", YES, "cancelled"),
        ("Accept", YES, "malformed"),
        ("", YES, "malformed"),
        ("accept", None, "malformed"),
        ("accept", "approved", "malformed"),
        ("accept", [YES], "malformed"),
        ("accept", {}, "malformed"),
        ("accept", {"answer": True}, "malformed"),
        ("accept", {"answer": ["approved"]}, "malformed"),
        ("accept", {"answer": "Approved"}, "malformed"),
        ("accept", {"answer": "approved "}, "malformed"),
        ("accept", {"answer": "yes"}, "malformed"),
        ("accept", YES | {"more": 1}, "malformed"),
        ("accept", YES | {"session": "true"}, "malformed"),
        ("accept", YES | {"session": 1}, "malformed"),
        ("accept", YES | {"reason": 1}, "malformed"),
        ("accept", YES | {"reason": "x" * 2001}, "malformed"),
    ],
)
def test_what_does_not_count(action: str, content: Any, fault: str) -> None:
    outcome = elicited_outcome(REQUEST, action, content, by="owner")
    assert (outcome.state, outcome.fault, outcome.by) == (
        "denied" if fault == "cancelled" else "invalid",
        fault,
        None,
    )


def test_a_call_that_cannot_be_widened_is_not_widened() -> None:
    outcome = elicited_outcome(NARROW, "accept", YES | {"session": True}, by="owner")
    assert (outcome.state, outcome.fault) == ("invalid", "malformed")
    assert "session" not in object_at(elicitation_schema(NARROW), "properties")


def test_the_form_takes_what_counts_and_has_no_default() -> None:
    schema = elicitation_schema(REQUEST)
    assert "default" not in str(schema)
    form = Draft202012Validator(schema)
    assert form.is_valid(YES | {"session": True, "reason": "fine"})
    assert form.is_valid({"answer": "denied"})
    assert not form.is_valid({"answer": "yes"})
    assert not form.is_valid({})
    # MCP takes flat forms of simple values only.
    assert {at(each, "type") for each in object_at(schema, "properties").values()} == {"string", "boolean"}
