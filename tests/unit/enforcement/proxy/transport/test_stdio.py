"""The client's side over stdio, served by a small program: what it reads, and what it says last."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ECHO = """
import anyio
from ironcurtain.enforcement.proxy.transport.direct_calls import DirectCalls
from ironcurtain.enforcement.proxy.transport.stdio import serve_stdio

async def answer(*call):
    return {"content": []}

async def echo():
    async with serve_stdio(DirectCalls(answer)) as (received, sent):
        first = await received.receive()
        await sent.send(first)
        last = [message async for message in received]
        for message in last:
            await sent.send(message)

async def echo_each():
    async with serve_stdio(DirectCalls(answer)) as (received, sent):
        async for message in received:
            await sent.send(message)
"""


@contextmanager
def echoing(stdin: int, what: str) -> Iterator[subprocess.Popen[str]]:
    program = [sys.executable, "-c", f"{ECHO}\nanyio.run({what})"]
    with subprocess.Popen(program, stdin=stdin, stdout=subprocess.PIPE, text=True) as process:
        limit = threading.Timer(60, process.kill)
        limit.start()
        try:
            yield process
        finally:
            limit.cancel()
            process.kill()


def test_all_is_answered_over_a_pipe_that_was_left_non_blocking() -> None:
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    with echoing(ours, "echo") as process, open(theirs, "w") as wire:  # noqa: PTH123 - a descriptor
        assert process.stdout is not None
        messages = [{"jsonrpc": "2.0", "id": number, "result": {}} for number in range(20)]
        lines = [json.dumps(message) + "\n" for message in messages]
        wire.write(lines[0])
        wire.flush()
        assert json.loads(process.stdout.readline()) == messages[0]
        wire.writelines(lines[1:])
        wire.close()
        assert [json.loads(line) for line in process.stdout] == messages[1:]
        assert process.wait() == 0
    os.close(ours)


def test_a_client_that_has_closed_its_side_is_sent_what_it_waits_for_and_nothing_else() -> None:
    ours, theirs = os.pipe()
    with echoing(ours, "echo") as process, open(theirs, "w") as wire:  # noqa: PTH123 - a descriptor
        assert process.stdout is not None
        news = {"jsonrpc": "2.0", "method": "notifications/message", "params": {}}
        question = {"jsonrpc": "2.0", "id": 1, "method": "roots/list"}
        answer = {"jsonrpc": "2.0", "id": 2, "result": {}}
        wire.write(f"{json.dumps(news)}\n")
        wire.flush()
        assert json.loads(process.stdout.readline()) == news
        wire.writelines(f"{json.dumps(message)}\n" for message in (news, question, answer))
        wire.close()
        assert [json.loads(line) for line in process.stdout] == [answer]
        assert process.wait() == 0
    os.close(ours)


def test_a_file_is_read_to_its_end(tmp_path: Path) -> None:
    messages = [{"jsonrpc": "2.0", "id": number, "result": {}} for number in range(5_000)]
    given = tmp_path / "file"
    given.write_text("".join(json.dumps(message) + "\n" for message in messages))
    with given.open() as file, echoing(file.fileno(), "echo_each") as process:
        assert process.stdout is not None
        assert [json.loads(line) for line in process.stdout] == messages
        assert process.wait() == 0


def test_an_input_that_cannot_be_read_is_its_end(tmp_path: Path) -> None:
    unreadable = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    with echoing(unreadable, "echo_each") as process:
        assert process.wait() == 0
    os.close(unreadable)
