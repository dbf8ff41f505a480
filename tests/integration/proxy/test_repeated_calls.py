"""The same call again and again: which is stopped, and which goes on."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from fixtures import polled_server
from support.deployments.proxied import Place, text_of
from support.projects.policies import rule, tool, write_bundle

from ironcurtain.servers.tools import ToolListing, tool_digest

pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """Return a proxy whose tool `look` is annotated to change nothing, as the others are not."""
    made = Place(tmp_path, {"fix": [polled_server.__file__]})
    digests = {
        name: tool_digest(ToolListing(name=name, description="", input_schema=polled_server.SCHEMA))
        for name in polled_server.TOOLS
    }
    tools = [
        {
            **tool(name, contained=False, side_effects=name != "look"),
            "schema_digest": digest,
            "input_schema": polled_server.SCHEMA,
        }
        for name, digest in digests.items()
    ]
    made.bundle = write_bundle(tmp_path, {"fix": tools}, [rule("all", "allow", tool=[*digests])])
    return made


def answers(place: Place, name: str, *options: str, times: int) -> list[str]:
    async def story() -> list[str]:
        async with place.client(*options) as client:
            return [text_of(await client.call_tool(f"fix__{name}", {})) for _ in range(times)]

    return anyio.run(story)


@pytest.mark.parametrize("name", ["status", "look"])
def test_a_poll_goes_on_as_long_as_its_answers_change(place: Place, name: str) -> None:
    assert answers(place, name, "--repeats", "3", times=9) == [f"{number} done" for number in range(1, 10)]


@pytest.mark.parametrize(("name", "text"), [("idle", "nothing is done"), ("act", "3 done")])
def test_what_gives_one_answer_or_may_change_something_is_stopped(place: Place, name: str, text: str) -> None:
    *_, third, fourth = answers(place, name, "--repeats", "3", times=4)
    assert third == text
    assert fourth.startswith("The same call came more than 3 times within 60 seconds. It was stopped.")
    assert place.decisions[-1]["rule"] == "proxy-circuit-breaker"


def test_without_a_limit_nothing_is_stopped(place: Place) -> None:
    assert answers(place, "act", "--repeats", "0", times=22)[-1] == "22 done"
