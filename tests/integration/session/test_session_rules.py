"""What a session tells of its policy, and whom it asks: its agent's prompt, `/policy`, approvers by name."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic_ai import Agent
from pytest_httpserver import HTTPServer
from support.deployments.proxied import Place, until
from support.deployments.stage import Stage
from support.projects.policies import rule
from support.services.model_server import ANTHROPIC, DIALECTS, Dialect, ModelServer
from werkzeug import Response

from ironcurtain.enforcement.approvals.approvers import Approvers
from ironcurtain.session.model import open_model

pytestmark = pytest.mark.timeout(300)
PEOPLE = {"boss": {"meaning": "the person who pays"}, "user": {"meaning": "who asks the agent"}}


@pytest.fixture
def stage(tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Stage:
    place = Place(tmp_path)
    monkeypatch.setenv("HOME", str(place.home))
    model = ModelServer(httpserver, ANTHROPIC)
    for name, value in model.environment("test-key").items():
        monkeypatch.setenv(name, value)
    removal: dict[str, Any] = {**rule("removal", "escalate", tool=["remove"]), "approver": "boss"}
    notes = {"roles": ["read-path"], "within": ["~/notes"]}
    place.publish(
        [rule("free", "allow", tool=["echo"]), rule("notes", "allow", paths=notes), removal],
        ["fix"],
        policy={"approvers": PEOPLE},
    )
    return Stage(place, model)


def test_agent_and_person_are_told_what_always_asks_and_what_is_never_permitted(stage: Stage) -> None:
    stage.model.script[:] = [ANTHROPIC.answer("Hello.")]

    async def story() -> list[str]:
        async with stage.session() as session:
            await session.send("Hi")
            return await session.policy_lines()

    lines = anyio.run(story)
    system = stage.model.requests[0]["system"][0]["text"]
    assert 'waits for a person: "fix__remove".' in system
    never = system.partition("of which no call is permitted: ")[2]
    assert '"fix__' in never
    assert '"fix__echo"' not in never
    assert len(lines) <= 10
    assert lines[3] == "3 rules (2 allow, 1 escalate, 0 deny); what no rule allows is denied"
    assert lines[4:6] == ["may go on without asking: 2 (fix/echo, fix/read)", "always ask: 1 (fix/remove)"]
    assert lines[6].startswith("never: ")
    assert lines[8] == "limits: a turn 100 steps; the session without limits"


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.provider)
def test_a_redirect_is_sent_no_key(
    dialect: Dialect, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    name, address = dialect.variables
    monkeypatch.setenv(name, "test-key")
    monkeypatch.setenv(address, httpserver.url_for("/from") + dialect.suffix)
    away = Response(status=307, headers={"Location": httpserver.url_for("/elsewhere")})
    httpserver.expect_request(re.compile("/from.*")).respond_with_response(away)
    httpserver.expect_request("/elsewhere").respond_with_data("{}")
    monkeypatch.setenv("IRONCURTAIN_HOME", str(tmp_path))

    async def story() -> None:
        opened = open_model(f"{dialect.provider}:test-model")
        with pytest.raises(Exception, match="307"):
            await Agent(opened.model).run("Hi")
        await opened.client.aclose()

    anyio.run(story)
    assert {request.path for request, _ in httpserver.log} != set()
    assert "/elsewhere" not in {request.path for request, _ in httpserver.log}


def test_an_approver_whom_a_rule_names_is_who_the_session_says(stage: Stage) -> None:
    remove = ANTHROPIC.calls(("fix__remove", {"path": "~/notes/a"}))
    stage.model.script[:] = [remove, ANTHROPIC.answer("No."), remove, ANTHROPIC.answer("Gone.")]

    async def nobody() -> None:
        async with stage.session() as session:
            await session.send("Remove it")

    async def somebody() -> None:
        people = Approvers.parse(["boss=account"], has_own_user=True)
        async with stage.session(approvers=people) as session, anyio.create_task_group() as tasks:

            async def answer() -> None:
                await until(lambda: session.pending)
                request = session.pending[0].request
                assert request is not None
                assert request.approver == "boss"
                assert await session.resolve(request.id, approved=True) == "recorded"

            tasks.start_soon(answer)
            await session.send("Remove it")

    anyio.run(nobody)
    anyio.run(somebody)
    assert [(event.approved, event.happened) for event in stage.ended()] == [(False, False), (True, True)]
