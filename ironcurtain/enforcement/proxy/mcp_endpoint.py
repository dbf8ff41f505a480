"""The client's side: one low-level MCP server whose every handler goes through enforcement or a list."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib.metadata import version
from typing import Any, TypeVar, cast, get_args

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.caching import CacheHint
from mcp.server.context import CallNext, HandlerResult
from mcp.server.subscriptions import ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.calls.destination import Destination, NoAnswerError, OwnProcess, ServerResult
from ironcurtain.enforcement.calls.enforce import Enforcer
from ironcurtain.enforcement.calls.refusal import RefusedError, error_result
from ironcurtain.enforcement.proxy.forwarding import server_requests
from ironcurtain.enforcement.proxy.forwarding.server_requests import (
    CompletionRequest,
    PromptGet,
    ResourceRead,
    ServerRequest,
    ToolCall,
)
from ironcurtain.enforcement.proxy.forwarding.to_server import ToServer, passed_meta, written_arguments
from ironcurtain.enforcement.proxy.listing import Listing, Told
from ironcurtain.enforcement.proxy.transport.client_requests import ClientRequest, PendingRequests
from ironcurtain.enforcement.proxy.transport.clients import Clients
from ironcurtain.enforcement.proxy.transport.direct_calls import DirectCalls
from ironcurtain.enforcement.proxy.upstream.tool_inventory import ToolInventory
from ironcurtain.enforcement.proxy.upstream.upstream_manager import UpstreamManager
from ironcurtain.servers.tool_lists.listed_tool import PROMPTS, RESOURCES, TEMPLATES, TOOLS
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace
from ironcurtain.system.text import quoted

Context = ServerRequestContext[Any, Any]
T = TypeVar("T")

_UNCACHED = CacheHint(ttl_ms=0, scope="private")


class McpEndpoint:
    """The handlers of the one MCP endpoint, for all servers and both eras.

    Attributes:
        direct: Takes calls of the client over stdio, beside the server.
    """

    def __init__(
        self,
        manager: UpstreamManager,
        listing: Listing,
        enforcer: Enforcer,
        clients: Clients,
        held: PendingRequests,
    ) -> None:
        self._manager, self._listing, self._enforcer = manager, listing, enforcer
        self._clients, self._held = clients, held
        self._listen = ListenHandler(clients.bus)
        self.direct = DirectCalls(self._call)
        self._lists: dict[str, tuple[str, Callable[[Context], Awaitable[list[Told]]]]] = {
            TOOLS.method: (TOOLS.member, self._tools),
            PROMPTS.method: (PROMPTS.member, self._prompts),
            RESOURCES.method: (RESOURCES.member, self._resources),
            TEMPLATES.method: (TEMPLATES.member, self._templates),
        }

    def server(self) -> Server[Any]:
        """Return the server to run over a transport."""
        made: Server[Any] = Server(
            "ironcurtain",
            version=version("ironcurtain"),
            cache_hints={"resources/read": _UNCACHED},
            on_list_tools=_empty(types.ListToolsResult(tools=[])),
            on_call_tool=self._call_tool,  # type: ignore[arg-type] # results pass through as they came
            on_list_prompts=_empty(types.ListPromptsResult(prompts=[])),
            on_get_prompt=self._get_prompt,  # type: ignore[arg-type]
            on_list_resources=_empty(types.ListResourcesResult(resources=[])),
            on_list_resource_templates=_empty(types.ListResourceTemplatesResult(resource_templates=[])),
            on_read_resource=self._read_resource,  # type: ignore[arg-type]
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_subscriptions_listen=self._listening,
            on_completion=self._complete,  # type: ignore[arg-type]
            on_set_logging_level=self._set_level,
            on_roots_list_changed=self._roots_changed,
        )
        made.add_request_handler("server/discover", types.RequestParams, self._discover)
        # The SDK's own tracing would hold what spans of ours leave out.
        made.middleware[:] = [self._arrive]
        return made

    # -- arriving -------------------------------------------------------------------------------

    async def _arrive(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Start the servers with the first client, and tell it what they can do."""
        if ctx.method == "initialize":
            self._clients.expect()
            declared = (ctx.params or {}).get("capabilities")
            self._manager.start(types.ClientCapabilities.model_validate(declared or {}))
            await self._manager.greet()
            result = await call_next(ctx)
            assert isinstance(result, dict)  # noqa: S101 - the SDK's own handler
            self._clients.arrived(ctx)
            offered = self._capabilities(modern=False).model_dump(
                by_alias=True, mode="json", exclude_none=True
            )
            return {**result, "capabilities": offered, **self._instructions()}
        if ctx.protocol_version in MODERN_PROTOCOL_VERSIONS and ctx.request_id is not None:
            self._manager.start(ctx.session.client_capabilities)
            level = (ctx.meta or {}).get(types.LOG_LEVEL_META_KEY)
            if level in get_args(types.LoggingLevel):
                await self._want_logs(cast("types.LoggingLevel", level))
        result = await call_next(ctx)
        if ctx.method in self._lists:
            # The SDK takes what the protocol does not know out of what handlers return.
            assert isinstance(result, dict)  # noqa: S101 - the SDK's own serialization
            member, entries = self._lists[ctx.method]
            return {**result, member: await entries(ctx)}
        if ctx.method == "notifications/initialized":
            self._clients.arrived(ctx).ready.set()
            self.direct.follow(ctx.session)
        return result

    async def _discover(self, context: Context, _: types.RequestParams) -> types.DiscoverResult:
        await self._manager.greet()
        return types.DiscoverResult(
            supported_versions=list(MODERN_PROTOCOL_VERSIONS),
            capabilities=self._capabilities(modern=context.protocol_version in MODERN_PROTOCOL_VERSIONS),
            instructions=self._instructions().get("instructions"),
        )

    def _capabilities(self, *, modern: bool) -> types.ServerCapabilities:
        """Return what any server can do; one that is down may be able to do anything that is not pinned."""
        known = {name: upstream.capabilities for name, upstream in self._manager.upstreams.items()}

        def some(what: str) -> bool:
            may = self._manager.withheld.may_have
            return any(
                may(name, what) if each is None else getattr(each, what) is not None
                for name, each in known.items()
            )

        return types.ServerCapabilities(
            tools=types.ToolsCapability(list_changed=True),
            prompts=types.PromptsCapability(list_changed=True) if some("prompts") else None,
            resources=types.ResourcesCapability(subscribe=True, list_changed=True)
            if some("resources")
            else None,
            completions=types.CompletionsCapability() if some("completions") else None,
            logging=types.LoggingCapability() if some("logging") or modern else None,
        )

    def _instructions(self) -> dict[str, str]:
        """Return the servers' own instructions that are what was annotated, each under its server's name."""
        withheld = self._manager.withheld
        said = {
            name: withheld.instructions(name, upstream.instructions)
            if upstream.instructions is not None
            else withheld.recalled_instructions(name)
            for name, upstream in self._manager.upstreams.items()
        }
        text = "\n\n".join(f"[{name}] {words}" for name, words in said.items() if words)
        return {"instructions": text} if text else {}

    # -- lists ----------------------------------------------------------------------------------

    async def _tools(self, context: Context) -> list[Told]:
        return await self._listing.tools(self._enforcer.principal_of(ClientRequest(context)))

    async def _prompts(self, _context: Context) -> list[Told]:
        return await self._listing.prompts()

    async def _resources(self, _context: Context) -> list[Told]:
        return await self._listing.resources()

    async def _templates(self, _context: Context) -> list[Told]:
        return await self._listing.templates()

    # -- what is decided ------------------------------------------------------------------------

    async def _call_tool(self, context: Context, params: types.CallToolRequestParams) -> ServerResult:
        arguments = await written_arguments(context, params.arguments)
        return await self._call(context, params.name, arguments, params)

    async def _call(
        self,
        context: Context,
        name: str,
        arguments: JsonValue | bytes,
        params: types.CallToolRequestParams | None = None,
    ) -> ServerResult:
        server, tool = self._manager.tool_of(name)
        upstream = self._manager.upstreams.get(server)
        digest = await upstream.digest_of(tool) if upstream is not None else None
        listing = (upstream.inventory or ToolInventory()).listings.get(tool) if upstream is not None else None
        call = Call(server, tool, arguments, live_digest=digest, live_listing=listing)
        try:
            result = await self._enforce(context, params, ToolCall(call))
        except RefusedError as refused:
            result = error_result(refused.view.text)
        except NoAnswerError as error:
            result = error_result(f"The server {quoted(server)} of this tool gave no answer: {error.reason}.")
        return _for_era(context, result)

    async def _read_resource(self, context: Context, params: types.ReadResourceRequestParams) -> ServerResult:
        call = server_requests.read_resource(await self._owner(str(params.uri)), str(params.uri))
        return await self._reserved(context, params, ResourceRead(call))

    async def _get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> ServerResult:
        server, name = await self._prompt(params.name)
        call = server_requests.get_prompt(server, name, params.arguments)
        return await self._reserved(context, params, PromptGet(call))

    async def _complete(self, context: Context, params: types.CompleteRequestParams) -> ServerResult:
        if isinstance(params.ref, types.PromptReference):
            server, name = await self._prompt(params.ref.name)
            params = params.model_copy(update={"ref": params.ref.model_copy(update={"name": name})})
        else:
            server = await self._owner(params.ref.uri)
        return await self._reserved(
            context, params, CompletionRequest(server_requests.complete(server, params))
        )

    async def _reserved(self, context: Context, params: Any, request: ServerRequest) -> ServerResult:  # noqa: ANN401
        """Decide what is no tool call and send it on; what is refused is an error of the protocol."""
        await self._manager.tried(request.call.server)
        try:
            return _for_era(context, await self._enforce(context, params, request))
        except RefusedError as refused:
            raise MCPError(types.INVALID_REQUEST, refused.view.text) from None
        except NoAnswerError as error:
            raise MCPError(types.INTERNAL_ERROR, f"server {request.call.server}: {error.reason}") from None

    async def _enforce(
        self,
        context: Context,
        params: Any,  # noqa: ANN401 - the params of any request that can be asked back about
        request: ServerRequest,
    ) -> ServerResult:
        """Decide a request and send it on; or go on with one that its client brings answers for."""
        state = getattr(params, "request_state", None)
        if state is not None:
            client_request = self._held.take(state, context)
            if client_request is None:
                raise MCPError(types.INVALID_PARAMS, "This request is not, or no longer, being waited for.")
            return await client_request.resume(context, params.input_responses or {}, self._held)
        meta = passed_meta(context.meta, self._manager.passes.get(request.call.server, ()))
        if meta:
            request = replace(request, call=replace(request.call, meta=meta))
        call = request.call
        is_filtered = self._enforcer.holds_back(call.server, call.tool)
        client_request = ClientRequest(context, meta, is_filtered=is_filtered)
        destination = ToServer(self._manager, self._clients, request, client_request)
        return await client_request.answer(
            partial(self._enforcer.enforce, call, destination, client_request), self._held
        )

    async def _owner(self, uri: str) -> str:
        owner = await self._listing.owner(uri)
        if owner is None:
            raise MCPError(types.INVALID_PARAMS, f"No server has the resource {quoted(uri)}.")
        return owner

    async def _prompt(self, name: str) -> tuple[str, str]:
        server, own = self._manager.prompt_of(name)
        if not server or await self._listing.hides_prompt(server, own):
            raise MCPError(types.INVALID_PARAMS, f"There is no prompt {quoted(name)}.")
        return server, own

    # -- subscriptions, logs, roots -------------------------------------------------------------

    async def _may_watch(self, context: Context, uri: str) -> str:
        """Return the server of a resource whose changes may be told: to be told of them is to read it.

        Raises:
            MCPError: If the policy does not let it be read.
        """
        call = server_requests.read_resource(await self._owner(uri), uri)
        try:
            await self._enforcer.enforce(call, _Unsent(uri), ClientRequest(context))
        except RefusedError as refused:
            raise MCPError(types.INVALID_REQUEST, refused.view.text) from None
        except NoAnswerError as error:
            raise MCPError(types.INVALID_REQUEST, f"server {call.server}: {error.reason}") from None
        return call.server

    async def _subscribe(self, context: Context, params: types.SubscribeRequestParams) -> types.EmptyResult:
        uri = str(params.uri)
        server = await self._may_watch(context, uri)
        await self._watch(server, uri, wanted=True)
        self._clients.arrived(context).subscribed.add(uri)
        return types.EmptyResult()

    async def _unsubscribe(
        self, context: Context, params: types.UnsubscribeRequestParams
    ) -> types.EmptyResult:
        uri = str(params.uri)
        subscribed = self._clients.arrived(context).subscribed
        if uri in subscribed:  # whatever else a client writes is not the server's to read
            subscribed.discard(uri)
            await self._watch(await self._owner(uri), uri, wanted=False)
        return types.EmptyResult()

    async def _listening(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        """Serve a stream of changes; resources that may not be read are not in it."""
        watched: list[str] = []
        for uri in params.notifications.resource_subscriptions or ():
            try:
                await self._watch(await self._may_watch(context, uri), uri, wanted=True)
                watched.append(uri)
            except MCPError:
                continue
        kept = params.notifications.model_copy(update={"resource_subscriptions": watched or None})
        return await self._listen(context, params.model_copy(update={"notifications": kept}))

    async def _watch(self, server: str, uri: str, *, wanted: bool) -> None:
        try:
            await self._manager.upstreams[server].subscribe(uri, wanted=wanted)
        except NoAnswerError as error:
            raise MCPError(types.INTERNAL_ERROR, f"server {server}: {error.reason}") from None

    async def _set_level(self, _context: Context, params: types.SetLevelRequestParams) -> types.EmptyResult:
        await self._want_logs(params.level)
        return types.EmptyResult()

    async def _want_logs(self, level: types.LoggingLevel) -> None:
        for name, upstream in self._manager.upstreams.items():
            try:
                await upstream.set_log_level(level)
            except (NoAnswerError, MCPError) as error:
                self._manager.say(
                    f"server {name}: it cannot be asked for log messages ({type(error).__name__})"
                )

    async def _roots_changed(self, _context: Context, _params: object) -> None:
        for upstream in self._manager.upstreams.values():
            await upstream.notify_roots_changed()


class _Unsent(Destination):
    """Nowhere: whether a resource may be read is decided, and the server gets the URI as it was written."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    async def send(
        self, arguments: Mapping[str, JsonValue], own_process: OwnProcess | None = None
    ) -> ServerResult:
        if (judged := server_requests.resource_uri(arguments)) != self._uri:
            raise NoAnswerError(f"changes are told of under the URI {quoted(judged)}: subscribe to that")
        if own_process is not None:
            raise NoAnswerError("the server that runs does not see it, so nobody can be told of its changes")
        return {}


def _empty(result: T) -> Callable[[Context, Any], Awaitable[T]]:
    """Return a handler of a list, whose entries are put in where nothing is taken out of them any more."""

    async def handle(_context: Context, _params: object) -> T:
        return result

    return handle


def _for_era(context: Context, result: ServerResult) -> ServerResult:
    """Say that a result is one, where the client's era wants it said and the server's did not."""
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        return {"resultType": "complete", **result}
    return result
