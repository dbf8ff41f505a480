"""Resources: the (leaf, role) pairs of a call that a policy must justify one by one."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.urls import Url
from ironcurtain.decision.roles import NONE, Registry, Role
from ironcurtain.model.reasons import Reason, ReasonCode

MAX_SUBJECTS = 10_000
MAX_PLACES = 100_000
"""Most mentions of resources in one call, equal ones counted too."""

CALL = "call"
"""Id and value of the entry that stands for a call without resources."""

_ID_WIDTH = len(str(MAX_SUBJECTS - 1))
_Key: TypeAlias = tuple[str, str, bool]


class Resource(NamedTuple):
    """One resource in canonical form, under one role.

    Attributes:
        id: Position in document order, zero-padded, so that ids sort as text; `call` without resources.
        value: The canonical text: a real absolute path, a URL, an identifier.
        at: JSON pointer of the first leaf that holds it; empty for the entry `call`.
        also_at: Further pointers with the same role and value.
        resource: What patterns are matched against: the parsed URL, otherwise `value`.
        recursive: Whether the tool acts on the whole tree below.
        git_directory: Whether it is the git directory of the call's own repository, as git reports it.
        unresolved: Why it is not known what this names; no pattern covers such a resource.
    """

    id: str
    role: Role
    value: str
    at: str
    also_at: tuple[str, ...] = ()
    resource: str | Url = ""
    recursive: bool = False
    git_directory: bool = False
    unresolved: str | None = None


class ResourceCollector:
    """Collects resources in document order; equal (role, value) pairs are one resource."""

    def __init__(self) -> None:
        self._found: dict[_Key, Resource] = {}
        self._places: dict[_Key, dict[str, None]] = {}

    def add(self, resource: Resource) -> None:
        """Add a resource (its id is given later) or another place of one that is known."""
        key = key_of(resource)
        known = self._found.setdefault(key, resource)
        if known is not resource:
            self._found[key] = known._replace(
                recursive=known.recursive or resource.recursive,
                git_directory=known.git_directory and resource.git_directory,
            )
        if known is not resource or resource.also_at:
            self._places.setdefault(key, {known.at: None}).update(
                dict.fromkeys((resource.at, *resource.also_at))
            )

    def finish(self, registry: Registry) -> tuple[Resource, ...]:
        """Return the resources with their ids; a call without any has the entry `call`."""
        if not self._found:
            return (Resource(CALL, registry[NONE], CALL, at=""),)
        return tuple(
            # Much quicker than `_replace`, and a call may have thousands.
            Resource(
                f"{number:0{_ID_WIDTH}d}",
                found.role,
                found.value,
                found.at,
                tuple(self._places[key])[1:] if key in self._places else (),
                found.resource,
                found.recursive,
                found.git_directory,
                found.unresolved,
            )
            for number, (key, found) in enumerate(self._found.items())
        )


class ResourceLimit:
    """Counts a call's resources while they are found, so that endless ones are refused before they exist."""

    def __init__(self) -> None:
        self._keys: set[_Key] = set()
        self._count = 0

    def add(self, resource: Resource) -> None:
        """Count a resource.

        Raises:
            UnrepresentableError: If the call has more resources, or more places of them, than can be judged.
        """
        self._keys.add(key_of(resource))
        self._count += 1
        if len(self._keys) > MAX_SUBJECTS:
            text = f"names more than {MAX_SUBJECTS:,} resources"
            raise UnrepresentableError(Reason(ReasonCode.LIMIT, text, text))
        if self._count > MAX_PLACES:
            raise UnrepresentableError(f"names resources at more than {MAX_PLACES:,} places")


def key_of(resource: Resource) -> _Key:
    """Return what two mentions of one resource share."""
    return resource.role.name, resource.value, resource.unresolved is not None
