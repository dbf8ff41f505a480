"""A project whose model is a loopback server: it answers each stage from a list, and counts what is asked."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from e2e.program import Ended, in_process
from pytest_httpserver import HTTPServer
from werkzeug import Response

from support.services.model_server import ANTHROPIC, ModelServer, Play

KEY = "key-for-tests"
STAGES = {
    "tools": "annotate",
    "clauses": "clauses",
    "not_enforceable": "rules",
    "facts": "rules",
    "by_hand": "lists",
    "scenarios": "intent",
    "judgements": "judge",
    "patches": "repair",
}
"""The stage of a question by the first property of its schema."""

Given: TypeAlias = Any
"""An answer's content; or what plays it; or what makes it of the request."""


@dataclass(frozen=True)
class Place:
    """Where a project stands: its directory, and the fixtures that its program and its model need."""

    server: HTTPServer
    directory: Path
    monkeypatch: pytest.MonkeyPatch


class Modelled:
    """A project, a model that answers each stage from a list (its last answer for ever), and the program.

    The program runs in this process: what is tested is not how it starts.

    Attributes:
        answers: By stage, what is answered in turn: content, a `Play`, or a function of the request.
    """

    def __init__(self, place: Place) -> None:
        self.directory = place.directory
        self.model = ModelServer(place.server, ANTHROPIC, [self._answer])
        for name, value in self.model.environment(KEY).items():
            place.monkeypatch.setenv(name, value)
        place.monkeypatch.setenv("IRONCURTAIN_HOME", str(self.directory / "home"))
        place.monkeypatch.chdir(self.directory)
        self.answers: dict[str, list[Given]] = {}
        self._given: Counter[str] = Counter()

    def _answer(self) -> Response:
        request = self.model.requests[-1]
        stage = stage_of(request)
        listed = self.answers[stage]
        given = listed[min(self._given[stage], len(listed) - 1)]
        self._given[stage] += 1
        if isinstance(given, Playing):
            return given.play()
        content = given(request) if callable(given) else given
        return ANTHROPIC.answer(json.dumps(content))()

    def start_over(self, stage: str) -> None:
        """Answer a stage from the beginning of its list."""
        self._given[stage] = 0

    @property
    def calls(self) -> dict[str, int]:
        """How often the model was called since the last look, by stage."""
        counted = Counter(stage_of(request) for request in self.model.requests)
        self.model.requests.clear()
        return dict(counted)

    def texts(self, stage: str) -> list[str]:
        """What the model was told last in each call of a stage."""
        return [r["messages"][-1]["content"] for r in self.model.requests if stage_of(r) == stage]

    def run(self, *arguments: str) -> Ended:
        return in_process(*arguments, cwd=self.directory)

    def published(self, name: str) -> Any:
        return json.loads((self.directory / "generated" / name).read_text())

    def scenarios(self, origin: str) -> dict[str, str]:
        found = self.published("test-scenarios.json")["scenarios"]
        return {s["id"]: s["expect"] for s in found if s.get("origin", "handwritten") == origin}

    def directories(self) -> list[str]:
        rules = self.published("compiled-policy.json")["rules"]
        return [p for r in rules for c in r["if"].get("paths", []) for p in c["within"]]


@dataclass(frozen=True)
class Playing:
    """A whole response in place of an answer's content, good or bad."""

    play: Play


def stage_of(request: Any) -> str:
    """Return the stage whose question a request asks."""
    return STAGES[min(request["output_config"]["format"]["schema"]["properties"])]


def from_kept(directory: Path, stage: str) -> Callable[[Any], Any]:
    """Answer a stage as it was answered before, by the answers that a result keeps."""
    kept = [json.loads(path.read_text()) for path in sorted(directory.glob("*.json"))]
    contents = [each["content"] for each in kept if each["stage"] == stage]
    return lambda _request: contents[0]
