"""Named lists (`dynamic-lists.json`): values that rules refer to as `@name`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.system.frozen import Digest, Frozen, JsonValue, ServerName, Slug


class Resolution(Frozen):
    """How a list was resolved, so that it can be resolved again in the same way.

    Attributes:
        values: JSON pointer into the tool's result, in which `*` stands for every element.
        schema_digest: The tool as it was; a changed tool is not called again unseen.
        confirmed: Whether a person confirmed that the tool only reads.
        answered_by: Who chose the tool: `manual`, or a provider and model.
    """

    server: ServerName
    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    values: str
    schema_digest: Digest
    confirmed: bool = False
    answered_by: str


class NamedList(Frozen):
    """One list: what was resolved, and what people added to and removed from it.

    Attributes:
        type: The role whose patterns the list holds: `domain` for the URL roles, `recipient`,
            `repository`, `remote-path` or an identifier role.
        resolved: Values found by resolving; None while the list is unresolved.
        source: The clause that asks for the list.
        resolution: How it was resolved; None for a list that is kept by hand.
        by_compile: Whether a compile resolved it; its values then stand in the published file.
    """

    type: str
    resolved: tuple[str, ...] | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    source: str = ""
    resolution: Resolution | None = None
    by_compile: bool = False

    @property
    def values(self) -> tuple[str, ...]:
        """The members: resolved and added ones without the removed ones, sorted."""
        return tuple(sorted({*(self.resolved or ()), *self.added} - {*self.removed}))

    @property
    def is_resolved(self) -> bool:
        """Whether anybody has said what it holds, be it nothing."""
        return self.resolved is not None or bool(self.added)


class Lists(Frozen):
    """The file `dynamic-lists.json`."""

    format: Literal["ironcurtain/lists/v1"]
    lists: dict[Slug, NamedList] = Field(default_factory=dict)
