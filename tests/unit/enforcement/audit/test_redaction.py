from __future__ import annotations

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st
from support.projects.policies import annotations_of, compiled, rule, tool
from support.records.audited import KEY, decided

from ironcurtain.analysis.engine.evaluate import load_described
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.compiler.render.assemble import Release, assemble
from ironcurtain.decision.decide import Call, Prepared, prepare
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.audit.record_types import Approval, DecisionRecord
from ironcurtain.enforcement.audit.recorder import Recorder
from ironcurtain.enforcement.audit.redaction import Redaction
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict

REDACTION = Redaction(KEY)
FLOOD = 1 << 20
"""The size of the largest call that is judged; what is not linear in it would not end."""
SECRET = [
    "4111111111111111",
    "4111 1111 1111 1111",
    "4111-1111-1111-1111",
    "378282246310005",
    "123-45-6789",
    "sk-abcdefghijklmnop1234",
    "sk-ant-api03-abcdefghijklmnop",
    "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
    "github_pat_abcdefghijklmnopqrstuvwxyz",
    "AKIAIOSFODNN7EXAMPLE",
    "xoxb-123456789012-abcdefghijkl",
    "glpat-abcdefghijklmnopqrst",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.c2lnbmF0dXJl",
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\n-----END RSA PRIVATE KEY-----",
    "Bearer abcdefghijklmnopqrstuvwxyz",
]
PLAIN = [
    "4111111111111112",
    "000-45-6789",
    "666-45-6789",
    "912-45-6789",
    "123-00-6789",
    "123-45-0000",
    "sk-short",
    "task-abcdefghijklmnop1234",
    "0000000000000000",
    "2026-01-01",
    "1234",
    "a plain sentence about 12 files",
]


@pytest.mark.parametrize("secret", SECRET, ids=lambda text: text[:12])
def test_secrets_are_redacted_wherever_they_stand(secret: str) -> None:
    shown = REDACTION.text(f"before {secret} after")
    assert secret not in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    assert "[redacted:" in shown
    assert shown == REDACTION.text(f"before {secret} after")


@pytest.mark.parametrize(
    "text",
    [
        "{} 12/27",
        "{} 123",
        "order 12 {}",
        "2026-11-22 {} 2026-11-23",
        "{} 5500-0000-0000-0004",
        "1234 5678 {} 1",
    ],
)
@pytest.mark.parametrize("card", ["4111111111111111", "4111 1111 1111 1111", "4111-1111-1111-1111"])
def test_a_card_number_beside_other_numbers_is_redacted(text: str, card: str) -> None:
    shown = REDACTION.text(text.format(card))
    assert "1111" not in shown
    assert "0004" not in shown
    assert "[redacted:" in shown


def slowly_found(text: str) -> list[str]:
    """Return the card numbers in a text, by looking at every row of groups of digits."""
    groups = [(match.start(), match.end()) for match in re.finditer("[0-9]+", text)]
    forms = {(4, 4, 4, 4), (4, 4, 4, 4, 3), (4, 6, 4), (4, 6, 5), *((size,) for size in range(13, 20))}
    found = []
    for first in range(len(groups)):
        for last in range(first, min(first + 5, len(groups))):
            row = groups[first : last + 1]
            gaps = [text[before[1] : after[0]] for before, after in pairwise(row)]
            number = "".join(text[start:end] for start, end in row)
            is_card = tuple(end - start for start, end in row) in forms and set(gaps) <= {" ", "-"}
            if is_card and number.strip("0") and checked(number):
                found.append(text[row[0][0] : row[-1][1]])
    return found


def checked(number: str) -> bool:
    """Tell whether the check digit is right, as ISO/IEC 7812-1 says it."""
    values = [int(digit) for digit in reversed(number)]
    doubled = [2 * value if place % 2 else value for place, value in enumerate(values)]
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


DIGITS = st.lists(
    st.tuples(
        st.sampled_from([1, 2, 3, 4, 4, 4, 4, 5, 6, 12, 13, 16, 19, 20]).flatmap(
            lambda size: st.text("0149", min_size=size, max_size=size)
        ),
        st.sampled_from(["", " ", "-", " ", "-", "  ", ", "]),
    ),
    max_size=8,
)


@given(DIGITS)
@example([("4111", " "), ("1111", "-"), ("1111", " "), ("1111", " "), ("4", "")])
def test_every_card_number_is_found_however_the_row_is_written(pieces: list[tuple[str, str]]) -> None:
    text = "".join(digits + gap for digits, gap in pieces)
    kept = re.sub(r"\[redacted:[0-9a-f]{8}\]", lambda mark: "x" * len(mark.group()), REDACTION.text(text))
    assert not slowly_found(kept)
    assert bool(slowly_found(text)) <= ("xx" in kept)


HIDDEN = ["4111 ", "4111111111111111 ", "123-45-6789 "]
SHOWN = ["4111", "4 ", "4-"]
"""Rows of digits in which no card number is written."""


