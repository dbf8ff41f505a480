"""A server tells around its tool's output policy what this one takes out: in progress, a log, an error.

Or it puts what a path names where the path does not lead: into several texts, `{"result": ...}`, or a string.

Held by: of such a tool's progress only that there is some is told, in numbers of ours; log messages of its
server reach nobody; errors of the protocol and reasons why it gave no answer become words of ours; an
answer that holds elsewhere what a path takes out is not returned.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from support.deployments.proxied import LEGACY, MODERN, Place, text_of, until

from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.calls.outputs import Outputs
from ironcurtain.gateway.calling import CallNotes
from ironcurtain.gateway.output.policy import OutputPolicy

pytestmark = pytest.mark.timeout(600)
STRIPPED = {".nothing": "allow"}


async def told(client: Client, name: str) -> str:
    """Return what the agent is told, as a result or an error."""
    try:
        return text_of(await client.call_tool(name, {}))
    except MCPError as error:
        return error.error.message


async def steps(client: Client, name: str) -> list[tuple[float, float | None, str | None]]:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    await client.call_tool(name, {"count": 3}, progress_callback=note)
    await until(lambda: len(seen) == 3)
    return sorted(seen)


@pytest.mark.parametrize("server", [LEGACY, MODERN], ids=["old server", "new server"])
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_server_tells_nothing_around_an_output_policy(tmp_path: Path, server: list[str], mode: str) -> None:
    place = Place(tmp_path, {"crm": [*server, "--notes", "crm"], "free": [*server, "--notes", "free"]})
    document = json.loads(place.servers.read_text())
    tools = ("steps", "log", "breaks", "fails", "die")
    document["mcpServers"]["crm"]["output"] = dict.fromkeys(tools, STRIPPED)
    place.servers.write_text(json.dumps(document))
    logs: list[tuple[str | None, Any]] = []

    async def log(params: types.LoggingMessageNotificationParams) -> None:
        logs.append((params.logger, params.data))

    async def story() -> None:
        async with place.client(mode=mode, logging_callback=log, log_level="info") as client:
            await until(lambda: place.is_up("crm", "free"))
            if client.protocol_version != "2026-07-28":
                await client.session.set_logging_level("info")
            assert await steps(client, "free__steps") == [
                (1, 3, "step 1"),
                (2, 3, "step 2"),
                (3, 3, "step 3"),
            ]
            assert await steps(client, "crm__steps") == [(1, None, None), (2, None, None), (3, None, None)]
            await client.call_tool("crm__log", {})
            # A tool without a policy beside it: its server's messages name no tool.
            await client.call_tool("free__log", {})
            await until(lambda: logs)
            assert logs == [("free/inner", "logged")]
            assert await told(client, "free__breaks") != "The tool failed."
            assert await told(client, "crm__breaks") == "The tool failed."
            assert await told(client, "crm__fails") == "The tool failed."
            assert await told(client, "crm__die") == "The server of this tool gave no answer."

    anyio.run(story)
    ends = [record["status"] for record in place.records() if record["kind"] == "result"]
    assert ends[-3:] == ["failed", "tool-error", "failed"]


ADDRESS = "ada@example.com"
PERSON = f'{{"email": "{ADDRESS}"}}'
IN_A_STRING = json.dumps(json.dumps(PERSON)).replace("{", "\\u007b")
ABSOLUTE = {".": "allow", ".email": "mask"}


@pytest.mark.parametrize(
    ("rules", "result"),
    [
        (ABSOLUTE, {"content": [{"type": "text", "text": PERSON}] * 2}),
        (ABSOLUTE, {"content": [], "structuredContent": {"result": json.loads(PERSON)}}),
        (ABSOLUTE, {"content": [], "structuredContent": {"result": [json.loads(PERSON)]}}),
        (ABSOLUTE, {"content": [], "structuredContent": {"result": {"result": json.loads(PERSON)}}}),
        (ABSOLUTE, {"content": [], "structuredContent": {"data": PERSON}}),
        (ABSOLUTE, {"content": [], "structuredContent": {"data": IN_A_STRING}}),
        (ABSOLUTE, {"content": [{"type": "text", "text": IN_A_STRING}]}),
        (ABSOLUTE, {"content": [{"type": "text", "text": json.dumps({"result": json.loads(PERSON)})}]}),
        ({".": "allow", "..email": "redact"}, {"content": [], "structuredContent": {"data": PERSON}}),
        ({".": "allow", ".[].email": "redact"}, {"content": [{"type": "text", "text": PERSON}]}),
        ({".": "allow", ".[1]": "redact"}, {"content": [], "structuredContent": {"result": [1, ADDRESS]}}),
    ],
    ids=[
        "two texts",
        "result",
        "list in a result",
        "result in a result",
        "string",
        "escaped string",
        "escaped text",
        "result in a text",
        "string at any depth",
        "one text of a list",
        "columns",
    ],
)
def test_what_an_absolute_path_takes_out_does_not_leave_elsewhere(
    rules: dict[str, str], result: dict[str, Any]
) -> None:
    outputs = Outputs({("crm", "find"): OutputPolicy.parse(rules)})
    found = anyio.run(outputs.filtered, Call("crm", "find", {}), result, CallNotes("trace"))
    assert found["isError"] is True
    assert ADDRESS not in str(found)


def test_what_an_absolute_path_takes_out_does_not_leave_a_live_server_elsewhere(tmp_path: Path) -> None:
    place = Place(tmp_path, {"crm": LEGACY})
    document = json.loads(place.servers.read_text())
    document["mcpServers"]["crm"]["output"] = {"echo": ABSOLUTE}
    place.servers.write_text(json.dumps(document))

    async def story() -> None:
        async with place.client() as client:
            await until(lambda: place.is_up("crm"))
            for data in (PERSON, IN_A_STRING, json.dumps({"result": json.loads(PERSON)})):
                found = await client.call_tool("crm__echo", {"data": data})
                assert found.is_error, data
                assert ADDRESS not in found.model_dump_json()
            assert not (await client.call_tool("crm__echo", {"data": "nobody"})).is_error

    anyio.run(story)
    assert len(place.sent()) == 4
