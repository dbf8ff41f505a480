"""The real SDK against a real HTTP server that speaks the Messages API, well and badly."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from ironcurtain.errors import ModelFailedError
from ironcurtain.llm.anthropic import AnthropicProvider
from ironcurtain.llm.question import Answer, Question

SCHEMA = {
    "type": "object",
    "properties": {"colour": {"enum": ["red", "green"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
GOOD = {"colour": "red"}


def question(key: str = "annotate-x-1") -> Question:
    def check(content: Any) -> list[str]:
        return ["green is not allowed here"] if content["colour"] == "green" else []

    return Question("annotate", key, "You name colours.", "Name one.", SCHEMA, check)


def message(text: str, stop_reason: str = "end_turn") -> Response:
    body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "test-model",
        "content": [{"type": "text", "text": text}] if text else [],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    return Response(json.dumps(body), content_type="application/json")


def failure(status: int, kind: str, **headers: str) -> Response:
    body = {"type": "error", "error": {"type": kind, "message": "no"}}
    return Response(json.dumps(body), status=status, headers=headers, content_type="application/json")


class Api:
    """Plays a sequence of responses (the last one for ever) and records the requests."""

    def __init__(self, server: HTTPServer) -> None:
        self.requests: list[dict[str, Any]] = []
        self.responses: list[Response] = []
        server.expect_request("/v1/messages", method="POST").respond_with_handler(self._handle)

    def _handle(self, request: Request) -> Response:
        self.requests.append(request.get_json())
        return self.responses[min(len(self.requests), len(self.responses)) - 1]

    def ask(self, *responses: Response) -> tuple[list[Answer], list[Answer]]:
        self.responses = list(responses)
        kept: list[Answer] = []
        provider = AnthropicProvider("test-model", timeout=5, max_retries=1)
        return provider.ask([question()], kept.append), kept


@pytest.fixture
def api(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Api:
    monkeypatch.setenv("ANTHROPIC_BASE_URL", httpserver.url_for(""))
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-tests")
    return Api(httpserver)


def test_a_good_answer_is_recorded_with_its_model_and_kept_at_once(api: Api) -> None:
    answers, kept = api.ask(message(json.dumps(GOOD)))
    assert answers == kept
    assert (answers[0].provider, answers[0].model, answers[0].content) == ("anthropic", "test-model", GOOD)
    assert answers[0].question == question().digest
    sent = api.requests[0]
    assert sent["model"] == "test-model"
    assert sent["output_config"]["format"]["type"] == "json_schema"
    assert sent["system"] == "You name colours."


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("that is no JSON", "not valid JSON"),
        ('{"colour": "blue"}', "'blue' is not one of"),
        ('{"colour": "green"}', "green is not allowed here"),
        ('{"colour": "red", "colour": "red"}', "duplicate key"),
    ],
)
def test_an_invalid_answer_is_sent_back_with_its_mistakes(api: Api, bad: str, told: str) -> None:
    answers, _ = api.ask(message(bad), message(json.dumps(GOOD)))
    assert answers[0].content == GOOD
    conversation = api.requests[1]["messages"]
    assert [turn["role"] for turn in conversation] == ["user", "assistant", "user"]
    assert conversation[1]["content"] == bad
    assert told in conversation[2]["content"]


def test_an_answer_that_stays_invalid_ends_after_two_corrections(api: Api) -> None:
    with pytest.raises(ModelFailedError, match=r"after 2 corrections.*green is not allowed"):
        api.ask(message('{"colour": "green"}'))
    assert len(api.requests) == 3


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (message('{"colour":', "max_tokens"), "cut off at the limit"),
        (message("I cannot help with that.", "refusal"), "refused"),
        (message("", "end_turn"), "answered nothing"),
        (failure(529, "overloaded_error", **{"retry-after-ms": "1"}), "overloaded (529)"),
        (failure(429, "rate_limit_error", **{"retry-after-ms": "1"}), "rate limit"),
        (failure(401, "authentication_error"), "does not accept the key"),
        (failure(404, "not_found_error"), "does not know this model"),
        (failure(400, "invalid_request_error"), "failed (400)"),
    ],
)
def test_each_failure_has_its_own_words(api: Api, response: Response, said: str) -> None:
    with pytest.raises(ModelFailedError) as caught:
        api.ask(response)
    assert said in caught.value.what
    assert "annotate-x-1" in caught.value.what
    assert caught.value.hint


@pytest.mark.parametrize(
    "limited",
    [failure(429, "rate_limit_error", **{"retry-after": "1"}), failure(529, "overloaded_error")],
)
def test_a_refused_request_is_repeated_as_the_server_says(api: Api, limited: Response) -> None:
    answers, _ = api.ask(limited, message(json.dumps(GOOD)))
    assert answers[0].content == GOOD
    assert len(api.requests) == 2


def test_an_unreachable_api_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-for-tests")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:9")
    provider = AnthropicProvider("test-model", timeout=5, max_retries=0)
    with pytest.raises(ModelFailedError, match="cannot be reached"):
        provider.ask([question()], lambda _: None)


def test_without_a_key_nothing_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(ModelFailedError, match="no key"):
        AnthropicProvider("test-model")
