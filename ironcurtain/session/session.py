"""A session: turns of a person, a model and tools, one after another.

    answer = await session.send("Tidy the Downloads folder")

A turn is one straight line: the person's words, then the model's answers with their calls until it asks for
none, each made durable before it has effects. Whatever ends a turn leaves a conversation that can go on.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from pydantic_ai import Agent
from pydantic_ai.exceptions import AgentRunError, ModelContextWindowExceededError
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    UserPromptPart,
)
from pydantic_ai.usage import UsageLimits

from ironcurtain.enforcement.approvals.inbox import ApprovalInbox, PersonAnswer, Recorded
from ironcurtain.enforcement.approvals.messages import ApprovalStatus, Scope
from ironcurtain.enforcement.facts.user.words import UserWords
from ironcurtain.errors import ModelFailedError, SessionError
from ironcurtain.session.directory import SessionDirectory
from ironcurtain.session.events import EventListener, Listeners, Note, TextPiece
from ironcurtain.session.history import CALLED_OFF, completed
from ironcurtain.session.limits import Budget, LimitReachedError, Used, first_out_of_time
from ironcurtain.session.model import SessionModel
from ironcurtain.session.rules import SessionRules
from ironcurtain.session.summary import summary
from ironcurtain.session.toolset import RETRIES, EnforcedToolset
from ironcurtain.session.turn import Turn, check_whole
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

# The limits are ours: they are told before they are reached, and end a turn, not the session.
_NO_LIMITS = UsageLimits(request_limit=None)

T = TypeVar("T")


class SessionPhase(StrEnum):
    """What a session is doing."""

    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    CLOSED = "closed"


class TurnOutcome(Struct):
    """How a turn ended.

    Attributes:
        text: The model's last words.
        finished: Whether the model ended the turn by itself.
        why: What ended it otherwise, as a sentence; empty where it finished.
    """

    text: str
    finished: bool
    why: str = ""


class Parts(Struct):
    """What a session works with; `create_session` opens it."""

    model: SessionModel
    toolset: EnforcedToolset
    directory: SessionDirectory
    words: UserWords
    inbox: Callable[[], ApprovalInbox | None]
    rules: SessionRules
    said: deque[str]
    turn: Callable[[], Budget]
    whole: Budget


class Session:
    """One session; `create_session` is the way to get one.

    Attributes:
        id: Its id, which is also the name of its audit log.
    """

    def __init__(self, parts: Parts, listeners: Listeners) -> None:
        self.id = parts.directory.record.id
        self._parts, self._listeners = parts, listeners
        self._history = list(parts.directory.messages)
        used = parts.directory.record.used
        self._used = used if parts.model.price is not None else used.model_copy(update={"cost": None})
        self._state = SessionPhase.READY
        self._turn: asyncio.Task[Any] | None = None
        self._cancelled, self._prompt = False, ""
        self._prompted: list[str] | None = None
        self._agent = Agent(
            parts.model.model,
            instructions=lambda: self._prompt,
            toolsets=[parts.toolset],
            retries={"tools": RETRIES},
        )

    @property
    def state(self) -> SessionPhase:
        """What it is doing; `waiting` where a call of the turn waits for a person."""
        if self._state is SessionPhase.RUNNING and self.pending:
            return SessionPhase.WAITING
        return self._state

    @property
    def path(self) -> Path:
        """Its directory."""
        return self._parts.directory.path

    @property
    def history(self) -> tuple[ModelMessage, ...]:
        """The conversation."""
        return tuple(self._history)

    @property
    def diagnostics(self) -> tuple[str, ...]:
        """What was said beside the turns, as sentences: which servers started, which did not, and why."""
        return tuple(self._parts.said)

    @property
    def usage(self) -> Used:
        """What the session's turns used, with those before it was resumed."""
        return self._used

    @property
    def pending(self) -> tuple[ApprovalStatus, ...]:
        """The calls of this session that wait for a person, the oldest first."""
        inbox = self._parts.inbox()
        if inbox is None:
            return ()
        with inbox:
            return tuple(
                status
                for status in inbox.statuses()
                if status.state == "pending"
                and status.request is not None
                and status.request.session == self.id
            )

    async def policy_lines(self) -> list[str]:
        """Return what this session may do, in ten lines."""
        parts = self._parts
        if not parts.toolset.names:
            await parts.toolset.refresh()
        workspace = parts.rules.workspace
        return [
            f"policy {parts.directory.record.revision}",
            f"model {parts.model.name}",
            f"workspace {workspace}: contained tools need no rule in it" if workspace else "no workspace",
            *parts.rules.lines(parts.toolset.names),
            "more: ironcurtain matrix shows what each tool may do where, ironcurtain explain one clause",
        ]

    def listen(self, listener: EventListener) -> None:
        """Have a listener told of every event from now on."""
        self._listeners.add(listener)

    async def resolve(
        self,
        request: str,
        *,
        approved: bool,
        scope: Scope = "once",
        until: datetime | None = None,
        reason: str = "",
    ) -> Recorded:
        """Answer a call that waits for a person.

        Args:
            request: The whole id of the approval request.
            approved: Whether it may happen.
            scope: `session` also approves calls of the shape that the request offers.
            until: When the scope `session` ends; None for the end of the session.
            reason: The person's words; they reach the agent.

        Returns:
            What became of the answer; only `recorded` counts.

        Raises:
            SessionError: If no call of this session waits under that id.
        """
        status = next((each for each in self.pending if each.id == request), None)
        inbox = self._parts.inbox()
        if status is None or status.request is None or inbox is None:
            raise SessionError(f"no call of this session waits as {visible(request) or 'no id'}")
        answer = PersonAnswer("approved" if approved else "denied", scope, reason, until=until)
        with inbox:
            return inbox.answer(status.request, answer)

    async def send(self, text: str) -> TurnOutcome:
        """Do a turn: give the model the person's words, and carry out what it asks for until it is done.

        Raises:
            SessionError: If a turn runs already, the session is closed, or the context window is full.
            ModelFailedError: If the model cannot be reached, or refuses; what was said stays in the history.
            OSError: If the conversation cannot be written.
        """
        with self._running():
            return await self._cancellable(self._run(text))

    def cancel(self) -> None:
        """End the running turn or summary; the history stays valid. Without one, nothing happens."""
        if self._turn is not None and not self._cancelled:
            self._cancelled = True
            self._turn.cancel()

    async def compact(self) -> None:
        """Replace the conversation by a summary that the model writes of it.

        Raises:
            SessionError: As `send`; or if a limit of the session is reached, or it was cancelled. The
                conversation is then as it was.
            ModelFailedError, OSError: As `send`.
        """
        with self._running():
            await self._cancellable(self._compact())

    def forget(self) -> None:
        """Begin a new conversation in the same session; what the user wrote before no longer counts.

        Raises:
            SessionError: If a turn runs, or the session is closed.
        """
        with self._running():
            self._parts.words.forget()
            self._parts.directory.forget_words()
            self._keep([])

    def close(self) -> None:
        """End what runs; nothing can be sent any more. `create_session` does the rest."""
        self.cancel()
        self._state = SessionPhase.CLOSED

    # -- one turn -------------------------------------------------------------------------------

    async def _run(self, text: str) -> TurnOutcome:
        directory = self._parts.directory
        self._keep(completed(self._history, CALLED_OFF))  # a disk that failed left a turn without its end
        directory.name_task(text)
        directory.keep_words(text)
        self._parts.words.add(text)
        turn = Turn(self._parts.turn(), self._parts.model.price)
        seconds, over = first_out_of_time(((turn.budget, 0.0), (self._parts.whole, self._used.seconds)))
        why, is_said = "", False
        try:
            async with asyncio.timeout(seconds) as clock, aclosing(self._steps(text, turn)) as steps:
                await self._learn_tools()
                async for messages in steps:
                    self._keep(messages)
                    is_said = True
                    if isinstance(messages[-1], ModelRequest):  # what is used is held against the limits
                        self._check(turn)
                        directory.begin()  # while the model is asked
                    else:  # before what it asks for is done
                        directory.keep_used(self._used + turn.used)
                        await directory.durable()
        except LimitReachedError as reached:
            why = str(reached)
        except TimeoutError:
            if not clock.expired():
                raise
            why = over
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            why = "The turn was cancelled."
        except AgentRunError as error:
            raise self._parts.model.failed(error) from error
        finally:
            self._turn = None  # what follows is not interrupted
            self._finish("" if is_said else text)
            self._book(turn)
        await directory.durable()
        if why:
            self._listeners.tell(Note(why))
        return TurnOutcome(turn.text, finished=not why, why=why)

    async def _learn_tools(self) -> None:
        """List the tools, which may change between two turns, and with them what is told of them."""
        await self._parts.toolset.refresh()
        names = self._parts.toolset.names
        if names != self._prompted:
            self._prompt, self._prompted = self._parts.rules.prompt(names), names

    async def _steps(self, text: str, turn: Turn) -> AsyncGenerator[Sequence[ModelMessage]]:
        """Yield the conversation whenever something of it is complete, before anything follows from it."""
        async with self._agent.iter(text, message_history=self._history, usage_limits=_NO_LIMITS) as run:
            async for node in run:
                if Agent.is_model_request_node(node):
                    yield [*run.all_messages(), node.request]
                    async with aclosing(self._answer(node.stream(run.ctx))) as answer:
                        async for event in answer:
                            self._stream(event)
                elif Agent.is_call_tools_node(node):
                    turn.answers.append(node.model_response)  # what is no whole answer was paid for, too
                    check_whole(node.model_response)
                    yield run.all_messages()

    async def _answer(self, opening: AbstractAsyncContextManager[AsyncIterable[T]]) -> AsyncGenerator[T]:
        """Yield what arrives of an answer; what listeners raise does not pass for an error of the model."""
        try:
            async with opening as stream:
                async for event in stream:
                    yield event
        except Exception as error:
            raise self._parts.model.failed(error) from error

    def _stream(self, event: object) -> None:
        match event:
            case (
                PartStartEvent(part=TextPart(content=text))
                | PartDeltaEvent(delta=TextPartDelta(content_delta=text))
            ) if text:
                self._listeners.tell(TextPiece(text))

    def _check(self, turn: Turn) -> None:
        used = turn.used
        for sentence in (*turn.budget.check(used), *self._parts.whole.check(self._used + used)):
            self._listeners.tell(Note(sentence))

    async def _compact(self) -> None:
        parts, turn = self._parts, Turn(self._parts.turn(), self._parts.model.price)
        try:
            parts.whole.check(self._used)
        except LimitReachedError as reached:
            raise SessionError(str(reached).rstrip("."), hint="Begin a new session.") from None
        try:
            answer = await summary(parts.model.model, self._history, parts.toolset.definitions)
        except asyncio.CancelledError:
            if not self._cancelled:
                raise
            raise SessionError("the summary was cancelled; the conversation is as it was") from None
        except ModelContextWindowExceededError as error:
            raise SessionError(
                "the conversation is too long to be summarized",
                hint="`/new` begins another one, `/save FILE` keeps this.",
            ) from error
        except Exception as error:
            raise parts.model.failed(error) from error
        turn.answers.append(answer)
        self._book(turn)
        check_whole(answer)
        if not turn.text.strip():
            raise ModelFailedError("the model wrote no summary")
        words = f"What happened so far, as a summary:\n\n{turn.text}"
        self._keep([ModelRequest(parts=[UserPromptPart(words)])])

    def _book(self, turn: Turn) -> None:
        self._used += turn.used
        self._parts.directory.keep_used(self._used)

    async def _cancellable(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work that `cancel` interrupts; the work itself answers the interruption."""
        self._cancelled, self._turn = False, (task := asyncio.current_task())
        try:
            return await work
        finally:
            if self._cancelled and task is not None:
                task.uncancel()

    def _finish(self, text: str) -> None:
        """Leave a conversation that can go on: with the person's words, and a result for each call."""
        said = [ModelRequest(parts=[UserPromptPart(text)])] if text else []
        self._keep(completed([*self._history, *said], CALLED_OFF))

    def _keep(self, messages: Sequence[ModelMessage]) -> None:
        self._parts.directory.keep(messages)
        self._history = list(messages)

    @contextmanager
    def _running(self) -> Iterator[None]:
        if self._state is not SessionPhase.READY:
            raise SessionError(
                "the session is closed" if self._state is SessionPhase.CLOSED else "a turn of it runs already"
            )
        self._state = SessionPhase.RUNNING
        try:
            yield
        finally:
            self._turn = None
            if self._state is SessionPhase.RUNNING:
                self._state = SessionPhase.READY
