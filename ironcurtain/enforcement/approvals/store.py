"""The files of the approvals directory: requests, answers, and marks of what is settled.

| file | written by | means |
|---|---|---|
| `request-ID.json` | the asking program | a question, sealed |
| `response-ID.json` | the approver | an answer, sealed; the first one stands |
| `done-ID.json` | the asking program | settled: whatever else lies there about this id is void |
| `asking-SESSION` | the asking program | empty, and locked for as long as it runs |

The mark is made before an answer has any effect, and it can be made once: a program that dies in
between has approved nothing, and no other one can approve it again.
"""

from __future__ import annotations

import errno
import json
import re
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from ironcurtain.enforcement.approvals.approvers import Approvers
from ironcurtain.enforcement.approvals.key import ApprovalKey
from ironcurtain.enforcement.approvals.messages import (
    ANSWER_FORMAT,
    REQUEST_FORMAT,
    ApprovalAnswer,
    ApprovalOutcome,
    ApprovalRequest,
    ApprovalState,
    Fault,
    SealedAnswer,
    SealedRequest,
)
from ironcurtain.enforcement.approvals.private_directory import (
    TEMPORARY,
    PrivateDirectory,
    UntrustedFileError,
)
from ironcurtain.enforcement.approvals.request import Clock, shown_digest
from ironcurtain.system import json_text
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

USE_SECONDS = 600.0
"""How long after a request's end an answer that came in time can still be used."""

CLOCK_TOLERANCE = timedelta(seconds=60)
"""How far a clock may have gone back since a request was made."""

_MAX_REQUEST = 32 << 20
_MAX_ANSWER = 64 << 10
_KEPT_SECONDS = 7 * 86_400.0
_ASKING = "asking-"
_NAME = re.compile(r"(request|response|done)-([0-9a-f]{16})\.json")

M = TypeVar("M", bound=BaseModel)


class Asked(Struct):
    """What has to be remembered of a request to judge its answer.

    Attributes:
        shown: Digest of the request as it was written.
        deadline: Its end on our monotonic clock, in seconds.
        approver: Whose approval is asked for; None for anybody's.
    """

    id: str
    session: str
    binding: str
    shown: str
    asked: datetime
    expires: datetime
    deadline: float
    approver: str | None = None


class Names(Struct):
    """The ids in a directory, by kind of file; `others` are names that are none of ours."""

    request: frozenset[str]
    response: frozenset[str]
    done: frozenset[str]
    others: tuple[str, ...]


