"""However a session ends, no server, engine or launcher is left, nor what a server has started."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from pytest_httpserver import HTTPServer
from support.deployments.proxied import LONG, Living, descendants, wait_for
from support.deployments.stage import Stage
from support.deployments.started import Started
from support.machines.contained import NEEDS_SANDBOX
from support.people.terminal import converse
from support.services.model_server import ANTHROPIC
from support.services.nodes import answer, pretender

pytestmark = pytest.mark.timeout(300)

# A server that starts a process in a session of its own, and then does not answer any more.
WORKING = ANTHROPIC.calls(("fix__spawn", {})), ANTHROPIC.calls(("fix__hang", {}))


def command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def all_of_it(pid: int, before: Collection[int] = ()) -> Living | None:
    """Return what lives below a session whose server has started something; None as long as it has not."""
    living = Living(pid, before)
    lines = b"\n".join(map(command_line, living.began))
    parts = (b"process_tree.py", b"plain_server.py", b"--server", b"sleep\x003600")
    return living if all(part in lines for part in parts) else None


@pytest.fixture
def started(tmp_path: Path, httpserver: HTTPServer) -> Started:
    made = Started(tmp_path, httpserver)
    made.script(*WORKING, ANTHROPIC.answer("It hangs."))
    return made


def hangs(started: Started) -> bool:
    """Tell whether the call that never comes back was recorded, so that the one before it is done."""
    logs = (started.place.home / ".ironcurtain" / "audit").glob("*.jsonl")
    return any('"tool":"hang"' in path.read_text().replace(" ", "") for path in logs)


def test_a_session_that_is_closed_leaves_no_process(stage: Callable[..., Stage]) -> None:
    play = stage(WORKING[0], ANTHROPIC.answer("Started."))
    living: list[Living] = []
    # This process may still have what earlier tests have started.
    before = descendants(os.getpid())

    async def story() -> None:
        async with play.session() as session:
            await session.send("Start it")
            found = all_of_it(os.getpid(), before)
            assert found is not None
            living.append(found)

    anyio.run(story)
    living[0].wait_until_gone()


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, -signal.SIGTERM),
        (signal.SIGHUP, -signal.SIGHUP),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_a_task_that_is_ended_in_a_turn_leaves_no_process(
    started: Started, number: signal.Signals, code: int
) -> None:
    ended(started, number, code)


@NEEDS_SANDBOX
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_task_that_is_ended_leaves_nothing_of_a_contained_server(
    started: Started, number: signal.Signals, code: int
) -> None:
    started.place.configure(sandbox=None, env={"FIXTURE_JOURNAL": "/dev/null"})
    workspace = started.place.root / "work"
    workspace.mkdir()
    ended(started, number, code, "--sandbox", str(workspace))


def ended(started: Started, number: signal.Signals, code: int, *options: str) -> None:
    """Send a session a signal in a turn, and see what is left."""
    with subprocess.Popen(
        started.command("Start it", *options),
        cwd=started.place.root,
        env=started.environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as run:
        wait_for(lambda: hangs(started))
        living = wait_for(lambda: all_of_it(run.pid))
        run.send_signal(number)
        assert run.wait(LONG) == code
    living.wait_until_gone()


def test_a_conversation_whose_turn_is_interrupted_goes_on_and_leaves_no_process(started: Started) -> None:
    def interrupt() -> Living:
        wait_for(lambda: hangs(started))
        (pid,) = [each for each in descendants(os.getpid()) if b"\0--model\0" in command_line(each)]
        living: Living = wait_for(lambda: all_of_it(pid))
        os.kill(pid, signal.SIGINT)
        return living

    with ThreadPoolExecutor(1) as pool:
        person = pool.submit(interrupt)
        code, printed = converse(
            started.command(),
            started.place.root,
            started.environment,
            ("Ctrl-C ends a turn\n>", "start it\r"),
            ("The turn was cancelled", ""),
            ("\n>", "/quit\r"),
        )
        living = person.result()
    assert code == 0, printed
    living.wait_until_gone()


def test_a_session_that_is_interrupted_while_it_starts_asks_no_node_any_more(started: Started) -> None:
    """A start waits a minute for nodes that have another revision; no person does."""
    with pretender(200, answer("another", {})) as node:
        with subprocess.Popen(
            started.command("Start it", "--engine", node.url),
            cwd=started.place.root,
            env=started.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        ) as run:
            wait_for(lambda: node.asked)
            run.send_signal(signal.SIGINT)
            before = len(node.asked)
            _, said = run.communicate(timeout=LONG)
        assert (run.returncode, said) == (130, "\ninterrupted\n")
        assert len(node.asked) - before < ASKED_IN_A_START // 4


ASKED_IN_A_START = 300
"""How often a start asks a node that has another revision: five times a second."""
