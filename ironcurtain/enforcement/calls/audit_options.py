"""What the proxy's log keeps of calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.reserved_tools import RESOURCE_URI
from ironcurtain.decision.roles import Registry
from ironcurtain.errors import UsageError
from ironcurtain.policy import Policy
from ironcurtain.system import json_text
from ironcurtain.system.structs import SecretStruct
from ironcurtain.system.text import quoted

if TYPE_CHECKING:
    from ironcurtain.enforcement.audit.recorder import Recorder, RecordSanitizer

LoggedValues = Literal["redacted", "abstract"]


class AuditOptions(SecretStruct):
    """What the log keeps.

    Attributes:
        key: The key of the log's head and digests.
        values: `redacted` keeps the values of calls but for what looks like a secret; `abstract` keeps none.
        roles: Roles whose values are redacted whole.
    """

    secret_fields = frozenset({"key"})

    key: bytes
    values: LoggedValues = "redacted"
    roles: frozenset[str] = frozenset()

    def check(self, policy: Policy) -> None:
        """See that the roles are roles.

        Raises:
            UsageError: If one is none: what was meant to be redacted would not be.
        """
        known = Registry(PolicyContent.of(policy.bundle).annotations.roles)
        for role in sorted(self.roles - {RESOURCE_URI.name}):  # a policy has it where it lists the tool
            if role not in known:
                names = ", ".join(each.name for each in known.all)
                raise UsageError(f"there is no role {quoted(role)}", hint=f"The policy's roles: {names}.")

    def recorder(self, policy: Policy, content: PolicyContent) -> Recorder:
        """Return what makes the records of a policy's decisions."""
        from ironcurtain.enforcement.audit.recorder import (  # noqa: PLC0415 - wanted when calls are decided
            Recorder,
            RedactingSanitizer,
        )

        digest = json_text.digest_bytes(policy.bundle.archive())

        def sanitizer(key: bytes) -> RecordSanitizer:
            if self.values == "abstract":
                from ironcurtain.analysis.replay.pseudonymization import (  # noqa: PLC0415 - few want it
                    AbstractSanitizer,
                )

                return AbstractSanitizer(content, policy.loaded, key)
            return RedactingSanitizer(policy.loaded, key, self.roles)

        return Recorder(content, policy.loaded, bundle=digest, key=self.key, sanitizer=sanitizer)
