"""The approver's side of the approvals directory: see what waits, and answer it."""

from __future__ import annotations

import os
import pwd
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ironcurtain.enforcement.approvals.key import ApprovalKey
from ironcurtain.enforcement.approvals.messages import ApprovalAnswer, ApprovalRequest, ApprovalStatus, Scope
from ironcurtain.enforcement.approvals.private_directory import Closing, PrivateDirectory, UntrustedFileError
from ironcurtain.enforcement.approvals.request import Clock, shown_digest
from ironcurtain.enforcement.approvals.store import CLOCK_TOLERANCE, Names, Store
from ironcurtain.errors import ApprovalsError, UsageError
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

if TYPE_CHECKING:
    from ironcurtain.bundle.signing.keys import PrivateKey

Recorded = Literal["recorded", "answered", "expired", "gone", "clock", "ended", "other-approver"]
"""What became of an answer; only `recorded` was kept. `answered`: somebody else was first; `ended`: the end
that it names has passed; `other-approver`: it is another person's approval that is asked for."""


class PersonAnswer(Struct):
    """What a person says about one request.

    Attributes:
        reason: In their own words; it reaches the agent.
        until: When an approval for this session ends, where that is before the session does.
    """

    verdict: Literal["approved", "denied"]
    scope: Scope = "once"
    reason: str = ""
    until: datetime | None = None


class ApprovalInbox(Closing):
    """Where a person answers requests; use it as a context manager."""

    def __init__(self, store: Store) -> None:
        """Take a store that is ready; `open` is the way to get one."""
        self._store = store
        self._read: dict[str, tuple[ApprovalRequest, str]] = {}

    @classmethod
    def open(cls, path: Path, key: Path, *, clock: Clock | None = None) -> ApprovalInbox | None:
        """Open an approvals directory; None if no proxy has ever asked there.

        Raises:
            ApprovalsError: If directory or key are not private.
        """
        if not os.path.lexists(path):
            return None
        sealing = ApprovalKey.read(key)
        if sealing is None:
            raise ApprovalsError(
                "the key is missing", where=str(key), hint="The proxy that asks makes it; name the same file."
            )
        return cls(Store(PrivateDirectory.open(path, create=False), sealing, clock or Clock()))

    def close(self) -> None:
        """Close the directory."""
        self._store.place.close()

    def ids(self) -> tuple[str, ...]:
        """Return the ids of all requests that are not settled, sorted."""
        names = self._names()
        return tuple(sorted(names.request - names.done))

    def statuses(self) -> tuple[ApprovalStatus, ...]:
        """Return what can be answered, the oldest first, untrusted ones last.

        What nobody waits for is left out where the same call is asked about once more.
        """
        names = self._names()
        waiting = names.request - names.done
        self._read = {id_: request for id_, request in self._read.items() if id_ in waiting}
        statuses = (self._status(id_, names) for id_ in waiting)
        found = [status for status in statuses if status is not None and status.state != "expired"]
        last = {
            _call(status): status.id for status in sorted(found, key=lambda each: (each.waits, _age(each)))
        }
        left = (each for each in found if each.waits or each.id == last[_call(each)])
        return tuple(sorted(left, key=_age))

    def status(self, id_: str) -> ApprovalStatus | None:
        """Return one request; None if there is none of that id, or it is settled."""
        names = self._names()
        return self._status(id_, names) if id_ in names.request - names.done else None

    def find(self, beginning: str) -> ApprovalStatus | None:
        """Return the request whose id begins so; None if there is none, or it is settled.

        Raises:
            UsageError: If several begin so.
        """
        ids = [id_ for id_ in self.ids() if id_.startswith(beginning)]
        if len(ids) > 1:
            raise UsageError(f"{len(ids)} requests begin with {beginning}", hint="Write more of the id.")
        return self.status(ids[0]) if ids else None

    def answer(
        self,
        request: ApprovalRequest,
        said: PersonAnswer,
        *,
        by: str | None = None,
        key: PrivateKey | None = None,
    ) -> Recorded:
        """Answer a request as it was shown; of several answers the first one counts.

        Args:
            request: The request as the person saw it: the answer is good for exactly this.
            said: The answer.
            by: Who answers (default: the user's name on this system).
            key: The key of an approver who answers with a signature.

        Raises:
            OSError: If the answer cannot be written.
        """
        now = self._store.clock.wall()
        if self._store.is_late(request):
            return "expired"
        if now < request.asked - CLOCK_TOLERANCE:
            return "clock"
        if said.until is not None and said.until <= now:
            return "ended"
        if self.status(request.id) is None:
            return "gone"
        if said.verdict == "approved" and not _may_approve(request, key):
            return "other-approver"
        answer = ApprovalAnswer(
            request=request.id,
            binding=request.binding,
            shown=shown_digest(request),
            verdict=said.verdict,
            scope=said.scope,
            until=said.until,
            by=by or account_name(),
            reason=said.reason,
            answered=now,
        )
        if key is not None:
            # The cryptography takes a while to load, and few answers need it.
            from ironcurtain.enforcement.approvals.signatures import signed  # noqa: PLC0415

            answer = signed(answer, key)
        return "recorded" if self._store.write_answer(answer) else "answered"

    def _names(self) -> Names:
        self._store.place.check()
        return self._store.names()

    def _status(self, id_: str, names: Names) -> ApprovalStatus | None:
        try:
            read = self._request(id_)
        except UntrustedFileError as error:
            return ApprovalStatus(
                id=id_, state="unreadable", problem=f"its file does not count: {error.reason}"
            )
        if read is None:
            return None
        request, shown = read
        is_late = self._store.is_late(request)
        state: Literal["answered", "expired", "pending"] = "expired" if is_late else "pending"
        if id_ in names.response:
            state = "answered"
        waits = self._store.runs(request.session)
        return ApprovalStatus(id=id_, state=state, shown=shown, request=request, waits=waits)

    def _request(self, id_: str) -> tuple[ApprovalRequest, str] | None:
        """Read a request once: what was sealed under an id never changes."""
        if id_ not in self._read:
            read = self._store.read_request(id_)
            if read is None:
                return None
            self._read[id_] = read
        return self._read[id_]


def _may_approve(request: ApprovalRequest, key: PrivateKey | None) -> bool:
    """Tell whether an approval from here could count; the asking program is the judge of that."""
    if request.answered_by == "key":
        return key is not None and key.public.id == request.approver_key
    return request.answered_by == "account"


def _call(status: ApprovalStatus) -> str:
    """Return what two requests share that are about the same call, for the same person."""
    if status.request is None:
        return status.id
    asked = status.request
    about: dict[str, JsonValue] = {
        "tool": [asked.server, asked.tool, asked.rule, asked.approver],
        "arguments": asked.arguments,
        "caller": asked.caller,
    }
    return json_text.digest(about)


def _age(status: ApprovalStatus) -> tuple[bool, str, str]:
    asked = status.request.asked.isoformat() if status.request else ""
    return status.request is None, asked, status.id


def account_name() -> str:
    """Return the name of the account that we run as."""
    # Not from the environment, which whoever starts us could set.
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"user {os.getuid()}"
