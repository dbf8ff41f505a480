"""Decide calls of a program's own tools for an agent framework, and word what becomes of them.

What a framework's module adds is its own form of running, refusing and asking. An approval is for one call:
its digest covers server, tool, canonical arguments and policy, and it is compared with that of the call as
it is decided again after the person's answer.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Generic, TypeVar

from anyio import to_thread

from ironcurtain.decision.agent_view import AgentState, agent_view
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.calls.refusal import failed, with_words
from ironcurtain.errors import ServerFailedError, raise_all
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.policy import Policy
from ironcurtain.servers.tools import ListedServer, ToolListing, saved_document, tool_digest, usable_tools
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

_log = logging.getLogger("ironcurtain.integrations.frameworks")
_Tool = TypeVar("_Tool")
_HOW_TO_ADD = (
    'To add it: save the program\'s tools with `save_tools`, name that file as "tools" of the server '
    "{server} in mcp-servers.json, and run `ironcurtain compile`."
)


class DecidedCall(Struct):
    """A call that was decided.

    Attributes:
        verdict: What becomes of it. A decision to ask approvers by name is a deny: no framework says who
            answered.
        tool: The tool's annotation, where there is one.
    """

    decision: Decision
    verdict: Verdict
    id: str
    tool: ToolAnnotation | None = None

    @property
    def arguments(self) -> dict[str, JsonValue]:
        """The canonical arguments: what was decided on, and what the tool is to be run with."""
        return self.decision.arguments or {}

    @property
    def digest(self) -> str:
        """What an approval of this call names."""
        made = self.decision
        return json_text.digest([made.server, made.tool, self.arguments, made.revision])

    @property
    def reason(self) -> str:
        """Why a person is asked, and what they must check, for that person alone."""
        return "\n".join([self.decision.reason, *(f"Check: {check.text}" for check in self.decision.checks)])

    @property
    def question(self) -> dict[str, JsonValue]:
        """What a person is shown who is asked, with the digest that their approval is for."""
        return {"call": self.digest, "arguments": self.arguments, "reason": self.reason}

    def refusal(self, state: AgentState = "no-approver", said: str = "") -> str:
        """Return what the model reads in place of a result.

        Args:
            state: What became of an escalated call.
            said: What the person said who refused it.
        """
        view = with_words(agent_view(self.decision, self.id, state=state, tool=self.tool), said)
        unknown = self.decision.rule == ReservedRule.UNKNOWN_TOOL
        more = _HOW_TO_ADD.format(server=quoted(self.decision.server)) if unknown else ""
        return f"{view.text}{more}"


class CallDecider(Generic[_Tool]):
    """Decides calls of the tools of one program.

    Args:
        policy: The policy, entered.
        server: The server's name that the program's tools have in the policy.
        listing: Returns a tool of the framework as it is listed; one that is no longer the annotated one is
            denied.
    """

    def __init__(self, policy: Policy, server: str, listing: Callable[[_Tool], ToolListing]) -> None:
        self._policy, self._server, self._listing = policy, server, listing

    def decide(
        self, name: str, tool: _Tool | None, arguments: JsonSource | bytes, call_id: str | None
    ) -> DecidedCall:
        """Decide a call. Every input yields a decision; any failure is a deny.

        Args:
            name: The tool's name.
            tool: The tool; None where the framework has none of that name.
            arguments: As the model sent them.
            call_id: The framework's id of the call: who was refused can name it, and the log has it.
        """
        call = Call(self._server, name, arguments, id=call_id)
        annotation = None
        try:
            digest = tool_digest(self._listing(tool)) if tool is not None else None
            call = Call(self._server, name, arguments, live_digest=digest, id=call_id)
            decision = self._policy.decide_many([call])[0]
            if known := self._policy.loaded.tool(self._server, name):
                annotation = known.annotation
        except Exception as error:  # noqa: BLE001 - a fault of ours must never let a call through
            decision = failed(call, self._policy.revision, error)
        said = quoted(name), decision.verdict, decision.rule, quoted(call_id or "")
        _log.info("tool %s: %s by %s (call %s)", *said)
        verdict = Verdict.DENY if decision.approvers else decision.verdict
        return DecidedCall(decision, verdict, call_id or "none", annotation)

    async def adecide(
        self, name: str, tool: _Tool | None, arguments: JsonSource | bytes, call_id: str | None
    ) -> DecidedCall:
        """Decide a call from an event loop, which is not blocked meanwhile."""
        return await to_thread.run_sync(self.decide, name, tool, arguments, call_id)


def save_list(path: str | Path, tools: Iterable[ToolListing]) -> None:
    """Write the tool list that `ironcurtain compile` and `ironcurtain annotate` read.

    Raises:
        ServerFailedError: If a name or an input schema cannot be used.
    """
    usable, problems = usable_tools(tools)
    raise_all([ServerFailedError(problem, where=str(path)) for problem in problems])
    atomic_write(Path(path), json_text.pretty(saved_document(ListedServer(usable))).encode())
