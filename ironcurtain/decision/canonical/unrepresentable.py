"""The one way canonicalisation refuses: a value that cannot be represented exactly (specification 1.1)."""

from __future__ import annotations


class UnrepresentableError(Exception):
    """A value under a resource role cannot be judged exactly, so the call is denied.

    Attributes:
        reason: Why, in plain words that fit after "the argument …"; hidden characters escaped.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
