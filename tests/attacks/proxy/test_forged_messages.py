"""Lines that are taken for others: answers to calls of others, and calls that two parsers read differently.

Held by: an answer counts for the one call whose number it has, once; a call that is not plainly written goes
the long way, which refuses it.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from fixtures import forging_server
from support.deployments.proxied import PLAIN, Place, until

pytestmark = pytest.mark.timeout(600)
NUMBERS = itertools.count()
PARAMS = {"name": "fix__echo", "arguments": {"text": "unnumbered"}}
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


def test_a_server_answers_calls_that_it_was_not_asked(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve(), {"fix": PLAIN, "bad": [forging_server.__file__]})
    place.configure(env={"PYTHONPATH": str(Path(forging_server.__file__).parents[1])})

    async def visit() -> None:
        async with place.client("--no-approver") as client:
            await until(lambda: place.is_up("fix", "bad"))
            found: dict[str, Any] = {}

            async def call(server: str, number: int) -> None:
                text = f"{server} {number}"
                found[text] = (await client.call_tool(f"{server}__echo", {"text": text})).structured_content

            async with anyio.create_task_group() as tasks:
                for number in range(5):
                    tasks.start_soon(call, "bad", number)
                    tasks.start_soon(call, "fix", number)
            # Of a server's own calls it may mix up the answers, and of nobody else's.
            assert {text: found[text] for text in found if text.startswith("fix")} == {
                f"fix {number}": {"text": f"fix {number}"} for number in range(5)
            }
            await call("bad", 5)
            assert found["bad 5"] == {"text": "bad 5"}

    anyio.run(visit)
    assert set(place.ends()) <= {"ok", "failed"}


def greeting(capabilities: dict[str, Any]) -> str:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": capabilities,
        "clientInfo": {"name": "raw", "version": "1"},
    }
    return json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})


INITIALIZED = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
ASKS = '{"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "fix__ask_person"}}'


class RawClient:
    """A client that writes lines as it likes."""

    def __init__(self, place: Place) -> None:
        command = place.command("--no-approver")
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=place.environment(), cwd=place.root
        )
        self.write(greeting({"elicitation": {}}))
        self.read()
        self.write(INITIALIZED)
        self.ask(1, "ping", "{}")

    def write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """Return the next answer or question."""
        assert self._process.stdout is not None
        while True:
            message: dict[str, Any] = json.loads(self._process.stdout.readline())
            if "id" in message:
                return message

    def ask(self, id_: object, method: str, params: str) -> dict[str, Any]:
        """Send a request and return the next answer."""
        self.write(f'{{"jsonrpc": "2.0", "id": {json.dumps(id_)}, "method": "{method}", "params": {params}}}')
        return self.read()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        assert self._process.wait(60) == 0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    return Place(tmp_path_factory.mktemp("raw").resolve(), None, "mcp/elicitation")


@pytest.fixture(scope="module")
def raw(place: Place) -> Iterator[RawClient]:
    client = RawClient(place)
    yield client
    client.close()


def called(text: str, **more: Any) -> str:
    return json.dumps({"name": "fix__echo", "arguments": {"text": text}, **more})


def is_refused(answer: dict[str, Any]) -> bool:
    return "error" in answer or answer["result"].get("isError") is True


@pytest.mark.parametrize(
    "params",
    [
        '{"name": "fix__echo", "arguments": {"text": "ok"}, "arguments": {"text": "evil"}}',
        '{"name": "fix__echo", "name": "fix__echo", "arguments": {"text": "evil"}}',
        '{"name": "fix__echo", "arguments": {"text": "evil", "data": 1e999}}',
        '{"name": "fix__echo", "arguments": {"text": "evil", "data": NaN}}',
        '{"name": "fix__echo", "arguments": {"text": "evil", "data": 9007199254740993}}',
        '{"name": "fix__echo", "arguments": {"text": "evil \\ud800"}}',
        '{"name": "fix__echo", "arguments": ["evil"]}',
        '{"name": ["fix__echo"], "arguments": {"text": "evil"}}',
        '{"arguments": {"text": "evil"}}',
        '["fix__echo", {"text": "evil"}]',
        called("evil", _meta=ENVELOPE),
        called("evil", _meta=[]),
        called("evil", _meta={"progressToken": {}}),
        called("evil", requestState="x"),
        '{"name": "fix__echo", "arguments": {"text": "evil", "data": %s}}' % ("[" * 80 + "]" * 80),
    ],
)
def test_a_call_that_is_written_in_two_ways(place: Place, raw: RawClient, params: str) -> None:
    assert is_refused(raw.ask(2, "tools/call", params))
    assert "evil" not in str(place.sent())
    answer = raw.ask("3", "tools/call", called(f"after {next(NUMBERS)}"))
    assert (answer["id"], is_refused(answer)) == ("3", False)


@pytest.mark.parametrize("text", ['"cut \\ud83d"', "[" * 300 + "]" * 300])
def test_a_call_that_cannot_be_read_is_answered_by_its_number(raw: RawClient, text: str) -> None:
    answer = raw.ask("unread", "tools/call", f'{{"name": "fix__echo", "arguments": {{"text": {text}}}}}')
    assert (answer["id"], is_refused(answer)) == ("unread", True)


@pytest.mark.parametrize(
    "line",
    [
        r'{"jsonrpc": "2.0", "id": 5, "result": {"text": "cut \ud83d"}}',
        r'{"jsonrpc": "2.0", "id": "cut \ud83d", "method": "ping"}',
        r'["cut \ud83d"]',
        '{"jsonrpc": "2.0", "id": 5, "method": "ping"',
    ],
)
def test_what_cannot_be_read_and_has_no_number_is_answered_by_none(raw: RawClient, line: str) -> None:
    raw.write(line)
    answer = raw.read()
    assert (answer["id"], "error" in answer) == (None, True)


@pytest.mark.parametrize("id_", [True, None, 1.5, [1], {}])
def test_a_call_whose_number_is_none(place: Place, raw: RawClient, id_: object) -> None:
    raw.write(json.dumps({"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": PARAMS}))
    raw.write('{"jsonrpc": "2.0", "id": "last", "method": "ping"}')
    while (answer := raw.read())["id"] != "last":
        assert "error" in answer
    assert not is_refused(raw.ask(5, "tools/call", called(f"after {next(NUMBERS)}")))
    assert "unnumbered" not in str(place.sent())


def test_answers_to_questions_that_nobody_asked(raw: RawClient) -> None:
    for number in (1, 1_000_000_000, 1_000_000_001):
        raw.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": {"action": "accept"}}))
    assert not is_refused(raw.ask(4, "tools/call", called("asked nobody")))


def test_progress_of_an_answer_beyond_every_number(raw: RawClient) -> None:
    raw.write(ASKS)
    question = raw.read()
    told = {"progressToken": question["id"], "progress": 10**400}
    raw.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": told}))
    raw.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}))
    answer = raw.read()
    assert (answer["id"], is_refused(answer)) == (9, False)


UNREADABLE = (
    r'"id": %d, "result": {"action": "accept", "content": {"name": "cut \ud83d"}}',
    '"id": %d.0, "result": {"action": "decline"}',
    '"id": %d, "result": {"action": 5}',
    '"id": %d, "result": []',
    '"id": %d, "error": "no"',
)


@pytest.mark.parametrize("answer", UNREADABLE)
def test_an_answer_to_a_question_that_cannot_be_read_ends_the_question(raw: RawClient, answer: str) -> None:
    raw.write(ASKS)
    raw.write(f'{{"jsonrpc": "2.0", {answer % raw.read()["id"]}}}')
    ended = raw.read()
    assert (ended["id"], is_refused(ended)) == (9, True)


def test_a_call_in_one_breath_with_another_greeting(tmp_path: Path) -> None:
    client = RawClient(Place(tmp_path.resolve(), None, "mcp/elicitation"))
    assert not is_refused(client.ask(2, "tools/call", called("greeted once")))
    client.write(f"{greeting({})}\n{ASKS}")
    assert client.read()["id"] == 0
    answer = client.read()  # and no question: whoever greets so can be asked nothing
    assert (answer["id"], is_refused(answer)) == (9, True)
    client.close()


@pytest.mark.parametrize("id_", [7, "7"])
def test_a_call_that_is_called_off_gets_no_answer(place: Place, raw: RawClient, id_: object) -> None:
    before = len([entry for entry in place.sent() if entry.get("tool") == "slow"])
    slow = json.dumps({"name": "fix__slow", "arguments": {"seconds": 600 + before}})
    raw.write(f'{{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {slow}}}')

    async def sent() -> None:
        await until(lambda: len([each for each in place.sent() if each.get("tool") == "slow"]) > before)

    anyio.run(sent)
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id_}}
    raw.write(json.dumps(cancelled))
    assert raw.ask(8, "ping", "{}")["id"] == 8

    async def stopped() -> None:
        await until(lambda: len([each for each in place.sent() if "cancelled" in each]) > before)

    anyio.run(stopped)


def test_a_call_whose_number_is_the_text_of_anothers(place: Place, raw: RawClient) -> None:
    before = len([entry for entry in place.sent() if "cancelled" in entry])
    slow = json.dumps({"name": "fix__slow", "arguments": {"seconds": 600}})
    raw.write(f'{{"jsonrpc": "2.0", "id": 70, "method": "tools/call", "params": {slow}}}')
    raw.write(ASKS.replace('"id": 9', '"id": "70"'))
    question = raw.read()
    raw.write('{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 70}}')
    raw.write(json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}}))
    answer = raw.read()
    assert (answer["id"], is_refused(answer)) == ("70", False)

    async def stopped() -> None:
        await until(lambda: len([each for each in place.sent() if "cancelled" in each]) > before)

    anyio.run(stopped)
