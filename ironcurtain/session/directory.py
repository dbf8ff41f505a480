"""A session on disk: `~/.ironcurtain/sessions/ID/`, which only its owner can read.

`session.json` says what the session is, `messages.jsonl` has the conversation, a message a line, each durable
before a call that follows from it; `words.jsonl` has what the person wrote in it, which a summary does not
replace; `session.log` is the log. The audit log lies with all others and has the
session's name. One process at a time can have a session open.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Self, TypeVar

from pydantic import TypeAdapter, ValidationError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from ironcurtain.errors import BusyError, FormatError, IronCurtainError, Place, UsageError
from ironcurtain.session.limits import Used
from ironcurtain.session.line_files import LineFiles
from ironcurtain.session.record import SessionRecord
from ironcurtain.settings import user_directory
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write, load
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.locks import lock_handle
from ironcurtain.system.text import quoted, visible

_ID = re.compile(r"[0-9a-f]{12}")
_MESSAGES, _WORDS = "messages.jsonl", "words.jsonl"
_RECORD, _LOCK, LOG = "session.json", "lock", "session.log"
_TASK = 80
_TEXTS: TypeAdapter[list[str]] = TypeAdapter(list[str])

T = TypeVar("T")


class SessionDirectory:
    """One session's files; close it when the session ends."""

    def __init__(self, path: Path, record: SessionRecord, lock: int, messages: list[ModelMessage]) -> None:
        """Take a directory that is locked; `create` and `resume` are the ways to get one."""
        self.path, self.record, self.messages = path, record, messages
        self._lock, self._files = lock, LineFiles()
        self._is_whole = True

    @classmethod
    def create(cls, record: SessionRecord) -> Self:
        """Make the directory of a new session.

        Raises:
            OSError: If it cannot be made.
        """
        path = sessions_directory() / record.id
        path.mkdir(mode=0o700, parents=True)
        opened = cls(path, record, _locked(path), [])
        opened.save(record)
        return opened

    @classmethod
    def resume(cls, id_: str) -> Self:
        """Open the directory of a session that has ended, or whose process has.

        Raises:
            UsageError: If there is no such session.
            BusyError: If another process has it open.
            FormatError: If a file of it is damaged.
        """
        path = find_session(id_)
        lock = _locked(path)
        try:
            for name in (_MESSAGES, _WORDS):
                _end_with_whole_line(path / name)
            record, messages = cls.read(id_)
            return cls(path, record, lock, messages)
        except BaseException:
            os.close(lock)
            raise

    @staticmethod
    def read(id_: str) -> tuple[SessionRecord, list[ModelMessage]]:
        """Return what a session is, and its conversation, whoever has it open.

        Raises:
            UsageError: If there is no such session.
            FormatError: If a file of it is damaged.
        """
        path = find_session(id_)
        return load(path / _RECORD, SessionRecord), _read_lines(
            path / _MESSAGES, ModelMessagesTypeAdapter, "message of a conversation"
        )

    def save(self, record: SessionRecord) -> None:
        """Replace `session.json`."""
        data = json_text.pretty(record.model_dump(mode="json")).encode()
        atomic_write(self.path / _RECORD, data, mode=0o600)
        self.record = record

    def name_task(self, text: str) -> None:
        """Keep the first words of the person, which the list of sessions shows."""
        if not self.record.task:
            self.save(self.record.model_copy(update={"task": text[:_TASK]}))

    def keep_used(self, used: Used) -> None:
        """Write what the session has used."""
        self.save(self.record.model_copy(update={"used": used}))

    def keep(self, messages: Sequence[ModelMessage]) -> None:
        """Write the conversation: messages that are new are appended; `durable` waits for the disk.

        Raises:
            OSError: If they cannot be written; the file then ends with what it ended with before.
        """
        if not self._is_whole or list(messages[: len(self.messages)]) != self.messages:
            self._replace(messages)
            return
        new = messages[len(self.messages) :]
        if not new:
            return
        self._files.append(self.path / _MESSAGES, _lines(new))
        self.messages = list(messages)

    def begin(self) -> None:
        """Begin to make durable what was written."""
        self._files.begin()

    async def durable(self) -> None:
        """Wait until everything that was written is durable.

        Raises:
            OSError: If that cannot be; the next message is then written with all that came before it.
        """
        try:
            await self._files.durable()
        except OSError:
            self._is_whole = False
            raise

    @property
    def words(self) -> list[str]:
        """What the person wrote in this conversation, message by message.

        Raises:
            FormatError: If the file is damaged.
        """
        return _read_lines(self.path / _WORDS, _TEXTS, "words of a person")

    def keep_words(self, text: str) -> None:
        """Write what the person wrote; `durable` waits until the disk has it.

        Raises:
            OSError: If it cannot be written; the file then ends with what it ended with before.
        """
        self._files.append(self.path / _WORDS, json_text.canonical([text]) + b"\n")

    def forget_words(self) -> None:
        """Begin without them."""
        (self.path / _WORDS).unlink(missing_ok=True)

    def _replace(self, messages: Sequence[ModelMessage]) -> None:
        atomic_write(self.path / _MESSAGES, _lines(messages), mode=0o600)
        self.messages, self._is_whole = list(messages), True

    def close(self) -> None:
        """Let other processes have the session."""
        os.close(self._lock)


