"""Reading the tool list of one server without the SDK, whose loading takes longer than most servers' start.

    async with open_session(process, on_words, on_end) as session:
        server = await session.list_server()

It speaks both eras as the SDK's client does: `server/discover` first, and the handshake with whoever does not
know that. Beside instructions, tools and prompts it wants nothing: whatever a server asks meanwhile, but for
its roots, is refused, and whatever else it tells is passed over.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import from_json, to_json

from ironcurtain.servers.server_pipes import ServerPipes, open_pipes
from ironcurtain.servers.server_process import ServerProcess
from ironcurtain.servers.tool_lists.listed_tool import PROMPTS, TOOLS, read_entries, read_tools
from ironcurtain.servers.tool_lists.pages import read_pages
from ironcurtain.servers.tools import ListedServer, ToldBeside
from ironcurtain.system.frozen import JsonValue


class _Answer(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, frozen=True, extra="ignore", defer_build=True)


class _Capabilities(_Answer):
    experimental: dict[str, dict[str, Any]] | None = None
    logging: dict[str, Any] | None = None
    prompts: dict[str, Any] | None = None
    resources: dict[str, Any] | None = None
    tools: dict[str, Any] | None = None
    completions: dict[str, Any] | None = None
    extensions: dict[str, dict[str, Any]] | None = None
    tasks: dict[str, Any] | None = None


class _Implementation(_Answer):
    name: str
    version: str


class Greeting(_Answer):
    """The answer to `initialize`."""

    protocol_version: str
    capabilities: _Capabilities
    server_info: _Implementation
    instructions: str | None = None


class Discovered(_Answer):
    """The answer to `server/discover`."""

    supported_versions: list[str]
    capabilities: _Capabilities
    instructions: str | None = None


US = {"name": "ironcurtain", "version": "1"}
"""What servers are told of who connects."""

STATELESS = ("2026-07-28",)
HANDSHAKE = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The protocol's versions by era, oldest first."""

_DISCOVERY_SECONDS = 10.0
_LONGEST_NUMBER = 18
_MAX_SAID = 300
_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError)
_UNSUPPORTED_VERSION = -32022
_METHOD_NOT_FOUND = -32601
_META = "io.modelcontextprotocol/"


_CAPABILITIES: Final = {
    "roots": {"listChanged": True},
    "sampling": {},
    "elicitation": {"form": {}, "url": {}},
}
"""What a server is told that its client can do: all that the proxy may tell, since some list tools for it."""


class ServerAnswerError(Exception):
    """A server's own error, or that it gave no answer.

    Attributes:
        code: The error's number; None where there was no answer.
        supported: The versions of the protocol that it says it speaks; None where it does not say.
    """

    def __init__(self, method: str, error: Mapping[str, Any] | None) -> None:
        """Take the method that was asked for, and the member `error` of the answer; None where none came."""
        if error is None:
            super().__init__(f"it closed the connection before it answered {method}")
        else:
            super().__init__(f"it answered {method} with an error: {error['message'][:_MAX_SAID]}")
        self.code = error["code"] if error is not None else None
        data = error.get("data") if error is not None else None
        supported = data.get("supported") if isinstance(data, dict) else None
        self.supported: list[Any] | None = supported if isinstance(supported, list) else None

    @property
    def rules_handshake_out(self) -> bool:
        """Whether it names the versions that it speaks, and none of them begins with a handshake."""
        named = self.supported if self.code == _UNSUPPORTED_VERSION else None
        return named is not None and not any(version in named for version in HANDSHAKE)


@asynccontextmanager
async def open_session(
    process: ServerProcess,
    on_words: Callable[[str], None],
    on_end: Callable[[str], None],
    discovery_seconds: float = _DISCOVERY_SECONDS,
    roots: Sequence[Mapping[str, JsonValue]] = (),
) -> AsyncIterator[ToolListSession]:
    """Yield the session with a started server; then end the server.

    Args:
        process: The server.
        on_words: Told each line of the server's standard error, safe to show.
        on_end: Told, once, that nothing more comes from the server, and why.
        discovery_seconds: A server that answers `server/discover` no sooner is greeted with a handshake.
        roots: Its client's roots, as the protocol writes them.
    """
    session = ToolListSession(process, on_words, on_end, discovery_seconds, roots)
    async with open_pipes(session, process):
        yield session


