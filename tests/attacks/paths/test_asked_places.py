"""A contained server, or somebody who swaps a directory for a link, reaches places that need approval.

Held by: the server that runs is shown what rules allow; an approved call goes to a process of its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from fixtures import fixture_server
from mcp import Client
from support.deployments.proxied import Living, Place, annotated, descendants, text_of, until, visit_all
from support.documentation.client_story import NODE
from support.machines.contained import NEEDS_SANDBOX
from support.projects.policies import rule, write_bundle, write_servers

from ironcurtain.enforcement.proxy.upstream.separate_process import MOST

pytestmark = [
    NEEDS_SANDBOX,
    pytest.mark.skipif(not NODE.is_dir(), reason="the servers are not installed (make demo)"),
    pytest.mark.timeout(1800),
]

ROOT = Path(__file__).parents[3]
SPY = ROOT / "tests" / "fixtures" / "spying_server.py"
FILES = ("one", "two", "hang", "die", "sub/deep")


class Asked(Place):
    """A place that is allowed, one that is asked about, the file server, and two that were taken over."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.open, self.asked = self.home / "open", self.home / "asked"
        self.open.mkdir()
        (self.asked / "sub").mkdir(parents=True)
        for name in FILES:
            (self.asked / name).write_text(f"SECRET {name}")
        (self.open / "x.txt").write_text("open")
        (self.open / "within").mkdir()
        (self.open / "within" / "x.txt").write_text("SECRET within")
        shipped = json.loads((ROOT / "generated" / "tool-annotations.json").read_text())["servers"]
        tools = [annotated(name) for name in fixture_server.TOOLS if name != "echo"]
        tools.append(annotated("echo", text=["read-path"], path=["write-path"]))
        roles = ["read-path", "write-path", "delete-path"]
        places = [str(self.asked), str(self.open / "within")]
        made = [
            rule("asked", "escalate", paths={"roles": roles, "within": places}),
            rule("open", "allow", paths={"roles": roles, "within": [str(self.open)]}),
            rule("free", "allow", tool=["environment"]),
        ]
        annotations = {"fs": shipped["filesystem"]["tools"], "spy": tools, "turn": tools}
        self.bundle = write_bundle(root, annotations, made)
        spy = {"command": sys.executable, "args": [str(SPY), str(self.asked)]}
        write_servers(
            root,
            {
                "fs": {"command": "node", "args": [str(NODE / "server-filesystem" / "dist" / "index.js")]},
                "spy": spy,
                "turn": {**spy, "args": [*spy["args"], "--turncoat"]},
            },
        )

    def alone(self) -> list[bool]:
        """Return of each call that was sent whether it was sent to a process of its own."""
        return [each["sandbox"]["alone"] for each in self.decisions if each["forwarded"]]


class Person:
    """Whoever sits at the client, and approves what is asked."""

    asked = 0

    async def answer(self, *_: Any) -> types.ElicitResult:
        self.asked += 1
        return types.ElicitResult(action="accept", content={"answer": "approved"})


PERSON = Person()


async def fs(client: Client, tool: str, **arguments: Any) -> Any:
    return await client.call_tool(f"fs__{tool}", arguments)


def below(place: Asked) -> set[int]:
    """Return what runs below the proxy."""
    return descendants(proxy_of(place))


def proxy_of(place: Asked) -> int:
    """Return the proxy's process."""
    return next(int(each.name) for each in Path("/proc").glob("[0-9]*") if _is_proxy(each, place))


