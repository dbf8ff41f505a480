"""The one way canonicalisation refuses: a value that cannot be represented exactly (specification 1.1)."""

from __future__ import annotations

from ironcurtain.model.reasons import Reason, ReasonCode


class UnrepresentableError(Exception):
    """A value under a resource role cannot be judged exactly, so the call is denied.

    Attributes:
        cause: Why, in plain words that fit after "the argument …"; hidden characters escaped. Given as text,
            it speaks of the argument's own form, and the agent may read all of it.
        reason: The cause's text for people.
    """

    def __init__(self, reason: str | Reason) -> None:
        self.cause = Reason(ReasonCode.FORM, reason, reason) if isinstance(reason, str) else reason
        self.reason = self.cause.private
        super().__init__(self.reason)
