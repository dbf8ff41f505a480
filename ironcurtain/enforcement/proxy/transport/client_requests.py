"""One request of the client while it is answered, and the way back to the client that it opens.

A server may ask something of the client (a model's answer, a person's input, its roots) in the middle of a
call. A client of the handshake era is sent a request. One of the stateless era cannot be: its own request is
answered with `input_required`, the call goes on waiting here, and the client's retry brings the answers.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp.server import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ironcurtain.enforcement.calls.asker import Asker
from ironcurtain.enforcement.proxy.transport.scope import CLIENT, PRINCIPAL, UNASKED
from ironcurtain.gateway.principal import Principal
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue

ANSWER_SECONDS = 300.0
"""How long a client has to bring the answers that it was asked for."""

_RESULTS: dict[str, type[types.Result]] = {
    "elicitation/create": types.ElicitResult,
    "roots/list": types.ListRootsResult,
}
_UNSUPPORTED = types.ErrorData(code=types.INVALID_REQUEST, message="The client cannot be asked for this.")
_MOST_SUSPENDED = 1_000
_FORM = types.ElicitRequest(params=types.ElicitRequestFormParams(message="", requested_schema={}))


def client_of(context: ServerRequestContext[Any, Any]) -> str:
    """Return what tells the clients of one proxy apart: all of stdio is one; so is each HTTP session."""
    if context.request is None or isinstance(context.request, bytes):
        return "stdio"
    session = context.request.headers.get("mcp-session-id")
    return f"session {session}" if session else f"request {id(context.request)}"


def client_name(context: ServerRequestContext[Any, Any]) -> str:
    """Return who a client is, as far as it had to show that."""
    if context.request is None or isinstance(context.request, bytes):
        return "stdio"
    name: str = context.request.scope.get(CLIENT, UNASKED)
    return name


def principal_of(context: ServerRequestContext[Any, Any]) -> Principal | None:
    """Return whom a client's request acts for, as its token showed; None where none was asked for."""
    if context.request is None or isinstance(context.request, bytes):
        return None
    principal: Principal | None = context.request.scope.get(PRINCIPAL)
    return principal


async def deliver(session: ServerSession, request: types.InputRequest, related: Any = None) -> Any:  # noqa: ANN401
    """Send a request to a client of the handshake era; return its result, or the error it answered with."""
    result = _RESULTS.get(request.method, types.CreateMessageResult)
    if isinstance(request, types.CreateMessageRequest) and request.params.tools:
        result = types.CreateMessageResultWithTools
    metadata = ServerMessageMetadata(related_request_id=related) if related is not None else None
    try:
        return await session.send_request(request, result, metadata=metadata)
    except MCPError as error:
        return error.error


def can(capabilities: types.ClientCapabilities | None, request: types.InputRequest) -> bool:
    """Tell whether a client that declared these capabilities can be asked this."""
    if capabilities is None:
        return False
    match request:
        case types.CreateMessageRequest():
            return capabilities.sampling is not None
        case types.ElicitRequest():
            return capabilities.elicitation is not None
        case _:
            return capabilities.roots is not None


