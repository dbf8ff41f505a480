"""Who is let in: whoever shows a code that the command printed, then the cookie that it was exchanged for.

A code is good once, a cookie until eight hours are over or the command ends. All of it is in memory
alone, so that what was good for one start is good for no other one.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ironcurtain.enforcement.approvals.request import Clock

SESSION_SECONDS = 8 * 3600.0
MAX_SESSIONS = 32
_NOTES = 20


@dataclass
class WebSession:
    """One browser that was let in.

    Attributes:
        form_token: What each form has to carry: a page of another origin cannot read it.
        expires: When it is over by the time of day; `deadline` is the same on the monotonic clock.
        notes: What became of this browser's answers, the newest first.
    """

    form_token: str
    expires: datetime
    deadline: float
    notes: deque[str] = field(default_factory=lambda: deque(maxlen=_NOTES))


class Access:
    """The codes that let browsers in, and the sessions of those that were."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._code = ""
        self._sessions: dict[bytes, WebSession] = {}

    def new_code(self) -> str:
        """Return a code that is good for one exchange; an older one is good for nothing any more."""
        self._code = secrets.token_urlsafe(24)
        return self._code

    def exchange(self, code: str) -> str | None:
        """Return the cookie of a new session for the code; None for any other one, and for a used one."""
        if not self._code or not hmac.compare_digest(code.encode(), self._code.encode()):
            return None
        self._code = ""
        self._drop_what_is_over()
        if len(self._sessions) >= MAX_SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        cookie = secrets.token_urlsafe(32)
        self._sessions[_digest(cookie)] = WebSession(
            form_token=secrets.token_urlsafe(32),
            expires=self._clock.wall() + timedelta(seconds=SESSION_SECONDS),
            deadline=self._clock.monotonic() + SESSION_SECONDS,
        )
        return cookie

    def session(self, cookie: str) -> WebSession | None:
        """Return the session of a cookie; None if there is none, or its time is over by either clock."""
        found = self._sessions.get(_digest(cookie))
        return None if found is None or self._is_over(found) else found

    def leave(self, cookie: str) -> None:
        """End a session."""
        self._sessions.pop(_digest(cookie), None)

    def close(self) -> None:
        """Let nobody in any more, and end all sessions."""
        self._code = ""
        self._sessions.clear()

    def _is_over(self, session: WebSession) -> bool:
        return self._clock.wall() >= session.expires or self._clock.monotonic() >= session.deadline

    def _drop_what_is_over(self) -> None:
        over = [key for key, session in self._sessions.items() if self._is_over(session)]
        for key in over:
            del self._sessions[key]


def _digest(cookie: str) -> bytes:
    # Looked up by digest, a guess tells nothing by the time that the look-up takes.
    return hashlib.sha256(cookie.encode()).digest()
