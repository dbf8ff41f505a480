"""The sessions of clients: each with its own log, memory, approvals and words, under one policy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from functools import partial

import anyio
from anyio.abc import TaskGroup

from ironcurtain.decision.agent_view import AgentView
from ironcurtain.decision.decide import Call
from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.log_paths import audit_directory, session_log
from ironcurtain.enforcement.calls.active_policy import ActivePolicy
from ironcurtain.enforcement.calls.asker import Asker
from ironcurtain.enforcement.calls.assembly import Surroundings, assemble, record_start
from ironcurtain.enforcement.calls.destination import NoAnswerError, ServerResult
from ironcurtain.enforcement.calls.enforce import Enforcer
from ironcurtain.enforcement.calls.enforcer_options import EnforcerOptions
from ironcurtain.enforcement.calls.outputs import Outputs
from ironcurtain.enforcement.calls.refusal import RefusedError
from ironcurtain.enforcement.facts.user.words import UserWords
from ironcurtain.enforcement.service.client_call import (
    ClientCall,
    ClientPerson,
    ClientsReach,
    Outcome,
    no_look_ups,
    unconfined,
)
from ironcurtain.errors import IronCurtainError
from ironcurtain.gateway.admission import Admission
from ironcurtain.system.structs import replace

_MOST_OPEN = 64
"""Sessions whose logs are open at once; the one that was used least recently is closed for another."""

_log = logging.getLogger(__name__)


class ServedSession:
    """One session.

    Args:
        enforcer: What enforces its calls.
        words: What its user wrote.
        stack: Closes what it has open.
        tasks: What its calls run in.
    """

    def __init__(self, enforcer: Enforcer, words: UserWords, stack: AsyncExitStack, tasks: TaskGroup) -> None:
        self.enforcer, self.words = enforcer, words
        self._stack, self._tasks = stack, tasks
        self._calls: dict[str, ClientCall] = {}
        self._asked: dict[str, tuple[Call, str]] = {}

    @property
    def is_busy(self) -> bool:
        """Whether a result is awaited."""
        return bool(self._calls)

    async def decide(self, id_: str, call: Call, client: str, *, attended: bool) -> tuple[Outcome, str]:
        """Decide a call whose result the client reports by the same id; the same id again is the same call.

        Returns:
            The outcome, and what the client has to ask its person; empty where it has not.

        Raises:
            ValueError: If another call has the id: what was decided of one would permit the other.
        """
        made = self._calls.get(id_)
        if made is None:
            made = self._calls[id_] = ClientCall(call, reports=True)
            asker = ClientPerson(client, made if attended else None)
            self._tasks.start_soon(self._run, id_, made, call, asker)
        elif made.call != call:
            raise ValueError("another call of this session has its id, and has not ended")
        outcome = await made.outcome()
        if made.question and isinstance(outcome, AgentView) and outcome.state == "pending":
            self._asked[id_] = (call, client)
            return outcome, made.question
        self._asked.pop(id_, None)
        return outcome, ""

    async def decide_alone(self, call: Call, client: str) -> Outcome:
        """Decide a call of which nothing more will be heard."""
        made = ClientCall(call, reports=False)
        self._tasks.start_soon(self._run, "", made, call, ClientPerson(client))
        return await made.outcome()

    async def report(self, id_: str, result: ServerResult) -> None:
        """Take a result; it is recorded when this returns, with all that it gives the session.

        A call that the client asked its person about has happened, so the person approved it: it is enforced
        again as that, and so it is booked and recorded like every approved call.
        """
        if (made := self._calls.get(id_)) is not None:
            made.report(result)
        elif (asked := self._asked.pop(id_, None)) is not None:
            call, client = asked
            made = self._calls[id_] = ClientCall(call, reports=True)
            made.report(result)
            self._tasks.start_soon(self._run, id_, made, call, ClientPerson(client, made, approved=True))
            if isinstance(await made.outcome(), AgentView):
                await self.tell("violation", id_, "it happened, and is refused by now")
        else:
            await self.tell("late-result", id_, "no result of this call is awaited, or any more")
            return
        await made.ended.wait()

    async def close(self) -> None:
        """End the session; the next event of it opens it again, with its memory."""
        with anyio.CancelScope(shield=True):
            for made in (calls := [*self._calls.values()]):
                made.call_off()
            for made in calls:
                await made.ended.wait()
            with suppress(IronCurtainError):
                await self.enforcer.log.event(self.enforcer.policy.current.recorder.event("stop"))
            await self._stack.aclose()

    async def _run(self, id_: str, made: ClientCall, call: Call, asker: Asker) -> None:
        """Enforce a call; whatever goes wrong, whoever waits gets an outcome or learns that there is none."""
        try:
            await made.run(partial(self._enforce, made, call, asker))
        except Exception:  # noqa: BLE001 - one call must not end the others
            _log.exception("a call could not be enforced")
        finally:
            self._calls.pop(id_, None)

    async def _enforce(self, made: ClientCall, call: Call, asker: Asker) -> None:
        try:
            await self.enforcer.enforce(call, made, asker)
        except RefusedError as refused:
            made.settle(refused.view)
        except NoAnswerError:
            return

    async def tell(self, event: str, id_: str, what: str) -> None:
        """Record an event of a call, or of what is none.

        Raises:
            AuditError: If it cannot be recorded.
        """
        record = self.enforcer.policy.current.recorder.event(event, call=id_, what=what)
        await self.enforcer.log.event(record)


class Sessions:
    """All sessions that are open, by name.

    Args:
        options: How calls are enforced.
        live: The policy.
        say: Tells the person who started the service.
        tasks: What calls run in.
    """

    def __init__(
        self, options: EnforcerOptions, live: ActivePolicy, say: Callable[[str], None], tasks: TaskGroup
    ) -> None:
        self._options, self._live, self._say, self._tasks = options, live, say, tasks
        self._open: dict[str, ServedSession] = {}
        self._turn = asyncio.Lock()

    @property
    def are_busy(self) -> bool:
        """Whether a result is awaited in any of them."""
        return any(each.is_busy for each in self._open.values())

    async def of(self, name: str) -> ServedSession:
        """Return a session, which goes on with what its log holds.

        Raises:
            UsageError: If the name is none of a session.
            IronCurtainError: If its log cannot be written, or it cannot be opened for another reason.
        """
        async with self._turn:
            session = self._open.pop(name, None) or await self._opened(name)
            self._open[name] = session  # the one used last stands last
            idle = [each for each, one in self._open.items() if not one.is_busy and each != name]
            for each in idle[: max(0, len(self._open) - _MOST_OPEN)]:
                await self._open.pop(each).close()
            return session

    async def end(self, name: str) -> None:
        """Close a session."""
        async with self._turn:
            if (session := self._open.pop(name, None)) is not None:
                await session.close()

    async def close(self) -> None:
        """Close all."""
        for name in [*self._open]:
            await self.end(name)

    async def _opened(self, name: str) -> ServedSession:
        options, live = replace(self._options, session=name), self._live
        paths = session_log(audit_directory(), name)
        is_new = not paths.path.exists()
        words = UserWords(live.current.loaded.deployment.home)
        surroundings = Surroundings(
            reach=ClientsReach(self._say),
            find_tool=no_look_ups,
            confined=unconfined,
            admission=Admission({}),
            outputs=Outputs(),
            words=words,
        )
        async with AsyncExitStack() as stack:
            log = AuditLog(
                paths,
                key=live.current.audit_options.key,
                max_bytes=options.audit_max_bytes,
                limit=options.audit_limit,
            )
            await stack.enter_async_context(log)
            enforcer = await assemble(options, live, log, surroundings, self._say, stack)
            await record_start(enforcer, begins=is_new)
            return ServedSession(enforcer, words, stack.pop_all(), self._tasks)
