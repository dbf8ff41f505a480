"""Where a call goes once it may: one interface for servers, the client, and calls that are only decided."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

ServerResult = dict[str, JsonValue]
"""What a server answers a call with, as JSON: of a tool, `content`, `structuredContent` and `isError`."""


class NoAnswerError(Exception):
    """The destination of a call gave no answer.

    Attributes:
        reason: Why, in plain words, safe to show.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class OwnProcess(Struct):
    """A server process of its own, for one call.

    Attributes:
        id: The decision's id.
        resources: What the call names: that is opened to the process.
        ready: Is awaited when the process is up, before the call is sent, with what is wrong with the process
            or nothing; raises `NoAnswerError` where the call must not be sent.
    """

    id: str
    resources: tuple[Resource, ...]
    ready: Callable[[str], Awaitable[None]]


class Destination(ABC):
    """Takes one call, at most once, with exactly the arguments that were evaluated."""

    is_tool = False
    """Whether the call is of a tool that a server lists."""

    is_read_only = False
    """Whether the tool's server says that it changes nothing."""

    @abstractmethod
    async def send(
        self, arguments: Mapping[str, JsonValue], own_process: OwnProcess | None = None
    ) -> ServerResult:
        """Send the canonical arguments; return the result as it came.

        Args:
            arguments: The evaluated arguments.
            own_process: Given where the call is sent to a server process of its own.

        Raises:
            NoAnswerError: If there is no answer.
            Exception: The receiver's own error, which `own_error` knows.
        """

    def own_error(self, error: Exception) -> str:  # noqa: ARG002 - most have none
        """Return how the log names an error that the receiver answered with; empty for every other one."""
        return ""

    async def current_digest(self, known: str) -> str | None:
        """Return the digest of the tool as its server lists it now; `known` is that of the decision."""
        return known
