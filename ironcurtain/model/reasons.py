"""Why a call cannot be represented exactly, as a code with a text for people and one for the agent.

Whoever refuses a call knows which part of the reason comes from the call and which from the machine (git's
words, an unreadable place), and says so here, once. Readers decide by the code and never search the text.
"""

from __future__ import annotations

from enum import StrEnum

from ironcurtain.system.structs import Struct


class ReasonCode(StrEnum):
    """What kind of reason it is."""

    FORM = "form"
    """The argument's own form."""
    NO_SCHEME = "no-scheme"
    """An address without a scheme, which the tool may put before it."""
    REPOSITORY = "repository"
    """Git cannot work in the repository; git's words can name places on the disk."""
    PROTECTION = "protection"
    """A place cannot be read, so it cannot be told whether the call touches a protected path."""
    LIMIT = "limit"
    """The call names more than can be judged; under another policy it may name less."""


UNTOLD = "The call cannot be judged exactly."
"""What the agent is told where the reason speaks of more than the call itself."""


class Reason(Struct):
    """One reason.

    Attributes:
        code: What kind of reason it is.
        private: For the person and the record, hidden characters escaped.
        public: For the agent: nothing that it did not write itself.
    """

    code: ReasonCode
    private: str
    public: str

    def within(self, before: str, after: str = "") -> Reason:
        """Return the reason inside a longer sentence, which both readers may see."""
        return Reason(self.code, f"{before}{self.private}{after}", f"{before}{self.public}{after}")
