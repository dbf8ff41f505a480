"""What a look-up is asked with, and what of its answer counts."""

from __future__ import annotations

from typing import Any

import pytest

from ironcurtain.enforcement.facts.answer_labels import may_be_given
from ironcurtain.enforcement.facts.records.answers import LookUp, fields_of, look_up_of
from ironcurtain.enforcement.facts.records.references import Operands
from ironcurtain.enforcement.facts.unavailable import FactUnavailableError
from ironcurtain.model.facts import LabelFact
from ironcurtain.model.records import RecordFact

FACT = RecordFact.model_validate(
    {
        "source": "record",
        "clause": "C1",
        "server": "shop",
        "tool": "get_user",
        "arguments": {
            "user": {"fact": "order/user_id"},
            "for": {"caller": "/sub"},
            "item": {"arg": "/items/first"},
            "language": "en",
        },
        "identity": {"user": "/id"},
        "fields": {
            "city": {"at": "/address/city", "type": "string"},
            "cards": {"at": "/cards/*/id", "type": "strings"},
        },
    }
)
ARGS: dict[str, Any] = {"items": {"first": "i1"}}
RECORD: dict[str, Any] = {"id": "u1", "address": {"city": "Ulm"}, "cards": [{"id": "c2"}, {"id": "c1"}]}
NOTHING = Operands({}, {}, {})
ASKED = LookUp("shop", "get_user", {"user": "u1"})


def test_a_look_up_is_asked_with_arguments_caller_and_earlier_records() -> None:
    found = look_up_of("owner", FACT, Operands(ARGS, {"sub": "ann"}, {"order": {"user_id": "u1"}}))
    assert found.arguments == {"user": "u1", "for": "ann", "item": "i1", "language": "en"}


@pytest.mark.parametrize(
    ("args", "caller", "order"),
    [({}, {"sub": "ann"}, {"user_id": "u1"}), (ARGS, {}, {"user_id": "u1"}), (ARGS, {"sub": "ann"}, {})],
)
def test_a_look_up_without_one_of_its_values_is_not_made(
    args: dict[str, Any], caller: dict[str, Any], order: dict[str, Any]
) -> None:
    with pytest.raises(FactUnavailableError, match=r"argument .* is missing"):
        look_up_of("owner", FACT, Operands(args, caller, {"order": order}))


def test_fields_are_taken_from_structured_content_and_else_from_the_one_text() -> None:
    expected = {"city": "Ulm", "cards": ["c2", "c1"]}
    assert fields_of("owner", FACT, ASKED, {"structuredContent": RECORD}, NOTHING) == expected
    text = '{"id": "u1", "address": {"city": "Ulm"}, "cards": [{"id": "c2"}, {"id": "c1"}]}'
    assert fields_of("owner", FACT, ASKED, {"content": [{"type": "text", "text": text}]}, NOTHING) == expected


@pytest.mark.parametrize(
    "answer",
    [
        {"structuredContent": {**RECORD, "id": "u2"}},
        {"structuredContent": {**RECORD, "id": ["u1"]}},
        {"structuredContent": {**RECORD, "cards": {}}},
        {"structuredContent": {**RECORD, "cards": [{"id": None}]}},
        {"structuredContent": {**RECORD, "address": "Ulm"}},
        {"structuredContent": [RECORD]},
        {"structuredContent": RECORD, "isError": True},
        {"content": []},
        {"content": [{"type": "image", "data": ""}]},
        {"content": "text"},
        {},
    ],
)
def test_what_is_no_such_record_refuses_the_call(answer: dict[str, Any]) -> None:
    with pytest.raises(FactUnavailableError):
        fields_of("owner", FACT, ASKED, answer, NOTHING)


LABEL = LabelFact.model_validate(
    {
        "source": "label",
        "clause": "C1",
        "from": {"tool": ["read"]},
        "from_result": [{"name": "/class", "op": "equals", "value": "secret"}],
    },
    strict=False,
)


@pytest.mark.parametrize(
    ("result", "is_given"),
    [
        ({"structuredContent": {"class": "secret"}}, True),
        ({"structuredContent": {"class": "public"}}, False),
        ({"content": [{"type": "text", "text": '{"class": "public"}'}]}, False),
        ({"structuredContent": {}}, True),
        ({"structuredContent": {"class": ["public"]}}, True),
        ({"content": [{"type": "text", "text": "public"}]}, True),
        ({"content": [{"type": "text", "text": '{"class": "secret", "class": "public"}'}]}, True),
        ({"content": []}, True),
        (None, True),
    ],
)
def test_a_label_of_an_answer_is_withheld_only_where_the_answer_says_otherwise(
    result: dict[str, Any] | None, is_given: bool
) -> None:
    assert may_be_given(LABEL, result) is is_given