def _is_proxy(process: Path, place: Asked) -> bool:
    try:
        words = (process / "cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return str(place.bundle).encode() in words and b"proxy" in words


async def a_server_that_looks_by_itself_sees_nothing(client: Client, place: Asked) -> None:
    before = PERSON.asked
    assert text_of(await client.call_tool("spy__environment", {})) == ""
    assert (PERSON.asked, place.alone()[-1]) == (before, False)


async def a_link_put_in_the_place_of_a_directory_leads_nowhere(client: Client, place: Asked) -> None:
    """The link is within the allowed directory, and the server itself is asked for what lies there."""
    (place.open / "trap").symlink_to(place.asked)
    found = await fs(client, "directory_tree", path=str(place.open))
    assert "deep" not in text_of(found)
    found = await fs(client, "read_text_file", path=str(place.open / "x.txt"))
    assert text_of(found) == "open"
    assert place.alone()[-1] is False


async def an_approved_call_reads_what_was_approved_and_nothing_beside(client: Client, place: Asked) -> None:
    said = text_of(await client.call_tool("spy__read", {"path": str(place.asked / "one")}))
    assert said == "one: SECRET one"
    assert place.alone()[-1] is True
    said = text_of(await fs(client, "read_text_file", path=str(place.asked / "two")))
    assert said == "SECRET two"
    listed = text_of(await fs(client, "list_directory", path=str(place.asked / "sub")))
    assert "deep" in listed


async def an_approved_change_shows_nothing_that_lies_beside(client: Client, place: Asked) -> None:
    said = await client.call_tool("spy__remove", {"path": str(place.asked / "none")})
    assert "SECRET" not in text_of(said)
    for path in (place.asked / "made", place.asked / "two"):
        result = await fs(client, "write_file", path=str(path), content="written")
        assert not result.is_error, text_of(result)
        assert path.read_text() == "written"
    assert (place.asked / "one").read_text() == "SECRET one"
    (place.asked / "made").unlink()
    (place.asked / "two").write_text("SECRET two")


async def what_an_approved_call_only_reads_is_not_changed(client: Client, place: Asked) -> None:
    """Both lie in the directory that is open so that one of them can be replaced."""
    read, written = str(place.asked / "one"), str(place.asked / "two")
    said = text_of(await client.call_tool("spy__echo", {"text": read, "path": written}))
    assert (said, place.alone()[-1]) == ("Read-only file system", True)
    assert (place.asked / "one").read_text() == "SECRET one"


async def processes_of_one_server_that_hang_keep_no_other_server_waiting(
    client: Client, place: Asked
) -> None:
    before = sum(place.alone())
    async with anyio.create_task_group() as tasks:
        for number in range(MOST):
            hang = {"path": str(place.asked / str(number) / "hang")}
            tasks.start_soon(client.call_tool, "spy__read", hang)
        await until(lambda: sum(place.alone()) == before + MOST)
        said = text_of(await fs(client, "read_text_file", path=str(place.asked / "two")))
        tasks.cancel_scope.cancel()
    assert said == "SECRET two"


async def what_needs_approval_within_an_allowed_place_is_closed_too(client: Client, place: Asked) -> None:
    within = place.open / "within" / "x.txt"
    (place.open / "link.txt").symlink_to(within)
    assert "SECRET" not in text_of(await fs(client, "directory_tree", path=str(place.open)))
    assert text_of(await fs(client, "read_text_file", path=str(within))) == "SECRET within"
    assert place.alone()[-1] is True


async def the_process_is_gone_when_the_call_is_over(client: Client, place: Asked) -> None:
    before = below(place)
    await client.call_tool("spy__read", {"path": str(place.asked / "one")})
    await until(lambda: below(place) <= before)
    assert text_of(await client.call_tool("spy__environment", {})) == ""


async def it_is_gone_when_it_dies_or_its_client_waits_no_longer(client: Client, place: Asked) -> None:
    before = below(place)
    died = await client.call_tool("spy__read", {"path": str(place.asked / "die")})
    assert "the server ended before it answered" in text_of(died)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(client.call_tool, "spy__read", {"path": str(place.asked / "hang")})
        await until(lambda: place.decisions[-1]["arguments"] == {"path": str(place.asked / "hang")})
        await until(lambda: bool(below(place) - before))
        tasks.cancel_scope.cancel()
    await until(lambda: below(place) <= before)
    await until(lambda: place.ends()[-1] == "cancelled")


async def another_tool_in_the_process_than_was_judged_is_not_called(client: Client, place: Asked) -> None:
    said = await client.call_tool("turn__read", {"path": str(place.asked / "one")})
    assert said.is_error
    assert "lists another tool than was judged" in text_of(said)
    violations = [each for each in place.records() if each.get("event") == "violation"]
    assert violations[-1]["detail"]["decision"] == place.decisions[-1]["id"]
    await until(lambda: place.ends()[-1] == "failed")


async def several_at_once(client: Client, place: Asked) -> None:
    said: list[str] = []

    async def read(name: str) -> None:
        said.append(text_of(await client.call_tool("spy__read", {"path": str(place.asked / name)})))

    async with anyio.create_task_group() as tasks:
        for name in ("one", "two", "sub/deep"):
            tasks.start_soon(read, name)
    assert sorted(said) == ["one: SECRET one", "sub/deep: SECRET sub/deep", "two: SECRET two"]


VISITS: dict[str, Any] = {
    visit.__name__: visit
    for visit in (
        a_server_that_looks_by_itself_sees_nothing,
        a_link_put_in_the_place_of_a_directory_leads_nowhere,
        an_approved_call_reads_what_was_approved_and_nothing_beside,
        an_approved_change_shows_nothing_that_lies_beside,
        what_an_approved_call_only_reads_is_not_changed,
        processes_of_one_server_that_hang_keep_no_other_server_waiting,
        what_needs_approval_within_an_allowed_place_is_closed_too,
        the_process_is_gone_when_the_call_is_over,
        it_is_gone_when_it_dies_or_its_client_waits_no_longer,
        another_tool_in_the_process_than_was_judged_is_not_called,
        several_at_once,
    )
}
OPTIONS = ("--trust-client", "--patience", "3000")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    place = Asked(tmp_path_factory.mktemp("proxy").resolve())
    up = ("fs", "spy", "turn")
    return visit_all(place, VISITS, *OPTIONS, up=up, elicitation_callback=PERSON.answer)


@pytest.mark.parametrize("visit", VISITS)
def test_asked_places(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]


def test_no_process_outlives_a_proxy_that_is_killed(tmp_path: Path) -> None:
    place = Asked(tmp_path.resolve())
    left: list[Living] = []

    async def kill(before: set[int], scope: anyio.CancelScope) -> None:
        await until(lambda: bool(below(place) - before))
        left.append(Living(proxy_of(place)))
        os.kill(proxy_of(place), signal.SIGKILL)
        scope.cancel()

    async def visit() -> None:
        async with place.client(*OPTIONS, elicitation_callback=PERSON.answer) as client:
            await until(lambda: place.is_up("fs", "spy", "turn"))
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(kill, below(place), tasks.cancel_scope)
                await client.call_tool("spy__read", {"path": str(place.asked / "hang")})

    try:
        anyio.run(visit)
    except Exception:
        if not left:  # else it is the end of the connection
            raise
    left[0].wait_until_gone()
