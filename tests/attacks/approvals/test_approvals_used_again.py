"""An approval that was used or has ended is used again, also by somebody who can write the directory.

Held by: the session's sealed log: what it says was used is used; an approval's end counts by two clocks.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

import anyio
import pytest
from mcp import Client
from support.deployments.faulty import OWN
from support.deployments.proxied import Place
from support.records.approvals import inbox_of, waiting
from support.records.audited import decided

from ironcurtain.enforcement.approvals.inbox import PersonAnswer
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import session_log
from ironcurtain.enforcement.audit.record_types import Approval
from ironcurtain.errors import AuditError
from ironcurtain.model.verdict import Verdict

pytestmark = pytest.mark.timeout(600)


class Used:
    """A place in which one removal was approved and has happened, with copies of everything about it."""

    def __init__(self, root: Path) -> None:
        self.place = Place(root)
        self.approvals = self.place.home / OWN / "approvals"
        self.audit = self.place.home / OWN / "audit"
        self.copies: dict[Path, bytes] = {}
        self.id = ""

    async def approve_once(self) -> None:
        """Ask, answer, and let the call happen."""
        async with self.place.client("--patience", "0.2") as client:
            state, self.id = await self.remove(client)
            assert state == "pending"
            with inbox_of(self.approvals.parent) as desk:
                assert desk.answer(waiting(desk, self.id), PersonAnswer("approved")) == "recorded"
            self.copies = {path: path.read_bytes() for path in self.approvals.glob(f"*-{self.id}.json")}
            assert len(self.copies) == 2
            assert await self.remove(client) == ("approved", self.id)

    async def try_again(self) -> None:
        """Call it again under a new proxy of the same session."""
        async with self.place.client("--patience", "0.2") as client:
            state, id_ = await self.remove(client)
            assert (state, id_ == self.id) == ("pending", False)

    async def remove(self, client: Client) -> tuple[str, str]:
        """Call what a person has to approve; return what became of asking, and the request's id."""
        await client.call_tool("fix__remove", {"path": f"{self.place.home}/once"})
        found = self.place.decisions[-1]["approval"]
        return found["state"], found["request"]

    def bring_back(self) -> None:
        """Put everything back as it lay there before the answer was used."""
        (self.approvals / f"done-{self.id}.json").unlink(missing_ok=True)
        for path, content in self.copies.items():
            path.write_bytes(content)
            path.chmod(0o600)

    def begin_another_log(self) -> None:
        """Remove the log that tells of the use, and its head."""
        (self.audit / "test.jsonl").unlink()
        (self.audit / "heads" / "test.json").unlink()


@pytest.mark.parametrize(
    "more",
    [lambda _: None, Used.begin_another_log],
    ids=["the mark is deleted", "and the log with its head"],
)
def test_request_and_answer_brought_back_after_their_use(
    tmp_path: Path, more: Callable[[Used], None]
) -> None:
    used = Used(tmp_path.resolve())
    anyio.run(used.approve_once)
    for _ in range(2):
        used.bring_back()
        more(used)
        anyio.run(used.try_again)
        with inbox_of(used.approvals.parent) as desk:
            assert used.id not in desk.ids()
    assert len([entry for entry in used.place.sent() if entry.get("tool") == "remove"]) == 1


async def _write(directory: Path, *scopes: Literal["once", "session"]) -> None:
    async with AuditLog(session_log(directory, "work")) as log:
        for number, scope in enumerate(scopes):
            approval = Approval(state="approved", request="a" * 16, scope=scope, verdict=Verdict.ALLOW)
            await log.decision(decided(number, approval=approval))


def test_the_log_itself_takes_no_approval_twice(tmp_path: Path) -> None:
    """Whatever the directory says: what the log cannot record does not happen."""
    directory = tmp_path / "audit"
    with pytest.raises(AuditError, match="used up"):
        anyio.run(_write, directory, "once", "once")
    with pytest.raises(AuditError, match="used up"):
        anyio.run(_write, directory, "session")
    anyio.run(_write, tmp_path / "another", "session", "session")


def test_an_approval_after_the_end_that_a_person_set(tmp_path: Path) -> None:
    place = Place(tmp_path.resolve())

    async def remove(client: Client, name: str) -> tuple[str, str]:
        await client.call_tool("fix__remove", {"path": f"{place.home}/{name}"})
        found = place.decisions[-1]["approval"]
        return found["state"], found["request"]

    async def story() -> None:
        async with place.client("--patience", "0.2") as client:
            for seconds in (2, 20):  # a busy machine may make no two calls within a moment
                state, asked = await remove(client, "once")
                assert state == "pending"
                with inbox_of(place.home / OWN) as desk:
                    until = datetime.now(UTC) + timedelta(seconds=seconds)
                    said = PersonAnswer("approved", "session", until=until)
                    assert desk.answer(waiting(desk, asked), said) == "recorded"
                used = [await remove(client, "once")]
                recorded = place.decisions[-1]["approval"]
                used.append(await remove(client, "once"))
                if datetime.now(UTC) < until:
                    break
            assert used == [("approved", asked)] * 2
            assert recorded["until"]
            await anyio.sleep((until - datetime.now(UTC)).total_seconds())
            state, again = await remove(client, "once")
            assert (state, again == asked) == ("pending", False)

    anyio.run(story)
