"""What a session opens, in order; closed in the opposite order, whatever runs.

    async with create_session(settings, workspace=workspace, model="anthropic:…") as session:
        answer = await session.send("Tidy the Downloads folder")

`create_session` is the only way to get a session.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.server import Server

from ironcurtain.enforcement.approvals.approvers import Approvers
from ironcurtain.enforcement.approvals.inbox import ApprovalInbox
from ironcurtain.enforcement.approvals.places import default_paths
from ironcurtain.enforcement.facts.totals.store_place import StorePlace
from ironcurtain.enforcement.facts.user.words import UserWords
from ironcurtain.enforcement.proxy.configuration import places_that_run
from ironcurtain.enforcement.proxy.options import InProcessClient, ProxyOptions, own_places
from ironcurtain.enforcement.proxy.runner import run_in_process
from ironcurtain.errors import SessionError, UsageError
from ironcurtain.policy import Policy
from ironcurtain.session.directory import LOG, SessionDirectory, new_record
from ironcurtain.session.events import EventListener, Listeners
from ironcurtain.session.history import UNKNOWN, completed
from ironcurtain.session.limits import NO_LIMITS, TURN, Budget, Limits
from ironcurtain.session.log import session_log
from ironcurtain.session.model import SessionModel, open_model
from ironcurtain.session.record import SessionRecord
from ironcurtain.session.rules import SessionRules
from ironcurtain.session.session import Parts, Session
from ironcurtain.session.toolset import EnforcedToolset, LastDecision
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import visible

_MOST_SAID = 1_000


class SessionSettings(Struct):
    """What a session is enforced by and limited to.

    Attributes:
        bundle: Bundle directory or `.tar.gz`.
        servers: `mcp-servers.json`.
        home: The home directory (default: the user's).
        protected: Paths that no tool may touch, beside those that `Policy.load` names.
        expect_revision, verify_key, min_serial: Which bundle is the right one, as for `Policy.load`.
        opa, engine, engine_ca, engine_token_file: Who decides, as for `Policy.load`.
        approvers: The people behind the names that rules use; `user` is whose account this is.
        caller: Facts about whom the agent acts for.
        attended: Whether anybody can be asked; without, what the policy escalates is refused at once.
        seconds: Seconds that a person has to answer; the call waits for as long.
        state: Where totals of callers are kept; None for a file of the user's own.
        turn: The most that a turn may use.
        whole: The most that the session may use, with what it used before it was resumed.
    """

    bundle: Path
    servers: Path
    home: Path | None = None
    protected: tuple[Path, ...] = ()
    expect_revision: str | None = None
    verify_key: Path | None = None
    min_serial: int | None = None
    opa: Path | None = None
    engine: tuple[str, ...] = ()
    engine_ca: Path | None = None
    engine_token_file: Path | None = None
    approvers: Approvers = field(default_factory=partial(Approvers.parse, (), has_own_user=True))
    caller: Mapping[str, JsonValue] = field(default_factory=dict)
    attended: bool = True
    seconds: float = 600.0
    state: StorePlace | None = None
    turn: Limits = TURN
    whole: Limits = NO_LIMITS

    @property
    def trusted(self) -> dict[str, Path]:
        """The files that nobody else may be able to change, by what they are."""
        named = {
            "the key that the signature is checked with": self.verify_key,
            "the certificates that engines are known by": self.engine_ca,
            "the engine's token": self.engine_token_file,
            **self.approvers.files,
        }
        return {what: path for what, path in named.items() if path is not None}


def _nothing(_: str) -> None:
    pass


@asynccontextmanager
async def create_session(
    settings: SessionSettings,
    *,
    workspace: Path | None,
    model: str,
    resume: str | None = None,
    listeners: Sequence[EventListener] = (),
    say: Callable[[str], None] = _nothing,
) -> AsyncIterator[Session]:
    """Yield a session that is ready; when the block is left, servers and engine have ended.

    Args:
        settings: What it is enforced by and limited to.
        workspace: The agent's working directory; what lies in it needs no rule (specification 2.5).
        model: `anthropic:ID`, `openai:ID`, `google:ID`, or the id of an Anthropic model.
        resume: The id of a session that is to go on.
        listeners: Are told of every event.
        say: Is told what the proxy tells the person who starts it.

    Raises:
        UsageError: If the model or the session is not known, the workspace holds the policy, or a cost is
            limited that nobody knows.
        SessionError: If the session to resume was begun under another policy, in another workspace, or for
            another caller.
        BusyError: If another process has the session open.
        IronCurtainError: If something else that is needed cannot be had; then nothing was started.
    """
    opened = open_model(model)
    _check_cost(settings, opened)
    _check_workspace(settings, workspace)
    policy = await asyncio.to_thread(_load, settings, workspace)
    hearing, recorded, said = Listeners(listeners), LastDecision(), deque[str](maxlen=_MOST_SAID)

    def tell(sentence: str) -> None:
        said.append(sentence)
        say(sentence)

    async with AsyncExitStack() as stack:
        stack.push_async_callback(opened.client.aclose)
        begun = partial(new_record, opened.name, policy.revision, workspace, settings.caller)
        directory = stack.enter_context(_directory(resume, begun))
        _check_used(settings, directory.record)
        directory.keep(completed(directory.messages, UNKNOWN))
        stack.enter_context(session_log(directory.path / LOG, directory.record.id, opened.access.secret))
        options = _options(settings, workspace, directory.record.id)
        words = UserWords(policy.loaded.deployment.home, directory.words)
        in_process = partial(InProcessClient, records=recorded, asked=hearing.asked, words=words)
        client = await stack.enter_async_context(_enforced(options, in_process, tell))
        parts = Parts(
            opened,
            EnforcedToolset(client, policy.loaded.content, recorded, hearing.tell),
            directory,
            words,
            partial(ApprovalInbox.open, *default_paths()),
            _rules(settings, policy, workspace),
            said,
            partial(Budget, "turn", settings.turn),
            Budget("session", settings.whole),
        )
        session = Session(parts, hearing)
        stack.callback(session.close)
        yield session


def _rules(settings: SessionSettings, policy: Policy, workspace: Path | None) -> SessionRules:
    limits = (settings.turn, settings.whole)
    return SessionRules(policy.loaded.content, workspace, settings.attended, settings.seconds, limits)


@asynccontextmanager
async def _enforced(
    options: ProxyOptions,
    in_process: Callable[[Callable[[Server[Any]], Awaitable[None]]], InProcessClient],
    say: Callable[[str], None],
) -> AsyncIterator[Client]:
    """Yield a client of the proxy's endpoint; the proxy is a task of this event loop."""
    clients: asyncio.Queue[Client] = asyncio.Queue()
    over, starting = asyncio.Event(), anyio.CancelScope()

    async def use(endpoint: Server[Any]) -> None:
        async with Client(endpoint) as client:
            clients.put_nowait(client)
            await over.wait()

    async def serve() -> None:
        with starting:
            await run_in_process(options, in_process(use), say)

    serving = asyncio.create_task(serve())
    getting = asyncio.create_task(clients.get())
    try:
        await asyncio.wait((serving, getting), return_when=asyncio.FIRST_COMPLETED)
        if not getting.done():
            _raise_first(serving)
        yield getting.result()
    finally:
        if not getting.done():  # whoever is interrupted does not wait for what starts
            starting.cancel()
        getting.cancel()
        over.set()
        await asyncio.wait((serving,))
    _raise_first(serving)


def _raise_first(serving: asyncio.Task[None]) -> None:
    """Raise what ended the proxy; of several errors at once the first one of ours is told."""
    error = serving.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is not None:
        raise error


@contextmanager
def _directory(resume: str | None, new: Callable[[], SessionRecord]) -> Iterator[SessionDirectory]:
    directory = SessionDirectory.create(new()) if resume is None else SessionDirectory.resume(resume)
    try:
        _check_same(directory.record, new())
        yield directory
    finally:
        directory.close()


def _check_same(record: SessionRecord, new: SessionRecord) -> None:
    """Check that a session goes on as it began.

    Its conversation is about its policy and its workspace, and the words in it are its caller's.

    Raises:
        SessionError: If policy, workspace or caller differ.
    """
    if record.revision != new.revision:
        raise SessionError(
            f"the session {record.id} was begun under the policy {record.revision}, not {new.revision}",
            hint="Resume it with that policy, or begin a new session.",
        )
    if record.caller != new.caller:
        raise SessionError(
            f"the session {record.id} was begun for another caller",
            hint="Resume it with the same --caller, or begin a new session.",
        )
    begun, now = record.workspace, new.workspace
    if begun == now:
        return
    was = f"works in {visible(begun)}" if begun is not None else "has no workspace"
    raise SessionError(
        f"the session {record.id} {was}" + (f", not in {visible(now)}" if now is not None else ""),
        hint=f"Add --sandbox {visible(begun)}." if begun is not None else "Leave --sandbox away.",
    )


def _load(settings: SessionSettings, workspace: Path | None, *, late: bool = False) -> Policy:
    """Load the policy, with all that we run and are configured by protected."""
    inside = str(workspace) if workspace is not None else None
    kept = [*own_places(), *(settings.state.files if settings.state is not None else ())]
    return Policy.load(
        settings.bundle,
        sandbox=workspace,
        home=settings.home,
        protected=[*settings.protected, *kept, *places_that_run(inside), *settings.trusted.values()],
        servers=settings.servers,
        expect_revision=settings.expect_revision,
        verify_key=settings.verify_key,
        min_serial=settings.min_serial,
        opa=settings.opa,
        engine=settings.engine,
        engine_ca=settings.engine_ca,
        engine_token_file=settings.engine_token_file,
        late=late,
    )


def _options(settings: SessionSettings, workspace: Path | None, session: str) -> ProxyOptions:
    return ProxyOptions(
        load=partial(_load, settings, workspace),
        bundle=settings.bundle,
        servers=settings.servers,
        files=settings.trusted,
        session=session,
        patience=settings.seconds,
        seconds=settings.seconds,
        approver=settings.attended,
        approvers=settings.approvers,
        caller=settings.caller,
        state=settings.state,
    )


def _check_cost(settings: SessionSettings, model: SessionModel) -> None:
    """See that a limited cost is one that can be known.

    Raises:
        UsageError: If it is not.
    """
    if model.price is None and (settings.turn.cost, settings.whole.cost) != (None, None):
        raise UsageError(
            f"nobody knows the price of {visible(model.name)}, so its cost cannot be limited",
            hint="Write its price into config.json (`ironcurtain error models`), or limit tokens.",
        )


def _check_used(settings: SessionSettings, record: SessionRecord) -> None:
    """Check that a limit of the session's cost can be held against what it has cost.

    Raises:
        UsageError: If a part of it was used with a model whose price nobody knew.
    """
    if settings.whole.cost is not None and record.used.cost is None:
        raise UsageError(
            f"nobody knows what the session {record.id} has cost, so its cost cannot be limited",
            hint="Limit its tokens, or begin a new session.",
        )


def _check_workspace(settings: SessionSettings, workspace: Path | None) -> None:
    """See that the agent's working directory does not hold what decides about it.

    Raises:
        UsageError: If it does, or is no directory.
    """
    if workspace is None:
        return
    real = workspace.resolve()
    if not real.is_dir():
        raise UsageError(
            f"the workspace {visible(str(workspace))} is no directory", hint="Check the name, or make it."
        )
    for what, path in (("the bundle", settings.bundle), ("the servers' file", settings.servers)):
        if path.resolve().is_relative_to(real):
            raise UsageError(
                f"the workspace {visible(str(workspace))} holds {what}, {visible(str(path))}",
                hint="Everything in a workspace is the agent's; choose a directory without the project.",
            )
