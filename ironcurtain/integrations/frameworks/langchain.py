"""Govern the tools of a LangChain agent or a LangGraph `ToolNode`.

`create_agent(…, middleware=[…, GovernedTools(policy, "my-agent")])`: the last in the list is next to the
tools, so what other middleware makes of the arguments is decided on. An escalation is an `interrupt`, whose
value is LangChain's own `tool_approval` with the call's digest in `call`; a person's yes repeats that.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired, TypeAlias

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt
from pydantic import Discriminator, TypeAdapter
from typing_extensions import TypedDict

from ironcurtain.integrations.frameworks.decider import CallDecider, DecidedCall, save_list
from ironcurtain.model.verdict import Verdict
from ironcurtain.policy import Policy
from ironcurtain.servers.tools import ToolListing

Result: TypeAlias = "ToolMessage | Command[Any]"


class Approve(TypedDict):
    """A person's yes to one call."""

    type: Literal["approve"]
    call: str


class Reject(TypedDict):
    """A person's no, with what the model may read of it."""

    type: Literal["reject"]
    message: NotRequired[str]


Answer: TypeAlias = Annotated[Approve | Reject, Discriminator("type")]


class GovernedTools(AgentMiddleware[Any, Any, Any]):
    """Every tool call that the agent carries out, decided by a policy.

    For a graph of one's own: `ToolNode(tools, wrap_tool_call=….wrap_tool_call, awrap_tool_call=…)`.

    Args:
        policy: The policy, entered.
        server: The server's name that the agent's tools have in the policy.
    """

    def __init__(self, policy: Policy, server: str) -> None:
        super().__init__()
        self._decider = CallDecider(policy, server, _listing)

    def wrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Result]
    ) -> Result:
        """Decide a call, and run its tool, refuse it or ask a person."""
        made = request.tool_call
        call = self._decider.decide(made["name"], request.tool, made["args"], made["id"])
        refused = _refused(request, call)
        return handler(_canonical(request, call)) if refused is None else refused

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[Result]]
    ) -> Result:
        """Decide a call, and run its tool, refuse it or ask a person."""
        made = request.tool_call
        call = await self._decider.adecide(made["name"], request.tool, made["args"], made["id"])
        refused = _refused(request, call)
        return await handler(_canonical(request, call)) if refused is None else refused


def _refused(request: ToolCallRequest, call: DecidedCall) -> ToolMessage | None:
    """Return what the model reads of a call that is not run; None for one that is."""
    if call.verdict is Verdict.ALLOW:
        return None
    refusal = call.refusal() if call.verdict is Verdict.DENY else _asked(request, call)
    if refusal is None:
        return None
    made = request.tool_call
    return ToolMessage(refusal, name=made["name"], tool_call_id=made["id"], status="error")


def _asked(request: ToolCallRequest, call: DecidedCall) -> str | None:
    """Ask a person; return what the model reads where they did not approve this very call.

    The graph runs this anew when the answer is there: the call has been decided again by then.
    """
    question = {
        "type": "tool_approval",
        "tool_call_id": request.tool_call["id"],
        "name": request.tool_call["name"],
        "args": call.arguments,
        "description": call.reason,
        "call": call.digest,
    }
    answer = interrupt(question, response_schema=Answer)  # type: ignore[call-overload]
    if answer["type"] == "reject":
        return call.refusal("denied", answer.get("message", ""))
    return None if answer["call"] == call.digest else call.refusal("void")


def _canonical(request: ToolCallRequest, call: DecidedCall) -> ToolCallRequest:
    return request.override(tool_call={**request.tool_call, "args": call.arguments})


def _listing(tool: BaseTool) -> ToolListing:
    schema: Any = tool.tool_call_schema  # a class of either pydantic, or JSON Schema
    as_json = schema if isinstance(schema, dict) else TypeAdapter(schema).json_schema()
    return ToolListing(name=tool.name, description=tool.description, input_schema=as_json)


def save_tools(path: str | Path, tools: Iterable[BaseTool]) -> None:
    """Write the list of an agent's tools, for `"tools"` of its server in `mcp-servers.json`.

    Raises:
        ServerFailedError: If a name or an input schema cannot be used.
    """
    save_list(path, map(_listing, tools))
