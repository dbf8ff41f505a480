from __future__ import annotations

import json
from typing import Any

import pytest
from support.audited import KEY
from support.policies import annotations, compiled, rule, tool

from ironcurtain.audit.records import Recorder
from ironcurtain.audit.redaction import Redaction
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decide.decide import Call, Prepared, prepare
from ironcurtain.evidence.evaluate import load_described
from ironcurtain.model.audit import Approval, DecisionRecord
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.pipeline.assemble import Release, assemble
from ironcurtain.roles.registry import Registry

REDACTION = Redaction(KEY)
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
    annotations({"mail": [MAIL]}),
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
    kept = redaction.keep(record, LOADED.tool("mail", "send").annotation)  # type: ignore[union-attr]
    assert "alice@example.com" not in json.dumps(kept.model_dump(mode="json"))
    assert "/srv/x" in json.dumps(kept.model_dump(mode="json"))


def test_equal_values_can_be_told_to_be_equal_and_no_more() -> None:
    one, other = REDACTION.mark("x"), Redaction(b"y" * 32).mark("x")
    assert REDACTION.mark("x") == one != other
