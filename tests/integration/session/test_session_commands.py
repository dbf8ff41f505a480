"""The slash commands that a conversation at a terminal knows, each by what it says and does."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from support.deployments.proxied import PLAIN, Place, until
from support.deployments.stage import Stage
from support.services.model_server import ANTHROPIC, DIALECTS, Dialect

from ironcurtain.errors import ModelFailedError
from ironcurtain.session.session import Session
from ironcurtain.session.transports.commands import COMMANDS, Commands

pytestmark = pytest.mark.timeout(300)
REMOVE = ANTHROPIC.calls(("fix__remove", {"path": "~/notes/a"}))


def test_each_command_says_what_it_did(stage: Callable[..., Stage]) -> None:
    play = stage(REMOVE, REMOVE, REMOVE, ANTHROPIC.answer("Done."), ANTHROPIC.answer("We removed."))
    said: list[str] = []

    async def people(session: Session, commands: Commands) -> None:
        for answer in ("/deny not now", "/approve", "/approve-session"):
            await until(lambda: session.pending)
            await commands.run("/pending")
            assert session.pending[0].id[:4] in said[-1]
            assert await commands.run(answer)
            assert said[-1] == "Recorded."
            await until(lambda: not session.pending)

    async def story() -> None:
        async with play.session() as session:
            commands = Commands(session, said.append)
            session.listen(commands.hear)

            async def told(line: str) -> str:
                assert await commands.run(line)
                return said[-1]

            assert await told("/why") == "No call was refused."
            assert await told("/pending") == "Nothing waits."
            assert await told("/approve") == "Nothing waits."
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(people, session, commands)
                assert (await session.send("Remove it")).text == "Done."
            assert "fix/remove was refused." in await told("/why")
            assert "not now" in json.dumps(play.model.requests[1]["messages"])
            audited = await told("/audit")
            assert [audited.count(word) for word in ("  refused", "  approved")] == [1, 2]
            assert str(session.path / "session.log") in await told("/logs")
            assert (await told("/usage")).startswith("4 steps, 4,800 tokens, ")
            assert len((await told("/policy")).splitlines()) <= 10
            assert await told("/compact") == "The conversation is now the model's summary of it."
            assert len(session.history) == 1
            assert await told("/new") == "A new conversation begins."
            assert not session.history
            assert [line.split()[0] for line in (await told("/help")).splitlines()] == list(COMMANDS)
            assert await told("/save") == "Name the file: /save FILE"
            assert not await commands.run("/quit")

    anyio.run(story)
    assert len(play.place.sent()) == 2


def test_a_server_whose_name_ends_in_an_underscore_is_told_by_that_name(
    stage: Callable[..., Stage], tmp_path: Path
) -> None:
    play = stage(ANTHROPIC.calls(("git___echo", {"path": "a"})), ANTHROPIC.answer("Done."))
    play.place = Place(tmp_path / "other", {"git_": PLAIN})
    said: list[str] = []

    async def story() -> None:
        async with play.session() as session:
            commands = Commands(session, said.append)
            session.listen(commands.hear)
            await session.send("Look")
            await commands.run("/audit")

    anyio.run(story)
    assert said[-1].endswith("  git_/echo  allowed")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.provider)
def test_a_model_that_refuses_ends_the_turn_and_not_the_session(
    stage: Callable[..., Stage], dialect: Dialect
) -> None:
    play = stage(dialect.answer("I will not", "refusal"), dialect=dialect)

    async def story() -> None:
        async with play.session() as session:
            with pytest.raises(ModelFailedError, match="refused"):
                await session.send("Do harm")
            play.model.script[:] = [dialect.answer("Hello.")]
            assert (await session.send("Hi")).text == "Hello."

    anyio.run(story)


def test_loggers_are_after_a_session_as_they_were_before(stage: Callable[..., Stage]) -> None:
    play = stage(ANTHROPIC.answer("Hello."))

    def state() -> dict[str, tuple[int, bool, int]]:
        names = ("", "ironcurtain", "mcp", "pydantic_ai", "anthropic", "httpx2", "asyncio")
        loggers = {name: logging.getLogger(name) for name in names}
        return {name: (each.level, each.propagate, len(writing(each))) for name, each in loggers.items()}

    def writing(logger: logging.Logger) -> list[logging.Handler]:
        return [each for each in logger.handlers if not isinstance(each, logging.NullHandler)]

    async def story() -> str:
        async with play.session() as session:
            assert state() != before
            await session.send("Hi")
            logging.getLogger("ironcurtain.somewhere").warning("two\nlines")
        logging.getLogger("ironcurtain.somewhere").warning("too late")
        return (session.path / "session.log").read_text()

    before = state()
    lines = [json.loads(line) for line in anyio.run(story).splitlines()]
    assert state() == before
    assert all({"time", "level", "logger", "event"} == set(line) for line in lines)
    assert "two\nlines" in [line["event"] for line in lines]
    assert "too late" not in [line["event"] for line in lines]


def test_what_servers_say_at_their_start_is_told_beside_the_turns(stage: Callable[..., Stage]) -> None:
    play = stage(ANTHROPIC.answer("Hello."))
    servers = json.loads(play.place.servers.read_text())
    servers["mcpServers"]["fix"]["args"] = ["-c", "raise SystemExit(1)"]
    play.place.servers.write_text(json.dumps(servers))

    async def story() -> None:
        async with play.session() as session:
            assert (await session.send("Hi")).text == "Hello."
            await until(lambda: any("fix" in each and "start" in each for each in session.diagnostics))

    anyio.run(story)
