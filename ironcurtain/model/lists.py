"""Named lists (`dynamic-lists.json`): values that rules refer to as `@name`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.model.base import Frozen, Slug


class NamedList(Frozen):
    """One list: what was resolved, and what people added to and removed from it.

    Attributes:
        type: The role whose patterns the list holds: `domain` for the URL roles, `recipient`,
            `repository`, `remote-path` or an identifier role.
        resolved: Values found by resolving; None while the list is unresolved.
        source: The clause that asks for the list.
    """

    type: str
    resolved: tuple[str, ...] | None = None
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    source: str = ""

    @property
    def values(self) -> tuple[str, ...]:
        """The members: resolved and added ones without the removed ones, sorted."""
        return tuple(sorted({*(self.resolved or ()), *self.added} - {*self.removed}))


class Lists(Frozen):
    """The file `dynamic-lists.json`."""

    format: Literal["ironcurtain/lists/v1"]
    lists: dict[Slug, NamedList] = Field(default_factory=dict)
