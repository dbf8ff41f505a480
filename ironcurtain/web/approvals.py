"""The page of approvals: what waits for a person, each request in full, and the person's answer."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from ironcurtain.analysis.advice.report import Advice
from ironcurtain.analysis.advice.text import text_lines
from ironcurtain.enforcement.approvals.describe import RequestPart, parts_of, rows
from ironcurtain.enforcement.approvals.grant_end import offered_ends, read_end
from ironcurtain.enforcement.approvals.inbox import ApprovalInbox, PersonAnswer
from ironcurtain.enforcement.approvals.messages import MAX_REASON, ApprovalRequest, ApprovalStatus
from ironcurtain.enforcement.approvals.told import PROBLEMS, other_approver, told
from ironcurtain.enforcement.audit.recent import RecentRecords
from ironcurtain.errors import IronCurtainError, UsageError
from ironcurtain.system.structs import Struct, replace
from ironcurtain.web.access import Access
from ironcurtain.web.activity import alike
from ironcurtain.web.guard import form_of, session_of
from ironcurtain.web.live import changes
from ironcurtain.web.rendering import page, refused, said

if TYPE_CHECKING:
    from ironcurtain.web.passkeys import Passkeys

HERE = "/approvals"
_MOST_ROWS = 200
_CHOICES = {
    "deny": PersonAnswer("denied"),
    "approve": PersonAnswer("approved"),
    "approve-session": PersonAnswer("approved", "session"),
}
_UNTIL = "approve-until-"

AdviceOn = Callable[[ApprovalRequest], Advice]
"""Proposes sentences instead of answering a request."""


class WaitingRow(Struct):
    """One line of the list: a request, and what the command's list says of it."""

    status: ApprovalStatus
    words: str


class WaitingApprovals:
    """The approvals directory, for threads that take turns.

    Args:
        directory: The approvals directory.
        key: The file of its key.
    """

    def __init__(self, directory: Path, key: Path) -> None:
        self._directory, self._key = directory, key
        self._inbox: ApprovalInbox | None = None
        self._turn = threading.Lock()

    def statuses(self) -> tuple[ApprovalStatus, ...]:
        """Return what waits, the oldest first.

        Raises:
            ApprovalsError: If directory or key cannot be trusted.
        """
        with self._turn:
            inbox = self._opened()
            return inbox.statuses() if inbox is not None else ()

    def status(self, id_: str) -> ApprovalStatus | None:
        """Return one request, also one whose time is over; None if it is settled, or there is none.

        Raises:
            ApprovalsError: As `statuses`.
        """
        with self._turn:
            inbox = self._opened()
            return inbox.status(id_) if inbox is not None and id_ in inbox.ids() else None

    def version(self) -> str:
        """Return another text whenever a request comes, goes or is answered."""
        states = "\n".join(f"{each.id} {each.state}" for each in self.statuses())
        return hashlib.sha256(states.encode()).hexdigest()[:16]

    def answer(self, id_: str, shown: str, said: PersonAnswer) -> str:
        """Answer a request as it was shown; return what became of it, in words."""
        with self._turn:
            inbox = self._opened()
            status = inbox.status(id_) if inbox is not None and id_ in inbox.ids() else None
            if inbox is None or status is None:
                return f"{id_}: {PROBLEMS['gone']}"
            if status.request is None or status.shown != shown:
                return f"{id_} was not answered: it is not what the page showed"
            return told(status.request, said, inbox.answer(status.request, said))

    def _opened(self) -> ApprovalInbox | None:
        if self._inbox is None:
            self._inbox = ApprovalInbox.open(self._directory, self._key)
        return self._inbox


