"""What happens in a turn, as its transport is told: text as it is written, calls, questions, notes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.model.verdict import Verdict
from ironcurtain.servers.endpoint_names import split_full_name
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct


class TextPiece(Struct):
    """A piece of the model's answer, as it arrived."""

    text: str


class CallBegan(Struct):
    """The model calls a tool; nothing is decided yet.

    Attributes:
        id: The model's id of the call.
        server: The tool's server; empty where no server of the policy has such a tool.
        tool: Its full name, `server__tool`; the model may see a shorter one.
        arguments: As the model wrote them.
    """

    id: str
    server: str
    tool: str
    arguments: dict[str, JsonValue]


class CallEnded(Struct):
    """What became of a call.

    Attributes:
        server, tool: As of `CallBegan`.
        verdict: The decision of policy and structural checks; None where the call reached no decision.
        approved: Whether a person approved it.
        happened: Whether the call was sent to its server.
        decision: The decision's id, by which the audit log knows it.
        rule, clause, reason: Of the decision; for the person, never for the model.
        seconds: From the model's call to its end, with the time that a person took.
        text: What the model is told.
        sentence: The words of the clause, as `rule`; empty where no clause decided.
    """

    id: str
    server: str
    tool: str
    verdict: Verdict | None
    approved: bool
    happened: bool
    decision: str | None
    rule: str | None
    clause: str | None
    reason: str
    seconds: float
    text: str
    sentence: str = ""

    @property
    def shown_tool(self) -> str:
        """The tool as people read it: `server/tool`."""
        return "/".join(filter(None, split_full_name(self.tool, [self.server])))


class ApprovalNeeded(Struct):
    """A call waits for a person."""

    request: ApprovalRequest


class Note(Struct):
    """Something that the person should know; no word of the model, a tool or a server."""

    text: str


SessionEvent: TypeAlias = TextPiece | CallBegan | CallEnded | ApprovalNeeded | Note
EventListener: TypeAlias = Callable[[SessionEvent], None]
"""Is told of each event; it neither waits nor fails."""


class Listeners:
    """Who is told of events.

    Args:
        listeners: The first ones.
    """

    def __init__(self, listeners: Iterable[EventListener] = ()) -> None:
        self._listeners = list(listeners)

    def add(self, listener: EventListener) -> None:
        """Tell one more, from now on."""
        self._listeners.append(listener)

    def tell(self, event: SessionEvent) -> None:
        """Tell all."""
        for listener in self._listeners:
            listener(event)

    def asked(self, request: ApprovalRequest) -> None:
        """Tell that a call waits for a person."""
        self.tell(ApprovalNeeded(request))
