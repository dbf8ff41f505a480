"""What each source can add to a call in each mode: its elements, and how it can be absent or empty."""

from __future__ import annotations

from ironcurtain.analysis.engine.indexes import Assignment, SourceIndex, indexed
from ironcurtain.analysis.engine.space.call_arguments import CallArguments
from ironcurtain.analysis.engine.space.elements import Element
from ironcurtain.analysis.engine.space.modes import Modes
from ironcurtain.analysis.engine.space.sources import SourceReader
from ironcurtain.decision.roles import GIT_REMOTE, Registry


class SourceElements:
    """The elements of one tool's sources; each is made once.

    Args:
        reader: The tool's sources, and the steps that its values are run through.
        modes: The tool's modes.
        arguments: Puts calls of the tool together.
        registry: The roles.
    """

    def __init__(
        self, reader: SourceReader, modes: Modes, arguments: CallArguments, registry: Registry
    ) -> None:
        self._reader, self._modes, self._arguments, self._registry = reader, modes, arguments, registry
        self._elements: dict[tuple[SourceIndex, tuple[str, ...]], list[Element]] = {}
        self._absent: dict[tuple[object, ...], Element | None] = {}
        self._empty: dict[tuple[object, ...], Element | None] = {}

    def of(self, source: SourceIndex, roles: tuple[str, ...]) -> list[Element]:
        """Return the elements of a source while it has some roles."""
        if (source, roles) not in self._elements:
            self._elements[source, roles] = self._made(source, roles) if self.yields_resources(roles) else []
        return self._elements[source, roles]

    def _made(self, source: SourceIndex, roles: tuple[str, ...]) -> list[Element]:
        chosen = self._giving(source, roles)
        if chosen is None:
            return []
        own = self._reader.sources[source]
        found = self._reader.elements(
            own, self._arguments.of(chosen, own), self._arguments.read_with(own, chosen)
        )
        absent = self.absent(source, chosen)
        # An absent source still yields what its default names.
        return [*found, absent] if absent is not None and absent.filled and not absent.is_bare else found

    def _giving(self, source: SourceIndex, roles: tuple[str, ...]) -> Assignment | None:
        """Return a mode in which a source has some roles and may be given, None if there is none."""
        for chosen, by_source in self._modes.of_roles({}):
            if (
                by_source[source] == roles
                and self._modes.gives(self._reader.sources[source], chosen) is not False
            ):
                return chosen
        return None

    def yields_resources(self, roles: tuple[str, ...]) -> bool:
        """Tell whether values with some roles are resources."""
        return any(self._registry[role].resource for role in roles)

    def absent(self, source: SourceIndex, chosen: Assignment) -> Element | None:
        """Return what a call without the source's argument yields, None if it must be given."""
        own = self._reader.sources[source]
        given = self._modes.gives(own, chosen)
        memo = (source, *chosen.items())
        if memo not in self._absent:
            self._absent[memo] = self._reader.absent(own, self._arguments.read_with(own, chosen))
        found = self._absent[memo]
        # Where its default is filled in, an absent argument passes for a given one.
        return None if found is None or given not in (None, found.filled) else found

    def empty(self, source: SourceIndex, chosen: Assignment) -> Element | None:
        """Return the element of an argument that is there and holds no resource, None if it must hold one."""
        own = self._reader.sources[source]
        if self._modes.gives(own, chosen) is False:
            return None
        memo = (source, *chosen.items())
        if memo not in self._empty:
            arguments = self._arguments.of(chosen, own)
            self._empty[memo] = self._reader.empty(own, arguments, self._arguments.read_with(own, chosen))
        return self._empty[memo]

    def is_implied(self, roles: tuple[str, ...]) -> bool:
        """Tell whether git would choose a remote where the argument is absent."""
        return GIT_REMOTE in roles and any(a.repository for a in self._reader.annotation.args)

    def can_be_bare(self) -> bool:
        """Tell whether some call of the tool has no resources."""
        return any(
            all(self._can_be_empty(source, own, chosen) for source, own in indexed(SourceIndex, roles))
            for chosen, roles in self._modes.of_roles({})
        )

    def _can_be_empty(self, source: SourceIndex, roles: tuple[str, ...], chosen: Assignment) -> bool:
        if not self.yields_resources(roles):
            return True
        absent = self.absent(source, chosen)
        if absent is not None and absent.is_bare:
            return not self.is_implied(roles)
        return self.empty(source, chosen) is not None

    def must_yield(self, source: SourceIndex, roles: tuple[str, ...]) -> bool:
        """Tell whether every call in which a source has some roles holds a resource of it."""
        return self.yields_resources(roles) and not any(
            self._can_be_empty(source, roles, chosen)
            for chosen, by_source in self._modes.of_roles({})
            if by_source[source] == roles
        )
