"""A conversation at a terminal: turns, slash commands, and questions about calls that wait."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.errors import IronCurtainError
from ironcurtain.session.events import ApprovalNeeded, SessionEvent
from ironcurtain.session.session import Session
from ironcurtain.session.transports.asking import ask
from ironcurtain.session.transports.commands import COMMANDS, Commands
from ironcurtain.session.transports.display import EventDisplay
from ironcurtain.session.transports.terminal_input import conversation_reader, reader

_PROMPT = "> "


class Conversation:
    """Has a conversation until the person leaves."""

    def __init__(self) -> None:
        self._display = EventDisplay(sys.stdout)
        self._answers = reader()
        self._asked: asyncio.Queue[ApprovalRequest] = asyncio.Queue()

    async def run(self, session: Session) -> bool:
        """Have the conversation; a turn that fails ends with a message, and the conversation goes on."""
        commands = Commands(session, self._display.say)
        for listener in (self._hear, commands.hear):
            session.listen(listener)
        read = conversation_reader(session.path / "history", list(COMMANDS))
        self._display.say(f"session {session.id}; /help lists the commands, Ctrl-C ends a turn")
        while True:
            try:
                line = (await read(_PROMPT)).strip()
            except (EOFError, KeyboardInterrupt):
                return True
            try:
                if line.startswith("/"):
                    with _interrupts(session):  # a summary can be long
                        goes_on = await commands.run(line)
                    if not goes_on:
                        return True
                elif line:
                    await self._turn(session, line)
            except (IronCurtainError, OSError) as error:
                self._display.say(_told(error))

    def _hear(self, event: SessionEvent) -> None:
        self._display.show(event)
        if isinstance(event, ApprovalNeeded):
            self._asked.put_nowait(event.request)

    async def _turn(self, session: Session, line: str) -> None:
        asking = asyncio.create_task(self._ask(session))
        try:
            with _interrupts(session):
                await session.send(line)
        finally:
            asking.cancel()
            self._display.end_text()

    async def _ask(self, session: Session) -> None:
        while True:
            await ask(session, await self._asked.get(), self._answers, self._display.say)


@contextmanager
def _interrupts(session: Session) -> Iterator[None]:
    """Let Ctrl-C end what the session does, and not the session."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, session.cancel)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


def _told(error: IronCurtainError | OSError) -> str:
    if isinstance(error, OSError):
        return f"error: {error.strerror or error}"
    return f"error[{error.code}]: {error.what}" + (f"\n  hint: {error.hint}" if error.hint else "")
