"""JSON lines on standard input and output, for programs.

Each line in is one of `{"send": TEXT}`, `{"approve": ID, "scope": "once" | "session"}`,
`{"deny": ID, "reason": TEXT}`, `{"cancel": true}` and `{"quit": true}`. Each line out is an event with its
`event`, or `{"event": "error", …}`. A turn ends with the event `answer`.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from ironcurtain.errors import IronCurtainError
from ironcurtain.session.events import ApprovalNeeded, CallBegan, CallEnded, Note, SessionEvent, TextPiece
from ironcurtain.session.session import Session
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import asdict

_NAMES: Mapping[type, str] = {
    TextPiece: "text",
    CallBegan: "call",
    CallEnded: "result",
    ApprovalNeeded: "approval",
    Note: "note",
}
_COMMANDS = {"send", "approve", "deny", "cancel", "quit"}


class JsonLines:
    """Has a session with a program."""

    def __init__(self) -> None:
        self._finished = True
        self._turn: asyncio.Task[None] | None = None

    async def run(self, session: Session) -> bool:
        """Do what the lines say until one says quit, or input ends; return whether every turn finished."""
        session.listen(_write_event)
        _write({"event": "ready", "session": session.id})
        lines: asyncio.Queue[str | None] = asyncio.Queue()
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), _Lines(lines).read)
        try:
            while (line := await lines.get()) is not None:
                if not await self._do(session, line):
                    break
        finally:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            session.cancel() if line is not None else None
            if self._turn is not None:
                await asyncio.wait((self._turn,))
        return self._finished

    async def _do(self, session: Session, line: str) -> bool:
        try:
            told = json_text.parse(line)
            name, value = _command(told)
        except ValueError as error:
            _write({"event": "error", "what": str(error)})
            return True
        members = json_text.members(told)
        match name:
            case "quit":
                return False
            case "cancel":
                session.cancel()
            case "send":
                if self._turn is not None and not self._turn.done():
                    _write({"event": "error", "what": "a turn runs already"})
                else:
                    self._turn = asyncio.create_task(self._send(session, value))
                    await asyncio.sleep(0)  # the turn has begun: the next line can end it
            case _:
                await _resolve(session, value, members, approved=name == "approve")
        return True

    async def _send(self, session: Session, text: str) -> None:
        try:
            answer = await session.send(text)
        except (IronCurtainError, OSError) as error:
            self._finished = False
            _write(_error(error))
            return
        self._finished &= answer.finished
        _write({"event": "answer", "text": answer.text, "finished": answer.finished, "why": answer.why})


class _Lines:
    """Splits what arrives at standard input into lines."""

    def __init__(self, lines: asyncio.Queue[str | None]) -> None:
        self._lines, self._rest = lines, b""

    def read(self) -> None:
        data = os.read(sys.stdin.fileno(), 65536)
        if not data:
            self._lines.put_nowait(None)
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            return
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            if line.strip():
                self._lines.put_nowait(line.decode("utf-8", "replace"))


def _command(told: JsonValue) -> tuple[str, str]:
    names = sorted(_COMMANDS & set(told)) if isinstance(told, dict) else []
    if len(names) != 1:
        raise ValueError(f"a line is an object with one of {', '.join(sorted(_COMMANDS))}")
    value = json_text.members(told)[names[0]]
    if names[0] in ("send", "approve", "deny") and not isinstance(value, str):
        raise ValueError(f"{names[0]} takes a text")
    return names[0], value if isinstance(value, str) else ""


async def _resolve(session: Session, id_: str, members: Mapping[str, JsonValue], *, approved: bool) -> None:
    try:
        became = await session.resolve(
            id_,
            approved=approved,
            scope="session" if members.get("scope") == "session" else "once",
            reason=str(members.get("reason", "")),
        )
    except IronCurtainError as error:
        _write(_error(error))
        return
    _write({"event": "resolved", "id": id_, "became": became})


def _error(error: IronCurtainError | OSError) -> dict[str, Any]:
    if isinstance(error, OSError):
        return {"event": "error", "what": error.strerror or str(error)}
    return {"event": "error", "code": error.code, "what": error.what, "hint": error.hint}


def _write_event(event: SessionEvent) -> None:
    if isinstance(event, ApprovalNeeded):
        _write({"event": "approval", "request": event.request.model_dump(mode="json")})
    else:
        _write({"event": _NAMES[type(event)], **asdict(event)})


def _write(event: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(event, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()
