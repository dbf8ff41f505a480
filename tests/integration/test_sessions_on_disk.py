"""A session's files: durable before a call that follows from them, and a disk that fails loses nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from pytest_httpserver import HTTPServer
from support.model_server import ANTHROPIC, ModelServer
from support.proxied import Place
from support.stage import Stage

from ironcurtain.session.events import CallEnded, SessionEvent

pytestmark = pytest.mark.timeout(300)
ECHO = ANTHROPIC.calls(("fix__echo", {"text": "hello"}))


@pytest.fixture
def stage(tmp_path: Path, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stage]:
    place = Place(tmp_path)
    monkeypatch.setenv("HOME", str(place.home))

    def make(*script: Any) -> Stage:
        model = ModelServer(httpserver, ANTHROPIC, list(script))
        for name, value in model.environment("test-key").items():
            monkeypatch.setenv(name, value)
        return Stage(place, model)

    return make


@pytest.mark.parametrize("name", ["messages.jsonl", "words.jsonl"])
def test_what_cannot_be_made_durable_is_followed_by_no_call(stage: Callable[..., Stage], name: str) -> None:
    play = stage(ECHO, ANTHROPIC.answer("Done."))

    async def story() -> None:
        async with play.session() as session:
            os.mkfifo(session.path / name)  # it can be written, and never be durable
            with pytest.raises(OSError, match="Invalid argument"):
                await session.send("Echo")
            assert not play.place.sent()
            (session.path / name).unlink()
            play.model.script[:] = [ECHO, ANTHROPIC.answer("Done.")]
            play.model.requests.clear()
            assert (await session.send("Again")).text == "Done."

    anyio.run(story)
    assert len(play.place.sent()) == 1


def test_a_disk_that_fails_in_the_middle_of_a_turn_leaves_a_session_that_goes_on(
    stage: Callable[..., Stage],
) -> None:
    play = stage(ECHO, ANTHROPIC.answer("Back."))

    async def story() -> str:
        async with play.session() as session:
            file, aside = session.path / "messages.jsonl", session.path / "aside"

            def fail(event: SessionEvent) -> None:
                if isinstance(event, CallEnded):
                    file.rename(aside)
                    file.mkdir()

            session.listen(fail)
            with pytest.raises(OSError, match="Is a directory"):
                await session.send("Echo")
            file.rmdir()
            aside.rename(file)
            assert (await session.send("And now?")).text == "Back."
            return session.id

    async def again(id_: str) -> None:
        async with play.session(resume=id_) as session:
            assert (await session.send("Still there?")).text == "Back."

    id_ = anyio.run(story)
    assert "may or may not have happened" in json.dumps(play.model.requests[-1]["messages"])
    anyio.run(again, id_)
    assert len(play.place.sent()) == 1
