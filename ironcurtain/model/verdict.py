"""The three verdicts and their order."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What happens to a call. Merging verdicts takes the most severe one."""

    ALLOW = "allow"
    ESCALATE = "escalate"
    DENY = "deny"

    @property
    def severity(self) -> int:
        """0 for allow, 1 for escalate, 2 for deny."""
        return _SEVERITY[self]


_SEVERITY = {Verdict.ALLOW: 0, Verdict.ESCALATE: 1, Verdict.DENY: 2}
