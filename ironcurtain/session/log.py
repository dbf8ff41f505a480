"""The log of a session: what our loggers and the libraries' say while it is open, as JSON lines in its file.

Set up with the session and taken down with it; nothing reaches the terminal. Sessions side by side in one
process have a log each: a message belongs to the session in whose tasks it arose.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path

from ironcurtain.system.secret_forms.hiding import without_secrets

_LOGGERS = ("ironcurtain", "mcp", "pydantic_ai", "anthropic", "openai", "google_genai", "httpx2", "asyncio")
_CURRENT: ContextVar[str] = ContextVar("session", default="")
_HIDDEN = "[secret]"
# What the loggers were before the first session, for after the last.
_OPEN: list[logging.Handler] = []
_BEFORE: dict[logging.Logger, tuple[int, bool]] = {}


class _SessionHandler(logging.FileHandler):
    def __init__(self, path: Path, session: str, secret: str | None) -> None:
        path.touch(mode=0o600)
        super().__init__(path, encoding="utf-8", errors="backslashreplace")
        self._session, self._secret = session, secret

    def filter(self, record: logging.LogRecord) -> bool:  # noqa: ARG002 - whose message it is says its task
        return _CURRENT.get() == self._session

    def format(self, record: logging.LogRecord) -> str:
        event = record.getMessage()
        if record.exc_info:
            event += "\n" + logging.Formatter().formatException(record.exc_info)
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": without_secrets(event.replace(self._secret, _HIDDEN) if self._secret else event),
        }
        return json.dumps(line, ensure_ascii=False)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - logging's name
        """Say nothing: a log that cannot be written is no reason to disturb the terminal or the turn."""


@contextmanager
def session_log(path: Path, session: str, secret: str | None) -> Iterator[None]:
    """Keep a log while the block runs.

    Args:
        path: The file; it is appended to.
        session: The session's id.
        secret: What never stands in the log.
    """
    token, handler = _CURRENT.set(session), _SessionHandler(path, session, secret)
    _OPEN.append(handler)
    for logger in map(logging.getLogger, _LOGGERS):
        if len(_OPEN) == 1:
            _BEFORE[logger] = (logger.level, logger.propagate)
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
    try:
        yield
    finally:
        _OPEN.remove(handler)
        for logger in map(logging.getLogger, _LOGGERS):
            logger.removeHandler(handler)
            if not _OPEN:
                level, logger.propagate = _BEFORE.pop(logger)
                logger.setLevel(level)
        handler.close()
        _CURRENT.reset(token)
