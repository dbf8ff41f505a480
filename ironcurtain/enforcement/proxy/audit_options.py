"""What the audit log of a proxy keeps of calls, as configured."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from ironcurtain.analysis.replay.pseudonymization import AbstractKeeper
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.reserved_tools import with_reserved_roles
from ironcurtain.decision.roles import Registry
from ironcurtain.enforcement.audit.recorder import Recorder, RecordSanitizer, RedactingKeeper
from ironcurtain.errors import UsageError
from ironcurtain.policy import Policy
from ironcurtain.system import json_text
from ironcurtain.system.text import quoted

Values = Literal["redacted", "abstract"]


@dataclass(frozen=True)
class Recording:
    """What the log keeps.

    Attributes:
        key: The key of the log's head and digests.
        values: `redacted` keeps the values of calls but for what looks like a secret; `abstract` keeps none.
        roles: Roles whose values are redacted whole.
    """

    key: bytes = field(repr=False)
    values: Values = "redacted"
    roles: frozenset[str] = field(default_factory=frozenset)

    def check(self, policy: Policy) -> None:
        """See that the roles are roles.

        Raises:
            UsageError: If one is none: what was meant to be redacted would not be.
        """
        known = Registry(with_reserved_roles(PolicyContent.of(policy.bundle).annotations.roles))
        for role in sorted(self.roles):
            if role not in known:
                names = ", ".join(each.name for each in known.all)
                raise UsageError(f"there is no role {quoted(role)}", hint=f"The policy's roles: {names}.")

    def recorder(self, policy: Policy, content: PolicyContent) -> Recorder:
        """Return what makes the records of a policy's decisions."""
        digest = json_text.digest_bytes(policy.bundle.archive())

        def keeper(key: bytes) -> RecordSanitizer:
            if self.values == "abstract":
                return AbstractKeeper(content, policy.loaded, key)
            return RedactingKeeper(policy.loaded, key, self.roles)

        return Recorder(content, policy.loaded, bundle=digest, key=self.key, keeper=keeper)
