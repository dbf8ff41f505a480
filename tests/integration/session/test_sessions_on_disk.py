"""A session's files: durable before a call that follows from them, and a disk that fails loses nothing."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from support.deployments.proxied import rules
from support.deployments.stage import Stage
from support.services.model_server import ANTHROPIC

from ironcurtain.errors import BusyError, FormatError, ModelFailedError, SessionError
from ironcurtain.session.directory import SessionDirectory
from ironcurtain.session.events import CallEnded, SessionEvent
from ironcurtain.session.session import Session

pytestmark = pytest.mark.timeout(300)
ECHO = ANTHROPIC.calls(("fix__echo", {"text": "hello"}))


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


def test_a_disk_that_is_full_ends_a_turn_and_loses_nothing(stage: Callable[..., Stage]) -> None:
    play = stage(ANTHROPIC.answer("Hello."), ANTHROPIC.answer("Back."))

    async def story() -> str:
        async with play.session() as session:
            await session.send("Hi")
            kept = {path: path.read_bytes() for path in session.path.glob("*.jsonl")}
            with no_file_above(1), pytest.raises(OSError, match="File too large"):
                await session.send("Are you there?")
            assert {path: path.read_bytes() for path in session.path.glob("*.jsonl")} == kept
            return session.id

    async def again(id_: str) -> None:
        async with play.session(resume=id_) as session:
            assert (await session.send("And now?")).text == "Back."

    anyio.run(again, anyio.run(story))
    assert len(play.model.requests[-1]["messages"]) == 3


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Let no file of this process grow beyond a size, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("whole", range(4), ids=["words", "answer with a call", "result", "last answer"])
def test_a_disk_that_is_full_at_a_message_ends_the_turn_there_and_the_session_goes_on(
    stage: Callable[..., Stage], whole: int
) -> None:
    play = stage(ANTHROPIC.answer("Hello."))

    async def turn(session: Session) -> None:
        play.model.script[:] = [ECHO, ANTHROPIC.answer("Done.")]
        play.model.requests.clear()
        assert (await session.send("Echo")).text == "Done."

    async def story() -> str:
        async with play.session() as session:
            file = session.path / "messages.jsonl"
            await session.send("x" * 50_000)  # no other file is as long
            await turn(session)
            lines = [len(line) for line in file.read_bytes().splitlines(keepends=True)][-4:]
            room = sum(lines[:whole]) + lines[whole] // 2
            kept = file.read_bytes()
            with no_file_above(len(kept) + room), pytest.raises(OSError, match="File too large"):
                await turn(session)
            assert len(play.place.sent()) == (1 if whole < 2 else 2)
            assert file.read_bytes().startswith(kept)
            assert file.read_bytes().endswith(b"\n")
            await turn(session)
            return session.id

    async def again(id_: str) -> None:
        async with play.session(resume=id_) as session:
            await turn(session)

    anyio.run(again, anyio.run(story))


def test_a_disk_that_is_full_at_the_first_words_leaves_a_session_that_goes_on(
    stage: Callable[..., Stage],
) -> None:
    play = stage(ANTHROPIC.answer("Hello."))

    async def story() -> str:
        async with play.session() as session:
            with no_file_above(1), pytest.raises(OSError, match="File too large"):
                await session.send("Hi")
            assert not play.model.requests
            assert (await session.send("Hi again")).text == "Hello."
            return session.id

    async def again(id_: str) -> str:
        async with play.session(resume=id_) as session:
            return json.dumps(session.history, default=str)

    id_ = anyio.run(story)
    assert "Hello." in anyio.run(again, id_)
    assert SessionDirectory.read(id_)[0].task == "Hi again"


def test_a_disk_that_is_full_at_the_audit_log_lets_no_call_happen(stage: Callable[..., Stage]) -> None:
    play = stage(*[ECHO, ANTHROPIC.answer("Done.")] * 8)

    async def story() -> None:
        async with play.session() as session:
            for _ in range(5):
                await session.send("Echo")
            session.forget()  # no other file is as long now
            log = play.place.home / ".ironcurtain" / "audit" / f"{session.id}.jsonl"
            with no_file_above(log.stat().st_size + 10):
                await session.send("Echo")
            assert not play.ended()[-1].happened

    anyio.run(story)
    assert len(play.place.sent()) == 5


def test_a_disk_that_is_full_at_the_log_disturbs_nothing(
    stage: Callable[..., Stage], capfd: pytest.CaptureFixture[str]
) -> None:
    play = stage(ECHO, ANTHROPIC.answer("Done."))

    async def story() -> None:
        async with play.session() as session:
            file = session.path / "session.log"
            file.write_text("x" * 50_000)
            with no_file_above(50_000):
                assert (await session.send("Echo")).text == "Done."
            assert file.stat().st_size == 50_000

    anyio.run(story)
    assert "Traceback" not in capfd.readouterr().err
    assert len(play.place.sent()) == 1


@pytest.mark.parametrize("name", ["session.json", "messages.jsonl", "words.jsonl"])
def test_a_file_that_is_damaged_is_named_and_nothing_begins(stage: Callable[..., Stage], name: str) -> None:
    play = stage(ANTHROPIC.answer("Hello."))

    async def turn(resume: str | None = None) -> Session:
        async with play.session(resume) as session:
            await session.send("Hi")
        return session

    session = anyio.run(turn)
    damaged = session.path / name
    damaged.write_bytes(b"no JSON\n" + damaged.read_bytes())
    asked = len(play.model.requests)
    with pytest.raises(FormatError) as caught:
        anyio.run(turn, session.id)
    assert name in str(caught.value.where)
    assert len(play.model.requests) == asked


def test_a_session_goes_on_under_its_own_policy_and_in_one_process(stage: Callable[..., Stage]) -> None:
    play = stage(ANTHROPIC.answer("Hello."))

    async def first() -> str:
        async with play.session() as session:
            await session.send("Hi")
            with pytest.raises(BusyError, match="another process"):
                async with play.session(resume=session.id):
                    pytest.fail("it began")
            return session.id

    async def again(id_: str) -> None:
        async with play.session(resume=id_) as session:
            assert len(session.history) == 2
            await session.send("Still there?")

    id_ = anyio.run(first)
    anyio.run(again, id_)
    assert len(play.model.requests[-1]["messages"]) == 3
    play.place.publish(rules("read"), ["fix"])
    with pytest.raises(SessionError, match="begun under the policy"):
        anyio.run(again, id_)


def test_a_session_goes_on_in_its_own_workspace(stage: Callable[..., Stage], tmp_path: Path) -> None:
    play = stage(ANTHROPIC.answer("Hello."))
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()

    async def turn(workspace: Path | None, resume: str | None = None) -> str:
        async with play.session(resume, workspace) as session:
            await session.send("Hi")
            return session.id

    id_ = anyio.run(turn, one)
    anyio.run(turn, one / ".." / "one", id_)
    with pytest.raises(SessionError, match=f"works in {one}, not in {other}") as caught:
        anyio.run(turn, other, id_)
    assert caught.value.hint == f"Add --sandbox {one}."
    with pytest.raises(SessionError, match=f"works in {one}$"):
        anyio.run(turn, None, id_)
    with pytest.raises(SessionError, match=f"has no workspace, not in {one}"):
        anyio.run(turn, one, anyio.run(turn, None))


def test_a_log_of_a_session_holds_no_key(stage: Callable[..., Stage]) -> None:
    play = stage(ANTHROPIC.failure(401, "authentication_error", "the key test-key is wrong"))

    async def story() -> Path:
        async with play.session() as session:
            with pytest.raises(ModelFailedError):
                await session.send("Hi")
            return session.path / "session.log"

    log = anyio.run(story)
    assert log.stat().st_mode & 0o077 == 0
    assert "test-key" not in log.read_text()
