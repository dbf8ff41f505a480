"""The proxy with a remote engine: the nodes decide, and it outlives them."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import anyio
from mcp import Client
from support.bundle_server import Held, bundle_server
from support.nodes import free_port, opa_node
from support.policies import rule
from support.proxied import Place, descendants, rules, until

NO_ECHO = [rule("no-echo", "deny", tool=["echo"]), *rules()]


async def echo(client: Client) -> bool:
    return not (await client.call_tool("fix__echo", {"data": 1})).is_error


def rule_of_the_last(place: Place) -> str:
    found: str = place.decisions[-1]["rule"]
    return found


async def story(place: Place, held: Held, port: int) -> None:
    with ExitStack() as one, ExitStack() as again:
        one.enter_context(opa_node(held, port=port))
        options = ("--no-approver", "--engine", f"http://127.0.0.1:{port}")
        async with place.client(*options) as client:
            assert await echo(client)
            assert f"decided by http://127.0.0.1:{port}" in place.said
            assert not [pid for pid in descendants(os.getpid()) if serves_a_socket(pid)]
            one.close()
            assert not await echo(client)
            assert rule_of_the_last(place) == "engine-no-node"
            again.enter_context(opa_node(held, port=port))
            assert await echo(client)

            place.publish(NO_ECHO, place.names)
            assert await echo(client)  # the gateway has the new bundle, no node has it yet
            held.content = place.bundle.read_bytes()
            await until(lambda: "now enforced" in place.said, 60)
            assert not await echo(client)
            assert rule_of_the_last(place) == "no-echo"


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
        anyio.run(story, place, held, free_port())
