"""Tools whose names the APIs of models would refuse: seen, called and recorded through a real proxy."""

from __future__ import annotations

import re
from pathlib import Path

import anyio
import pytest
from pytest_httpserver import HTTPServer
from support.deployments.named import NamedTools
from support.deployments.proxied import text_of
from support.deployments.stage import Stage
from support.services.model_server import ANTHROPIC, ModelServer

from ironcurtain.servers.endpoint_names import endpoint_name

pytestmark = pytest.mark.timeout(300)

LONG = "list_" + "all_of_the_" * 7 + "invoices"
TOOLS = [LONG, LONG + ".old", "files.read", "short"]


def test_a_tool_with_a_name_of_ninety_characters(tmp_path: Path) -> None:
    assert len(LONG) == 90
    place = NamedTools(tmp_path, {"fix": TOOLS, "o" * 63: ["t"]})

    async def story() -> None:
        async with place.client() as client:
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert len({*names}) == len(TOOLS) + 1
            assert names[3] == "fix__short"
            for name, tool in zip(names, [*TOOLS, "t"], strict=True):
                assert re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", f"mcp__ironcurtain__{name}")
                assert text_of(await client.call_tool(name)) == tool
                assert place.decisions[-1]["tool"] == tool
            # A program that knows the full name goes on.
            assert text_of(await client.call_tool(f"fix__{LONG}")) == LONG

    anyio.run(story)
    assert [sent["tool"] for sent in place.sent()] == [*TOOLS, "t", LONG]


def test_a_page_of_an_app_calls_a_tool_by_its_own_name(tmp_path: Path) -> None:
    place = NamedTools(tmp_path, {"fix": ["refresh", "both", "secret"], "two": ["both"]}, ("secret",))

    async def story() -> None:
        async with place.client() as client:
            assert text_of(await client.call_tool("refresh")) == "refresh"
            assert (place.decisions[-1]["server"], place.decisions[-1]["tool"]) == ("fix", "refresh")
            for name in ("both", "secret", "neither"):
                assert (await client.call_tool(name)).is_error

    anyio.run(story)
    assert [sent["tool"] for sent in place.sent()] == ["refresh"]
    assert [record["rule"] for record in place.decisions[1:]] == [
        "structural-unknown-tool",
        "denied",
        "structural-unknown-tool",
    ]


def test_a_session_tells_people_the_name_that_a_tool_really_has(
    tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, name = NamedTools(tmp_path, {"fix": TOOLS}), endpoint_name("fix", LONG)
    model = ModelServer(httpserver, ANTHROPIC, [ANTHROPIC.calls((name, {})), ANTHROPIC.answer("Done.")])
    for variable, value in {"HOME": str(place.home), **model.environment("test-key")}.items():
        monkeypatch.setenv(variable, value)
    play = Stage(place, model)

    async def story() -> list[str]:
        async with play.session() as session:
            assert (await session.send("List them.")).text == "Done."
            return await session.policy_lines()

    lines = anyio.run(story)
    assert [(each.shown_tool, each.happened) for each in play.ended()] == [(f"fix/{LONG}", True)]
    assert {tool["name"] for tool in model.requests[0]["tools"]} == {endpoint_name("fix", t) for t in TOOLS}
    assert any(f"fix/{LONG}" in line for line in lines)
