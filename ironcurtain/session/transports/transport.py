"""What every transport is."""

from __future__ import annotations

from typing import Protocol

from ironcurtain.session.session import Session


class Transport(Protocol):
    """One way to have a session with somebody."""

    async def run(self, session: Session) -> bool:
        """Have the session until its person is done; return whether every turn ended by itself."""