class Store:
    """Requests, answers and marks in one directory. Its functions block; each is safe in any process."""

    def __init__(
        self, place: PrivateDirectory, key: ApprovalKey, clock: Clock, approvers: Approvers | None = None
    ) -> None:
        self.place = place
        self._approvers = approvers or Approvers()
        self.clock = clock
        self._key = key

    def names(self) -> Names:
        """List the directory once."""
        found: dict[str, set[str]] = {"request": set(), "response": set(), "done": set()}
        others = []
        for name in self.place.names():
            match = _NAME.fullmatch(name)
            if match:
                found[match[1]].add(match[2])
            else:
                others.append(name)
        request, response, done = map(frozenset, found.values())
        return Names(request, response, done, tuple(others))

    def write_request(self, request: ApprovalRequest) -> None:
        """Write a new request, durably.

        Raises:
            OSError: If it cannot be written, or its id was used before.
        """
        seal = self._key.seal(REQUEST_FORMAT, shown_digest(request))
        sealed = SealedRequest(request=request, seal=seal)
        if self.is_settled(request.id) or not self._write(f"request-{request.id}.json", sealed):
            raise FileExistsError(errno.EEXIST, "a request of this id was made before")

    def read_request(self, id_: str) -> tuple[ApprovalRequest, str] | None:
        """Return a request and its digest as a person sees it; None if it is gone.

        Raises:
            UntrustedFileError: If the file is not what the asking program wrote.
        """
        read = self._read(f"request-{id_}.json", SealedRequest, _MAX_REQUEST)
        if read is None:
            return None
        shown = self._unsealed(REQUEST_FORMAT, read.request, read.seal)
        if read.request.id != id_:
            raise UntrustedFileError("other-request", "it is a copy of another request")
        return read.request, shown

    def write_answer(self, answer: ApprovalAnswer) -> bool:
        """Write an answer, durably; False if there is one already.

        Raises:
            OSError: If it cannot be written.
        """
        sealed = SealedAnswer(answer=answer, seal=self._key.seal(ANSWER_FORMAT, _digest(answer)))
        return self._write(f"response-{answer.request}.json", sealed)

    def remember(self, request: ApprovalRequest, shown: str) -> Asked:
        """Return what to remember of a request, its deadline counted on our monotonic clock."""
        left = (request.expires - max(self.clock.wall(), request.asked)).total_seconds()
        return Asked(
            id=request.id,
            session=request.session,
            binding=request.binding,
            shown=shown,
            asked=request.asked,
            expires=request.expires,
            deadline=min(self.clock.monotonic() + left, request.deadline),
            approver=request.approver,
        )

    def is_late(self, request: ApprovalRequest) -> bool:
        """Tell whether the time to answer a request is over, by either clock."""
        return self.clock.wall() >= request.expires or self.clock.monotonic() >= request.deadline

    def is_over(self, asked: Asked, *, grace: float = 0.0) -> bool:
        """Tell whether a request's time is over by either clock, or the clock cannot be trusted."""
        now = self.clock.wall()
        return (
            now >= asked.expires + timedelta(seconds=grace)
            or self.clock.monotonic() >= asked.deadline + grace
            or now < asked.asked - CLOCK_TOLERANCE
        )

    def outcome(self, asked: Asked) -> ApprovalOutcome:
        """Judge the answer to a request: only an exact, sealed `approved` that came in time approves.

        A request without an answer is pending, or expired.
        """
        try:
            answer = self._answer(asked.id)
        except UntrustedFileError as error:
            return _faulty(asked, error.fault, f"The answer does not count: {error.reason}.")
        if answer is None:
            return self._unanswered(asked)
        if (answer.request, answer.binding, answer.shown) != (asked.id, asked.binding, asked.shown):
            return _faulty(
                asked, "other-request", "The answer does not count: it was given to another request."
            )
        if answer.answered >= asked.expires or self.is_over(asked, grace=USE_SECONDS):
            reason = "The answer came after the time for it was over."
            return ApprovalOutcome(state=ApprovalState.EXPIRED, request=asked.id, reason=reason, fault="late")
        if answer.verdict == "approved" and not self._is_of_approver(asked, answer):
            return _faulty(
                asked,
                "other-approver",
                f"The approval does not count: {visible(asked.approver or '')} has to give it, and it is not "
                "theirs.",
                by=visible(answer.by),
            )
        return ApprovalOutcome(
            state=ApprovalState(answer.verdict),
            request=asked.id,
            scope=answer.scope if answer.verdict == "approved" else "once",
            until=answer.until,
            by=visible(answer.by),
            reason=visible(answer.reason),
        )

    def _is_of_approver(self, asked: Asked, answer: ApprovalAnswer) -> bool:
        """Tell whether an approval is of the person whose approval is asked for. Anybody here may deny."""
        if asked.approver is None:
            return True
        identity = self._approvers.identities.get(asked.approver)
        return identity is not None and identity.gave(answer)

    def run_as(self, session: str) -> int:
        """Be known to ask for a session until the handle that is returned is closed.

        Raises:
            OSError: If that cannot be told.
        """
        return self.place.hold(_asking(session))

    def runs(self, session: str) -> bool:
        """Tell whether a program runs that asks for a session."""
        return self.place.is_held(_asking(session))

    def is_settled(self, id_: str) -> bool:
        """Tell whether a request is settled: whatever else lies there about it is void."""
        return self.place.changed_at(f"done-{id_}.json") is not None

    def claim(self, outcome: ApprovalOutcome) -> bool:
        """Settle a request, once and for all programs; False if it was settled before.

        Raises:
            OSError: If the mark cannot be made; nothing is settled then.
        """
        at = self.clock.wall().isoformat()
        mark = json.dumps({"state": outcome.state, "by": outcome.by, "at": at}).encode()
        claimed = self.place.create(f"done-{outcome.request}.json", mark)
        self.place.remove(f"response-{outcome.request}.json", f"request-{outcome.request}.json")
        return claimed

    def sweep(self) -> None:
        """Remove what nobody needs any more: old marks with all that belongs to them, torn files."""
        names = self.names()
        now = self.clock.wall().timestamp()
        kinds = (("done", names.done), ("request", names.request), ("response", names.response))
        newest = {id_: f"{kind}-{id_}.json" for kind, ids in reversed(kinds) for id_ in ids}
        for id_, name in newest.items():
            if self._is_old(name, now):
                # The mark goes last, so that nothing it voids can come back.
                self.place.remove(*(f"{kind}-{id_}.json" for kind in ("request", "response", "done")))
        left = (name for name in names.others if name.startswith((TEMPORARY, _ASKING)))
        old = [name for name in left if self._is_old(name, now)]
        self.place.remove(*(name for name in old if not self.place.is_held(name)))

    def _is_old(self, name: str, now: float) -> bool:
        changed = self.place.changed_at(name)
        return changed is not None and now - changed > _KEPT_SECONDS

    def _unanswered(self, asked: Asked) -> ApprovalOutcome:
        if self.clock.wall() < asked.asked - CLOCK_TOLERANCE:
            return ApprovalOutcome(
                state=ApprovalState.EXPIRED,
                request=asked.id,
                reason="The clock has gone back behind the time of asking.",
                fault="clock",
            )
        if self.is_over(asked):
            reason = "Nobody answered in time."
            return ApprovalOutcome(state=ApprovalState.EXPIRED, request=asked.id, reason=reason)
        reason = "It waits for a person's answer."
        return ApprovalOutcome(state=ApprovalState.PENDING, request=asked.id, reason=reason)

    def _answer(self, id_: str) -> ApprovalAnswer | None:
        read = self._read(f"response-{id_}.json", SealedAnswer, _MAX_ANSWER)
        if read is None:
            return None
        self._unsealed(ANSWER_FORMAT, read.answer, read.seal)
        return read.answer

    def _write(self, name: str, sealed: BaseModel) -> bool:
        return self.place.create(name, sealed.model_dump_json().encode())

    def _read(self, name: str, model: type[M], max_bytes: int) -> M | None:
        data = self.place.read(name, max_bytes=max_bytes)
        try:
            return None if data is None else model.model_validate_json(data)
        except (ValidationError, RecursionError):
            raise UntrustedFileError("malformed", "it is not of the form that it must have") from None

    def _unsealed(self, kind: str, document: BaseModel, seal: str) -> str:
        """Return the digest of a document whose seal is ours."""
        try:
            digest = _digest(document)
        except (ValueError, RecursionError):
            raise UntrustedFileError("malformed", "it holds what is no JSON") from None
        if not self._key.fits(kind, digest, seal):
            raise UntrustedFileError(
                "wrong-seal", "its seal is not ours: it was changed, or somebody else wrote it"
            )
        return digest


def _asking(session: str) -> str:
    return _ASKING + json_text.digest(session).removeprefix("sha256:")[:16]


def _digest(model: BaseModel) -> str:
    return json_text.digest(model.model_dump(mode="json"))


def _faulty(asked: Asked, fault: Fault, reason: str, *, by: str | None = None) -> ApprovalOutcome:
    return ApprovalOutcome(state=ApprovalState.INVALID, request=asked.id, reason=reason, fault=fault, by=by)