@dataclass
class _Question:
    request: types.InputRequest
    answer: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class ClientRequest(Asker):
    """A request of the client: what a server causes meanwhile reaches the client through it.

    Attributes:
        is_filtered: Whether it calls a tool of a proxied server that has an output policy.
    """

    def __init__(
        self,
        context: ServerRequestContext[Any, Any],
        passed: Mapping[str, JsonValue] | None = None,
        *,
        is_filtered: bool = False,
    ) -> None:
        """Begin with a request, and with what of its `_meta` was let through when it was evaluated."""
        self.context = context
        self.passed = dict(passed or {})
        self.client, self.client_name = client_of(context), client_name(context)
        self.principal = principal_of(context)
        self.is_filtered = is_filtered
        self.modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        self._questions: list[_Question] = []
        self._event: anyio.Event
        self._scope: anyio.CancelScope
        self._finished: asyncio.Future[dict[str, JsonValue]]
        self._asked: tuple[str, Mapping[str, Any]] = context.method, context.params or {}
        if self.modern:
            self._event, self._scope = anyio.Event(), anyio.CancelScope()
            self._finished = asyncio.get_running_loop().create_future()

    @property
    def binding(self) -> str:
        """What a retry of the request must repeat, and whose it must be."""
        return _binding(self.client_name, *self._asked)

    @property
    def capabilities(self) -> types.ClientCapabilities | None:
        """What the client can do."""
        return self.context.session.client_capabilities

    async def ask(self, request: types.InputRequest) -> Any:  # noqa: ANN401 - a result or its error
        """Ask the client; return its result or an error."""
        if not can(self.capabilities, request):
            return _UNSUPPORTED
        if not self.modern:
            return await deliver(self.context.session, request, self.context.request_id)
        question = _Question(request)
        self._questions.append(question)
        self._event.set()
        with anyio.move_on_after(ANSWER_SECONDS):
            return await question.answer
        return types.ErrorData(code=types.REQUEST_TIMEOUT, message="The client did not bring an answer.")

    @property
    def can_elicit(self) -> bool:
        """Whether the client shows forms."""
        return can(self.capabilities, _FORM)

    async def elicit(
        self, message: str, schema: dict[str, JsonValue]
    ) -> tuple[str, Mapping[str, object] | None] | None:
        """Show a form to the client's person, as `Asker` says."""
        form = types.ElicitRequestFormParams(message=message, requested_schema=schema)
        result = await self.ask(types.ElicitRequest(params=form))
        return (result.action, result.content) if isinstance(result, types.ElicitResult) else None

    @property
    def on_progress(self) -> ProgressFnT | None:
        """How progress is reported to the client; None where it did not ask for it."""
        return self.context.session.report_progress if "progress_token" in (self.context.meta or {}) else None

    @property
    def on_server_progress(self) -> ProgressFnT | None:
        """How a server's progress is reported; of a tool with an output policy only that there is some."""
        report = self.on_progress
        if report is None or not self.is_filtered:
            return report
        steps = itertools.count(1)

        async def count(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001 - not ours to tell
            await report(float(next(steps)), None, None)

        return count

    # -- the stateless era ----------------------------------------------------------------------

    async def answer(
        self, work: Callable[[], Awaitable[dict[str, JsonValue]]], held: PendingRequests
    ) -> dict[str, JsonValue]:
        """Do the work behind a request; return its result, or what the client is asked meanwhile."""
        if not self.modern:
            return await work()
        held.tasks.start_soon(self._work, work)
        return await self._next(held)

    async def resume(
        self, context: ServerRequestContext[Any, Any], answers: Mapping[str, Any], held: PendingRequests
    ) -> dict[str, JsonValue]:
        """Take the client's retry, with its answers; return the result or the next questions."""
        self.context = context
        asked, self._questions = self._questions, []
        for number, question in enumerate(asked):
            missing = types.ErrorData(code=types.INVALID_PARAMS, message="The client brought no answer.")
            if not question.answer.done():
                question.answer.set_result(answers.get(f"q{number}", missing))
        return await self._next(held)

    async def _work(self, work: Callable[[], Awaitable[dict[str, JsonValue]]]) -> None:
        with self._scope:
            try:
                self._finished.set_result(await work())
            except Exception as error:  # noqa: BLE001 - it is raised where the client's request waits
                self._finished.set_exception(error)
        if not self._finished.done():
            self._finished.cancel()
        self._event.set()

    async def _next(self, held: PendingRequests) -> dict[str, JsonValue]:
        try:
            while not self._finished.done() and not self._questions:
                await self._event.wait()
                self._event = anyio.Event()
        except BaseException:
            self._scope.cancel()  # the client called its request off, or has gone
            raise
        if self._finished.done():
            return self._finished.result()
        state = held.keep(self)
        requests = {f"q{number}": question.request for number, question in enumerate(self._questions)}
        asked = types.InputRequiredResult(input_requests=requests, request_state=state)
        return asked.model_dump(by_alias=True, mode="json", exclude_none=True)

    def abandon(self) -> None:
        """Call the work off: nobody will come for its result."""
        self._scope.cancel()


class PendingRequests:
    """Calls that wait for their client to come back, by a token that nobody can guess."""

    def __init__(self, tasks: TaskGroup) -> None:
        self.tasks = tasks
        self._held: dict[str, ClientRequest] = {}

    def keep(self, client_request: ClientRequest) -> str:
        """Keep a call; return the token for its retry."""
        while len(self._held) >= _MOST_SUSPENDED:
            self._held.pop(next(iter(self._held))).abandon()
        token = secrets.token_urlsafe(24)
        self._held[token] = client_request
        self.tasks.start_soon(self._expire, token)
        return token

    def take(self, token: str, context: ServerRequestContext[Any, Any]) -> ClientRequest | None:
        """Return the call that a retry belongs to; None if there is none, or it is another request."""
        client_request = self._held.get(token)
        retried = _binding(client_name(context), context.method, context.params or {})
        if client_request is None or client_request.binding != retried:
            return None
        return self._held.pop(token)

    async def _expire(self, token: str) -> None:
        await anyio.sleep(ANSWER_SECONDS)
        if (client_request := self._held.pop(token, None)) is not None:
            client_request.abandon()


def _binding(client: str, method: str, params: Mapping[str, Any]) -> str:
    """Return what a retry must repeat: its client, and all but its answers, its state and its envelope."""
    left_out = {"_meta", "inputResponses", "requestState"}
    same = {key: value for key, value in params.items() if key not in left_out}
    try:
        return json_text.digest([client, method, same])
    except ValueError:
        return secrets.token_hex()