class ToolListSession(ServerPipes[dict[str, Any]]):
    """A session with one server, for its tool list."""

    def __init__(
        self,
        server: ServerProcess,
        on_words: Callable[[str], None],
        on_end: Callable[[str], None],
        discovery_seconds: float,
        roots: Sequence[Mapping[str, JsonValue]],
    ) -> None:
        self._noise: list[str] = []
        super().__init__(server, on_words, on_end, self._noise.append)
        self._discovery_seconds, self._roots = discovery_seconds, [*roots]
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._is_over = False
        self._envelope: dict[str, Any] = {}

    async def list_server(self) -> ListedServer:
        """Agree on a protocol and return what the server tells: its instructions, tools and prompts.

        Raises:
            ServerAnswerError: The server's own error; that it has ended.
            ValueError: If its answer is none of the protocol.
        """
        answer = await self._agree()
        listed, cut = await read_pages(TOOLS, self._page)
        tools, problems = read_tools(listed, of_handshake=not self._envelope)
        prompts: tuple[dict[str, JsonValue], ...] = ()
        if answer.capabilities.prompts is not None:
            prompts, more = await self._prompts()
            problems += more
        beside = ToldBeside(instructions=answer.instructions or "", prompts=prompts)
        return ListedServer(tools, beside, (*self._noise, *cut, *problems))

    async def _prompts(self) -> tuple[tuple[dict[str, JsonValue], ...], tuple[str, ...]]:
        """Return the server's prompts; none where it does not list them in time: no client gets them then."""
        try:
            async with asyncio.timeout(self._discovery_seconds):
                listed, cut = await read_pages(PROMPTS, self._page)
        except (ServerAnswerError, TimeoutError, ValueError):
            return (), ()
        prompts, problems = read_entries(PROMPTS, listed)
        return prompts, cut + problems

    async def _page(self, method: str, params: Mapping[str, JsonValue]) -> dict[str, Any]:
        return await self._ask(method, {**params, **self._envelope})

    # -- which protocol -------------------------------------------------------------------------

    async def _agree(self) -> Discovered | Greeting:
        """Agree on a version of the protocol: a stateless one if the server has it, else by a handshake."""
        found = await self._discovered()
        if found is not None:
            return found
        try:
            return await self._shake_hands()
        except ServerAnswerError as error:
            # It took our question for a greeting after all, as one that was still starting may.
            found = await self._discovered() if error.code == _UNSUPPORTED_VERSION else None
            if found is None:
                raise
            return found

    async def _discovered(self) -> Discovered | None:
        """Ask for the stateless protocol; return the answer of a server that speaks it."""
        version = STATELESS[-1]
        envelope = {
            f"{_META}protocolVersion": version,
            f"{_META}clientInfo": US,
            f"{_META}clientCapabilities": _CAPABILITIES,
        }
        try:
            async with asyncio.timeout(self._discovery_seconds):
                found = await self._ask("server/discover", {"_meta": envelope})
        except TimeoutError:
            return None
        except ServerAnswerError as error:
            if error.rules_handshake_out or self._is_over:
                raise
            return None
        try:
            answer = Discovered.model_validate(found)
        except ValidationError:
            return None
        if version not in answer.supported_versions:
            return None
        self._envelope = {"_meta": envelope}
        return answer

    async def _shake_hands(self) -> Greeting:
        greeting = {
            "protocolVersion": HANDSHAKE[-1],
            "capabilities": _CAPABILITIES,
            "clientInfo": US,
        }
        answer = Greeting.model_validate(await self._ask("initialize", greeting))
        if answer.protocol_version not in HANDSHAKE:
            raise ValueError(f"Unsupported protocol version from the server: {answer.protocol_version}")
        await self._tell({"method": "notifications/initialized"})
        return answer

    # -- messages -------------------------------------------------------------------------------

    async def _ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request and return its result.

        Raises:
            ServerAnswerError: The server's own error; that it has ended.
        """
        if self._is_over:
            raise ServerAnswerError(method, None)
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._tell({"id": number, "method": method, **({"params": params} if params else {})})
            message = await answer
        except _GONE:
            raise ServerAnswerError(method, None) from None
        finally:
            del self._waiting[number]
        if "error" in message:
            raise ServerAnswerError(method, message["error"])
        result: dict[str, Any] = message["result"]
        return result

    async def _tell(self, message: Mapping[str, Any]) -> None:
        await self.write(to_json({"jsonrpc": "2.0", **message}) + b"\n")

    def parse(self, line: bytes) -> tuple[dict[str, Any] | None, str]:
        """Return a line's message, as its base says."""
        try:
            message = _message(from_json(line))
        except ValueError:
            message = None
        if message is None:
            return None, self.garbage(line)
        return message, self.unasked(len(line)) if "method" in message else ""

    async def hand_on(self, message: dict[str, Any]) -> bool:
        """Take an answer to whoever waits for it, and refuse a request."""
        waiting = self._waiting.get(_number(message.get("id")))
        if "method" in message:
            await self._answer(message)
        elif waiting is not None and not waiting.done():
            waiting.set_result(message)
        await asyncio.sleep(0)  # however much it writes, the others get their turns
        return True

    async def _answer(self, request: Mapping[str, Any]) -> None:
        """Answer what a server asks of its client: that we are there, its roots, and nothing else.

        One that does not read what it is told gets no more of it: its list must not wait for that.
        """
        if "id" not in request or self.is_behind:
            return
        refusal = {"code": _METHOD_NOT_FOUND, "message": "Method not found"}
        answers = {"ping": {}, "roots/list": {"roots": self._roots}}
        known = answers.get(request["method"])
        outcome = {"error": refusal} if known is None else {"result": known}
        try:
            await self._tell({"id": request["id"], **outcome})
        except _GONE:
            return  # whatever it still says is read

    def no_more(self) -> None:
        """Let whoever waits for an answer wait no longer."""
        self._is_over = True
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(anyio.ClosedResourceError())


def _message(parsed: object) -> dict[str, Any] | None:
    """Return the message that parsed JSON is: an error, a request or notification, or a result."""
    if not isinstance(parsed, dict) or parsed.get("jsonrpc") != "2.0":
        return None
    id_, method, error = parsed.get("id"), parsed.get("method"), parsed.get("error")
    has_id = type(id_) is int or isinstance(id_, str)
    if isinstance(error, dict) and type(error.get("code")) is int and isinstance(error.get("message"), str):
        return {"id": id_, "error": error} if has_id or id_ is None else None
    if isinstance(method, str) and isinstance(parsed.get("params"), dict | None):
        return {"id": id_, "method": method} if has_id else {"method": method}
    return (
        {"id": id_, "result": parsed["result"]} if has_id and isinstance(parsed.get("result"), dict) else None
    )


def _number(id_: object) -> int:
    """Return the number of a request that an id is, which may come back as a text; 0 for every other."""
    if type(id_) is int:
        return id_
    try:
        return int(id_) if isinstance(id_, str) and len(id_) <= _LONGEST_NUMBER else 0
    except ValueError:
        return 0
