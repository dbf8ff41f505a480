"""What a session may do with its tools, before any call is made: for the agent's prompt and for the person.

A tool that is offered may still be refused call by call; what always asks, and what is never permitted, holds
for every call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from ironcurtain.analysis.engine.rules.rules import rules_of_tool
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.reserved_tools import is_reserved
from ironcurtain.decision.roles import Registry
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.conditions import If
from ironcurtain.model.verdict import Verdict
from ironcurtain.servers.endpoint_names import endpoint_name, split_endpoint_name
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import counted, cut, visible

_SHOWN = 200


class ToolPermissions(Struct):
    """The tools of a session, as the model sees them.

    Attributes:
        open: Of which some call may be done without anybody being asked.
        asked: Of which every call that is permitted asks a person first.
        never: Of which no call is permitted.
    """

    open: tuple[str, ...]
    asked: tuple[str, ...]
    never: tuple[str, ...]


def permissions(content: PolicyContent, listed: Collection[str], *, has_workspace: bool) -> ToolPermissions:
    """Return what rules say of tools.

    Args:
        content: The policy.
        listed: The tools that are offered, as the model sees them; what nothing permits is left out.
        has_workspace: Whether there is a workspace, in which contained tools need no rule.
    """
    asked, never = [], []
    serving = {server for server, _ in _tools_of(listed, content)}
    for (server, _), tool in content.tools.items():
        name = endpoint_name(server, tool.tool)
        if name not in listed:
            never += [name] if server in serving and not is_reserved(tool) else []
        elif not _may_be_open(content, server, tool, has_workspace=has_workspace):
            asked.append(name)
    return ToolPermissions(tuple(name for name in listed if name not in asked), tuple(asked), tuple(never))


def _may_be_open(content: PolicyContent, server: str, tool: ToolAnnotation, *, has_workspace: bool) -> bool:
    registry = Registry(content.annotations.roles)
    roles = {role for argument in tool.args for role in argument.possible_roles}
    if has_workspace and tool.contained and any(registry[role].containable for role in roles):
        return True
    return any(
        rule.then is Verdict.ALLOW and _speaks_of(rule.condition, roles)
        for rule in rules_of_tool(content, server, tool, {})
    )


def _speaks_of(condition: If, roles: Collection[str]) -> bool:
    """Tell whether a tool has the roles that a condition is about."""
    named = [each.roles for each in condition.role_conditions]
    named += [condition.roles] if condition.roles is not None else []
    return all(any(role in roles for role in each) for each in named)


def policy_lines(
    content: PolicyContent, tools: ToolPermissions, *, attended: bool, seconds: float
) -> list[str]:
    """Return what the policy lets a session do, in lines that a person reads."""
    verdicts = Counter(rule.then for rule in content.rules.values())
    rules = ", ".join(f"{verdicts[then]} {then}" for then in (Verdict.ALLOW, Verdict.ESCALATE, Verdict.DENY))
    who = (
        f"a person has {seconds:,.0f} s to answer; without an answer it is refused"
        if attended
        else ("nobody is asked; what would ask is refused")
    )
    return [
        f"{counted(len(content.rules), 'rule')} ({rules}); what no rule allows is denied",
        f"may go on without asking: {_names(tools.open, content)}",
        f"always ask: {_names(tools.asked, content)}",
        f"never: {_names(tools.never, content)}",
        f"where asked: {who}",
    ]


def _tools_of(names: Collection[str], content: PolicyContent) -> list[tuple[str, str]]:
    return [split_endpoint_name(name, content.annotations.servers, content.tools) for name in names]


def _names(names: Collection[str], content: PolicyContent) -> str:
    parts = _tools_of(names, content)
    shown = cut(", ".join(visible("/".join(filter(None, each))) for each in parts), _SHOWN)
    return f"{len(names)} ({shown})" if names else "none"
