"""Which person stands behind the approvers that rules name, and whether an answer is that person's.

    --approver user=account            whoever answers with the key of the approvals directory
    --approver user=client             the person at the client that made the call (MCP elicitation)
    --approver supervisor=FILE.pem     whoever holds the private key to this public key

A name that the deployment does not map has nobody behind it: a call that asks for its approval is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from ironcurtain.errors import UsageError
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import quoted

if TYPE_CHECKING:
    from ironcurtain.bundle.signing.keys import PublicKey
    from ironcurtain.enforcement.approvals.messages import ApprovalAnswer, ApprovalChannel

USER = "user"
_OPTION = "--approver"
_CHANNELS: Mapping[str, ApprovalChannel] = {"account": "account", "client": "client"}


class ApproverIdentity(Struct):
    """The person behind a name, as far as we can tell them from others.

    Attributes:
        name: The name that rules use.
        channel: How they answer: `account` with the key of the approvals directory, `client` at the client
            that made the call, `key` with a signature.
        key: The public key that their signatures are checked with; None for the other channels.
    """

    name: str
    channel: ApprovalChannel
    key: PublicKey | None = None

    def gave(self, answer: ApprovalAnswer) -> bool:
        """Tell whether an answer from the approvals directory is this person's."""
        if self.channel == "account":
            return True
        if self.key is None:
            return False
        # The cryptography takes a while to load, and few deployments need it here.
        from ironcurtain.enforcement.approvals.signatures import is_signed  # noqa: PLC0415

        return is_signed(answer, self.key)


class Approvers(Struct):
    """The people behind the names that rules use.

    Attributes:
        named: By name, how the deployment maps it: `account`, `client` or the file of a public key.
    """

    named: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, options: Iterable[str], *, has_own_user: bool) -> Approvers:
        """Read options of the form `NAME=PERSON`.

        Args:
            options: As they were given.
            has_own_user: Whether all calls are made for the person whose account this is, who is then
                `user` unless an option says otherwise.

        Raises:
            UsageError: If one has no name or no person, or a name is given twice.
        """
        named: dict[str, str] = {}
        for option in options:
            name, equals, person = option.partition("=")
            if not (name and equals and person):
                raise UsageError(
                    f"{quoted(option)} is not NAME=PERSON",
                    where=_OPTION,
                    hint="PERSON is account, client, or the file of a public key.",
                )
            if name in named:
                raise UsageError(f"the approver {quoted(name)} is given twice", where=_OPTION)
            named[name] = person
        return cls({USER: "account", **named} if has_own_user else named)

    @property
    def files(self) -> dict[str, Path]:
        """The files of public keys, by what they are."""
        return {
            f"the key of the approver {name}": Path(person)
            for name, person in self.named.items()
            if person not in _CHANNELS
        }

    @cached_property
    def identities(self) -> Mapping[str, ApproverIdentity]:
        """The people by name.

        Raises:
            FileError, FormatError: If the file of a public key is none.
        """
        return {name: _identity(name, person) for name, person in self.named.items()}

    def missing(self, names: Iterable[str]) -> list[str]:
        """Return the names that nobody stands behind."""
        return [name for name in names if name not in self.named]


def _identity(name: str, person: str) -> ApproverIdentity:
    if person in _CHANNELS:
        return ApproverIdentity(name, _CHANNELS[person])
    from ironcurtain.bundle.signing.keys import read_public_key  # noqa: PLC0415 - as above

    return ApproverIdentity(name, "key", read_public_key(Path(person)))
