"""The approvals for this session that people gave, each until it ends."""

from __future__ import annotations

from datetime import datetime

from ironcurtain.decision.decide import Prepared
from ironcurtain.enforcement.approvals.grants import Grant
from ironcurtain.enforcement.approvals.request import Clock
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct


class _Given(Struct):
    """A grant that somebody gave.

    Attributes:
        request: The id of the request that it was given on.
        until: When it ends; None where it ends with the session.
        deadline: The same end in seconds of the monotonic clock: a wall clock that is set back adds nothing.
    """

    request: str
    until: datetime | None
    deadline: float


class SessionGrants:
    """The grants that people gave in one session; they end with it, or at the time that was said.

    Args:
        clock: Where time comes from (default: the machine).
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or Clock()
        self._grants: dict[Grant, _Given] = {}

    def add(self, grant: Grant, request: str, until: datetime | None = None) -> None:
        """Keep a grant, with the id of the request that it was given on; of two equal ones the longer."""
        left = (until - self._clock.wall()).total_seconds() if until is not None else 0.0
        given, known = _Given(request, until, self._clock.monotonic() + left), self._lasting(grant)
        if known is None or (known.until is not None and (until is None or until > known.until)):
            self._grants[grant] = given

    def covering(self, decision: Decision, prepared: Prepared, tool: ToolAnnotation) -> str | None:
        """Return the id of the request on which a call of this shape was approved, or None."""
        if not self._grants or decision.verdict is not Verdict.ESCALATE:
            return None
        shape = Grant.of(decision, prepared, tool)
        given = self._lasting(shape) if isinstance(shape, Grant) else None
        return given.request if given is not None else None

    def clear(self) -> None:
        """Forget all grants."""
        self._grants.clear()

    def _lasting(self, grant: Grant) -> _Given | None:
        """Return what was given, where it has not ended by either clock."""
        given = self._grants.get(grant)
        if given is None or given.until is None:
            return given
        is_over = self._clock.wall() >= given.until or self._clock.monotonic() >= given.deadline
        return None if is_over else given
