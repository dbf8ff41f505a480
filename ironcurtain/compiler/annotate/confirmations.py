"""The file `confirmations.yaml`: what people reviewed and confirmed, with a reason.

Each entry is bound by a digest to the thing as it was; a changed tool, annotation or rule has to be
confirmed again.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ironcurtain.errors import AnnotationError, raise_all
from ironcurtain.model.varying import Varying
from ironcurtain.servers.tools import Tools
from ironcurtain.system.frozen import Digest, Frozen, ServerName, Slug
from ironcurtain.system.text import quoted


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


class ConfirmedText(Varying):
    """A person's word that a text of a server depends on where the server runs.

    All around the text stays pinned by the digests, so the word holds as long as the text is there.
    """

    server: ServerName
    by: str = Field(min_length=1)
    reason: str = Field(min_length=1)

    @property
    def varying(self) -> Varying:
        """The text alone."""
        return Varying(text=self.text, value=self.value, pattern=self.pattern)


class Confirmations(Frozen):
    """The whole file."""

    format: Literal["ironcurtain/confirmations/v1"] = "ironcurtain/confirmations/v1"
    confirmed: tuple[ConfirmedTool, ...] = ()
    rules: tuple[ConfirmedRule | ConfirmedRules, ...] = ()
    varying: tuple[ConfirmedText, ...] = ()

    def varying_of(self, server: str) -> tuple[Varying, ...]:
        """Return the texts of a server that depend on where it runs."""
        return tuple(entry.varying for entry in self.varying if entry.server == server)

    def settled(self, tools: Tools) -> Tools:
        """Return listed servers with these texts as they were recorded, wherever they were listed.

        Raises:
            AnnotationError: For each text that the server does not have, or whose pattern takes more than
                the value.
        """
        now = {server: listed.settled(self.varying_of(server)) for server, listed in tools.items()}
        raise_all([error for entry in self.varying for error in _mistakes(entry, tools, now)])
        return now

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


def _mistakes(entry: ConfirmedText, tools: Tools, now: Tools) -> Iterator[AnnotationError]:
    """Yield what is wrong with a text that is said to depend on where its server runs."""
    if entry.server not in tools:
        return  # it is not read now
    where = f"confirmations.yaml, varying, {entry.server}"
    listed = tools[entry.server]
    if entry.text in listed.texts and listed.settled((entry.varying,)) != listed:
        hint = "Write more of what follows the value into `text`, or a narrower pattern."
        yield AnnotationError(
            f"the pattern {quoted(entry.pattern)} takes more than the value", where=where, hint=hint
        )
    elif entry.text not in now[entry.server].texts:
        yield AnnotationError(f"the server does not write {quoted(entry.text)}", where=where)


def _named(entry: ConfirmedRule | ConfirmedRules) -> Iterator[tuple[str, str]]:
    if isinstance(entry, ConfirmedRule):
        yield entry.rule, entry.digest
    else:
        yield from entry.digests.items()
