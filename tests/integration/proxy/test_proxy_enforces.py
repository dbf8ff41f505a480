"""What the policy says is what happens: refusals, records, exact arguments, people, the breaker, drift."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from support.deployments.proxied import PLAIN, Place, chosen, equal_calls, rules, text_of, until, visit_all
from support.projects.policies import rule
from support.records.approvals import inbox_of

from ironcurtain.enforcement.approvals.inbox import ApprovalInbox, PersonAnswer
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.proxy.options import ProxyOptions
from ironcurtain.enforcement.proxy.runner import run_proxy
from ironcurtain.errors import IronCurtainError
from ironcurtain.policy import Policy

pytestmark = pytest.mark.timeout(900)

APPROVED, DENIED = PersonAnswer("approved"), PersonAnswer("denied", reason="not today")


@contextmanager
def desk(place: Place) -> Iterator[ApprovalInbox]:
    with inbox_of(place.home / ".ironcurtain") as opened:
        yield opened


async def asked(place: Place) -> ApprovalRequest:
    """Return the one request that waits."""

    def find() -> list[ApprovalRequest]:
        with desk(place) as opened:
            return [each.request for each in opened.statuses() if each.state == "pending" and each.request]

    found: list[ApprovalRequest] = await until(find)
    return found[0]


def say(place: Place, request: ApprovalRequest, said: PersonAnswer) -> None:
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
    text, results = await equal_calls(client)
    assert [result.is_error for result in results] == [False] * 20 + [True]
    assert place.decisions[-1]["rule"] == "proxy-circuit-breaker"
    assert not (await client.call_tool("fix__echo", {"text": text, "data": 2})).is_error
    # Another server's tool of the same name is another call, and goes to the other server.
    other = await client.call_tool("two__echo", {"text": text, "data": 1})
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
    refused = await client.call_tool("fix__fails", {"of": "another kind"})
    assert "Other arguments will not help." in text_of(refused)


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
        (request,) = [
            each.request
            for each in opened.statuses()
            if each.request is not None and each.request.arguments == given
        ]
    say(place, request, DENIED)
    refused = await client.call_tool("fix__remove", given)
    assert "not today" in text_of(refused)
    assert place.decisions[-1]["approval"]["state"] == "denied"


async def the_person_at_the_client_is_not_asked_unless_configuration_trusts_them(
    client: Client, place: Place
) -> None:
    before = len(FORMS)
    assert (await client.call_tool("fix__remove", {"path": f"{place.home}/forms"})).is_error
    assert place.decisions[-1]["approval"]["state"] == "pending"
    assert len(FORMS) == before


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
        the_person_at_the_client_is_not_asked_unless_configuration_trusts_them,
    )
}
FORMS: list[str] = []


async def accept(_: Any, params: Any) -> types.ElicitResult:
    FORMS.append(params.message)
    return types.ElicitResult(action="accept", content={"answer": "approved"})


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Exception]:
    place = Place(tmp_path_factory.mktemp("proxy"), {"fix": PLAIN, "two": PLAIN})
    place.publish([rule("never", "deny", tool=["fails"]), *rules()], place.names)
    visits = chosen(VISITS, request)
    return visit_all(place, visits, "--patience", "0.3", mode="2026-07-28", elicitation_callback=accept)


@pytest.mark.parametrize("visit", VISITS)
def test_enforces(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]


# -- while a person decides ---------------------------------------------------------------------


@asynccontextmanager
async def removing(
    client: Client, place: Place, name: str
) -> AsyncIterator[tuple[ApprovalRequest, list[Any]]]:
    """Call a tool that a person has to approve; yield the request and, in the end, the result."""
    found: list[Any] = []

    async def remove() -> None:
        found.append(await client.call_tool("fix__remove", {"path": f"{place.home}/{name}"}))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(remove)
        yield await asked(place), found


async def waiting_for_a_person_blocks_nothing_else_and_the_answer_goes_on(
    client: Client, place: Place
) -> None:
    async with removing(client, place, "x") as (request, found):
        assert not (await client.call_tool("fix__echo", {"text": "meanwhile"})).is_error
        assert found == []
        say(place, request, APPROVED)
    assert not found[0].is_error
    assert calls_of(place, "remove") == [{"path": f"{place.home}/x"}]


async def an_approval_for_the_session_answers_what_waits(client: Client, place: Place) -> None:
    """Each of the calls that waited had to be approved by itself, though the next one went through."""
    found: list[Any] = []

    async def remove(name: str) -> None:
        found.append(await client.call_tool("fix__remove", {"path": f"{place.home}/many/{name}"}))

    def waiting() -> list[ApprovalRequest]:
        with desk(place) as opened:
            return [each.request for each in opened.statuses() if each.state == "pending" and each.request]

    async with anyio.create_task_group() as tasks:
        for name in "abc":
            tasks.start_soon(remove, name)
        await until(lambda: len(waiting()) == 3)
        say(place, waiting()[1], PersonAnswer("approved", scope="session"))
    assert [each.is_error for each in found] == [False, False, False]
    assert waiting() == []
    assert [record["approval"]["state"] for record in place.decisions[-3:]] == ["approved"] * 3


async def a_new_policy(client: Client, place: Place) -> None:
    del client
    enforced = place.said.count("now enforced")
    place.publish([rule("more", "allow", tool=["read"]), *rules()], place.names)
    await until(lambda: place.said.count("now enforced") > enforced)


async def a_changed_tool(client: Client, place: Place) -> None:
    del place
    await client.call_tool("fix__change", {"which": "remove"})


async def is_void(change: Callable[..., Any], words: str, verdict: str, client: Client, place: Place) -> None:
    """A server that changes a tool while a person reads of the call is not sent it."""
    before = calls_of(place, "remove")
    async with removing(client, place, change.__name__) as (request, found):
        await change(client, place)
        say(place, request, APPROVED)
    assert found[0].is_error
    assert words in text_of(found[0])
    assert place.decisions[-1]["approval"]["state"] == "void"
    assert place.decisions[-1]["verdict"] == verdict
    assert calls_of(place, "remove") == before


async def an_approval_is_void_when_the_policy_has_changed_meanwhile(client: Client, place: Place) -> None:
    await is_void(a_new_policy, "void", "escalate", client, place)


async def an_approval_is_void_when_the_tool_has_changed_meanwhile(client: Client, place: Place) -> None:
    # What refuses the call by now is what its record and its agent are told, not that it was asked about.
    await is_void(a_changed_tool, "not the one that was examined", "deny", client, place)
    await a_changed_tool(client, place)  # back to what it was


async def a_decision_that_cannot_be_asked_about_is_one_denial(client: Client, place: Place) -> None:
    before = len(place.decisions)
    own = place.home / ".ironcurtain" / "approvals"
    own.rename(own.with_name("elsewhere"))
    own.mkdir(mode=0o700)
    assert (await client.call_tool("fix__remove", {"path": f"{place.home}/x"})).is_error
    assert [record["approval"]["state"] for record in place.decisions[before:]] == ["no-approver"]


WAITS = {
    visit.__name__: visit
    for visit in (
        waiting_for_a_person_blocks_nothing_else_and_the_answer_goes_on,
        an_approval_for_the_session_answers_what_waits,
        an_approval_is_void_when_the_tool_has_changed_meanwhile,
        an_approval_is_void_when_the_policy_has_changed_meanwhile,
        a_decision_that_cannot_be_asked_about_is_one_denial,
    )
}


@pytest.fixture(scope="module")
def waits(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, Exception]:
    return visit_all(Place(tmp_path_factory.mktemp("proxy")), chosen(WAITS, request), "--patience", "3000")


@pytest.mark.parametrize("visit", WAITS)
def test_while_a_person_decides(waits: dict[str, Exception], visit: str) -> None:
    if visit in waits:
        raise waits[visit]


# -- observing, and not starting ----------------------------------------------------------------


def test_observing_refuses_nothing_and_every_record_says_so(tmp_path: Path) -> None:
    place = Place(tmp_path)

    calls: list[tuple[str, dict[str, Any], str, str]] = [
        ("fix__read", {"path": "/etc/hostname"}, "default-deny", "not enforced:"),
        ("fix__read", {"path": str(place.bundle)}, "structural-protected-path", "not enforced:"),
        ("fix__read", {"path": "../x\0"}, "structural-unrepresentable-argument", "sent as it came:"),
        ("fix__echo", {"tex": "x"}, "structural-invalid-arguments", "sent as it came:"),
        ("fix__steps", {"count": 1}, "structural-tool-drift", "sent as it came:"),
        ("fix__nothing", {}, "structural-unknown-tool", "it cannot be sent:"),
    ]

    async def observe() -> None:
        async with place.client("--observe") as client:
            await client.call_tool("fix__change", {"which": "steps"})
            for name, given, rule_, words in calls:
                result = await client.call_tool(name, given)
                assert place.decisions[-1]["rule"] == rule_
                assert words in place.decisions[-1]["reason"]
                assert place.decisions[-1]["forwarded"] is ("cannot" not in words)
                assert result.is_error is ("cannot" in words)
                assert result.is_error or place.sent()[-1]["arguments"] == given
            _, results = await equal_calls(client)
            assert not any(result.is_error for result in results)
            equal = place.decisions[-21:]
            assert [record["rule"] for record in equal] == ["free"] * 20 + ["proxy-circuit-breaker"]
            assert all(record["forwarded"] for record in equal)
            assert "not enforced:" in equal[0]["reason"]
            assert "sent as it came:" in equal[-1]["reason"]

    anyio.run(observe)
    assert "OBSERVING ONLY" in place.said
    assert all(record["reason"].startswith("observed only") for record in place.decisions)


def test_a_start_that_fails_starts_no_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Place(tmp_path, {"fix": PLAIN, "fix_": PLAIN})
    monkeypatch.setenv("HOME", str(place.home))
    (tmp_path / "wrok").write_text("")
    for sandbox in (tmp_path / "wrong", tmp_path / "wrok"):
        error = started_in_vain(place, sandbox)
        assert error.what == f"the sandbox {sandbox} is no directory"
        assert "mkdir" in error.hint
    assert "could have one name" in started_in_vain(place, None).what
    assert not place.journal.exists()


def started_in_vain(place: Place, sandbox: Path | None) -> IronCurtainError:
    load = partial(Policy.load, place.bundle, servers=place.servers, sandbox=sandbox)
    options = ProxyOptions(load=load, bundle=place.bundle, servers=place.servers)
    with pytest.raises(IronCurtainError) as raised:
        anyio.run(run_proxy, options, lambda _: None)
    return raised.value