def sessions_directory() -> Path:
    """Return where all sessions lie."""
    return user_directory() / "sessions"


def find_session(id_: str) -> Path:
    """Return the directory of a session.

    Raises:
        UsageError: If there is none of this id.
    """
    path = sessions_directory() / id_
    if not _ID.fullmatch(id_) or not (path / _RECORD).is_file():
        raise UsageError(f"there is no session {quoted(id_)}", hint="`ironcurtain sessions list` lists them.")
    return path


def list_sessions() -> list[SessionRecord]:
    """Return all sessions, the latest first; what is damaged is left out."""
    records = []
    for path in sessions_directory().glob(f"*/{_RECORD}"):
        try:
            records.append(load(path, SessionRecord))
        except IronCurtainError:
            continue
    return sorted(records, key=lambda record: record.begun, reverse=True)


def remove_session(id_: str) -> None:
    """Remove a session's files; its audit log stays.

    Raises:
        UsageError: If there is none of this id.
        BusyError: If a process has it open.
    """
    path = find_session(id_)
    os.close(_locked(path))
    shutil.rmtree(path)


def workspace_name(workspace: Path | None) -> str | None:
    """Return a workspace as records name it, from wherever it is named."""
    return str(workspace.resolve()) if workspace is not None else None


def new_record(
    model: str, revision: str, workspace: Path | None, caller: Mapping[str, JsonValue]
) -> SessionRecord:
    """Return the record of a session that begins now."""
    return SessionRecord(
        id=secrets.token_hex(6),
        model=model,
        revision=revision,
        workspace=workspace_name(workspace),
        caller=dict(caller),
        begun=datetime.now(UTC).replace(microsecond=0),
    )


def _locked(path: Path) -> int:
    handle = os.open(path / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not lock_handle(handle):
        os.close(handle)
        raise BusyError(f"another process has the session {path.name} open", where=visible(str(path)))
    return handle


def _lines(messages: Sequence[ModelMessage]) -> bytes:
    return b"".join(ModelMessagesTypeAdapter.dump_json([message]) + b"\n" for message in messages)


def _end_with_whole_line(path: Path) -> None:
    """Cut off what was being written when a process ended: what follows would stand in the same line."""
    data = path.read_bytes() if path.exists() else b""
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        os.truncate(path, whole)


def _read_lines(path: Path, reader: TypeAdapter[list[T]], what: str) -> list[T]:
    """Read what lines hold; a last line without an end is one that was never durable."""
    if not path.exists():
        return []
    found: list[T] = []
    *whole, _ = path.read_bytes().split(b"\n")
    for number, line in enumerate(whole, start=1):
        try:
            found += reader.validate_json(line)
        except ValidationError:
            raise FormatError(f"the line is no {what}", where=Place(visible(str(path)), number)) from None
    return found
