"""A client's session is the session: its counters, labels, approvals and words, however the service ends."""

from __future__ import annotations

import json
import signal
import subprocess
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.deployments.decided import MAIN, Governed
from support.deployments.remembered import fact
from support.projects.policies import rule

pytestmark = pytest.mark.timeout(900)
FACTS: dict[str, Any] = {
    "todos": {"source": "counter", "clause": "C1", "of": {"tool": ["TodoWrite"]}}
    | {"per": "session", "window": "session"},
    "private": {"source": "label", "clause": "C1", "from": {"tool": ["TaskList"]}},
    "named": {"source": "said", "clause": "C1", "args": ["/query"]},
}
RULES = [
    rule("few", "allow", tool=["TodoWrite"], facts=[fact("todos", "le", 2)]),
    rule("kept", "deny", tool=["CronList"], facts=[fact("private", "equals", True)]),
    rule("free", "allow", tool=["CronList", "TaskList"]),
    rule("named", "allow", tool=["ToolSearch"], facts=[fact("named", "equals", True)]),
    rule("shell", "escalate", tool=["Bash"]),
]
TODO: dict[str, Any] = {"todos": []}


@pytest.fixture(scope="module")
def governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    with Governed(tmp_path_factory.mktemp("sessions"), RULES, FACTS) as place:
        yield place


class Client:
    """One session of a client."""

    def __init__(self, governed: Governed) -> None:
        self._governed, self.name, self._calls = governed, str(uuid.uuid4()), 0

    def event(self, name: str, **said: Any) -> None:
        """Tell of an event that is not asked about."""
        assert self._governed.event(name, session_id=self.name, **said) == {}

    def asks(self, tool: str, arguments: dict[str, Any]) -> str:
        """Ask about a call, carry it out if it may be, and tell the result; return the decision."""
        self._calls += 1
        id_ = f"t{self._calls}"
        answer = self._governed.asks(tool, arguments, id_, session_id=self.name)
        if answer.get("permissionDecision") == "allow":
            assert self._governed.tells(tool, "done", id_, session_id=self.name) == {}
        return str(answer.get("permissionDecision", answer))


def test_counters_are_those_of_one_session_however_the_service_ended(governed: Governed) -> None:
    one, other = Client(governed), Client(governed)
    assert [one.asks("TodoWrite", TODO) for _ in range(3)] == ["allow", "allow", "deny"]
    assert other.asks("TodoWrite", TODO) == "allow"
    for ended in (signal.SIGKILL, signal.SIGTERM):
        governed.stop(ended)
        assert one.asks("TodoWrite", TODO) == "deny"
    assert [other.asks("TodoWrite", TODO) for _ in range(2)] == ["allow", "deny"]
    # A session that its client ends and resumes is the same.
    one.event("SessionEnd", reason="other")
    one.event("SessionStart", source="resume")
    assert one.asks("TodoWrite", TODO) == "deny"
    assert Client(governed).asks("TodoWrite", TODO) == "allow"


def test_labels_are_those_of_one_session_however_the_service_ended(governed: Governed) -> None:
    one, other = Client(governed), Client(governed)
    assert [each.asks("CronList", {}) for each in (one, other)] == ["allow", "allow"]
    assert one.asks("TaskList", {}) == "allow"
    assert [each.asks("CronList", {}) for each in (one, other)] == ["deny", "allow"]
    governed.stop(signal.SIGKILL)
    assert [each.asks("CronList", {}) for each in (one, other)] == ["deny", "allow"]


def test_two_clients_at_once_have_a_count_each(governed: Governed) -> None:
    clients = [Client(governed), Client(governed)]
    with ThreadPoolExecutor(4) as pool:
        made = [pool.submit(each.asks, "TodoWrite", TODO) for each in clients]
        assert [each.result() for each in made] == ["allow", "allow"]
        both = [*pool.map(lambda each: [each.asks("TodoWrite", TODO) for _ in range(2)], clients)]
    assert both == [["allow", "deny"], ["allow", "deny"]]
    for each in clients:
        kinds = [record["kind"] for record in governed.records(each.name)]
        assert kinds.count("decision") == 3


def test_an_approval_serves_the_session_that_it_was_asked_for(governed: Governed) -> None:
    one, other = Client(governed), Client(governed)
    assert [each.asks("Bash", {"command": "ls"}) for each in (one, other)] == ["deny", "deny"]
    (waiting,) = [
        record["approval"]["request"] for record in governed.records(one.name) if record["kind"] == "decision"
    ]
    subprocess.run(
        [*MAIN, "approvals", "approve", waiting, "--yes"],
        env=governed.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=True,
    )
    governed.stop(signal.SIGKILL)
    assert [each.asks("Bash", {"command": "ls"}) for each in (other, one, one)] == ["deny", "allow", "deny"]


def test_words_are_those_of_one_session_until_the_service_ends(governed: Governed) -> None:
    one, other = Client(governed), Client(governed)
    one.event("UserPromptSubmit", prompt="Look for pelicans, please.\n> and for storks")
    assert [each.asks("ToolSearch", {"query": "pelicans"}) for each in (one, other)] == ["allow", "deny"]
    assert one.asks("ToolSearch", {"query": "storks"}) == "deny"
    governed.stop(signal.SIGTERM)
    assert one.asks("ToolSearch", {"query": "pelicans"}) == "deny"


def test_what_is_no_event_is_in_the_log_of_the_service(governed: Governed) -> None:
    Client(governed).event("SessionStart")
    data = {"session_id": "s", "cwd": "/", "hook_event_name": "Teleported"}
    for sent in (json.dumps(data).encode(), b'{"session_id": "s", "cwd": "/", "hook_ev'):
        assert governed.run(sent).returncode == 2
    (log,) = Path(governed.home, ".ironcurtain", "audit").glob("pdp-*.jsonl")
    blocked = [each for each in governed.records(log.stem) if each.get("event") == "blocked"]
    assert [each["detail"]["call"] for each in blocked] == ["/hooks/claude-code"] * 2
    assert "hook_event_name" in blocked[0]["detail"]["what"]
