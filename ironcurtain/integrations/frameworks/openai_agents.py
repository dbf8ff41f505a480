"""Govern the function tools of an agent of the OpenAI Agents SDK: `Agent(…, tools=governed(tools, …))`.

An escalation is the SDK's own interruption. The SDK hands nothing back with an approval, so what was asked
is remembered by the call's id; an approval of a call that nobody was asked about, as `always_approve` gives
it, is void.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, MutableMapping
from pathlib import Path
from typing import Any

from agents import FunctionTool, RunContextWrapper, Tool
from agents.tool_context import ToolContext
from pydantic_core import to_json

from ironcurtain.errors import UsageError
from ironcurtain.integrations.frameworks.decider import CallDecider, save_list
from ironcurtain.model.verdict import Verdict
from ironcurtain.policy import Policy
from ironcurtain.servers.tools import ToolListing
from ironcurtain.system.frozen import JsonValue


def governed(
    tools: Iterable[Tool],
    policy: Policy,
    server: str,
    *,
    asked: MutableMapping[str, dict[str, JsonValue]] | None = None,
) -> list[Tool]:
    """Return the tools so that a policy decides each of their calls.

    Args:
        tools: Function tools. What the model's provider runs cannot be governed here.
        policy: The policy, entered.
        server: The server's name that the tools have in the policy.
        asked: By call id, what a person is asked: the canonical `arguments`, the `reason`, and the digest of
            the `call` (default: a dictionary). Where another process resumes runs, give what both see.

    Raises:
        UsageError: If a tool is no function tool.
    """
    decider = CallDecider(policy, server, _listing)
    remembered = {} if asked is None else asked
    return [_governed(tool, decider, remembered) for tool in _functions(tools)]


def _functions(tools: Iterable[Tool]) -> list[FunctionTool]:
    functions = []
    for tool in tools:
        if not isinstance(tool, FunctionTool):
            raise UsageError(
                f"the tool {tool.name} is no function tool: a policy cannot decide its calls here",
                hint="Leave it out, or add it beside the governed tools, knowing that no rule applies to it.",
            )
        functions.append(tool)
    return functions


def _governed(
    tool: FunctionTool, decider: CallDecider[FunctionTool], asked: MutableMapping[str, dict[str, JsonValue]]
) -> Tool:
    ours = copy.copy(tool)
    run, own_rule = ours.on_invoke_tool, ours.needs_approval

    async def needs_approval(
        context: RunContextWrapper[Any], parameters: dict[str, Any], call_id: str
    ) -> bool:
        call = await decider.adecide(tool.name, tool, parameters, call_id)
        asked.pop(call_id, None)
        if call.verdict is Verdict.ESCALATE:
            asked[call_id] = call.question
        if call.verdict is not Verdict.ALLOW:
            return call.verdict is Verdict.ESCALATE
        return await own_rule(context, call.arguments, call_id) if callable(own_rule) else own_rule

    async def on_invoke_tool(context: ToolContext[Any], arguments: str) -> Any:  # noqa: ANN401 - the tool's own
        call = await decider.adecide(tool.name, tool, arguments or "{}", context.tool_call_id)
        approved = asked.pop(context.tool_call_id, {}).get("call")
        if call.verdict is Verdict.DENY:
            return call.refusal()
        if call.verdict is Verdict.ESCALATE and approved != call.digest:
            return call.refusal("void")
        return await run(context, to_json(call.arguments).decode())

    ours.on_invoke_tool, ours.needs_approval = on_invoke_tool, needs_approval
    return ours


def _listing(tool: FunctionTool) -> ToolListing:
    return ToolListing(name=tool.name, description=tool.description, input_schema=tool.params_json_schema)


def save_tools(path: str | Path, tools: Iterable[Tool]) -> None:
    """Write the list of a program's tools, for `"tools"` of its server in `mcp-servers.json`.

    Raises:
        UsageError: If a tool is no function tool.
        ServerFailedError: If a name or an input schema cannot be used.
    """
    save_list(path, map(_listing, _functions(tools)))
