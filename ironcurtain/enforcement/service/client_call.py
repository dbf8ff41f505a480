"""A call that its client carries out: once it may happen the client is told, and its result is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

import anyio

from ironcurtain.decision.agent_view import AgentView
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.calls.asker import Asker, Progress
from ironcurtain.enforcement.calls.destination import Destination, NoAnswerError, OwnProcess, ServerResult
from ironcurtain.enforcement.calls.reach import Reach, Send
from ironcurtain.enforcement.facts.records.answers import LookUp, LookUpError
from ironcurtain.enforcement.sandbox.watch import Confinement
from ironcurtain.system.frozen import JsonValue

Outcome: TypeAlias = Mapping[str, JsonValue] | AgentView
"""The canonical arguments of a call that may happen, or what the agent is told of one that may not."""

_LONGEST = 7_200.0
"""Seconds after which no result of a call comes any more: the longest that a client lets a tool run."""

_LONGEST_ON_PATHS = 30.0
"""The same of a call about paths, which other calls on them wait for; a client can drop a call unsaid."""

_UNREPORTED = "its caller carries it out and reports no result"
_LATE = "its client reported no result"


class ClientCall(Destination):
    """The destination of one call.

    Args:
        call: The call.
        reports: Whether the client reports the result.

    Attributes:
        call: The call.
        ended: Whether all is recorded.
        question: What the client's person is asked about it; empty where it is not asked.
    """

    is_tool = True

    def __init__(self, call: Call, *, reports: bool) -> None:
        self.call = call
        self.ended = anyio.Event()
        self.question = ""
        self._reports = reports
        self._outcome: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self._result: asyncio.Future[ServerResult] = asyncio.get_running_loop().create_future()
        self._scope = anyio.CancelScope()

    async def send(
        self,
        arguments: Mapping[str, JsonValue],
        own_process: OwnProcess | None = None,  # noqa: ARG002
    ) -> ServerResult:
        """Tell the client that it may, and wait for what comes of it.

        Raises:
            NoAnswerError: If nothing is reported.
        """
        self.settle(arguments)
        if not self._reports:
            raise NoAnswerError(_UNREPORTED)
        return await self._result

    async def run(self, work: Callable[[], Awaitable[object]]) -> None:
        """Do the work of enforcing until it ends or is called off; whoever waits for the outcome gets one."""
        try:
            with self._scope:
                await work()
        finally:
            if not self._outcome.done():
                self._outcome.cancel()
            self.ended.set()

    async def outcome(self) -> Outcome:
        """Wait for the outcome; whoever stops waiting calls the call off.

        Raises:
            asyncio.CancelledError: If there will be none.
        """
        try:
            return await asyncio.shield(self._outcome)
        except asyncio.CancelledError:
            if not self._outcome.done():
                self.call_off()
            raise

    def settle(self, outcome: Outcome) -> None:
        """Take the outcome."""
        if not self._outcome.done():
            self._outcome.set_result(outcome)

    def report(self, result: ServerResult) -> None:
        """Take the result that the client reports; a second one changes nothing."""
        if not self._result.done():
            self._result.set_result(result)

    def call_off(self) -> None:
        """Let the call end without an outcome, or without a result."""
        self._scope.cancel()


class ClientPerson(Asker):
    """Whoever sits at the client: asked by the client itself, after we have answered.

    Args:
        client_name: Which client it is.
        call: The call; None where nobody sits there.
        approved: Whether the client went on with the call, after it had asked.
    """

    principal = None

    def __init__(self, client_name: str, call: ClientCall | None = None, *, approved: bool = False) -> None:
        self.client_name, self._call, self._approved = client_name, call, approved

    @property
    def on_progress(self) -> Progress | None:
        """Nobody wants to know."""
        return None

    @property
    def can_elicit(self) -> bool:
        """Whether somebody sits there."""
        return self._call is not None

    async def elicit(
        self,
        message: str,
        schema: dict[str, JsonValue],  # noqa: ARG002 - it asks in its own way
    ) -> tuple[str, Mapping[str, object] | None] | None:
        """Note that the client has to ask; what came of that, it tells by going on with the call, or not."""
        if self._approved:
            return "accept", {"answer": "approved"}
        if self._call is not None:
            self._call.question = message
        return None


class ClientsReach(Reach):
    """Clients' own tools run in no sandbox of ours.

    Args:
        tell: Tells the person who started the service.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        self._tell = tell

    def beyond(self, server: str, resources: Iterable[Resource], *, asked: bool) -> str:  # noqa: ARG002
        """Return that nothing is beyond it."""
        return ""

    def needs_own_process(self, server: str, resources: Iterable[Resource]) -> bool:  # noqa: ARG002
        """Tell that none does."""
        return False

    async def carry(self, server: str, resources: Sequence[Resource], send: Send) -> ServerResult:  # noqa: ARG002
        """Send, and wait for the result as long as there may be one.

        Raises:
            NoAnswerError: If none is reported.
        """
        with anyio.move_on_after(_LONGEST_ON_PATHS if resources else _LONGEST):
            return await send()
        raise NoAnswerError(_LATE)

    def say(self, text: str) -> None:
        """Tell the person who started the service."""
        self._tell(text)


def unconfined(server: str) -> Confinement:  # noqa: ARG001
    """Return what is seen of how a client's tools are confined: nothing."""
    return Confinement("none", "the client runs it; we see nothing of that")


async def no_look_ups(asked: LookUp) -> tuple[Call, Destination]:
    """Find no tool for a look-up.

    Raises:
        LookUpError: Always.
    """
    raise LookUpError(f"no server is started here that {asked.tool} could be asked of")
