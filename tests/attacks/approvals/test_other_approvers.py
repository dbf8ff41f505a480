"""Ways to get a call approved by somebody else than the approver whom a rule names.

Held by: the approver's own signature over the whole answer, a binding for each approver, a name that stands
for nobody unless the deployment says for whom, and forms that are shown to the client's person only where
the deployment says that they are the approver.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from support.deployments.proxied import Place, chosen, rules, text_of, until, visit_all
from support.projects.policies import rule
from support.records.approvals import inbox_of

from ironcurtain.bundle.signing.keys import PrivateKey, new_key
from ironcurtain.enforcement.approvals.inbox import PersonAnswer
from ironcurtain.enforcement.approvals.key import ApprovalKey
from ironcurtain.enforcement.approvals.messages import ApprovalAnswer, ApprovalRequest
from ironcurtain.enforcement.approvals.private_directory import PrivateDirectory
from ironcurtain.enforcement.approvals.request import Clock, shown_digest
from ironcurtain.enforcement.approvals.signatures import signed
from ironcurtain.enforcement.approvals.store import Store

pytestmark = pytest.mark.timeout(900)

APPROVED = PersonAnswer("approved")
KEYS: dict[str, PrivateKey] = {}
FORMS: list[str] = []


def asking(name: str, approver: str) -> dict[str, Any]:
    within = {"roles": ["delete-path"], "within": [f"~/{name}"]}
    return {**rule(f"ask-{name}", "escalate", tool=["remove"], paths=within), "approver": approver}


def place_with(root: Path) -> Place:
    """Return a place whose rules ask several approvers about what is removed or echoed."""
    place = Place(root)
    made = [
        asking("supervised", "supervisor"),
        asking("own", "user"),
        asking("audited", "auditor"),
        {**rule("ask-first", "escalate", roles=["read-path"], tool=["echo"]), "approver": "supervisor"},
        {**rule("ask-second", "escalate", roles=["write-path"], tool=["echo"]), "approver": "user"},
        *rules(),
    ]
    people: dict[str, dict[str, Any]] = {
        name: {"meaning": f"the {name}"} for name in ("supervisor", "auditor")
    }
    people["user"] = {"meaning": "whom the agent acts for", "is_caller": True}
    place.publish(
        made,
        place.names,
        policy={"approvers": people},
        roles_of={"echo": {"text": ["read-path"], "path": ["write-path"]}},
    )
    return place


async def call(client: Client, place: Place, name: str) -> tuple[Any, str]:
    """Remove a file; return the result and what the log says of the approval."""
    result = await client.call_tool("fix__remove", {"path": f"{place.home}/{name}"})
    return result, place.decisions[-1]["approval"]["state"]


def waiting(place: Place, name: str) -> ApprovalRequest:
    with inbox_of(place.home / ".ironcurtain") as desk:
        asked = [each.request for each in desk.statuses() if each.state == "pending"]
    return next(each for each in asked if each and name in json.dumps(each.arguments))


def approve(place: Place, request: ApprovalRequest, key: PrivateKey | None = None) -> str:
    with inbox_of(place.home / ".ironcurtain") as desk:
        return desk.answer(request, APPROVED, key=key)


def plant(place: Place, request: ApprovalRequest, key: PrivateKey | None = None) -> None:
    """Answer past the command, as a program that reads the key of the approvals directory can."""
    own = place.home / ".ironcurtain"
    sealing = ApprovalKey.read(own / "approvals.key")
    assert sealing is not None
    answer = ApprovalAnswer(
        request=request.id,
        binding=request.binding,
        shown=shown_digest(request),
        verdict="approved",
        by="somebody",
        answered=datetime.now(UTC),
    )
    store = Store(PrivateDirectory.open(own / "approvals", create=False), sealing, Clock())
    assert store.write_answer(signed(answer, key) if key is not None else answer)


def was_removed(place: Place, name: str) -> bool:
    return any(name in str(entry["arguments"]) for entry in place.sent() if entry.get("tool") == "remove")


async def the_account_does_not_approve_for_the_supervisor(client: Client, place: Place) -> None:
    _, state = await call(client, place, "supervised/a")
    assert state == "pending"
    request = waiting(place, "supervised/a")
    assert (request.approver, request.answered_by) == ("supervisor", "key")
    assert approve(place, request) == "other-approver"
    plant(place, request)
    result, state = await call(client, place, "supervised/a")
    assert (result.is_error, state) == (True, "invalid")
    assert "supervisor has to give it" in place.decisions[-1]["approval"]["reason"]
    assert place.decisions[-1]["approval"]["approver"] == "somebody"
    assert not was_removed(place, "supervised/a")


async def another_key_does_not_approve_for_the_supervisor(client: Client, place: Place) -> None:
    await call(client, place, "supervised/b")
    request = waiting(place, "supervised/b")
    assert approve(place, request, KEYS["stranger"]) == "other-approver"
    plant(place, request, KEYS["user"])
    assert (await call(client, place, "supervised/b"))[1] == "invalid"
    assert not was_removed(place, "supervised/b")


async def the_supervisors_signature_is_good_for_no_other_call(client: Client, place: Place) -> None:
    await call(client, place, "supervised/c")
    await call(client, place, "supervised/d")
    first, second = waiting(place, "supervised/c"), waiting(place, "supervised/d")
    assert approve(place, first, KEYS["supervisor"]) == "recorded"
    given = json.loads((place.home / f".ironcurtain/approvals/response-{first.id}.json").read_text())
    sealing = ApprovalKey.read(place.home / ".ironcurtain/approvals.key")
    assert sealing is not None
    moved = ApprovalAnswer.model_validate_json(json.dumps(given["answer"])).model_copy(
        update={"request": second.id, "binding": second.binding, "shown": shown_digest(second)}
    )
    own = PrivateDirectory.open(place.home / ".ironcurtain/approvals", create=False)
    assert Store(own, sealing, Clock()).write_answer(moved)
    assert (await call(client, place, "supervised/d"))[1] == "invalid"
    assert not was_removed(place, "supervised/d")
    result, state = await call(client, place, "supervised/c")
    assert (result.is_error, state) == (False, "approved"), text_of(result)
    assert place.decisions[-1]["approval"]["asked"] == ["supervisor"]


async def an_approver_whom_the_deployment_does_not_map_is_nobody(client: Client, place: Place) -> None:
    result, state = await call(client, place, "audited/a")
    assert (result.is_error, state) == (True, "no-approver")
    assert "auditor" in place.decisions[-1]["approval"]["reason"]
    assert "auditor" not in text_of(result)
    assert not was_removed(place, "audited/a")


async def an_agent_does_not_answer_as_the_user(client: Client, place: Place) -> None:
    """The client of this proxy approves every form, and the person at the client is trusted."""
    before = len(FORMS)
    assert (await call(client, place, "own/a"))[1] == "pending"
    assert len(FORMS) == before
    assert approve(place, waiting(place, "own/a")) == "other-approver"
    assert approve(place, waiting(place, "own/a"), KEYS["user"]) == "recorded"
    assert (await call(client, place, "own/a"))[1] == "approved"


async def one_of_two_approvers_is_not_enough(client: Client, place: Place) -> None:
    given = {"text": f"{place.home}/two-a", "path": f"{place.home}/two-b"}
    for name in ("supervisor", "user"):
        assert (await client.call_tool("fix__echo", given)).is_error
        assert place.decisions[-1]["approval"]["state"] == "pending"
        request = waiting(place, "two-a")
        assert request.approver == name
        assert approve(place, request, KEYS[name]) == "recorded"
    done = await client.call_tool("fix__echo", given)
    assert not done.is_error, text_of(done)
    approval = place.decisions[-1]["approval"]
    assert approval["asked"] == ["supervisor", "user"]
    assert len({approval["request"], *approval["others"]}) == len(KEYS) - 1
    # Both approvals are used up.
    assert (await client.call_tool("fix__echo", given)).is_error


VISITS = {
    visit.__name__: visit
    for visit in (
        the_account_does_not_approve_for_the_supervisor,
        another_key_does_not_approve_for_the_supervisor,
        the_supervisors_signature_is_good_for_no_other_call,
        an_approver_whom_the_deployment_does_not_map_is_nobody,
        an_agent_does_not_answer_as_the_user,
        one_of_two_approvers_is_not_enough,
    )
}


async def accept(_: Any, params: Any) -> types.ElicitResult:
    FORMS.append(params.message)
    return types.ElicitResult(action="accept", content={"answer": "approved"})


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Exception]:
    root = tmp_path_factory.mktemp("approvers")
    for name in ("supervisor", "user", "stranger"):
        KEYS[name] = new_key(root / f"{name}.key", "ES256")
        (root / f"{name}.pem").write_text(KEYS[name].public.pem)
    place = place_with(root)
    options = [f"--approver={name}={root}/{name}.pem" for name in ("supervisor", "user")]
    more = ("--trust-client", "--patience", "0.3", *options)
    visits = chosen(VISITS, request)
    return visit_all(place, visits, *more, mode="2026-07-28", elicitation_callback=accept)


def test_an_approval_that_waits_for_another_outlives_the_proxy(tmp_path: Path) -> None:
    for name in ("supervisor", "user"):
        KEYS[name] = new_key(tmp_path / f"{name}.key", "ES256")
        (tmp_path / f"{name}.pem").write_text(KEYS[name].public.pem)
    place = place_with(tmp_path / "place")
    options = [f"--approver={name}={tmp_path}/{name}.pem" for name in ("supervisor", "user")]
    given = {"text": f"{place.home}/three-a", "path": f"{place.home}/three-b"}

    async def asked_of(name: str) -> None:
        async with place.client("--patience", "0.3", *options) as client:
            await until(lambda: place.is_up("fix"))
            assert (await client.call_tool("fix__echo", given)).is_error
            request = waiting(place, "three-a")
            assert request.approver == name
            assert approve(place, request, KEYS[name]) == "recorded"
            if name == "supervisor":
                assert (await client.call_tool("fix__echo", given)).is_error
            else:
                assert not (await client.call_tool("fix__echo", given)).is_error
                assert (await client.call_tool("fix__echo", given)).is_error

    for name in ("supervisor", "user"):
        anyio.run(asked_of, name)
    assert len([entry for entry in place.sent() if entry.get("tool") == "echo"]) == 1


@pytest.mark.parametrize("visit", VISITS)
def test_other_approvers(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]
