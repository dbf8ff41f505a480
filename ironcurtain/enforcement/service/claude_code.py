"""Hook events of Claude Code, as they come and as they are answered.

An escalated call becomes the client's own question where a person sits there, and else waits in our queue.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from ironcurtain.decision.agent_view import AgentView
from ironcurtain.decision.decide import Call
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.roles import BUILT_IN
from ironcurtain.enforcement.calls.destination import ServerResult
from ironcurtain.enforcement.service.sessions import ServedSession, Sessions
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.servers.endpoint_names import CLIENT_ENTRY
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

CLIENT = "claude-code"
"""The client, and the server that its built-in tools are tools of."""

_ASKS = frozenset({"default", "plan", "acceptEdits"})
"""The permission modes in which it asks whoever sits there; of all others that is not known."""

_PATHS = frozenset(role.name for role in BUILT_IN if role.category == "path")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_ADD = (
    "The policy does not know this tool. Only a person can add it: with the server "
    '`"claude-code": {"builtin": "claude-code"}` in mcp-servers.json (or a saved tool list as "tools", for a '
    "tool that IronCurtain does not ship), and `ironcurtain compile`."
)


class HookEvent(BaseModel):
    """One event; what it says beside this is no matter of ours."""

    model_config = ConfigDict(frozen=True, strict=True)

    session_id: str
    hook_event_name: Literal[
        "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "SessionEnd"
    ]
    cwd: str = Field(pattern="^/")
    permission_mode: str = ""
    prompt: str = ""
    tool_name: str = ""
    tool_use_id: str = ""
    tool_input: dict[str, JsonValue] = Field(default_factory=dict)
    tool_response: JsonValue = None
    error: str = ""


async def answer(event: HookEvent, sessions: Sessions, *, attended: bool) -> dict[str, JsonValue]:
    """Return the answer to an event, in the client's own form.

    Args:
        event: The event.
        sessions: The sessions.
        attended: Whether the client says that a person sits there.

    Raises:
        IronCurtainError: If the session cannot be opened, or something cannot be recorded.
    """
    if event.hook_event_name == "SessionEnd":
        await sessions.end(event.session_id)
        return {}
    session = await sessions.of(event.session_id)
    if event.hook_event_name == "UserPromptSubmit":
        session.words.add(event.prompt)
    elif event.tool_name.startswith(f"mcp__{CLIENT_ENTRY}__"):
        return {}  # the proxy decides about its own tools
    elif event.hook_event_name == "PreToolUse":
        return await _decided(event, session, attended=attended)
    elif event.hook_event_name != "SessionStart":
        await session.report(event.tool_use_id, _result(event))
    return {}


async def _decided(event: HookEvent, session: ServedSession, *, attended: bool) -> dict[str, JsonValue]:
    """Decide a call; what the client does then is what was decided about."""
    policy = session.enforcer.policy.current.loaded
    server, tool = _place(event.tool_name, policy)
    annotation = policy.annotation(server, tool)
    arguments = event.tool_input
    if server == CLIENT and annotation is not None:
        arguments = _from_directory(arguments, annotation, event.cwd)
    asks = attended and event.permission_mode in _ASKS
    call = Call(server, tool, arguments)
    outcome, question = await session.decide(event.tool_use_id, call, CLIENT, attended=asks)
    if not isinstance(outcome, AgentView):
        changed = {"updatedInput": {**outcome}} if dict(outcome) != event.tool_input else {}
        return _said("allow", "The policy permits it.", **changed)
    if question:
        return _said("ask", question)
    return _said("deny", outcome.text if annotation is not None else f"{outcome.text}\n{_ADD}")


def _place(name: str, policy: LoadedPolicy) -> tuple[str, str]:
    """Return the server and the tool that the client calls by one name; of those that share one, neither."""
    if not name.startswith("mcp__"):
        return CLIENT, name
    found = [
        (server, tool)
        for server, tool in policy.content.tools
        if name == f"mcp__{_NOT_IN_NAMES.sub('_', server)}__{_NOT_IN_NAMES.sub('_', tool)}"
    ]
    return found[0] if len(found) == 1 else (CLIENT, name)


def _from_directory(
    arguments: dict[str, JsonValue], tool: ToolAnnotation, directory: str
) -> dict[str, JsonValue]:
    """Return arguments with relative paths as the client would resolve them: from where its shell is."""
    defaults = {name: json_text.members(schema).get("default") for name, schema in tool.properties.items()}
    found = dict(arguments)
    for argument in tool.args:
        path = arguments.get(argument.name, defaults.get(argument.name))
        if isinstance(path, str) and _PATHS & {*argument.possible_roles} and not path.startswith(("/", "~")):
            found[argument.name] = str(Path(directory) / path)
    return found


def _said(decision: str, reason: str, **more: JsonValue) -> dict[str, JsonValue]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": f"IronCurtain: {reason}",
            **more,
        }
    }


def _result(event: HookEvent) -> ServerResult:
    """Return what came of a call as a tool's result."""
    is_error = event.hook_event_name == "PostToolUseFailure"
    value = event.error if is_error else event.tool_response
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    result: ServerResult = {"content": [{"type": "text", "text": text}], "isError": is_error}
    return {**result, "structuredContent": value} if isinstance(value, dict) else result


def governing_files(workspace: str | None, home: str) -> list[str]:
    """Return the files by which the client is governed: no tool may change them."""
    names = ("settings.json", "settings.local.json", "hooks", "plugins", "agents", "skills", "commands")
    directories = [Path(home) / ".claude", *([Path(workspace) / ".claude"] if workspace else ())]
    own = [Path(home) / ".claude.json", *([Path(workspace) / ".mcp.json"] if workspace else ())]
    return [*map(str, own), *(str(directory / name) for directory in directories for name in names)]
