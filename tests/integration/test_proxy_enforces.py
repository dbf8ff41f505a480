"""What the policy says is what happens: refusals, records, exact arguments, people, the breaker, drift."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from support.policies import rule
from support.proxied import LEGACY, Place, rules, text_of, until, visit_all

from ironcurtain.approvals.answering import Answer, Desk
from ironcurtain.model.approval import ApprovalRequest

APPROVED, DENIED = Answer("approved"), Answer("denied", reason="not today")


@contextmanager
def desk(place: Place) -> Iterator[Desk]:
    own = place.home / ".ironcurtain"
    with Desk.open(own / "approvals", own / "approvals.key") as opened:
        yield opened


async def asked(place: Place) -> ApprovalRequest:
    """Return the one request that waits."""

    def find() -> Any:
        with desk(place) as opened:
            return [status.request for status in opened.statuses() if status.state == "pending"]

    return (await until(find))[0]


def say(place: Place, request: ApprovalRequest, said: Answer) -> None:
    with desk(place) as opened:
        assert opened.answer(request, said) == "recorded"


def calls_of(place: Place, tool: str) -> list[dict[str, Any]]:
    return [entry["arguments"] for entry in place.sent() if entry.get("tool") == tool]


async def a_denied_call_is_a_result_the_model_can_act_on(client: Client, place: Place) -> None:
    before = len(calls_of(place, "read"))
    result = await client.call_tool("fix__read", {"path": "/etc/passwd"})
    assert result.is_error
    assert result.structured_content is None
    said = text_of(result)
    decision = place.decisions[-1]
    assert "Other arguments may be permitted." in said
    assert f"Decision: {decision['id']}" in said
    assert "default-deny" not in said
    assert (decision["rule"], decision["verdict"], decision["forwarded"]) == ("default-deny", "deny", False)
    assert len(calls_of(place, "read")) == before
    left_out = text_of(await client.call_tool("fix__read", {}))
    assert "Other arguments may be permitted." in left_out
    assert "Other arguments will not help." in text_of(await client.call_tool("fix__fails", {}))


async def the_server_gets_exactly_what_was_judged(client: Client, place: Place) -> None:
    (place.home / "notes" / "link").symlink_to("real")
    result = await client.call_tool("fix__read", {"path": f"{place.home}/notes/../notes/./link/x"})
    assert not result.is_error, text_of(result)
    assert calls_of(place, "read")[-1] == {"path": f"{place.home}/notes/real/x"}
    assert place.decisions[-1]["arguments"] == {"path": f"{place.home}/notes/real/x"}


async def own_files_stay_out_of_reach(client: Client, place: Place) -> None:
    for path in (f"{place.home}/.ironcurtain/audit/test.jsonl", str(place.bundle), str(place.servers)):
        for tool in ("read", "echo"):
            result = await client.call_tool(f"fix__{tool}", {"path": path})
            assert result.is_error
            assert place.decisions[-1]["rule"] == "structural-protected-path"


async def unknown_tools_are_denied_and_recorded(client: Client, place: Place) -> None:
    for name in ("fix__nothing", "nobody__echo", "echo", "fix__"):
        assert "There is no such tool." in text_of(await client.call_tool(name, {})) or name == "fix__nothing"
        assert place.decisions[-1]["verdict"] == "deny"
        assert place.decisions[-1]["rule"] == "structural-unknown-tool"


async def the_21st_identical_call_is_stopped(client: Client, place: Place) -> None:
    results = [
        await client.call_tool("fix__echo", {"text": "a", "data": 1} if n % 2 else {"data": 1, "text": "a"})
        for n in range(21)
    ]
    assert [result.is_error for result in results] == [False] * 20 + [True]
    assert place.decisions[-1]["rule"] == "proxy-circuit-breaker"
    assert not (await client.call_tool("fix__echo", {"text": "a", "data": 2})).is_error
    # Another server's tool of the same name is another call, and goes to the other server.
    other = await client.call_tool("two__echo", {"text": "a", "data": 1})
    assert not other.is_error
    pids = {entry["pid"] for entry in place.sent() if entry.get("tool") == "echo"}
    assert len(pids) == 2


async def servers_get_a_minimal_environment(client: Client, _place: Place) -> None:
    names = json.loads(text_of(await client.call_tool("fix__environment", {})))
    assert "SECRET_OF_OURS" not in names
    assert "FIXTURE_JOURNAL" in names


async def a_changed_tool_is_denied_and_hidden_until_it_is_itself_again(client: Client, place: Place) -> None:
    await client.call_tool("fix__change", {"which": "steps"})
    denied = await client.call_tool("fix__steps", {"count": 1})
    assert denied.is_error
    assert place.decisions[-1]["rule"] == "structural-tool-drift"
    listed = {tool.name for tool in (await client.list_tools()).tools}
    assert "fix__steps" not in listed
    assert {"fix__echo", "two__steps"} <= listed
    await client.call_tool("fix__change", {"which": "steps"})
    assert not (await client.call_tool("fix__steps", {"count": 1})).is_error


async def tools_of_which_no_call_is_possible_are_hidden(client: Client, _place: Place) -> None:
    listed = {tool.name for tool in (await client.list_tools()).tools}
    assert "fix__fails" not in listed
    assert "fix__read" in listed
    assert (await client.call_tool("fix__fails", {})).is_error


async def a_person_approves_once(client: Client, place: Place) -> None:
    given = {"path": f"{place.home}/old"}
    pending = await client.call_tool("fix__remove", given)
    assert pending.is_error
    assert "Repeat exactly the same call" in text_of(pending)
    assert place.decisions[-1]["approval"]["state"] == "pending"
    say(place, await asked(place), APPROVED)
    done = await client.call_tool("fix__remove", given)
    assert not done.is_error, text_of(done)
    assert calls_of(place, "remove")[-1] == given
    assert place.decisions[-1]["approval"]["state"] == "approved"
    assert place.decisions[-1]["verdict"] == "escalate"
    count = len(calls_of(place, "remove"))
    assert (await client.call_tool("fix__remove", given)).is_error
    other = await client.call_tool("fix__remove", {"path": f"{place.home}/other"})
    assert other.is_error
    assert len(calls_of(place, "remove")) == count


async def a_person_denies_and_says_why(client: Client, place: Place) -> None:
    given = {"path": f"{place.home}/precious"}
    await client.call_tool("fix__remove", given)
    with desk(place) as opened:
        (request,) = [s.request for s in opened.statuses() if s.request.arguments == given]
    say(place, request, DENIED)
    refused = await client.call_tool("fix__remove", given)
    assert "not today" in text_of(refused)
    assert place.decisions[-1]["approval"]["state"] == "denied"


VISITS = {
    visit.__name__: visit
    for visit in (
        a_denied_call_is_a_result_the_model_can_act_on,
        the_server_gets_exactly_what_was_judged,
        own_files_stay_out_of_reach,
        unknown_tools_are_denied_and_recorded,
        the_21st_identical_call_is_stopped,
        servers_get_a_minimal_environment,
        a_changed_tool_is_denied_and_hidden_until_it_is_itself_again,
        tools_of_which_no_call_is_possible_are_hidden,
        a_person_approves_once,
        a_person_denies_and_says_why,
    )
}


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Exception]:
    place = Place(tmp_path_factory.mktemp("proxy"), {"fix": LEGACY, "two": LEGACY})
    place.publish([rule("never", "deny", tool=["fails"]), *rules()], place.names)
    return visit_all(place, VISITS, "--patience", "0.3")


@pytest.mark.parametrize("visit", VISITS)
def test_enforces(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]


@pytest.mark.parametrize("what", ["missing", "file"])
def test_a_sandbox_that_is_not_there_stops_the_start(tmp_path: Path, what: str) -> None:
    place = Place(tmp_path)
    if what == "file":
        (tmp_path / "wrok").write_text("")
    ended = run_without_client(place, "--sandbox", str(tmp_path / "wrok"))
    assert ended.returncode == 2
    assert "error[IC1001]" in ended.stderr
    assert "wrok is no directory" in ended.stderr
    assert "mkdir" in ended.stderr
    assert not place.journal.exists()


def test_without_an_approver_what_is_escalated_is_refused_whatever_the_environment_says(
    tmp_path: Path,
) -> None:
    place = Place(tmp_path)
    place.environment = partial(_observing, place.environment)  # type: ignore[method-assign]

    async def remove() -> Any:
        async with place.client("--no-approver") as client:
            return await client.call_tool("fix__remove", {"path": f"{place.home}/x"})

    refused = anyio.run(remove)
    assert refused.is_error
    assert "nobody to ask" in text_of(refused)
    assert [record["approval"]["state"] for record in place.decisions] == ["no-approver"]
    assert calls_of(place, "remove") == []


def test_waiting_for_a_person_blocks_nothing_else_and_the_answer_goes_on(tmp_path: Path) -> None:
    place = Place(tmp_path)
    given = {"path": f"{place.home}/x"}
    found: list[Any] = []

    async def both() -> None:
        async with place.client() as client, anyio.create_task_group() as tasks:

            async def remove() -> None:
                found.append(await client.call_tool("fix__remove", given))

            tasks.start_soon(remove)
            request = await asked(place)
            assert not (await client.call_tool("fix__echo", {"text": "meanwhile"})).is_error
            assert found == []
            say(place, request, APPROVED)

    anyio.run(both)
    assert not found[0].is_error
    assert calls_of(place, "remove") == [given]


@pytest.mark.parametrize("what", ["policy", "tool"])
def test_an_approval_is_void_when_something_has_changed_meanwhile(tmp_path: Path, what: str) -> None:
    """A server that changes a tool while a person reads of the call is not sent it."""
    place = Place(tmp_path)
    given = {"path": f"{place.home}/x"}
    found: list[Any] = []

    async def change() -> None:
        async with place.client() as client, anyio.create_task_group() as tasks:

            async def remove() -> None:
                found.append(await client.call_tool("fix__remove", given))

            tasks.start_soon(remove)
            request = await asked(place)
            if what == "policy":
                place.publish([rule("more", "allow", tool=["read"]), *rules()], place.names)
                await until(lambda: "now enforced" in place.said)
            else:
                await client.call_tool("fix__change", {"which": "remove"})
            say(place, request, APPROVED)

    anyio.run(change)
    assert found[0].is_error
    assert "void" in text_of(found[0])
    assert place.decisions[-1]["approval"]["state"] == "void"
    assert calls_of(place, "remove") == []


@pytest.mark.parametrize(("mode", "trusted"), [("legacy", True), ("2026-07-28", True), ("2026-07-28", False)])
def test_the_person_at_the_client_approves_only_where_configuration_trusts_them(
    tmp_path: Path, mode: str, trusted: bool
) -> None:
    place = Place(tmp_path)
    given = {"path": f"{place.home}/x"}
    forms: list[str] = []

    async def accept(_: Any, params: Any) -> types.ElicitResult:
        forms.append(params.message)
        return types.ElicitResult(action="accept", content={"answer": "approved"})

    async def remove() -> Any:
        options = ["--trust-client"] if trusted else ["--patience", "0.5"]
        async with place.client(*options, mode=mode, elicitation_callback=accept) as client:
            return await client.call_tool("fix__remove", given)

    result = anyio.run(remove)
    assert result.is_error is not trusted
    assert len(forms) == trusted
    assert calls_of(place, "remove") == [given] * trusted
    if trusted:
        assert f"{place.home}/x" in re.sub(r"\n    : ", "", forms[0])
        assert place.decisions[-1]["approval"]["approver"] == "the person at the client"


def test_a_decision_that_cannot_be_asked_about_is_one_denial(tmp_path: Path) -> None:
    place = Place(tmp_path)

    async def remove() -> Any:
        async with place.client() as client:
            await client.call_tool("fix__echo", {})
            own = place.home / ".ironcurtain" / "approvals"
            own.rename(own.with_name("elsewhere"))
            own.mkdir(mode=0o700)
            return await client.call_tool("fix__remove", {"path": f"{place.home}/x"})

    refused = anyio.run(remove)
    assert refused.is_error
    assert [record["approval"]["state"] for record in place.decisions[1:]] == ["no-approver"]


def test_observing_refuses_nothing_and_every_record_says_so(tmp_path: Path) -> None:
    place = Place(tmp_path)

    calls = [
        ("fix__read", {"path": "/etc/hostname"}, "default-deny", "not enforced:"),
        ("fix__read", {"path": str(place.bundle)}, "structural-protected-path", "not enforced:"),
        ("fix__read", {"path": "../x\0"}, "structural-unrepresentable-argument", "sent as it came:"),
        ("fix__echo", {"tex": "x"}, "structural-invalid-arguments", "sent as it came:"),
        ("fix__steps", {"count": 1}, "structural-tool-drift", "sent as it came:"),
        ("fix__nothing", {}, "structural-unknown-tool", "it cannot be sent:"),
        *[("fix__echo", {"text": "a"}, "free", "not enforced:")] * 20,
        ("fix__echo", {"text": "a"}, "proxy-circuit-breaker", "sent as it came:"),
    ]

    async def observe() -> None:
        async with place.client("--observe") as client:
            await client.call_tool("fix__change", {"which": "steps"})
            for name, given, rule_, words in calls:
                result = await client.call_tool(name, given)
                decision = place.decisions[-1]
                assert decision["rule"] == rule_
                assert decision["reason"].startswith("observed only")
                assert words in decision["reason"]
                assert decision["forwarded"] is ("cannot" not in words)
                assert result.is_error is ("cannot" in words)
                assert result.is_error or place.sent()[-1]["arguments"] == given

    anyio.run(observe)
    assert "OBSERVING ONLY" in place.said


def test_two_servers_whose_tools_could_share_a_name_stop_the_start(tmp_path: Path) -> None:
    place = Place(tmp_path, {"fix": LEGACY, "fix_": LEGACY})
    ended = run_without_client(place)
    assert ended.returncode == 2
    assert "error[IC1005]" in ended.stderr
    assert "could have one name" in ended.stderr
    assert not place.journal.exists()


def run_without_client(place: Place, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        place.command(*options),
        env=place.environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def _observing(environment: Any) -> dict[str, str]:
    return {**environment(), "IRONCURTAIN_OBSERVE": "1", "IRONCURTAIN_PROXY_OBSERVE": "1"}
