"""Requests of clients that did not show who they are, in the audit log; a flood of them does not fill it."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from ironcurtain.enforcement.audit.log import AuditLog
from ironcurtain.enforcement.proxy.active_policy import ActivePolicy
from ironcurtain.errors import AuditError
from ironcurtain.gateway.admission import Stage

_PAUSE = 1.0


@dataclass
class Unauthenticated:
    """Records them: at most one a second, which tells how many came since the last."""

    log: AuditLog
    policy: ActivePolicy
    _next: float = 0.0
    _untold: int = 0

    async def __call__(self, why: str) -> None:
        """Record a refused request.

        Args:
            why: What was wrong; nothing of the request is in it.
        """
        if anyio.current_time() < self._next:
            self._untold += 1
            return
        self._next, untold = anyio.current_time() + _PAUSE, self._untold
        self._untold = 0
        # Our own words: a log that keeps no values keeps these.
        detail = {"stage": Stage.AUTH.value, "why": why, "others_before": untold}
        event = self.policy.current.recorder.event("unauthenticated").model_copy(update={"detail": detail})
        try:
            await self.log.event(event)
        except AuditError:
            self._untold = untold + 1  # nothing happened that would need the record
