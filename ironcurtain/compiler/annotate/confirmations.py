"""The file `confirmations.yaml`: what people reviewed and confirmed, with a reason.

Each entry is bound by a digest to the thing as it was; a changed tool, annotation or rule has to be
confirmed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ironcurtain.system.frozen import Digest, Frozen, ServerName, Slug


class ConfirmedTool(Frozen):
    """A person's word about a tool: about one argument, what its effects are confined to, or its annotation.

    Attributes:
        arg: An argument that is no resource although it looks like one, or no list although it looks so.
        contained: True confirms that every effect of the tool lies under its path arguments or is named
            by another resource argument.
        reads: True confirms that the tool only reads, so that facts may be looked up with it.
        annotation: Digest of an annotation that may be weaker than the published one.
        schema_digest: The tool as it was when the person looked at it.
        by: Who says so.
    """

    server: ServerName
    tool: str
    arg: str | None = None
    contained: bool = False
    reads: bool = False
    annotation: Digest | None = None
    schema_digest: Digest
    by: str = Field(min_length=1)
    reason: str = Field(min_length=1)


class ConfirmedRule(Frozen):
    """A person's word that a rule may allow what it allows without a limit.

    Attributes:
        rule: The rule's name.
        digest: The rule, its clause and its tools as they were when the person looked at them.
    """

    rule: str
    digest: Digest
    by: str = Field(min_length=1)
    reason: str = Field(min_length=1)


class ConfirmedRules(Frozen):
    """A person's one word for several rules.

    Attributes:
        digests: Each rule's digest, by its name.
    """

    digests: dict[Slug, Digest] = Field(min_length=1)
    by: str = Field(min_length=1)
    reason: str = Field(min_length=1)


class Confirmations(Frozen):
    """The whole file."""

    format: Literal["ironcurtain/confirmations/v1"] = "ironcurtain/confirmations/v1"
    confirmed: tuple[ConfirmedTool, ...] = ()
    rules: tuple[ConfirmedRule | ConfirmedRules, ...] = ()

    def of_tool(self, server: str, tool: str, schema_digest: str | None) -> tuple[ConfirmedTool, ...]:
        """Return the entries about a tool as it is now."""
        key = (server, tool, schema_digest)
        return tuple(
            entry for entry in self.confirmed if (entry.server, entry.tool, entry.schema_digest) == key
        )

    def has_rule(self, rule: str, digest: str) -> bool:
        """Tell whether a rule is confirmed as it is now."""
        return (rule, digest) in self.confirmed_rules

    @property
    def confirmed_rules(self) -> tuple[tuple[str, str], ...]:
        """The name and the digest of each rule that is confirmed, whatever the form of its entry."""
        return tuple(pair for entry in self.rules for pair in _named(entry))


def _named(entry: ConfirmedRule | ConfirmedRules) -> Iterator[tuple[str, str]]:
    if isinstance(entry, ConfirmedRule):
        yield entry.rule, entry.digest
    else:
        yield from entry.digests.items()
