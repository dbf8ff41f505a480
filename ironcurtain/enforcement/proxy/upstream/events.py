"""What a server behind the proxy can cause, and within which bounds."""

from __future__ import annotations

from typing import Protocol

import mcp_types as types

from ironcurtain.enforcement.sandbox.report import Observation
from ironcurtain.model.varying import Varying
from ironcurtain.system.structs import Struct


class UpstreamLimits(Struct):
    """Bounds of one server, in seconds.

    Attributes:
        start: To start and list its tools, or to list them again.
        call: To answer one request.
        pulse: To show that it lives.
        first_pause: Between its end and its next start; twice as long each time, up to `longest_pause`.
        healthy: After which its next end is like the first one.
        patience: That a call waits for a server that is just starting.
        rest: At least, between two readings of its tools; as long as the first one took, up to `pulse`.
    """

    start: float = 120.0
    call: float = 600.0
    pulse: float = 10.0
    first_pause: float = 0.5
    longest_pause: float = 30.0
    healthy: float = 60.0
    patience: float = 20.0
    rest: float = 0.2


class UpstreamEvents(Protocol):
    """What a server may cause on the client's side."""

    async def ask(self, server: str, request: types.InputRequest) -> types.InputResponse | types.ErrorData:
        """Answer what a server asks of the client."""

    async def changed(self, server: str, what: str) -> None:
        """Tell the client that `tools`, `prompts` or `resources` of a server changed."""

    async def updated(self, server: str, uri: str) -> None:
        """Tell the client that a resource it subscribed to changed."""

    async def logged(self, server: str, params: types.LoggingMessageNotificationParams) -> None:
        """Hand on a log message."""

    async def seen(self, server: str, seen: Observation) -> None:
        """Record what was seen of a server's sandbox."""

    def varying(self, server: str) -> tuple[Varying, ...]:
        """Return the texts of a server that depend on where it runs, as the policy that is enforced says."""

    def say(self, text: str) -> None:
        """Tell the person who started the proxy."""
