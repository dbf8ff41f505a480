"""The real SDKs of three providers against a real HTTP server on loopback, one outcome after the other."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import certifi
import pytest
from pytest_httpserver import HTTPServer
from support.deployments.proxied import wait_for
from support.services.model_server import (
    ANTHROPIC,
    DIALECTS,
    GOOGLE,
    OPENAI,
    TOKENS_IN,
    TOKENS_OUT,
    Dialect,
    ModelServer,
    Play,
    dripping,
    endless,
    raw,
    slow,
)

from ironcurtain.compiler.llm.ledger import Ledger
from ironcurtain.compiler.llm.providers.choose import provider_for
from ironcurtain.compiler.llm.question import Answer, Question
from ironcurtain.compiler.llm.structured_completion import MAX_TOKENS, Patience
from ironcurtain.errors import BudgetReachedError, Exit, ModelFailedError
from ironcurtain.system.structs import replace

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "colour": {"enum": ["red", "green"]},
        "shade": {"type": "string"},
    },
    "required": ["colour"],
    "additionalProperties": False,
}
GOOD = {"colour": "red"}
CANARY = "sk-canary-0123456789"
PRICE = {"input": 10, "output": 100}
COST = Decimal(TOKENS_IN * 10 + TOKENS_OUT * 100) / 1_000_000
HASTY = Patience(refusals=2, breaks=1, first_wait=0.01, longest_wait=30)


def question(key: str = "rules-x") -> Question:
    def check(content: Any) -> list[str]:
        return ["green is not allowed here"] if content["colour"] == "green" else []

    return Question("rules", key, "You name colours.", "Name one.", SCHEMA, check)


class Model:
    """A provider in front of a scripted server."""

    def __init__(self, server: HTTPServer, dialect: Dialect) -> None:
        self.dialect = dialect
        self.server = ModelServer(server, dialect)
        self.ledger = Ledger()
        self.kept: list[Answer] = []

    def ask(self, *script: Play, questions: int = 1, about: Question | None = None) -> list[Answer]:
        self.server.script = list(script)
        provider = provider_for(
            f"{self.dialect.provider}:test-model",
            questions=Path("unused"),
            ledger=self.ledger,
            patience=HASTY,
        )
        asked = [about] if about else [question(f"rules-{n}") for n in range(questions)]
        return provider.ask(asked, self.kept.append)

    @property
    def calls(self) -> int:
        return len(self.server.requests)


def configure(home: Path, **content: Any) -> None:
    home.mkdir(exist_ok=True)
    path = home / "config.json"
    path.write_text(json.dumps({"format": "ironcurtain/config/v1", **content}))
    path.chmod(0o600)


@pytest.fixture(scope="module", autouse=True)
def one_authority(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let the SDKs know one authority: reading all of them costs more than a call, and none is asked."""
    file = tmp_path_factory.mktemp("authorities") / "one.pem"
    file.write_text("".join(Path(certifi.where()).read_text().partition("-----END CERTIFICATE-----\n")[:2]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SSL_CERT_FILE", str(file))
        yield


@pytest.fixture
def httpserver(threaded_server: HTTPServer) -> HTTPServer:
    threaded_server.clear()
    return threaded_server


@pytest.fixture(params=DIALECTS, ids=lambda dialect: dialect.provider)
def model(
    request: pytest.FixtureRequest, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Model:
    return prepared(request.param, httpserver, monkeypatch, tmp_path)


def prepared(
    dialect: Dialect, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Model:
    for name in [
        name for name in os.environ if name.startswith(("ANTHROPIC_", "OPENAI_", "GOOGLE_", "GEMINI_"))
    ]:
        monkeypatch.delenv(name)
    model = Model(httpserver, dialect)
    for name, value in model.server.environment(CANARY).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("IRONCURTAIN_HOME", str(tmp_path / "home"))
    configure(tmp_path / "home", timeout=60, prices={f"{dialect.provider}:test-model": PRICE})
    return model


def test_a_good_answer_is_recorded_counted_and_kept_at_once(model: Model) -> None:
    answers = model.ask(model.dialect.answer(json.dumps(GOOD)))
    assert answers == model.kept
    assert (answers[0].provider, answers[0].model) == (model.dialect.provider, "test-model")
    assert (answers[0].content, answers[0].question) == (GOOD, question().digest)
    total = model.ledger.total
    assert (total.calls, total.input, total.output) == (1, TOKENS_IN, TOKENS_OUT)
    assert (total.cost, total.unpriced, total.estimated) == (COST, 0, 0)


def test_each_api_is_asked_for_the_schema_and_a_bounded_answer(model: Model) -> None:
    model.ask(model.dialect.answer(json.dumps(GOOD)))
    sent = model.server.requests[0]
    assert model.dialect.user_text(sent, 0) == "Name one."
    asked = {
        "anthropic": lambda: (sent["max_tokens"], sent["output_config"]["format"]["schema"]),
        "openai": lambda: (
            sent["max_completion_tokens"],
            sent["response_format"]["json_schema"]["schema"],
        ),
        "google": lambda: (
            sent["generationConfig"]["maxOutputTokens"],
            sent["generationConfig"]["responseJsonSchema"],
        ),
    }[model.dialect.provider]()
    assert asked[0] == MAX_TOKENS
    assert asked[1]["properties"]["colour"]["enum"] == ["red", "green"]
    assert "You name colours." in json.dumps(sent)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("that is no JSON", "not valid JSON"),
        ('{"colour": "blue"}', "'blue' is not one of"),
        ('{"colour": "green"}', "green is not allowed here"),
        ('{"colour": "red", "colour": "red"}', "duplicate key"),
    ],
)
def test_an_invalid_answer_is_sent_back_with_its_mistakes(model: Model, bad: str, told: str) -> None:
    answers = model.ask(model.dialect.answer(bad), model.dialect.answer(json.dumps(GOOD)))
    assert answers[0].content == GOOD
    assert model.dialect.user_text(model.server.requests[1], 1) == bad
    assert told in model.dialect.user_text(model.server.requests[1], 2)
    assert model.ledger.total.calls == 2


def test_an_answer_that_stays_invalid_ends_after_two_corrections(model: Model) -> None:
    with pytest.raises(ModelFailedError, match=r"after 2 corrections.*green is not allowed"):
        model.ask(model.dialect.answer('{"colour": "green"}'))
    assert model.calls == 3
    assert model.kept == []


@pytest.mark.parametrize(
    ("text", "stop", "said"),
    [
        ('{"colour":', "limit", "cut off at the limit of 32,000 tokens"),
        ("", "refusal", "the model refused to answer"),
        ("", "end", "the model answered nothing"),
    ],
)
def test_an_answer_that_is_none_is_not_asked_again(model: Model, text: str, stop: str, said: str) -> None:
    with pytest.raises(ModelFailedError) as caught:
        model.ask(model.dialect.answer(text, stop))
    assert said in caught.value.what
    assert caught.value.exit == Exit.NO_ANSWER
    assert model.calls == 1
    assert model.ledger.total.cost == COST


@pytest.mark.parametrize(
    ("status", "said", "calls"),
    [
        (301, "answers with a redirect (301)", 1),
        (400, "rejects the request (400)", 1),
        (401, "does not accept the key (401)", 1),
        (402, "wants to be paid first (402)", 1),
        (403, "may not use this model (403)", 1),
        (404, "does not know this model (404)", 1),
        (413, "too large", 1),
        (429, "its rate limit is reached (429)", 3),
        (500, "failed (500)", 3),
        (503, "is overloaded (503)", 3),
        (529, "is overloaded (529)", 3),
    ],
)
def test_each_status_has_its_own_words(model: Model, status: int, said: str, calls: int) -> None:
    location = {"location": "https://elsewhere.invalid/"} if status == 301 else {}
    with pytest.raises(ModelFailedError) as caught:
        model.ask(model.dialect.failure(status, "some_error", **location))
    assert said in caught.value.what
    assert "rules-0" in caught.value.what
    assert caught.value.hint
    assert model.calls == calls
    assert model.ledger.total.calls == 0


@pytest.mark.parametrize("status", [429, 500, 503, 529])
def test_a_refused_call_is_repeated_when_the_server_says(model: Model, status: int) -> None:
    refused = model.dialect.failure(status, "rate_limit_error", retry_after="0.05")
    answers = model.ask(refused, refused, model.dialect.answer(json.dumps(GOOD)))
    assert answers[0].content == GOOD
    assert model.calls == 3
    assert model.ledger.total.calls == 1


def test_a_server_that_wants_to_be_left_alone_for_an_hour_is_not_waited_for(model: Model) -> None:
    with pytest.raises(ModelFailedError, match=r"rate limit.*asks to wait 3,600 seconds"):
        model.ask(model.dialect.failure(429, "rate_limit_error", retry_after="3600"))
    assert model.calls == 1


@pytest.mark.parametrize("cleanly", [True, False])
def test_a_stream_cut_in_the_middle_is_repeated_once_and_counted(model: Model, *, cleanly: bool) -> None:
    cut = model.dialect.cut(json.dumps(GOOD), cleanly=cleanly)
    answers = model.ask(cut, model.dialect.answer(json.dumps(GOOD)))
    assert answers[0].content == GOOD
    assert (model.ledger.total.calls, model.ledger.total.estimated) == (2, 1)
    with pytest.raises(ModelFailedError, match="broke off in the middle of the answer"):
        model.ask(cut)


@pytest.mark.parametrize("kind", ["silent", "dripping"])
def test_an_answer_that_takes_too_long_is_given_up(model: Model, tmp_path: Path, kind: str) -> None:
    configure(tmp_path / "home", timeout=0.6)
    play = slow(1.2) if kind == "silent" else dripping(model.dialect, 3)
    with pytest.raises(ModelFailedError, match=r"no complete answer within 0\.6 seconds"):
        model.ask(play)
    wait_for(lambda: model.calls >= 2)  # the server takes note of a call when its thread gets to it
    assert model.calls == 2


def test_a_huge_answer_is_not_read_to_its_end(model: Model) -> None:
    with pytest.raises(ModelFailedError, match="larger than any answer may be"):
        model.ask(endless(model.dialect))
    assert model.calls == 1


def test_an_endless_line_is_not_read_to_its_end(model: Model) -> None:
    line = [b"data: ", *([b"x" * (1 << 20)] * 20)]
    with pytest.raises(ModelFailedError, match="larger than any answer may be"):
        model.ask(raw(iter(line), content_type="text/event-stream"))


@pytest.mark.parametrize(
    "play",
    [
        raw(b"<html>a gateway's page</html>", content_type="text/html"),
        raw(b"data: {not json}\n\n", content_type="text/event-stream"),
        raw(b"event: message_start\ndata: []\n\n", content_type="text/event-stream"),
        raw(b"data: null\n\n", content_type="text/event-stream"),
        raw(b"", content_type="text/event-stream"),
        raw(b"\x1f\x8b\x08", content_type="text/event-stream", content_encoding="gzip"),
        raw(b"", status=500),
        raw(b"no json", status=400),
        raw(b"x" * (20 << 20), status=400),
    ],
)
def test_nonsense_is_a_failure_of_the_model_and_no_bug(model: Model, play: Play) -> None:
    with pytest.raises(ModelFailedError):
        model.ask(play)
    assert model.kept == []


def test_an_unreachable_server_is_named(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(model.dialect.variables[1], "http://127.0.0.1:9")
    with pytest.raises(ModelFailedError, match="cannot be reached") as caught:
        model.ask(model.dialect.answer("{}"))
    assert model.dialect.variables[1] in caught.value.hint


def test_a_key_that_a_server_repeats_is_not_shown(model: Model, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with pytest.raises(ModelFailedError) as caught:
        model.ask(model.dialect.failure(401, "authentication_error", f"bad key {CANARY} \x1b[2J"))
    shown = "".join([caught.value.what, caught.value.hint, repr(caught.value), caplog.text])
    assert CANARY not in shown
    assert "bad key ***" in shown
    assert "\x1b" not in caught.value.what
    assert caught.value.__cause__ is None
    assert any(CANARY in value for value in model.server.headers[0].values())


def test_a_budget_stops_before_the_call_and_keeps_what_was_paid_for(model: Model) -> None:
    longest = Decimal(MAX_TOKENS * 100) / 1_000_000
    model.ledger = Ledger(longest + Decimal("0.03"))
    with pytest.raises(BudgetReachedError, match=r"rules-1 was not asked: it may cost up to \$3\.2"):
        model.ask(model.dialect.answer(json.dumps(GOOD)), questions=2)
    assert (model.calls, len(model.kept)) == (1, 1)
    assert model.ledger.total.cost == COST


def test_a_correction_counts_against_the_budget_too(model: Model) -> None:
    longest = Decimal(MAX_TOKENS * 100) / 1_000_000
    model.ledger = Ledger(longest + Decimal("0.03"))
    with pytest.raises(BudgetReachedError):
        model.ask(model.dialect.answer("no"))
    assert model.calls == 1


def test_no_budget_can_be_kept_for_a_model_of_unknown_cost(model: Model, tmp_path: Path) -> None:
    configure(tmp_path / "home")
    model.ledger = Ledger(Decimal(100))
    with pytest.raises(ModelFailedError, match=r"nobody knows what .*:test-model costs"):
        model.ask(model.dialect.answer(json.dumps(GOOD)))
    assert model.calls == 0


def test_an_unknown_cost_is_said_so(model: Model, tmp_path: Path) -> None:
    configure(tmp_path / "home")
    model.ask(model.dialect.answer(json.dumps(GOOD)))
    assert str(model.ledger.total) == "1 call, 1,000 + 200 tokens, cost unknown"


# -- what is special about one of them ----------------------------------------------------------


def test_anthropic_errors_inside_a_stream_count_by_their_type(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = prepared(ANTHROPIC, httpserver, monkeypatch, tmp_path)
    error = json.dumps(ANTHROPIC.error(0, "overloaded_error", "busy"))
    play = raw(f"event: error\ndata: {error}\n\n".encode(), content_type="text/event-stream")
    with pytest.raises(ModelFailedError, match=r"overloaded \(529\): busy"):
        model.ask(play)
    assert model.calls == 3


def test_openai_without_money_is_not_asked_again(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = prepared(OPENAI, httpserver, monkeypatch, tmp_path)
    with pytest.raises(ModelFailedError, match="429"):
        model.ask(OPENAI.failure(429, "insufficient_quota"))
    assert model.calls == 1


def test_openai_gets_a_strict_schema_and_its_nulls_are_absent_properties(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = prepared(OPENAI, httpserver, monkeypatch, tmp_path)
    answers = model.ask(OPENAI.answer('{"colour": "red", "shade": null}'))
    assert answers[0].content == GOOD
    schema = model.server.requests[0]["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["colour", "shade"]
    assert schema["properties"]["shade"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def test_a_local_openai_server_needs_no_key(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = prepared(OPENAI, httpserver, monkeypatch, tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY")
    model.ask(OPENAI.answer(json.dumps(GOOD)))
    assert CANARY not in json.dumps(model.server.headers)
    assert "JSON Schema" in model.server.requests[0]["messages"][0]["content"]


def test_google_tells_in_its_body_how_long_to_wait(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = prepared(GOOGLE, httpserver, monkeypatch, tmp_path)
    info = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "3600s"}
    body = {"error": {"code": 429, "message": "quota", "status": "RESOURCE_EXHAUSTED", "details": [info]}}
    play = raw(json.dumps(body).encode(), status=429, content_type="application/json")
    with pytest.raises(ModelFailedError, match="asks to wait 3,600 seconds"):
        model.ask(play)


def test_google_never_turns_to_vertex(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = prepared(GOOGLE, httpserver, monkeypatch, tmp_path)
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    model.ask(GOOGLE.answer(json.dumps(GOOD)))
    assert model.server.headers[0]["x-goog-api-key"] == CANARY


def test_the_judge_has_a_model_of_its_own_and_the_same_ledger(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    compiling = prepared(ANTHROPIC, httpserver, monkeypatch, tmp_path)
    judging = ModelServer(httpserver, OPENAI, [OPENAI.answer(json.dumps(GOOD))])
    compiling.server.script = [ANTHROPIC.answer(json.dumps(GOOD))]
    for name, value in judging.environment(CANARY).items():
        monkeypatch.setenv(name, value)
    provider = provider_for(
        "test-model",
        judge_model="openai:judge",
        questions=tmp_path,
        ledger=compiling.ledger,
        patience=HASTY,
    )
    verdict = replace(question("judge-1"), stage="judge")
    answers = provider.ask([verdict, question("rules-1")], compiling.kept.append)
    assert [(answer.key, answer.provider, answer.model) for answer in answers] == [
        ("judge-1", "openai", "judge"),
        ("rules-1", "anthropic", "test-model"),
    ]
    assert (compiling.calls, len(judging.requests), compiling.ledger.total.calls) == (1, 1, 2)


def test_a_broken_answer_may_have_been_paid_for_so_its_repetition_needs_budget(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    model = prepared(ANTHROPIC, httpserver, monkeypatch, tmp_path)
    model.ledger = Ledger(Decimal(4))
    with pytest.raises(BudgetReachedError):
        model.ask(ANTHROPIC.cut(json.dumps(GOOD), cleanly=True))
    assert model.calls == 1
    assert "~" in str(model.ledger.total)


def test_the_failure_after_the_last_correction_counts_what_it_does_not_show(model: Model) -> None:
    asked = replace(question(), check=lambda _: [f"odd {number}" for number in range(9)])
    with pytest.raises(ModelFailedError, match="odd 4; and 4 more"):
        model.ask(model.dialect.answer(json.dumps(GOOD)), about=asked)


def test_every_mistake_is_sent_back_those_of_one_kind_on_one_line(model: Model) -> None:
    many = [f"rule {number}: it has no condition" for number in range(120)] + [f"odd {n}" for n in range(60)]
    asked = replace(question(), check=lambda content: many if content == GOOD else [])
    first, then = model.dialect.answer(json.dumps(GOOD)), model.dialect.answer('{"colour": "green"}')
    model.ask(first, then, about=asked)
    told = model.dialect.user_text(model.server.requests[1], 2)
    assert told.count("it has no condition") == 1
    assert all(f"rule {number}" in told for number in range(120))
    assert all(f"- odd {number}\n" in told for number in range(60))
