"""One task: the answer goes to standard output, all else to standard error."""

from __future__ import annotations

import asyncio
import sys

from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.session.events import ApprovalNeeded, SessionEvent, TextPiece
from ironcurtain.session.session import Session
from ironcurtain.session.transports.asking import Read, ask
from ironcurtain.session.transports.display import EventDisplay, lines


class OneTask:
    """Has the model do one task.

    Args:
        task: The person's words.
        read: Reads the person's answers; None where nobody sits at this terminal.
    """

    def __init__(self, task: str, read: Read | None) -> None:
        self._task, self._read = task, read
        self._display, self._text = EventDisplay(sys.stderr), ""
        self._asked: asyncio.Queue[ApprovalRequest] = asyncio.Queue()

    def show(self, event: SessionEvent) -> None:
        """Show an event; what the model writes is shown once it is known not to be its answer."""
        if isinstance(event, TextPiece):
            self._text += event.text
            return
        if self._text:
            self._display.show(TextPiece(self._text))
            self._text = ""
        self._display.show(event)
        if isinstance(event, ApprovalNeeded):
            self._asked.put_nowait(event.request)

    async def run(self, session: Session) -> bool:
        """Do the task; return whether the model finished it."""
        session.listen(self.show)
        asking = asyncio.create_task(self._ask(session))
        try:
            answer = await session.send(self._task)
        finally:
            asking.cancel()
        if not answer.finished:
            self._display.say(f"To go on with it: ironcurtain start --resume {session.id}, and a task")
        print(lines(answer.text).rstrip("\n"))  # noqa: T201 - the answer is the command's output
        return answer.finished

    async def _ask(self, session: Session) -> None:
        while True:
            request = await self._asked.get()
            if self._read is None:
                self._display.say(
                    f"It waits: `ironcurtain approvals show {request.id[:4]}` in another terminal."
                )
            else:
                await ask(session, request, self._read, self._display.say)
