"""A person's true answer to one request is put where another request waits for one.

To an equal call of another server, through a real proxy with two servers that list the same tools; to that of
another session or policy; or to the same call, made again.

Held by: the binding and the digest of the request, which are in every answer and under its seal.
"""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest
from mcp import Client
from support.deployments.faulty import OWN
from support.deployments.proxied import PLAIN, Place, until
from support.records.approvals import Rendezvous, edited, inbox_of, summary, waiting, written

from ironcurtain.enforcement.approvals.inbox import PersonAnswer
from ironcurtain.enforcement.approvals.request import Clock

pytestmark = pytest.mark.timeout(600)


class Asking:
    """A proxy in front of two servers with equal tools, and the directory where it asks."""

    def __init__(self, root: Path) -> None:
        self.place = Place(root, {"one": PLAIN, "two": PLAIN})
        self.own = self.place.home / OWN

    async def remove(self, client: Client, server: str) -> tuple[str, str]:
        """Call the same tool of a server alike; return what became of asking, and the request's id."""
        await client.call_tool(f"{server}__remove", {"path": f"{self.place.home}/x"})
        found = self.place.decisions[-1]["approval"]
        return found["state"], found["request"]

    def answer(self, id_: str) -> bytes:
        """Have a person approve; return the answer's file."""
        with inbox_of(self.own) as desk:
            assert desk.answer(waiting(desk, id_), PersonAnswer("approved")) == "recorded"
        return self.file(id_).read_bytes()

    def file(self, id_: str, kind: str = "response") -> Path:
        return self.own / "approvals" / f"{kind}-{id_}.json"

    def removed(self) -> list[str]:
        return [entry["tool"] for entry in self.place.sent() if entry.get("tool") == "remove"]


def test_an_answer_for_the_same_tool_of_another_server(tmp_path: Path) -> None:
    asking = Asking(tmp_path.resolve())

    async def story() -> None:
        async with asking.place.client("--patience", "0.2") as client:
            await until(lambda: asking.place.is_up("one", "two"))
            (_, one), (_, two) = await asking.remove(client, "one"), await asking.remove(client, "two")
            true = asking.answer(one)
            for forged in (true, edited(true, "answer", "request", value=two)):
                asking.file(two).write_bytes(forged)
                assert await asking.remove(client, "two") == ("invalid", two)
                state, two = await asking.remove(client, "two")
                assert state == "pending"
            # Two requests of one id: the one that is no copy is the one that counts.
            question = asking.file(one, "request").read_bytes()
            asking.file(two, "request").write_bytes(question)
            with inbox_of(asking.own) as desk:
                states = {each.id: each.state for each in desk.statuses()}
            assert states == {one: "answered", two: "unreadable"}
            assert asking.removed() == []
            assert await asking.remove(client, "one") == ("approved", one)
            # Used once: asked again, under the same name or another one, it is no answer any more.
            asking.file(one).write_bytes(true)
            state, again = await asking.remove(client, "one")
            assert (state, again == one) == ("pending", False)
            asking.file(again).write_bytes(true)
            assert await asking.remove(client, "one") == ("invalid", again)

    anyio.run(story)
    assert asking.removed() == ["remove"]


OTHERS: dict[str, object] = {
    "server": "t",
    "session": "another",
    "revision": f"sha256:{'0' * 64}",
    "schema_digest": f"sha256:{'0' * 64}",
    "client": "another",
    "binding": f"sha256:{'0' * 64}",
}


@pytest.mark.anyio
@pytest.mark.parametrize("member", OTHERS)
async def test_an_answer_to_a_request_that_differs_in_one_member(tmp_path: Path, member: str) -> None:
    """Under the id of ours, which the person saw with something else in it."""
    place, request = Rendezvous(tmp_path, Clock()), written()
    other = request.model_copy(update={member: OTHERS[member]})
    with place.open() as directory:
        await directory.ask(request)
        assert place.answer(other) == "recorded"
        assert summary(await directory.obtain(request, 5)) == ("invalid", "other-request")
