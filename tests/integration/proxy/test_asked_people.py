"""A real proxy asks the person at the client with a checklist, and takes their approval as the user's."""

from __future__ import annotations

from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client
from support.deployments.proxied import Place, chosen, rules, text_of, visit_all
from support.projects.policies import rule
from support.records.approvals import inbox_of

from ironcurtain.enforcement.approvals.inbox import PersonAnswer

pytestmark = pytest.mark.timeout(900)

FORMS: list[Any] = []
DESK: list[Place] = []
SAID: list[str] = []
PATIENCE = 5.0
CLAUSES = [
    {"id": "C1", "text": "The user is asked before anything is removed."},
    {"id": "C2", "text": "Only drafts are removed."},
]
DRAFTS = {
    "clause": "C2",
    "server": "fix",
    "kind": "judgement",
    "tools": ["remove"],
    "reason": "A person must look.",
}


async def the_user_at_the_client_is_asked_with_the_checklist(client: Client, place: Place) -> None:
    result = await client.call_tool("fix__remove", {"path": f"{place.home}/draft"})
    assert not result.is_error, text_of(result)
    form = FORMS[-1]
    assert "check C2: | Only drafts are removed." in form.message
    assert "C2: Only drafts are removed." in str(form.requested_schema)
    approval = place.decisions[-1]["approval"]
    assert (approval["asked"], approval["checks"]) == (["user"], ["C2"])


async def the_account_does_not_approve_for_the_user_at_the_client(client: Client, place: Place) -> None:
    DESK.append(place)
    result = await client.call_tool("fix__remove", {"path": f"{place.home}/letter"})
    assert SAID == ["other-approver", "recorded"]
    assert result.is_error
    assert "keep it" in text_of(result)
    assert not [entry for entry in place.sent() if "letter" in str(entry.get("arguments"))]


VISITS = {
    visit.__name__: visit
    for visit in (
        the_user_at_the_client_is_asked_with_the_checklist,
        the_account_does_not_approve_for_the_user_at_the_client,
    )
}


async def answer(_: Any, params: Any) -> types.ElicitResult:
    """Approve; or, where there is a desk, answer there instead, and nothing here in time."""
    FORMS.append(params)
    for place in DESK:
        with inbox_of(place.home / ".ironcurtain") as desk:
            (request,) = [each.request for each in desk.statuses() if each.request is not None]
            assert request.answered_by == "client"
            SAID.append(desk.answer(request, PersonAnswer("approved")))
            SAID.append(desk.answer(request, PersonAnswer("denied", reason="keep it")))
        await anyio.sleep(PATIENCE + 1)
    return types.ElicitResult(action="accept", content={"answer": "approved"})


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Exception]:
    place = Place(tmp_path_factory.mktemp("asked"))
    asking = {**rule("ask-removal", "escalate", tool=["remove"]), "approver": "user"}
    user = {"meaning": "whom the agent acts for", "is_caller": True}
    place.publish(
        [asking, *rules()],
        place.names,
        policy={"clauses": CLAUSES, "claims": [DRAFTS], "approvers": {"user": user}},
    )
    visits = chosen(VISITS, request)
    options = ("--approver", "user=client", "--patience", str(PATIENCE))
    return visit_all(place, visits, *options, mode="2026-07-28", elicitation_callback=answer)


@pytest.mark.parametrize("visit", VISITS)
def test_asked_people(outcomes: dict[str, Exception], visit: str) -> None:
    if visit in outcomes:
        raise outcomes[visit]
