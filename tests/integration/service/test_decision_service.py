"""The decision service as a client's hooks use it: the real hook program, which starts the real service."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.deployments.decided import HOOK, MAIN, Governed
from support.deployments.proxied import wait_for
from support.projects.policies import tool

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Governed]:
    with Governed(tmp_path) as place:
        yield place


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    notes = [tool("send text", text=["none"]), tool("save", path=["write-path"])]
    with Governed(tmp_path_factory.mktemp("pdp"), notes=notes) as place:
        yield place


@pytest.fixture
def governed(shared: Governed) -> Governed:
    """A session of its own, at a service that others use, too."""
    shared.session = str(uuid.uuid4())
    return shared


def verdict(answer: dict[str, Any]) -> str:
    return str(answer.get("permissionDecision", answer))


def test_a_session_is_decided_carried_out_by_its_client_and_recorded(governed: Governed) -> None:
    work = str(governed.work)
    assert governed.event("SessionStart", source="startup") == {}
    allowed = governed.asks("Read", {"file_path": f"{work}/a.txt"})
    assert (verdict(allowed), "updatedInput" in allowed) == ("allow", False)
    assert governed.tells("Read", {"type": "text"}) == {}
    denied = governed.asks("Read", {"file_path": "/etc/passwd"}, "t2")
    assert verdict(denied) == "deny"
    assert "is not permitted" in denied["permissionDecisionReason"]
    moved = governed.asks("Write", {"file_path": "../b.txt", "content": "x"}, "t3", cwd=f"{work}/sub")
    assert moved["updatedInput"] == {"file_path": f"{work}/b.txt", "content": "x"}
    failed: dict[str, Any] = {"tool_name": "Write", "tool_use_id": "t3", "error": "no space"}
    assert governed.event("PostToolUseFailure", **failed) == {}
    assert governed.event("SessionEnd", reason="other") == {}
    assert governed.decisions() == [
        ("Read", "allow", True),
        ("Read", "deny", False),
        ("Write", "allow", True),
    ]
    kinds = [(each["kind"], each.get("status", each.get("event", ""))) for each in governed.records()]
    assert kinds == [
        ("event", "start"),
        *(("decision", ""), ("result", "ok")),
        ("decision", ""),
        *(("decision", ""), ("result", "tool-error")),
        ("event", "stop"),
    ]
    audited = subprocess.run(
        [*MAIN, "audit", "verify", governed.session],
        env=governed.environment,
        capture_output=True,
        check=False,
    )
    assert audited.returncode == 0, audited.stderr
    # The session goes on with the next event of it.
    assert verdict(governed.asks("TodoWrite", {"todos": []}, "t4")) == "allow"
    assert [each.get("event") for each in governed.records()].count("start") == 2


def test_an_escalation_is_no_allow_in_any_mode_whoever_sits_there(governed: Governed) -> None:
    for mode in ("default", "plan", "acceptEdits", "auto", "dontAsk", "bypassPermissions", "new", ""):
        for attended in (True, False):
            answer = governed.asks("Bash", {"command": "ls"}, f"{mode}{attended}", mode, attended=attended)
            asks = attended and mode in {"default", "plan", "acceptEdits"}
            assert verdict(answer) == ("ask" if asks else "deny"), (mode, attended)
            reason = answer["permissionDecisionReason"]
            assert ("shell says escalate." if asks else "Repeat exactly the same call later") in reason
    assert {each for _, each, _ in governed.decisions()} == {"escalate"}
    assert not any(forwarded for _, _, forwarded in governed.decisions())


def test_what_the_person_at_the_client_let_happen_is_recorded_as_approved(governed: Governed) -> None:
    assert verdict(governed.asks("Bash", {"command": "ls"}, "yes", attended=True)) == "ask"
    assert verdict(governed.asks("Bash", {"command": "rm x"}, "no", attended=True)) == "ask"
    governed.tells("Bash", {"stdout": "a"}, "yes")
    wait_for(lambda: governed.records()[-1]["kind"] == "result")
    *_, approved, result = governed.records()
    assert (approved["approval"]["state"], approved["forwarded"]) == ("approved", True)
    assert approved["approval"]["approver"] == "the person at the client"
    assert (result["kind"], result["status"], result["id"]) == ("result", "ok", approved["id"])
    assert [forwarded for *_, forwarded in governed.decisions()] == [False, False, True]


def test_an_answer_of_the_second_terminal_serves_the_call_when_it_comes_again(governed: Governed) -> None:
    assert verdict(governed.asks("Bash", {"command": "ls"}, "t1")) == "deny"
    (waiting,) = [each["approval"]["request"] for each in governed.records() if each["kind"] == "decision"]
    answered = subprocess.run(
        [*MAIN, "approvals", "approve", waiting, "--yes"],
        env=governed.environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answered.returncode == 0, answered.stderr
    assert verdict(governed.asks("Bash", {"command": "ls"}, "t2")) == "allow"
    assert verdict(governed.asks("Bash", {"command": "ls"}, "t3")) == "deny"


def test_tools_of_servers_beside_the_proxy_are_decided_and_those_behind_it_are_left_to_it(
    governed: Governed,
) -> None:
    path = {"path": f"{governed.work}/x"}
    assert verdict(governed.asks("mcp__notes__save", path)) == "allow"
    assert verdict(governed.asks("mcp__notes__save", {"path": "/etc/x"}, "t2")) == "deny"
    assert verdict(governed.asks("mcp__notes__send_text", {"text": "x"}, "t3")) == "deny"
    assert verdict(governed.asks("mcp__other__save", path, "t4")) == "deny"
    assert governed.asks("mcp__ironcurtain__notes__save", path, "t5") == {}
    assert len(governed.decisions()) == 4


def test_a_tool_that_nobody_knows_is_denied_with_how_to_add_it(governed: Governed) -> None:
    answer = governed.asks("Teleport", {"to": "x"})
    assert verdict(answer) == "deny"
    assert '"builtin": "claude-code"' in answer["permissionDecisionReason"]


def test_searches_are_decided_about_the_directory_that_they_go_through(governed: Governed) -> None:
    here = governed.asks("Glob", {"pattern": "**/*.{ts,tsx}"}, cwd=f"{governed.work}/sub")
    assert here["updatedInput"]["path"] == f"{governed.work}/sub"
    assert verdict(governed.asks("Grep", {"pattern": "x", "path": "/etc"}, "t2")) == "deny"
    assert verdict(governed.asks("Grep", {"pattern": "x"}, "t3", cwd="/")) == "deny"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b'{"session_id": "s", "cwd": "/", "hook_event_name": "PreToolUse", "tool_na',
        b'{"session_id": "s", "cwd": "/", "hook_event_name": "Teleported"}',
        b'{"session_id": "../s", "cwd": "/", "hook_event_name": "SessionStart"}',
        b'{"session_id": "s", "session_id": "t", "cwd": "/", "hook_event_name": "SessionStart"}',
    ],
    ids=["nothing", "null", "half", "unknown", "no session", "twice"],
)
def test_what_is_no_event_is_blocked_with_a_sentence(governed: Governed, data: bytes) -> None:
    ended = governed.run(data)
    assert (ended.returncode, ended.stdout) == (2, b"")
    assert ended.stderr.startswith(b"IronCurtain blocked this: ")


def test_a_service_that_was_killed_is_started_by_the_next_hook(alone: Governed) -> None:
    assert verdict(alone.asks("TodoWrite", {"todos": []}, "t1")) == "allow"
    alone.stop(signal.SIGKILL)
    assert verdict(alone.asks("Read", {"file_path": "/etc/passwd"}, "t2")) == "deny"
    # What came of the first call is recorded all the same, as what nobody waits for any more.
    alone.tells("TodoWrite", "ok", "t1")
    assert alone.records()[-1]["event"] == "late-result"
    assert alone.decisions() == [("TodoWrite", "allow", True), ("Read", "deny", False)]


def test_a_service_that_does_not_start_blocks_with_what_it_said(alone: Governed) -> None:
    alone.bundle.unlink()
    answer = alone.asks("TodoWrite", {"todos": []})
    assert answer["exit"] == 2
    assert "does not start" in answer["why"]
    assert "bundle" in answer["why"]


def test_a_service_that_does_not_answer_blocks_in_time(alone: Governed) -> None:
    assert alone.event("SessionStart") == {}
    pid = alone.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        alone.seconds = 1.0
        assert alone.asks("TodoWrite", {"todos": []})["exit"] == 2
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_full_disk_denies_every_call_until_there_is_room(alone: Governed) -> None:
    assert alone.event("SessionStart") == {}
    pid = alone.pid
    assert pid is not None
    log = alone.home / ".ironcurtain" / "audit" / f"{alone.session}.jsonl"
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (log.stat().st_size + 100, before[1]))
    answer = alone.asks("TodoWrite", {"todos": []})
    assert verdict(answer) == "deny"
    assert "No record of the call could be written" in answer["permissionDecisionReason"]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    assert verdict(alone.asks("TodoWrite", {"todos": []}, "t2")) == "allow"
    assert alone.decisions() == [("TodoWrite", "allow", True)]


def test_a_hook_that_ends_while_a_person_is_asked_calls_the_call_off(alone: Governed) -> None:
    alone.options = ["--patience", "600"]
    alone.seconds = 30.0
    assert alone.event("SessionStart") == {}
    alone.seconds = 1.0
    assert alone.asks("Bash", {"command": "ls"})["exit"] == 2
    wait_for(alone.decisions)
    assert [each["approval"]["state"] for each in alone.records() if each["kind"] == "decision"] == [
        "withdrawn"
    ]


def test_hooks_that_are_started_twice_are_one_call(governed: Governed) -> None:
    assert governed.event("SessionStart") == {}
    with ThreadPoolExecutor() as pool:
        answers = pool.map(lambda _: governed.asks("TodoWrite", {"todos": []}), range(2))
        assert [verdict(each) for each in answers] == ["allow", "allow"]
    assert governed.decisions() == [("TodoWrite", "allow", True)]


def test_another_call_under_the_id_of_one_that_is_permitted_is_blocked(governed: Governed) -> None:
    inside, outside = str(governed.work / "a"), "/etc/passwd"
    assert verdict(governed.asks("Write", {"file_path": inside, "content": "x"})) == "allow"
    for other in (
        governed.asks("Write", {"file_path": outside, "content": "x"}),
        governed.asks("Edit", {"file_path": inside, "old_string": "x", "new_string": "y"}),
    ):
        assert other["exit"] == 2
        assert "another call of this session has its id" in other["why"]
    governed.tells("Write", "ok")
    assert governed.decisions() == [("Write", "allow", True)]


def test_two_clients_that_start_at_once_have_one_service_and_a_session_each(alone: Governed) -> None:
    with ThreadPoolExecutor() as pool:
        names = ("a", "b")
        answers = pool.map(lambda name: alone.event("UserPromptSubmit", session_id=name, prompt="x"), names)
        assert [*answers] == [{}, {}]
    assert all([each["event"] for each in alone.records(name)] == ["start"] for name in names)


def test_the_hook_program_needs_nothing_of_ours(tmp_path: Path) -> None:
    alone = tmp_path / "hook.py"
    alone.write_bytes(HOOK.read_bytes())
    code = (
        f"import sys; exec(open({str(alone)!r}).read(), {{'__name__': 'hook'}}); print(sorted(sys.modules))"
    )
    loaded = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert "ironcurtain" not in loaded
    for name in ("subprocess", "json", "pathlib", "hashlib", "asyncio"):
        assert f"'{name}'" not in loaded


def test_evaluations_of_authzen(governed: Governed) -> None:
    assert governed.event("SessionStart") == {}

    def asked(name: str, arguments: Any, action: str = "tools/call") -> dict[str, Any]:
        resource = {"type": "tool", "id": name, "properties": {"arguments": arguments}}
        return {
            "subject": {"type": "identity", "id": "ada"},
            "action": {"name": action},
            "resource": resource,
        }

    inside = asked("claude-code__Read", {"file_path": f"{governed.work}/a"})
    shell, outside = (
        asked("claude-code__Bash", {"command": "ls"}),
        asked("claude-code__Read", {"file_path": "/"}),
    )
    with governed.client() as client:

        def post(path: str, document: Any) -> Any:
            answer = client.post(f"/access/v1/{path}", json=document, headers={"x-request-id": "r1"})
            return answer.json() if answer.status_code == 200 else answer.status_code

        found = client.get("/.well-known/authzen-configuration").json()
        assert found["access_evaluation_endpoint"].endswith("/access/v1/evaluation")
        assert post("evaluation", inside)["decision"] is True
        pending = post("evaluation", shell)
        assert (pending["decision"], pending["context"]["state"]) == (False, "pending")
        assert pending["context"]["ask_again"] == "/access/v1/evaluation"
        refused = post("evaluation", outside)
        assert (refused["decision"], refused["context"]["state"]) == (False, "denied")
        for none in (asked("claude-code__Read", None), asked("nobody__x", {}), asked("x", {}, "tools/list")):
            assert post("evaluation", none)["decision"] is False
        assert post("evaluation", {"subject": {"type": "identity", "id": "ada"}}) == 400
        several = {"subject": inside.pop("subject"), "evaluations": [outside, inside]}
        both = post("evaluations", several)["evaluations"]
        assert [each["decision"] for each in both] == [False, True]
        first = post("evaluations", {**several, "options": {"evaluations_semantic": "deny_on_first_deny"}})
        assert [each["decision"] for each in first["evaluations"]] == [False]
        assert client.post("/access/v1/evaluation", json=inside).headers.get("x-request-id") is None