@pytest.mark.parametrize("flood", [*HIDDEN, *SHOWN])
@pytest.mark.parametrize("end", ["", "x 4111111111111111"], ids=["alone", "before-a-card"])
def test_a_flood_of_digits_hides_no_card_number(flood: str, end: str) -> None:
    row = flood * (FLOOD // len(flood))
    shown = REDACTION.text(row + end)
    assert (flood.strip() not in shown) if flood in HIDDEN else shown.startswith(row)
    if end:
        assert end not in shown


def test_a_flood_of_named_secrets_is_redacted() -> None:
    named = [{"name": "token", "value": f"wxyz{number}"} for number in range(FLOOD // 32)]
    record = REDACTION.keep(decided(1, arguments={"env": named}), None)
    assert len(record.redacted) == len(named)
    assert "wxyz" not in json.dumps(record.arguments)


@pytest.mark.parametrize("text", PLAIN)
def test_what_only_looks_similar_stays(text: str) -> None:
    assert REDACTION.text(text) == text


MAIL = tool(
    "send",
    to={"roles": ["recipient"]},
    body={"roles": ["none"], "pii": True},
    path=["read-path"],
    options=["none"],
)
BUNDLE = assemble(
    compiled([rule("r", "allow", tool=["send"])]),
    annotations_of({"mail": [MAIL]}),
    registry=Registry(),
    release=Release(engine_version="test"),
)
CONTENT = PolicyContent.of(BUNDLE)
LOADED = load_described(BUNDLE, DescribedWorld(sandbox="/home/user/box"))


def recorded(arguments: Any, **more: Any) -> DecisionRecord:
    call = Call("mail", "send", arguments, {"sub": "sk-abcdefghijklmnop1234"})
    prepared = prepare(call, LOADED)
    decision = prepared.base if isinstance(prepared, Prepared) else prepared
    assert isinstance(decision, Decision)
    recorder = Recorder(CONTENT, LOADED, key=KEY)
    return recorder.decision(call, prepared, decision, id_="d", forwarded=False, **more)


def test_a_record_holds_no_secret_of_the_call() -> None:
    arguments = {
        "to": "alice@example.com",
        "body": "Dear Alice, we are well.",
        "path": "/srv/ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "options": {"a": [{"card": 4111111111111111}, "123-45-6789"], "sk-abcdefghijklmnop1234": True},
    }
    record = recorded(arguments)
    text = json.dumps(record.model_dump(mode="json"))
    for secret in ("Dear Alice", "ghp_abc", "4111111111111111", "123-45-6789", "sk-abcdefgh"):
        assert secret not in text
    assert record.arguments is not None
    assert record.arguments["to"] == "alice@example.com"
    assert {"/arguments/body", "/arguments/path", "/caller/sub"} <= set(record.redacted)
    assert [subject.redacted for subject in record.subjects] == [False, True]
    assert record.raw_digest.startswith("hmac-sha256:")


def test_reasons_and_names_are_redacted_too() -> None:
    refused = recorded({"sk-abcdefghijklmnop1234": 1})
    assert refused.rule == "structural-invalid-arguments"
    assert "sk-abcdefghijklmnop1234" not in json.dumps(refused.model_dump(mode="json"))
    approval = Approval(state="denied", verdict=Verdict.DENY, reason="not with 123-45-6789")
    assert "123-45" not in json.dumps(recorded({"to": "a@b.org"}, approval=approval).model_dump(mode="json"))


def test_whole_roles_can_be_redacted() -> None:
    redaction = Redaction(KEY, frozenset({"recipient"}))
    record = recorded({"to": "alice@example.com", "path": "/srv/x"})
    fitted = LOADED.tool("mail", "send")
    assert fitted is not None
    kept = redaction.keep(record, fitted.annotation)
    assert "alice@example.com" not in json.dumps(kept.model_dump(mode="json"))
    assert "/srv/x" in json.dumps(kept.model_dump(mode="json"))


def test_equal_values_can_be_told_to_be_equal_and_no_more() -> None:
    one, other = REDACTION.mark("x"), Redaction(b"y" * 32).mark("x")
    assert REDACTION.mark("x") == one != other


PIECES = [
    *SECRET,
    *PLAIN,
    "sk-",
    "bearer ",
    "password=",
    "123-45-",
    "6789",
    "4111 1111",
    "-----BEGIN ",
    " ",
    "é",
]
TEXTS = st.lists(st.sampled_from(PIECES), max_size=4).map("".join)
CERTAIN = "sk-abcdefghijklmnop1234"


@given(TEXTS)
def test_a_text_is_redacted_alike_whether_or_not_a_secret_follows(text: str) -> None:
    assume("PRIVATE KEY" not in text)  # a key without an end takes everything with it
    assume(not text.rstrip(" \t").endswith(("=", ":", ">")))  # then the secret is what is named there
    assert REDACTION.text(f'{text}"{CERTAIN}') == f'{REDACTION.text(text)}"{REDACTION.mark(CERTAIN)}'


@given(
    st.recursive(
        TEXTS | st.integers(0, 10**17), lambda one: st.lists(one) | st.dictionaries(TEXTS, one), max_leaves=5
    )
)
def test_a_record_is_redacted_alike_whether_or_not_it_holds_another_secret(value: Any) -> None:
    plain = decided(1, arguments={"options": value})
    alone = REDACTION.keep(plain, None)
    beside = REDACTION.keep(plain.model_copy(update={"arguments": {"options": value, "z": CERTAIN}}), None)
    assert beside.arguments == {**(alone.arguments or {}), "z": REDACTION.mark(CERTAIN)}
    assert beside.redacted == (*alone.redacted, "/arguments/z")
    assert (beside.reason, beside.subjects) == (alone.reason, alone.subjects)