class ApprovalPages:
    """The list, one request with its forms, what changes, and the answer.

    Args:
        waiting: What waits.
        records: What was decided.
        access: Who is let in.
        passkeys: The passkey that each approval asks for; None where none is asked for.
        advice_on: Proposes sentences instead of answering a request.
    """

    def __init__(
        self,
        waiting: WaitingApprovals,
        records: RecentRecords,
        access: Access,
        passkeys: Passkeys | None,
        advice_on: AdviceOn,
    ) -> None:
        self._waiting, self._records, self._access = waiting, records, access
        self._passkeys, self._advice_on = passkeys, advice_on

    async def list_(self, request: Request) -> Response:
        """Show what waits."""
        return await self._page(request, None)

    async def one(self, request: Request) -> Response:
        """Show what waits, and one request of it in full."""
        return await self._page(request, request.path_params["id"])

    async def always(self, request: Request) -> Response:
        """Show sentences that would answer a request; nothing is changed here."""
        return await run_in_threadpool(self._always, request)

    async def changes(self, request: Request) -> Response:
        """Tell of each change."""
        return changes(request, self._access, self._waiting.version)

    async def answer(self, request: Request) -> Response:
        """Take an answer; the list then says what became of it."""
        form, session = form_of(request), session_of(request)
        choice, reason = form.get("answer", ""), form.get("reason", "")
        id_ = request.path_params["id"]
        said = _said(choice, reason)
        if said is None or len(reason) > MAX_REASON:
            return refused(request, 400, "This is no answer, so nothing was done.")
        if said.verdict == "approved" and form.get("read") != "yes":
            session.notes.appendleft(f"{id_} was not approved: not all of it was read; it still waits")
            return RedirectResponse(f"{HERE}/{id_}", 303)
        session.notes.appendleft(await run_in_threadpool(self._answered, request, id_, choice, said))
        return RedirectResponse(HERE, 303)

    def _always(self, request: Request) -> Response:
        id_ = request.path_params["id"]
        found = self._waiting.status(id_)
        asked = found.request if found is not None else None
        if asked is None:
            return refused(request, 404, f"{id_}: {PROBLEMS['gone']}")
        lines = tuple(text_lines(self._advice_on(asked)))
        return page("approvals_always.html", request, id=id_, lines=lines)

    def _answered(self, request: Request, id_: str, choice: str, said: PersonAnswer) -> str:
        form = form_of(request)
        shown = form.get("shown", "")
        try:
            if self._passkeys is not None and said.verdict == "approved":
                given, origin = form.get("passkey", ""), request.headers["origin"]
                if trouble := self._passkeys.refusal(given, (id_, shown, choice), origin):
                    return f"{id_} was not approved: {trouble}; it still waits"
            return self._waiting.answer(id_, shown, said)
        except (IronCurtainError, OSError) as error:
            return f"{id_} was not answered: {error}"

    async def _page(self, request: Request, id_: str | None) -> Response:
        trouble, statuses, found = "", tuple[ApprovalStatus, ...](), None
        try:
            statuses = await run_in_threadpool(self._waiting.statuses)
            if id_ is not None:
                found = await run_in_threadpool(self._waiting.status, id_)
        except (IronCurtainError, OSError) as error:
            trouble = said(error)
        # Long arguments take their time to be made visible; other requests go on meanwhile.
        return await run_in_threadpool(self._rendered, request, statuses, id_, found, trouble)

    def _rendered(
        self,
        request: Request,
        statuses: tuple[ApprovalStatus, ...],
        id_: str | None,
        found: ApprovalStatus | None,
        trouble: str,
    ) -> Response:
        now = datetime.now(UTC)
        listed = [WaitingRow(each, rows(each, now, None)[0]) for each in statuses[:_MOST_ROWS]]
        asked = found.request if found is not None else None
        ends = tuple(offered_ends(now))
        confirm, challenges = self._confirmation(found, ends)
        return page(
            "approvals.html",
            request,
            status=404 if id_ is not None and found is None else 200,
            rows=listed,
            more=len(statuses) - len(listed),
            waiting=sum(each.state == "pending" for each in statuses),
            id=id_,
            found=found,
            asked=asked,
            parts=_parts(asked) if asked is not None else (),
            not_here=_not_here(asked) if asked is not None else "",
            alike=self._alike(asked) if asked is not None else (),
            notes=tuple(session_of(request).notes),
            trouble=trouble,
            max_reason=MAX_REASON,
            ends=ends,
            confirm=confirm,
            asked_passkey=challenges,
        )

    def _confirmation(
        self, found: ApprovalStatus | None, ends: Iterable[str]
    ) -> tuple[str, Mapping[str, str]]:
        """Return whether a passkey is asked for, and by choice what a browser needs to ask for it."""
        if self._passkeys is None:
            return "", {}
        try:
            if not self._passkeys.is_registered:
                return "missing", {}
            if found is None or found.shown is None:
                return "asked", {}
            to_approve = partial(self._passkeys.to_approve, found.id, found.shown)
            approving = ["approve", "approve-session", *(f"{_UNTIL}{end}" for end in ends)]
            return "asked", {each: to_approve(each) for each in approving}
        except (IronCurtainError, OSError):
            return "missing", {}  # its page says what is wrong

    def _alike(self, request: ApprovalRequest) -> tuple[str, ...]:
        try:
            return alike(self._records.records(), request)
        except OSError as error:
            return (f"The audit logs cannot be read: {error}",)


def _said(choice: str, reason: str) -> PersonAnswer | None:
    """Return the answer that a form gives; None if it is none."""
    if choice.startswith(_UNTIL):
        try:
            end = read_end(choice.removeprefix(_UNTIL), datetime.now(UTC))
        except UsageError:
            return None
        return PersonAnswer("approved", "session", until=end)
    said = _CHOICES.get(choice)
    return replace(said, reason=reason) if said is not None and said.verdict == "denied" else said


def _parts(request: ApprovalRequest) -> tuple[RequestPart, ...]:
    return tuple(parts_of(request))


def _not_here(request: ApprovalRequest) -> str:
    """Say why an approval from this page would not count; nothing where it does."""
    return "" if request.answered_by == "account" else other_approver(request)
