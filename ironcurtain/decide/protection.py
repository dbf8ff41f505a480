"""Protected paths: the system's own files, which no tool touches whatever a policy says (semantics 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ironcurtain.canonical.paths import Resolver, is_within
from ironcurtain.canonical.world import Entry, Kind, UnreadableError, World

GIT_DIRECTORY = ".git"
_BARE_MARKS = ("HEAD", "objects", "refs")
_MAX_SCANNED = 100_000


class Protection:
    """The protected paths and the sandbox, resolved once at load.

    The deepest of the sandbox and the protected entries that contains a path decides: a sandbox nested
    in a protected directory stays usable, a protected path inside the sandbox stays protected.
    """

    def __init__(self, protected: Iterable[str], sandbox: str | None, world: World) -> None:
        """Take real absolute paths."""
        self._world = world
        self._sandbox = sandbox
        self.paths = tuple(sorted(set(protected)))

    def refuses(self, path: str, resolver: Resolver) -> bool:
        """Tell whether a real path is protected: by its place, or as another name of a protected file."""
        if self._is_protected_place(path):
            return True
        return self._is_same_file(path, resolver)

    def refuses_below(self, path: str) -> bool:
        """Tell whether a protected path lies anywhere below a real path."""
        return any(is_within(entry, path) for entry in self.paths)

    def refuses_change(self, path: str, resolver: Resolver) -> bool:
        """Tell whether writing or deleting there would change git's own configuration or hooks."""
        steps = path.split("/")
        if any(step.casefold() == GIT_DIRECTORY for step in steps):
            return True
        parents = ("/".join(steps[:depth]) for depth in range(len(steps) - 1, 1, -1))
        return any(self._is_bare_repository(parent, resolver) for parent in parents)

    def _is_protected_place(self, path: str) -> bool:
        inside = [entry for entry in self.paths if is_within(path, entry)]
        if not inside:
            return False
        deepest = max(inside, key=len)
        usable = self._sandbox is not None and is_within(path, self._sandbox)
        return not (usable and self._sandbox != deepest and is_within(self._sandbox or "", deepest))

    def _is_same_file(self, path: str, resolver: Resolver) -> bool:
        """Find hard links to protected files, and protected directories mounted a second time."""
        protected = {e.identity for e in map(resolver.entry, self.paths) if e is not None}
        if not protected:
            return False
        for place in _with_parents(path):
            entry = resolver.entry(place)
            if entry is not None and entry.identity in protected and place not in self.paths:
                # The sandbox may lie in a protected directory, and so may what lies above it.
                return not (self._sandbox is not None and is_within(self._sandbox, place))
        entry = resolver.entry(path)
        if entry is None or entry.kind is not Kind.FILE or entry.links <= 1:
            return False
        return any(found.identity == entry.identity for found in self._protected_files(resolver))

    def _protected_files(self, resolver: Resolver) -> Iterator[Entry]:
        """Walk everything inside protected directories; needed only for files with several names."""
        waiting, scanned = list(self.paths), 0
        while waiting:
            path = waiting.pop()
            scanned += 1
            if scanned > _MAX_SCANNED:
                raise UnreadableError("a protected directory holds too many files to compare")
            entry = resolver.entry(path)
            if entry is None or path == self._sandbox:
                continue
            yield entry
            if entry.kind is Kind.DIRECTORY:
                waiting.extend(f"{path}/{name}" for name in self._world.children(path))

    def _is_bare_repository(self, path: str, resolver: Resolver) -> bool:
        return all(resolver.entry(f"{path}/{mark}") is not None for mark in _BARE_MARKS)


def _with_parents(path: str) -> Iterator[str]:
    while path and path != "/":
        yield path
        path = path.rpartition("/")[0]
