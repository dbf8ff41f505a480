"""What a session costs beside its model and its tools: time in a turn, memory over many, the first words."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from bench.figures import Figures, Times, measure_async
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from pydantic_ai import Agent
from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import ModelMessage, ModelRequest, ToolReturnPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool
from pydantic_core import SchemaValidator, core_schema
from pytest_httpserver import HTTPServer
from support.deployments.proxied import PLAIN, Place
from support.deployments.stage import Stage
from support.people.terminal import converse
from support.services.model_server import ANTHROPIC, ModelServer, Play, raw

from ironcurtain.policy import Policy
from ironcurtain.session.model import open_model
from ironcurtain.session.session import Session

pytestmark = [pytest.mark.bench, pytest.mark.timeout(1800)]
ROOT = Path(__file__).parents[2]
CALLS = 5
OWN = 0.010
MEMORY_TURNS, SETTLED, COMPACTED = 1000, 200, 20
SHOWN_TURNS, LATER = 15, 0.4
_numbers = itertools.count()


@pytest.fixture
def stage(tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Stage:
    place, model = Place(tmp_path), ModelServer(httpserver, ANTHROPIC)
    monkeypatch.setenv("HOME", str(place.home))
    for name, value in model.environment("test-key").items():
        monkeypatch.setenv(name, value)
    return Stage(place, model)


# -- a turn -------------------------------------------------------------------------------------


def _echoes() -> Play:
    """Call a tool five times in one answer, each time with other words: equal calls are stopped."""

    def play() -> Any:
        return ANTHROPIC.calls(*(("fix__echo", {"text": f"{next(_numbers)}"}) for _ in range(CALLS)))()

    return play


def _alternating(stage: Stage) -> None:
    """Have the model call tools and end the turn, turn by turn."""
    plays = itertools.cycle((_echoes(), ANTHROPIC.answer("Done.")))
    stage.model.script[:] = [lambda: next(plays)()]  # noqa: PLW0108 - another one each time


async def _turn(session: Session) -> None:
    assert (await session.send("Say it.")).finished


async def _forget(session: Session) -> None:
    """Begin a new conversation: each turn would be longer than the one before; it is no part of a turn."""
    session.forget()


async def _model(model: Model, tools: list[ToolDefinition]) -> None:
    """Ask the model alone for the two answers of a turn, with the same client and the same tools."""
    asked: list[ModelMessage] = [ModelRequest.user_text_prompt("Say it.")]
    for _ in range(2):
        parameters = ModelRequestParameters(function_tools=tools)
        async with model_request_stream(model, asked, model_request_parameters=parameters) as stream:
            async for _ in stream:
                pass
        answer = stream.get()
        returned = [
            ToolReturnPart(call.tool_name, "0", tool_call_id=call.tool_call_id) for call in answer.tool_calls
        ]
        asked += [answer, ModelRequest(parts=returned)]


async def _tools(server: Client) -> None:
    """Call the tools as a turn does: one after another."""
    for _ in range(CALLS):
        await server.call_tool("echo", {"text": f"{next(_numbers)}"})


async def _decisions(policy: Policy) -> None:
    for _ in range(CALLS):
        assert (await policy.adecide("fix", "echo", {"text": f"{next(_numbers)}"})).verdict == "allow"


class _NothingDone(AbstractToolset[None]):
    """The same tools for the agent library, and nothing behind them."""

    def __init__(self, tools: list[ToolDefinition]) -> None:
        self._tools = tools

    @property
    def id(self) -> str:
        return "nothing"

    async def get_tools(self, ctx: RunContext[None]) -> dict[str, ToolsetTool[None]]:  # noqa: ARG002
        arguments = SchemaValidator(core_schema.dict_schema())
        return {
            tool.name: ToolsetTool(toolset=self, tool_def=tool, max_retries=1, args_validator=arguments)
            for tool in self._tools
        }

    async def call_tool(self, *_: object) -> str:
        return "0"


async def _library(agent: Agent[None, str]) -> None:
    """Have the agent library do the turn, as a session has it, but with tools that do nothing."""
    async with agent.iter("Say it.") as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    async for _ in stream:
                        pass


def _append(file: Path, line: bytes) -> None:
    with file.open("ab", buffering=0) as stream:
        stream.write(line)
        os.fdatasync(stream.fileno())


async def _records(file: Path) -> None:
    """Make durable what a turn must: the answer with the calls, each decision, and the last answer."""
    for _ in range(CALLS + 2):
        await asyncio.to_thread(_append, file, b"x" * 1000 + b"\n")


def test_a_turns_own_cost(stage: Stage, figures: Figures) -> None:
    _alternating(stage)
    started = StdioServerParameters(command=sys.executable, args=PLAIN, env={"PATH": os.environ["PATH"]})

    async def run() -> tuple[Times, ...]:
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(stage.session())
            opened = open_model("anthropic:test-model")
            stack.push_async_callback(opened.client.aclose)
            server = await stack.enter_async_context(Client(stdio_client(started), cache=None))
            policy = stack.enter_context(Policy.load(stage.place.bundle, home=stage.place.home))
            await _turn(session)
            tools = [
                ToolDefinition(
                    name=each["name"],
                    description=each["description"],
                    parameters_json_schema=each["input_schema"],
                    sequential=True,
                )
                for each in stage.model.requests[-1]["tools"]
            ]
            agent = Agent(opened.model, instructions="Be brief.", toolsets=[_NothingDone(tools)])
            operations: list[Callable[[], Awaitable[object]]] = [
                lambda: _turn(session),
                lambda: _forget(session),
                lambda: _model(opened.model, tools),
                lambda: _tools(server),
                lambda: _decisions(policy),
                lambda: _library(agent),
                lambda: _records(stage.place.root / "records"),
            ]
            return await measure_async(*operations, repetitions=60, warm_up=10)

    turn, _, model, tools, decisions, library, records = anyio.run(run)
    own = turn.less(model).less(tools)
    alone = library.less(model)
    detail = f"own {own}; turn {turn}; model {model}; tools {tools}; {CALLS} decisions {decisions}"
    allowed = Times(tuple(OWN + 1.2 * seconds for seconds in decisions.seconds))
    figures.add("sessions: a turn's own cost / (10 ms + 1.2 x its decisions)", own.per(allowed), 1, detail)
    detail = f"the agent library, with tools that do nothing, beside the model {alone}"
    figures.add("sessions: of these 10 ms, for the agent library alone", alone.median / OWN, 1, detail)
    least = Times(tuple(map(sum, zip(alone.seconds, decisions.seconds, records.seconds, strict=True))))
    detail = f"{least}, of which {CALLS + 2} durable records {records}"
    figures.add("sessions: a turn's own cost / library, decisions, records", own.per(least), 2, detail)


# -- memory -------------------------------------------------------------------------------------


def _memory() -> int:
    """Return the bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_memory_over_many_turns(stage: Stage, figures: Figures) -> None:
    _alternating(stage)

    async def run() -> tuple[int, int]:
        settled = 0
        async with stage.session() as session:
            for number in range(1, MEMORY_TURNS + 1):
                assert (await session.send("Say it. " + "x" * 2000)).finished
                del stage.model.requests[:-2], stage.model.headers[:-2]
                stage.events.clear()
                stage.model.server.clear_log()
                if number % COMPACTED == 0:
                    kept = stage.model.script[:]
                    stage.model.script[:] = [ANTHROPIC.answer("Words were echoed.")]
                    await session.compact()
                    stage.model.script[:] = kept
                if number == SETTLED:
                    settled = _memory()
        return settled, _memory()

    settled, end = anyio.run(run)
    detail = f"{settled / 1e6:.1f} MB after {SETTLED} turns, {end / 1e6:.1f} MB after {MEMORY_TURNS}"
    figures.add("sessions: memory after 1,000 turns / after 200", end / settled, 1.05, detail)


