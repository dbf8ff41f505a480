"""Subjects: the (leaf, role) pairs of a call that a policy must justify one by one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ironcurtain.canonical.unrepresentable import UnrepresentableError
from ironcurtain.canonical.urls import Url
from ironcurtain.roles.registry import NONE, Registry, Role

MAX_SUBJECTS = 10_000
CALL = "call"
"""Id and value of the one subject of a call without resources."""

_ID_WIDTH = len(str(MAX_SUBJECTS - 1))


@dataclass(frozen=True)
class Subject:
    """One resource in canonical form, under one role.

    Attributes:
        id: Position in document order, zero-padded, so that ids sort as text; `call` without resources.
        value: The canonical text: a real absolute path, a URL, an identifier.
        at: JSON pointer of the first leaf that holds it; empty for the subject `call`.
        also_at: Further pointers with the same role and value.
        resource: What patterns are matched against: the parsed URL, otherwise `value`.
        recursive: Whether the tool acts on the whole tree below.
        git_directory: Whether it is the git directory of the call's own repository, as git reports it.
        unresolved: Why it is not known what this names; no pattern covers such a subject.
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


class SubjectCollector:
    """Collects subjects in document order; equal (role, value) pairs are one subject."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, bool], Subject] = {}

    def add(self, subject: Subject) -> None:
        """Add a subject (its id is given later) or another place of one that is known.

        Raises:
            UnrepresentableError: If the call has more subjects than can be judged.
        """
        key = (subject.role.name, subject.value, subject.unresolved is not None)
        known = self._found.get(key)
        if known is None:
            self._found[key] = subject
        else:
            places = dict.fromkeys((*known.also_at, subject.at))
            places.pop(known.at, None)
            self._found[key] = replace(
                known,
                also_at=tuple(places),
                recursive=known.recursive or subject.recursive,
                git_directory=known.git_directory and subject.git_directory,
            )
        if len(self._found) > MAX_SUBJECTS:
            raise UnrepresentableError(f"names more than {MAX_SUBJECTS:,} resources")

    def finish(self, registry: Registry) -> tuple[Subject, ...]:
        """Return the subjects with their ids; a call without resources has the one subject `call`."""
        if not self._found:
            return (Subject(CALL, registry[NONE], CALL, at=""),)
        return tuple(_numbered(self._found.values()))


def _numbered(subjects: Iterable[Subject]) -> Iterable[Subject]:
    return (replace(subject, id=f"{n:0{_ID_WIDTH}d}") for n, subject in enumerate(subjects))
