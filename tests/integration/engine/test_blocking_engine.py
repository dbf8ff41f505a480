"""The embedded engine, asked from threads: the same answers, and the same errors where there is none."""

from __future__ import annotations

import os
import signal
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from anyio.from_thread import start_blocking_portal
from integration.engine.test_engine import COUNT, REVISION, archive, ask
from support.machines.frozen import freeze

from ironcurtain.engine.answer import EngineAnswerError
from ironcurtain.engine.blocking_client import BlockingClient
from ironcurtain.engine.engine import Engine, EngineLimits
from ironcurtain.engine.locate import find

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
SHORT = EngineLimits(query=0.3)


@contextmanager
def running(policy: str | None = None, limits: EngineLimits | None = None) -> Iterator[Engine]:
    engine = Engine(
        find(), archive(policy) if policy else archive(), REVISION, limits=limits or EngineLimits()
    )
    with start_blocking_portal("asyncio") as portal, portal.wrap_async_context_manager(engine):
        yield engine


def rule_of(asking: Callable[[bytes], object], policy_input: bytes = COUNT) -> str:
    with pytest.raises(EngineAnswerError) as caught:
        asking(policy_input)
    return caught.value.rule


def from_thread(path: Path, timeout: float, times: int) -> list[tuple[int, bytes]]:
    """Ask so many times, one after the other, from a thread."""
    client = BlockingClient(path, "t", timeout)
    try:
        return [client.decide(b"{}") for _ in range(times)]
    finally:
        client.close()


@contextmanager
def answering(*answers: list[bytes], pause: float = 0.0) -> Iterator[Path]:
    """Serve one connection after the other; each answers its requests with these bytes, then is closed.

    An answer is one element; `pause` seconds go by after each of its bytes.
    """
    with tempfile.TemporaryDirectory(prefix="ic-") as name, socket.socket(socket.AF_UNIX) as listener:
        path = Path(name) / "s"
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            for wanted in answers:
                accepted, _ = listener.accept()
                with accepted:
                    for answer in wanted:
                        accepted.recv(1 << 16)
                        for piece in (answer,) if not pause else (bytes([byte]) for byte in answer):
                            try:
                                accepted.sendall(piece)
                            except OSError:
                                return
                            time.sleep(pause)

        thread = threading.Thread(target=serve)
        thread.start()
        yield path
        thread.join(30)
        assert not thread.is_alive()


def test_everything_but_a_decision_object_is_its_own_rule() -> None:
    with running() as engine:
        assert engine.query_blocking(COUNT).result == {"verdict": "deny", "count": 2, "name": "x"}
        assert rule_of(engine.query_blocking, ask("unknown")) == "engine-undefined"
        assert rule_of(engine.query_blocking, ask("text")) == "engine-malformed"
        assert rule_of(engine.query_blocking, ask("divide", n=1, d=0)) == "engine-status"
        assert rule_of(engine.query_blocking, b"not json") == "engine-status"
        assert engine.query_blocking(COUNT).result["count"] == 2
    assert rule_of(engine.query_blocking) == "engine-dead"


def test_threads_keep_their_answers_and_long_answers_come_whole() -> None:
    policy = 'package ironcurtain.decision\n\ndecision := {"items": input.items}\n'
    with running(policy) as engine, ThreadPoolExecutor(40) as pool:
        inputs = [[f"{n}-{i}" for i in range(n * 10)] for n in range(300)]
        answers = list(
            pool.map(lambda items: engine.query_blocking(ask("x", items=items)).result["items"], inputs)
        )
    assert answers == inputs


def test_a_killed_engine_is_dead() -> None:
    with running() as engine:
        engine.query_blocking(COUNT)
        assert engine.pid is not None
        os.kill(engine.pid, signal.SIGKILL)
        assert [rule_of(engine.query_blocking) for _ in range(3)] == ["engine-dead"] * 3


def test_a_frozen_engine_times_out_and_its_late_answer_is_nobodys() -> None:
    with running(limits=SHORT) as engine:
        engine.query_blocking(COUNT)
        assert engine.pid is not None
        freeze(engine.pid)
        try:
            assert rule_of(engine.query_blocking, ask("count", items=[1], name="late")) == "engine-timeout"
        finally:
            os.kill(engine.pid, signal.SIGCONT)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                assert engine.query_blocking(COUNT).result["name"] == "x"
                break
            except EngineAnswerError as error:  # a busy machine may take it longer to wake
                assert error.rule == "engine-timeout"  # noqa: PT017 - others are failures
        else:
            pytest.fail("the engine did not recover")


def test_a_forked_process_does_not_read_from_its_owners_connections() -> None:
    with running() as engine:
        engine.query_blocking(COUNT)
        child = os.fork()
        if child == 0:
            try:
                engine.query_blocking(COUNT)
                os._exit(1)
            except EngineAnswerError as error:
                os._exit(0 if error.rule == "engine-dead" else 2)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert engine.query_blocking(COUNT).result["count"] == 2


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        (b"", "engine-unreachable"),
        (b"garbage\r\n\r\n", "engine-unreachable"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n{}", "engine-unreachable"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}", "engine-unreachable"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{}", "engine-unreachable"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n{}", "engine-unreachable"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 200 + b"\r\n{}", "engine-unreachable"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n{}", "engine-unreachable"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * ((64 << 20) + 1), "engine-malformed"),
    ],
    ids=[
        "nothing",
        "no-http",
        "cut",
        "bad-chunk",
        "cut-chunk",
        "negative-chunk",
        "many-headers",
        "long-header",
        "too-long",
    ],
)
def test_broken_answers_are_errors(answer: bytes, rule: str) -> None:
    with answering([answer]) as path:
        assert rule_of(lambda _: from_thread(path, 30, 1)) == rule


@pytest.mark.parametrize(
    ("answer", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"{}"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b""),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n\r\n0\r\n\r\n\r\n1\r\nx\r\n0\r\n\r\n",
            b"\r\n0\r\n\r\nx",
        ),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", b""),
    ],
    ids=["chunks", "no-chunks", "the-mark-of-the-last-in-the-first", "empty"],
)
def test_an_answer_that_comes_byte_by_byte_is_whole(answer: bytes, body: bytes) -> None:
    with answering([answer, answer], pause=0.001) as path:
        assert from_thread(path, 30, 2) == [(200, body)] * 2


def test_the_time_limit_is_of_the_whole_answer() -> None:
    """Each byte comes soon enough, all of them together do not."""
    with answering([WHOLE * 10], pause=0.05) as path:
        assert rule_of(lambda _: from_thread(path, 0.5, 1)) == "engine-timeout"


def test_a_connection_that_was_closed_meanwhile_is_not_used_again() -> None:
    with answering([WHOLE], [WHOLE]) as path:
        client = BlockingClient(path, "t", 30)
        assert client.decide(b"{}") == (200, b"{}")
        _until_the_end_is_known(client)
        assert client.decide(b"{}") == (200, b"{}")
        client.close()


def test_what_comes_after_an_answer_answers_nothing() -> None:
    """The second answer was sent before its question: the next question goes to another connection."""
    forged = b'HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n{"a": 1}'
    with answering([WHOLE + forged], [WHOLE]) as path:
        assert from_thread(path, 30, 2) == [(200, b"{}")] * 2


def _until_the_end_is_known(client: BlockingClient) -> None:
    (connection,) = client._idle
    connection.socket.settimeout(30)
    assert connection.socket.recv(1, socket.MSG_PEEK) == b""