# -- the first words ----------------------------------------------------------------------------


def test_the_first_words_are_shown_as_they_come(stage: Stage, figures: Figures) -> None:
    """The first piece of an answer is sent, and the rest only later; a terminal shows the first by itself."""
    sent: list[float] = []

    def slowly(word: str) -> Iterator[bytes]:
        head, first, *rest = ANTHROPIC.events(f"{word} {word}", "end")
        yield head.encode()
        time.sleep(LATER)  # the model thinks: what is shown is not what came with the head
        sent.append(time.monotonic())
        yield first.encode()
        time.sleep(LATER)
        yield "".join(rest).encode()

    words = [f"word{number:02}" for number in range(SHOWN_TURNS)]
    spoken = iter(words)

    def answer() -> Any:
        return raw(slowly(next(spoken)), content_type="text/event-stream")()

    stage.model.script[:] = [answer]
    shown = _talk(stage, words)
    taken = Times(tuple(there - gone for there, gone in zip(shown, sent, strict=True)))
    figures.add("sessions: first words shown after they are sent, ms", taken.median * 1e3, 50, f"{taken}")


def _talk(stage: Stage, words: list[str]) -> list[float]:
    """Have a conversation at a terminal; return when the first words of each answer were to be seen there."""
    seen: dict[str, float] = {}

    def look(printed: str) -> None:
        for word in words:
            if word in printed:
                seen.setdefault(word, time.monotonic())

    environment = {
        **stage.place.environment(),
        **stage.model.environment("test-key"),
        "PYTHONPATH": str(ROOT),
        "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
    }
    where = ["--bundle", str(stage.place.bundle), "--servers", str(stage.place.servers)]
    program = [sys.executable, "-c", "from ironcurtain.cli.main import main; main()", "start"]
    said = [("\n>", "go on\r"), *((f"{word} {word}", "go on\r") for word in words[:-1])]
    code, printed = converse(
        [*program, *where, "--model", "anthropic:test-model"],
        stage.place.root,
        environment,
        *said,
        (f"{words[-1]} {words[-1]}", ""),
        ("\n>", "/quit\r"),
        look=look,
    )
    assert code == 0, printed
    assert json.dumps([*seen]) == json.dumps(words)
    return [*seen.values()]
