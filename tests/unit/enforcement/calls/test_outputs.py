"""What leaves of the texts of proxied servers, which write JSON as they like."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.calls.outputs import Outputs
from ironcurtain.gateway.calling import CallNotes
from ironcurtain.gateway.output.policy import OutputPolicy

ADDRESS = "ada@example.com"


def left_of(*texts: str, rules: dict[str, str]) -> dict[str, Any]:
    """Return what leaves of an answer with these texts."""
    return left_of_result({"content": [{"type": "text", "text": text} for text in texts]}, rules=rules)


def left_of_result(result: dict[str, Any], *, rules: dict[str, str]) -> dict[str, Any]:
    """Return what leaves of an answer."""
    outputs = Outputs({("crm", "find"): OutputPolicy.parse(rules)})
    return anyio.run(outputs.filtered, Call("crm", "find", {}), result, CallNotes("trace"))


@pytest.mark.parametrize(
    "texts",
    [
        (f'{{"email": "{ADDRESS}"}}\n{{"email": "{ADDRESS}"}}',),
        (f'\ufeff{{"email": "{ADDRESS}"}}',),
        (f'Found one:\n{{"email": "{ADDRESS}"}}',),
        (f'{{"email": "{ADDRESS}",}}',),
        ('{"n": 1}', f'Then {{"email": "{ADDRESS}"}}'),
    ],
    ids=["lines", "mark", "sentence", "comma", "second"],
)
def test_a_text_that_holds_json_and_is_none_does_not_leave_whole(texts: tuple[str, ...]) -> None:
    found = left_of(*texts, rules={".": "allow", "..email": "mask"})
    assert found["isError"] is True
    assert ADDRESS not in str(found)


def test_lines_of_arrays_do_not_leave_whole_where_a_column_is_taken_out() -> None:
    found = left_of(f'["ada", "{ADDRESS}"]\n["bob", "{ADDRESS}"]', rules={".": "allow", ".[1]": "redact"})
    assert found["isError"] is True
    assert ADDRESS not in str(found)


@pytest.mark.parametrize(
    ("rules", "wrapped"),
    [
        ({".": "allow", "..email": "mask"}, f'{{"email": "{ADDRESS}"}}'),
        ({".result": "allow", "..email": "mask"}, f'Found one:\n{{"email": "{ADDRESS}"}}'),
        ({".": "allow", "..email": "mask"}, [f'{{"email": "{ADDRESS}"}}']),
        ({".": "allow", ".result[][1]": "redact"}, f'["ada", "{ADDRESS}"]'),
    ],
)
def test_a_text_that_a_library_made_structured_does_not_leave_whole(
    rules: dict[str, str], wrapped: str | list[str]
) -> None:
    text = {"type": "text", "text": str(wrapped)}
    found = left_of_result({"content": [text], "structuredContent": {"result": wrapped}}, rules=rules)
    assert found["isError"] is True
    assert ADDRESS not in str(found)


ABSOLUTE = {".": "allow", ".email": "mask"}


@pytest.mark.parametrize(
    ("rules", "value"),
    [
        ({**ABSOLUTE, ".result.email": "mask"}, {"result": {"email": "x", "id": 1}}),
        (ABSOLUTE, {"result": {"id": 1}}),
        (ABSOLUTE, {"data": {"email": "x"}}),
        (ABSOLUTE, {"data": '{"id": 1}'}),
        (ABSOLUTE, {"result": {"email": "x"}, "more": 1}),
    ],
)
def test_a_rule_for_the_place_or_another_place_refuses_nothing(rules: dict[str, str], value: Any) -> None:
    given = {"content": [], "structuredContent": value}
    assert "isError" not in left_of_result(given, rules=rules)


@pytest.mark.parametrize("wrapped", ["nobody [was] found", [f"a {ADDRESS}"], {"email": "x"}])
def test_what_else_a_library_made_structured_leaves_as_the_policy_says(wrapped: object) -> None:
    given = {"content": [], "structuredContent": {"result": wrapped}}
    found = left_of_result(given, rules={".": "allow", "..phone": "mask"})
    assert found["structuredContent"] == {"result": wrapped}


@pytest.mark.parametrize(
    ("text", "rules", "left"),
    [
        ("see [1]", {".": "allow", ".items[]": "redact"}, '"see [1]"'),
        ("nobody was found", {".": "allow", "..email": "mask"}, '"nobody was found"'),
        ("a {template}", {".": "allow"}, '"a {template}"'),
        ("a {template}", {".": "mask"}, '"a***}"'),
        (f'{{"email": "{ADDRESS}"}}', {".": "allow", "..email": "mask"}, '{"email": "a***m"}'),
    ],
)
def test_other_texts_leave_as_the_policy_says(text: str, rules: dict[str, str], left: str) -> None:
    assert left_of(text, rules=rules)["content"] == [{"type": "text", "text": left}]
