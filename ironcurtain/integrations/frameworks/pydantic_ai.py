"""Govern the tools of a pydantic-ai agent: `Agent(…, capabilities=[GovernedTools(policy, "my-agent")])`.

The JSON that the model sent is decided on; the tool's own validator reads the canonical arguments. An
escalation is a deferred approval. It counts when `DeferredToolResults.metadata` hands back what
`DeferredToolRequests.metadata` has of the call; otherwise the person is asked again.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry, ToolFailed
from pydantic_ai.models.test import TestModel
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, CombinedToolset, ToolsetTool, WrapperToolset
from pydantic_ai.usage import RunUsage
from pydantic_core import SchemaValidator, core_schema, to_json

from ironcurtain.integrations.frameworks.decider import CallDecider, DecidedCall, save_list
from ironcurtain.model.verdict import Verdict
from ironcurtain.policy import Policy
from ironcurtain.servers.tools import ToolListing

# The policy decides on JSON; the tool's own validator comes after it.
_ANY_ARGUMENTS = SchemaValidator(core_schema.dict_schema(core_schema.str_schema()))


@dataclass
class GovernedTools(AbstractCapability[Any]):
    """Every tool call that the agent carries out, decided by a policy.

    Args:
        policy: The policy, entered.
        server: The server's name that the agent's tools have in the policy.
    """

    policy: Policy
    server: str

    def get_ordering(self) -> CapabilityOrdering:
        """Stand next to the tools: what other capabilities make of the arguments is decided on."""
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """Return the agent's tools, governed."""
        return _GovernedToolset(toolset, CallDecider(self.policy, self.server, _listing))


@dataclass(kw_only=True)
class _GovernedTool(ToolsetTool[Any]):
    own: ToolsetTool[Any]


@dataclass
class _GovernedToolset(WrapperToolset[Any]):
    decider: CallDecider[ToolDefinition]

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        return {
            name: _GovernedTool(
                toolset=self,
                tool_def=tool.tool_def,
                max_retries=tool.max_retries,
                args_validator=_ANY_ARGUMENTS,
                own=tool,
            )
            for name, tool in (await self.wrapped.get_tools(ctx)).items()
        }

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:  # noqa: ANN401 - the tool's own result
        call = await self.decider.adecide(name, tool.tool_def, tool_args, ctx.tool_call_id)
        if call.verdict is Verdict.DENY:
            raise ToolFailed(call.refusal())
        if call.verdict is Verdict.ESCALATE and not _is_approved(call, ctx):
            raise ApprovalRequired(call.question)
        own = tool.own if isinstance(tool, _GovernedTool) else tool
        return await self.wrapped.call_tool(name, await _validated(own, call, ctx), ctx, own)


def _is_approved(call: DecidedCall, ctx: RunContext[Any]) -> bool:
    handed_back = ctx.tool_call_metadata
    return ctx.tool_call_approved and isinstance(handed_back, dict) and handed_back.get("call") == call.digest


async def _validated(tool: ToolsetTool[Any], call: DecidedCall, ctx: RunContext[Any]) -> dict[str, Any]:
    try:
        read: dict[str, Any] = tool.args_validator.validate_json(
            to_json(call.arguments), context=ctx.validation_context
        )
    except ValidationError as error:
        raise ModelRetry(str(error)) from error
    if tool.args_validator_func is not None:
        checked = tool.args_validator_func(ctx, **read)
        if inspect.isawaitable(checked):
            await checked
    return read


def _listing(tool: ToolDefinition) -> ToolListing:
    return ToolListing(
        name=tool.name, description=tool.description or "", input_schema=tool.parameters_json_schema
    )


async def save_tools(path: str | Path, agent: Agent[Any, Any], deps: object = None) -> None:
    """Write the list of an agent's tools, for `"tools"` of its server in `mcp-servers.json`.

    Raises:
        ServerFailedError: If a name or an input schema cannot be used.
    """
    async with CombinedToolset(agent.toolsets) as toolset:
        tools = await toolset.get_tools(RunContext(deps=deps, model=TestModel(), usage=RunUsage()))
    save_list(path, [_listing(tool.tool_def) for tool in tools.values()])
