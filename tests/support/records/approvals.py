"""Escalated calls and approvals directories for tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ironcurtain.decision.decide import Prepared, finalize
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.enforcement.approvals.broker_directory import ApprovalDirectory
from ironcurtain.enforcement.approvals.inbox import ApprovalInbox, PersonAnswer
from ironcurtain.enforcement.approvals.messages import ApprovalOutcome, ApprovalRequest
from ironcurtain.enforcement.approvals.request import Clock, new_request
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.system.structs import Struct
from support.called import answering, one_tool, prepared
from support.projects.policies import rule, tool

RULES = [rule("ask-write", "escalate", paths={"roles": ["write-path"], "within": ["/srv"]})]
WRITE = tool("write_file", path=["write-path"], content=["none"])


class Judged(Struct):
    """A call that was decided, as the proxy has it in hand."""

    decision: Decision
    prepared: Prepared
    tool: ToolAnnotation

    def request(self, **options: Any) -> ApprovalRequest:
        return new_request(self.decision, self.prepared, self.tool, **({"session": "test"} | options))


def judge(policy: LoadedPolicy, rules: list[dict[str, Any]], name: str, arguments: dict[str, Any]) -> Judged:
    """Decide a call of server `s` with the Python twin as engine."""
    ready = prepared(policy, name, arguments)
    decision = finalize(ready, answering(rules)(ready.input), policy)
    fitted = policy.tool("s", name)
    assert fitted is not None
    return Judged(decision, ready, fitted.annotation)


def written(path: str = "/srv/a.txt", content: str = "hello", **options: Any) -> ApprovalRequest:
    """Return the request about a write that a person is asked about."""
    policy = one_tool(WRITE, RULES)
    return judge(policy, RULES, "write_file", {"path": path, "content": content}).request(**options)


@dataclass
class Hands:
    """A clock that tests turn."""

    wall: datetime = field(default_factory=lambda: datetime(2030, 1, 1, tzinfo=UTC))
    monotonic: float = 1000.0

    @property
    def clock(self) -> Clock:
        return Clock(lambda: self.wall, lambda: self.monotonic)

    def pass_time(self, seconds: float) -> None:
        self.jump(seconds)
        self.monotonic += seconds

    def jump(self, seconds: float) -> None:
        """Turn the wall's clock only."""
        self.wall += timedelta(seconds=seconds)


@dataclass(frozen=True)
class Rendezvous:
    """An approvals directory with its key, below a private directory."""

    base: Path
    clock: Clock

    @property
    def path(self) -> Path:
        return self.base / "approvals"

    @property
    def key(self) -> Path:
        return self.base / "approvals.key"

    def open(self, **options: Any) -> ApprovalDirectory:
        return ApprovalDirectory.open(self.path, self.key, **({"clock": self.clock} | options))

    def desk(self, key: Path | None = None) -> ApprovalInbox:
        desk = ApprovalInbox.open(self.path, key or self.key, clock=self.clock)
        assert desk is not None
        return desk

    def answer(self, request: ApprovalRequest, verdict: Any = "approved", **options: Any) -> str:
        with self.desk() as desk:
            return desk.answer(request, PersonAnswer(verdict, **options))

    def response(self, id_: str) -> Path:
        return self.path / f"response-{id_}.json"

    def request_file(self, id_: str) -> Path:
        return self.path / f"request-{id_}.json"

    def names(self) -> list[str]:
        """Return the names of requests, answers and marks: all but whose asking program runs."""
        return sorted(each.name for each in self.path.iterdir() if not each.name.startswith("asking-"))

    def sealed_answer(self, request: ApprovalRequest, verdict: str = "approved") -> bytes:
        """Have a person answer, and take the answer's file out of the directory again."""
        assert self.answer(request, verdict) == "recorded"
        content = self.response(request.id).read_bytes()
        self.response(request.id).unlink()
        return content


@contextmanager
def inbox_of(own: Path, clock: Clock | None = None) -> Iterator[ApprovalInbox]:
    """Open the approvals below a user's own directory, as the person at this machine does."""
    desk = ApprovalInbox.open(own / "approvals", own / "approvals.key", clock=clock)
    assert desk is not None, "nothing was ever asked"
    with desk:
        yield desk


def waiting(desk: ApprovalInbox, id_: str) -> ApprovalRequest:
    """Return a request that waits for a person."""
    status = desk.status(id_)
    assert status is not None, f"{id_} does not wait"
    assert status.request is not None, f"{id_} cannot be trusted"
    return status.request


def edited(content: bytes, *steps: str, value: Any) -> bytes:
    """Change one member of a JSON file."""
    document = json.loads(content)
    place = document
    for step in steps[:-1]:
        place = place[step]
    place[steps[-1]] = value
    return json.dumps(document).encode()


def summary(outcome: ApprovalOutcome | None) -> tuple[str, str | None] | None:
    return None if outcome is None else (str(outcome.state), outcome.fault)
