"""What the policy permits and a server's sandbox does not: refused in plain words, and nobody is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from support.deployments.proxied import Place, text_of, visit_all
from support.machines.contained import NEEDS_SANDBOX
from support.projects.policies import rule

pytestmark = [NEEDS_SANDBOX, pytest.mark.timeout(900)]


class Person:
    asked = 0

    async def answer(self, *_: Any) -> Any:
        self.asked += 1
        raise AssertionError


PERSON = Person()


class Contained(Place):
    """Rules that permit reading keys, and a place that is not there when the server starts."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        (self.home / "notes" / "a").write_text("a note")
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh" / "id").write_text("a key")
        (self.root / "work").mkdir()
        later = {"roles": ["read-path"], "within": ["~/later"]}
        keys = {"roles": ["read-path"], "within": ["~/.ssh"]}
        made = [rule("later", "allow", paths=later), rule("keys", "escalate", paths=keys), *self.made]
        self.bundle = self.publish(made, self.names)
        self.configure(sandbox=None, env={"FIXTURE_JOURNAL": "/dev/null"})

    def command(self, *options: str) -> list[str]:
        return super().command("--sandbox", str(self.root / "work"), *options)


async def refused(client: Client, place: Contained, path: Path, rule_: str, tool: str = "fix__read") -> None:
    result = await client.call_tool(tool, {"path": str(path)})
    assert "The policy does not refuse this call, but the sandbox of its server does not reach" in text_of(
        result
    )
    last = place.decisions[-1]
    assert (last["rule"], last["verdict"], last["forwarded"]) == (rule_, "deny", False)
    assert str(path) in last["reason"]


async def keys_are_refused_before_a_person_is_asked(client: Client, place: Contained) -> None:
    await refused(client, place, place.home / ".ssh" / "id", "sandbox-out-of-reach")
    assert PERSON.asked == 0


async def a_place_that_was_made_later_is_refused(client: Client, place: Contained) -> None:
    (place.home / "later").mkdir(exist_ok=True)
    (place.home / "later" / "a").write_text("later")
    await refused(client, place, place.home / "later" / "a", "sandbox-out-of-reach")
    assert f"its sandbox does not: name it in allowRead of fix in {place.servers}" in place.said


async def a_file_directly_in_the_home_opens_no_home(client: Client, place: Contained) -> None:
    await refused(client, place, place.home / "plan.txt", "sandbox-out-of-reach", "fix__remove")
    assert "have it write in a directory below" in place.decisions[-1]["reason"]
    assert "--allow-write" not in place.said


async def what_is_within_reach_is_sent(client: Client, place: Contained) -> None:
    result = await client.call_tool("fix__read", {"path": str(place.home / "notes" / "a")})
    assert "does not reach" not in text_of(result)
    assert place.decisions[-1]["forwarded"]


VISITS: dict[str, Any] = {
    visit.__name__: visit
    for visit in (
        keys_are_refused_before_a_person_is_asked,
        a_place_that_was_made_later_is_refused,
        a_file_directly_in_the_home_opens_no_home,
        what_is_within_reach_is_sent,
    )
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    place = Contained(tmp_path_factory.mktemp("proxy").resolve())
    return visit_all(place, VISITS, "--trust-client", up=("fix",), elicitation_callback=PERSON.answer)


@pytest.mark.parametrize("visit", VISITS)
def test_out_of_reach(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]
