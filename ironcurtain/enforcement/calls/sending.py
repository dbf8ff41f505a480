"""Sending a call that may happen: exactly what was evaluated, once, and how it ended recorded."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from functools import partial

import anyio

from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.audit.record_types import RecordListener, ResultRecord, ResultStatus
from ironcurtain.enforcement.calls.declared_facts import DeclaredFacts
from ironcurtain.enforcement.calls.destination import Destination, NoAnswerError, OwnProcess
from ironcurtain.enforcement.calls.evaluated_call import EvaluatedCall
from ironcurtain.enforcement.calls.outputs import Outputs
from ironcurtain.enforcement.calls.path_checks import Watched
from ironcurtain.enforcement.calls.path_locks import CallPaths, path_resources
from ironcurtain.enforcement.calls.reach import Reach, paths_of, resources_of
from ironcurtain.errors import AuditError
from ironcurtain.gateway.calling import NOTES, CallNotes
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_log = logging.getLogger(__name__)


class Sending(Struct):
    """What a call meets between its record and its client.

    Attributes:
        log: Where it is recorded how the call ended.
        reach: Opens servers' roots.
        outputs: What leaves of answers.
        facts: Takes labels in from answers.
        observe: Whether nothing is enforced.
        listeners: Are told what is recorded, too.
    """

    log: AuditLog
    reach: Reach
    outputs: Outputs
    facts: DeclaredFacts
    observe: bool
    listeners: tuple[RecordListener, ...]

    async def send(
        self, evaluated: EvaluatedCall, destination: Destination, id_: str
    ) -> dict[str, JsonValue]:
        """Send the evaluated arguments, and record how the call ended, however it did.

        The answer to a look-up is no client's: no output policy is for it.

        Raises:
            AuditError: If what the answer gives the session cannot be recorded.
            NoAnswerError: If the server gave no answer.
            Exception: The receiver's own error.
        """
        began, recorder = time.perf_counter(), evaluated.enforced.recorder
        notes = CallNotes(id_)
        NOTES.set(notes)
        try:
            tell = partial(self._violated, evaluated, id_)
            watched = Watched(self._relied_on(evaluated), tell, near=evaluated.near)
            await watched.begin()
            sending = partial(destination.send, evaluated.sent or evaluated.decision.arguments or {})
            if evaluated.own_process:
                result = await sending(OwnProcess(id_, resources_of(evaluated), watched.ready))
            else:
                result = await self.reach.carry(evaluated.call.server, paths_of(evaluated), sending)
            await watched.end()
            await self.facts.take_in(evaluated, id_, result)
            if evaluated.parent is None:
                result = await self.outputs.filtered(evaluated.call, result, notes)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                with suppress(AuditError):  # nobody sees an answer, and the session has the labels
                    await self.facts.take_in(evaluated, id_, None)
                await self._note(recorder.result(id_, "cancelled", duration=_since(began)))
            raise
        except AuditError:
            raise
        except Exception as error:
            await self.facts.take_in(evaluated, id_, None)
            own = destination.own_error(error)
            await self._note(recorder.result(id_, "failed", error=_why(error, own), duration=_since(began)))
            if (told := self.outputs.failure(evaluated.call, error, own)) is not None:
                return told
            raise
        status: ResultStatus = "tool-error" if result.get("isError") is True else "ok"
        output = self.outputs.summary(evaluated.call, notes)
        await self._note(
            recorder.result(
                id_, status, result=result, duration=_since(began), failure=notes.detail, output=output
            )
        )
        return result

    def _relied_on(self, evaluated: EvaluatedCall) -> CallPaths | None:
        """Return the paths that a call was evaluated over; None where it has none, or nothing is enforced."""
        if self.observe or evaluated.prepared is None or not path_resources(evaluated.prepared):
            return None
        return CallPaths.of(evaluated.prepared)

    async def _violated(self, evaluated: EvaluatedCall, id_: str, what: str, **more: JsonValue) -> None:
        """Record that a call is not what was evaluated by now."""
        event = evaluated.enforced.recorder.event("violation", decision=id_, what=what, **more)
        try:
            await self.log.event(event)
        except AuditError as error:
            _log.error("%s", error)

    async def _note(self, record: ResultRecord) -> None:
        try:
            await self.log.result(record)
        except AuditError as error:  # the effect has happened; the log says so by the missing result
            _log.error("%s", error)
        for listener in self.listeners:
            listener.result(record)


def _why(error: Exception, own: str) -> str:
    return error.reason if isinstance(error, NoAnswerError) else own or type(error).__name__


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
