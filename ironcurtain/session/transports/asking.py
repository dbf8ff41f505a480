"""Asking the person at the terminal about calls that wait: the whole request is shown, the answer is a word.

While a person is asked, nothing else is written: calls are carried out one after another, and the model waits
for this one. What was typed before the question does not count.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.approvals.typed_answer import read_answer
from ironcurtain.errors import SessionError, UsageError
from ironcurtain.session.session import Session

Read = Callable[[str], Awaitable[str]]
"""Reads a line of the person's; its argument is the prompt. Ends with EOFError where there is nobody."""

_PROMPT = "approve, session or deny [why]> "
_POLL = 0.3
_SETTLED = "It was answered elsewhere, or its time is over."


async def ask(session: Session, request: ApprovalRequest, read: Read, say: Callable[[str], None]) -> None:
    """Ask until the request is settled, here or elsewhere; who does not answer denies."""
    settled = asyncio.create_task(_settled(session, request.id))
    try:
        while not settled.done():
            reading = asyncio.ensure_future(read(_PROMPT))
            await asyncio.wait((reading, settled), return_when=asyncio.FIRST_COMPLETED)
            if not reading.done():
                reading.cancel()
                await asyncio.wait((reading,))
                say(_SETTLED)
                return
            if await _answered(session, request, _line(reading), say):
                return
    finally:
        settled.cancel()


async def _settled(session: Session, id_: str) -> None:
    def waits() -> bool:
        return any(status.id == id_ for status in session.pending)

    while await asyncio.to_thread(waits):  # noqa: ASYNC110 - others answer by way of files
        await asyncio.sleep(_POLL)


def _line(reading: asyncio.Future[str]) -> str:
    try:
        return reading.result()
    except (EOFError, KeyboardInterrupt):
        return "deny"


async def _answered(
    session: Session, request: ApprovalRequest, line: str, say: Callable[[str], None]
) -> bool:
    """Answer with a line; return whether the request is settled."""
    try:
        answer = read_answer(line, request)
    except UsageError as error:
        say(error.what)
        return False
    try:
        became = await session.resolve(
            request.id,
            approved=answer.verdict == "approved",
            scope=answer.scope,
            until=answer.until,
            reason=answer.reason,
        )
    except SessionError:
        became = "gone"
    if became != "recorded":
        say(_SETTLED)
    return True
