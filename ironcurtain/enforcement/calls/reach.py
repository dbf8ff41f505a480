"""What the policy permits and a server's sandbox does not: refused in its own words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.enforcement.calls.destination import ServerResult
from ironcurtain.enforcement.calls.evaluated_call import EvaluatedCall
from ironcurtain.enforcement.calls.path_locks import path_resources
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import replace

Send = Callable[[], Awaitable[ServerResult]]
"""Sends one call; returns its result as it came."""


class Reach(ABC):
    """What the sandboxes and roots of servers have to do with a call."""

    @abstractmethod
    def beyond(self, server: str, resources: Iterable[Resource], *, asked: bool) -> str:
        """Return why a server's sandbox keeps it from what a call names; empty if it does not.

        Args:
            server: The server.
            resources: What the call names.
            asked: Whether a person is asked, so that a process of its own may be started.
        """

    @abstractmethod
    def needs_own_process(self, server: str, resources: Iterable[Resource]) -> bool:
        """Tell whether an approved call needs a server process of its own."""

    @abstractmethod
    async def carry(self, server: str, resources: Sequence[Resource], send: Send) -> ServerResult:
        """Send a call about some paths, with what its server needs to serve them."""

    @abstractmethod
    def say(self, text: str) -> None:
        """Tell the person who started the proxy."""


def within_reach(evaluated: EvaluatedCall, reach: Reach) -> EvaluatedCall:
    """Return a call as it was evaluated, refused where its server's sandbox would not let it through.

    Every judgment of a call passes through it, the first before a person is asked: nobody approves what
    cannot happen. Who started the proxy is told.
    """
    if evaluated.prepared is None or evaluated.decision.verdict is Verdict.DENY:
        return evaluated
    asked = evaluated.decision.verdict is Verdict.ESCALATE
    reason = reach.beyond(evaluated.call.server, evaluated.prepared.call.resources, asked=asked)
    if not reason:
        return evaluated
    reach.say(f"server {evaluated.call.server}: {reason}")
    refused = {
        "verdict": Verdict.DENY,
        "rule": ReservedRule.SANDBOX_OUT_OF_REACH.value,
        "reason": f"{reason[:1].upper()}{reason[1:]}.",
    }
    return replace(
        evaluated, decision=evaluated.decision.model_copy(update=refused), state="denied", forwarded=False
    )


def in_own_process(evaluated: EvaluatedCall, reach: Reach) -> EvaluatedCall:
    """Return an approved call marked for a server process of its own, where it needs one."""
    if evaluated.approval is None or not evaluated.forwarded:
        return evaluated
    return replace(
        evaluated, own_process=reach.needs_own_process(evaluated.call.server, resources_of(evaluated))
    )


def resources_of(evaluated: EvaluatedCall) -> tuple[Resource, ...]:
    """Return what a call names."""
    return evaluated.prepared.call.resources if evaluated.prepared else ()


def paths_of(evaluated: EvaluatedCall) -> list[Resource]:
    """Return the paths that a call was evaluated over."""
    return path_resources(evaluated.prepared) if evaluated.prepared else []
