"""Evaluations of OpenID AuthZEN 1.0: requests as a gateway sends them, decisions as it reads them.

A call is what the default mapping of COAZ-MCP makes of `tools/call`: the action `tools/call`, the resource of
type `tool` whose id is `SERVER__TOOL`, and its arguments among the resource's properties or in the context.
"""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ironcurtain.decision.agent_view import AgentView
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.service.sessions import ServedSession
from ironcurtain.servers.endpoint_names import split_full_name
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

EVALUATION, EVALUATIONS = "/access/v1/evaluation", "/access/v1/evaluations"
_ACTION, _TYPE = "tools/call", "tool"
_MOST = 100


class _Entity(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    type: str = Field(min_length=1)
    id: str = Field(min_length=1)
    properties: dict[str, JsonValue] = Field(default_factory=dict)


class _Action(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    name: str = Field(min_length=1)


class Evaluation(BaseModel):
    """One request for a decision."""

    model_config = ConfigDict(frozen=True, strict=True)

    subject: _Entity
    action: _Action
    resource: _Entity
    context: dict[str, JsonValue] = Field(default_factory=dict)


class _Options(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True)

    evaluations_semantic: Literal["execute_all", "deny_on_first_deny", "permit_on_first_permit"] = (
        "execute_all"
    )


class Evaluations(BaseModel):
    """Several requests; what stands beside them holds for each that does not say it."""

    model_config = ConfigDict(frozen=True, strict=True)

    subject: JsonValue = None
    action: JsonValue = None
    resource: JsonValue = None
    context: JsonValue = None
    evaluations: list[dict[str, JsonValue]] = Field(min_length=1, max_length=_MOST)
    options: _Options = Field(default_factory=_Options)

    @property
    def each(self) -> list[Evaluation]:
        """The requests, each as a whole.

        Raises:
            ValidationError: If one is none.
        """
        names = ("subject", "action", "resource", "context")
        shared = {name: value for name in names if (value := getattr(self, name)) is not None}
        return [Evaluation.model_validate({**shared, **one}) for one in self.evaluations]


class _NoCall(Struct):
    why: str


async def evaluated(request: Evaluation, session: ServedSession) -> dict[str, JsonValue]:
    """Return the decision; an escalation is none, and says where to ask again once a person has answered."""
    call = _call(request, session)
    if isinstance(call, _NoCall):
        return {"decision": False, "context": {"reason_user": {"en": call.why}}}
    outcome = await session.decide_alone(call, f"authzen:{visible(request.subject.id)}")
    if not isinstance(outcome, AgentView):
        return {"decision": True, "context": {"arguments": {**outcome}}}
    context: dict[str, JsonValue] = {
        "id": outcome.decision,
        "reason_user": {"en": outcome.text},
        "state": outcome.state,
    }
    if outcome.state == "pending":
        context["ask_again"] = EVALUATION
    return {"decision": False, "context": context}


async def all_evaluated(request: Evaluations, session: ServedSession) -> dict[str, JsonValue]:
    """Return the decisions in their order, as many as the request wants.

    Raises:
        ValidationError: If one of the requests is none; then nothing was decided.
    """
    last = {"deny_on_first_deny": False, "permit_on_first_permit": True}.get(
        request.options.evaluations_semantic
    )
    decisions: list[JsonValue] = []
    for one in request.each:
        decision = await evaluated(one, session)
        decisions.append(decision)
        if decision["decision"] is last:
            break
    return {"evaluations": decisions}


def _call(request: Evaluation, session: ServedSession) -> Call | _NoCall:
    """Return the call that is asked about; what a request does not say of it is not guessed."""
    if (request.action.name, request.resource.type) != (_ACTION, _TYPE):
        return _NoCall(f"Only the action {_ACTION} on a resource of type {_TYPE} is decided here.")
    servers = session.enforcer.policy.current.content.annotations.servers
    server, tool = split_full_name(request.resource.id, servers)
    arguments = request.resource.properties.get("arguments", request.context.get("arguments"))
    if not isinstance(arguments, dict):
        return _NoCall("The arguments are missing: give them as resource.properties.arguments.")
    return Call(server, tool, arguments)


def metadata(base: str) -> dict[str, JsonValue]:
    """Return the document of `.well-known/authzen-configuration`."""
    return {
        "policy_decision_point": base,
        "access_evaluation_endpoint": f"{base}{EVALUATION}",
        "access_evaluations_endpoint": f"{base}{EVALUATIONS}",
    }
