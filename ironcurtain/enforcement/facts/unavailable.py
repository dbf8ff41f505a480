"""A declared fact that a call cannot be decided without, and that cannot be had: the call is refused."""

from __future__ import annotations


class FactUnavailableError(Exception):
    """A fact cannot be had.

    Attributes:
        fact: Its name, as the policy declares it.
        why: Why not, for the audit log: our own words, with nothing of a server's answer.
    """

    def __init__(self, fact: str, why: str) -> None:
        super().__init__(f"The fact {fact} cannot be had: {why}.")
        self.fact, self.why = fact, why
