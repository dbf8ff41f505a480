"""The proxy with a remote engine: the nodes decide, and it outlives them."""

from __future__ import annotations

import itertools
import json
from contextlib import ExitStack
from pathlib import Path

import anyio
import pytest
from mcp import Client
from support.deployments.faulty import proxy_of
from support.deployments.proxied import LONG, Place, descendants, rules, until, written_lines
from support.projects.policies import rule
from support.services.bundle_server import Held, bundle_server
from support.services.nodes import free_port, opa_node

NO_ECHO = [rule("no-echo", "deny", tool=["echo"]), *rules()]


pytestmark = pytest.mark.timeout(900)
NUMBERS = itertools.count()


async def echo(client: Client) -> bool:
    return not (await client.call_tool("fix__echo", {"data": next(NUMBERS)})).is_error


async def echoes(client: Client) -> None:
    """See a call go through, perhaps after some for which a busy machine's node was too slow."""
    with anyio.fail_after(LONG):
        while not await echo(client):  # noqa: ASYNC110
            await anyio.sleep(0.5)


def rule_of_the_last(place: Place) -> str:
    found: str = place.decisions[-1]["rule"]
    return found


async def story(place: Place, held: Held, port: int) -> None:
    with ExitStack() as one, ExitStack() as again:
        logging = ("--set", "decision_logs.console=true")
        _, node = one.enter_context(opa_node(held, *logging, port=port))
        options = ("--no-approver", "--engine", f"http://127.0.0.1:{port}")
        async with place.client(*options) as client:
            await echoes(client)
            assert f"decided by http://127.0.0.1:{port}" in place.said
            logged = [json.loads(line) for line in written_lines(node.log) if "decision_id" in line]
            assert place.decisions[-1]["decision_id"] in [line["decision_id"] for line in logged]
            assert not [pid for pid in descendants(await proxy_of(place)) if serves_a_socket(pid)]
            one.close()
            assert not await echo(client)
            assert rule_of_the_last(place) == "engine-no-node"
            await until(lambda: told_of_the_node(place) != "")
            again.enter_context(opa_node(held, port=port))
            await echoes(client)

            place.publish(NO_ECHO, place.names)
            await echoes(client)  # the gateway has the new bundle, no node has it yet
            await until(lambda: "tried again in 0.8 s" in place.said)  # it does not give up
            await echoes(client)
            held.content = place.bundle.read_bytes()
            await until(lambda: "now enforced" in place.said)
            assert not await echo(client)
            assert rule_of_the_last(place) == "no-echo"
            refused = [record for record in place.records() if record.get("event") == "reload-refused"]
            assert len(refused) == 1, "the first time only"
            await until(lambda: told_of_the_node(place) == "")


def told_of_the_node(place: Place) -> str:
    """Return why the node does not decide, as `ironcurtain status` knows it; nothing if it does."""
    status = json.loads((place.home / ".ironcurtain" / "status" / "test.json").read_text())
    (node,) = status["nodes"]
    reason: str = node["reason"]
    assert node["serves"] is not bool(reason)
    return reason


def serves_a_socket(pid: int) -> bool:
    """Tell whether a process is an embedded engine."""
    try:
        return b"opa\0run\0--server\0--addr\0unix://" in Path(f"/proc/{pid}/cmdline").read_bytes() and (
            b"--skip-verify" in Path(f"/proc/{pid}/cmdline").read_bytes()
        )
    except OSError:
        return False


def test_nodes_decide_for_the_proxy(tmp_path: Path) -> None:
    place = Place(tmp_path)
    with bundle_server() as held:
        held.content = place.bundle.read_bytes()
        with place.explained():
            anyio.run(story, place, held, free_port())
