"""Protected paths: the system's own files, which no tool may touch under any policy (specification 2.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from ironcurtain.decision.canonical.host_view import FileKind, HostView, UnreadableError
from ironcurtain.decision.canonical.paths import Resolver, is_within

GIT_DIRECTORY = ".git"
_BARE_MARKS = ("HEAD", "objects", "refs")
_MAX_SCANNED = 100_000
_MAX_DIRECTORIES = 20_000


class Protection:
    """The protected paths and the sandbox, resolved once at load.

    The deepest of the sandbox and the protected entries that contains a path decides: a sandbox nested
    in a protected directory stays usable, a protected path inside the sandbox stays protected.

    Attributes:
        paths: The protected real paths, sorted.
        sandbox: The sandbox's real path, or None.
    """

    def __init__(
        self,
        protected: Iterable[str],
        sandbox: str | None,
        world: HostView,
        *,
        unchangeable: Iterable[str] = (),
        lasting: Resolver | None = None,
    ) -> None:
        """Take real absolute paths, and the resolver of all calls where the world never changes.

        `unchangeable` may be read, and is refused like the protected ones where it would be changed.
        """
        self.paths = tuple(sorted(set(protected)))
        self.sandbox = sandbox
        self._world = world
        unchanged = [*unchangeable]
        self.unchanged = Protection(unchanged, None, world) if unchanged else None
        self._lasting = (lasting, PathGuard(self, world, lasting)) if lasting is not None else None

    def guard(self, resolver: Resolver) -> PathGuard:
        """Return the guard of one call, which looks up everything once, through the call's resolver."""
        if self._lasting is not None and self._lasting[0] is resolver:
            return self._lasting[1]
        return PathGuard(self, self._world, resolver)


class PathGuard:
    """What one call may not touch."""

    def __init__(self, protection: Protection, world: HostView, resolver: Resolver) -> None:
        self._paths = protection.paths
        self._sandbox = protection.sandbox
        self._world = world
        self._resolver = resolver
        self._places = frozenset(protection.paths)
        self._unchanged = protection.unchanged.guard(resolver) if protection.unchanged is not None else None
        # Many paths of one call lie in few directories, and what is above each of them is found once.
        self._around: dict[str, str | None] = {}
        self._aliases: dict[str, str | None] = {}

    def refuses(self, path: str) -> bool:
        """Tell whether a real path is protected: by its place, or as another name of a protected file.

        Raises:
            UnreadableError: If that cannot be told.
        """
        return self._is_protected_place(path) or self._is_same_file(path)

    def refuses_below(self, path: str) -> bool:
        """Tell whether a protected path lies anywhere below a real path."""
        return any(is_within(entry, path) for entry in self._paths)

    def refuses_change(self, path: str) -> bool:
        """Tell whether writing or deleting there would change what runs code unasked, or what governs.

        That is git's own configuration and hooks, and what is unchangeable here.

        Raises:
            UnreadableError: If that cannot be told.
        """
        if any(step.casefold() == GIT_DIRECTORY for step in path.split("/")):
            return True
        unchanged = self._unchanged
        if unchanged is not None and (unchanged.refuses(path) or unchanged.refuses_below(path)):
            return True
        return any(self._is_bare_repository(parent) for parent in _with_parents(path) if parent != path)

    def refuses_writing(self, path: str) -> bool:
        """Tell whether a file has a second name among git's own files, of a repository around or inside.

        Raises:
            UnreadableError: If that cannot be told.
        """
        entry = self._resolver.entry(path)
        if entry is None or entry.kind is not FileKind.FILE or entry.links <= 1:
            return False
        around = [f"{parent}/{GIT_DIRECTORY}" for parent in _with_parents(path) if parent != path]
        return any(entry.identity in self._inside(place) for place in [*around, *self._repositories])

    @cached_property
    def _repositories(self) -> list[str]:
        """The git directories in the sandbox, among its first directories if it has very many."""
        found: list[str] = []
        waiting = [self._sandbox] if self._sandbox is not None else []
        for seen, place in enumerate(waiting):
            if seen >= _MAX_DIRECTORIES:
                break
            for path in [f"{place}/{name}" for name in self._world.children(place)]:
                entry = self._resolver.entry(path)
                if entry is not None and entry.kind is FileKind.DIRECTORY:
                    is_git = path.rpartition("/")[2].casefold() == GIT_DIRECTORY
                    (found if is_git else waiting).append(path)
        return found

    def _is_protected_place(self, path: str) -> bool:
        protected = self._protected_above(path)
        return protected is not None and not self._is_usable(path, protected)

    def _protected_above(self, path: str) -> str | None:
        """Return the deepest protected path that is the real path or contains it."""
        if path in self._places or path == "/":
            return path if path in self._places else None
        directory = path.rpartition("/")[0] or "/"
        if directory not in self._around:
            self._around[directory] = self._protected_above(directory)
        return self._around[directory]

    def _is_usable(self, path: str, protected: str) -> bool:
        """Tell whether the sandbox lies between a protected directory and a path inside it."""
        sandbox = self._sandbox
        return (
            sandbox is not None
            and is_within(path, sandbox)
            and sandbox != protected
            and is_within(sandbox, protected)
        )

    def _is_same_file(self, path: str) -> bool:
        """Find hard links to protected files, and protected directories mounted a second time."""
        alias = self._alias_above(path)
        if alias is not None:
            return not self._is_usable(path, alias)
        entry = self._resolver.entry(path)
        if entry is None or entry.kind is not FileKind.FILE or entry.links <= 1:
            return False
        return entry.identity in self._files

    def _alias_above(self, path: str) -> str | None:
        """Return the deepest second name of a protected path among the path and what is above it."""
        if path == "/":
            return None
        entry = self._resolver.entry(path)
        # A protected directory's own name was judged by its place.
        if entry is not None and entry.identity in self._identities and path not in self._places:
            return path
        directory = path.rpartition("/")[0]
        if not directory:
            return None
        if directory not in self._aliases:
            self._aliases[directory] = self._alias_above(directory)
        return self._aliases[directory]

    @cached_property
    def _identities(self) -> frozenset[tuple[int, int]]:
        entries = map(self._resolver.entry, self._paths)
        return frozenset(entry.identity for entry in entries if entry is not None)

    @cached_property
    def _files(self) -> frozenset[tuple[int, int]]:
        """Everything inside protected directories; needed only for files with several names."""
        return self._inside(*self._paths)

    def _inside(self, *places: str) -> frozenset[tuple[int, int]]:
        """Return the identities of all that is at or below some places, but not in the sandbox."""
        found: set[tuple[int, int]] = set()
        waiting = list(places)
        while waiting:
            path = waiting.pop()
            entry = self._resolver.entry(path)
            if entry is None or path == self._sandbox:
                continue
            found.add(entry.identity)
            if len(found) > _MAX_SCANNED:
                raise UnreadableError("a protected directory holds too many files to compare")
            if entry.kind is FileKind.DIRECTORY:
                waiting.extend(f"{path}/{name}" for name in self._world.children(path))
        return frozenset(found)

    def _is_bare_repository(self, path: str) -> bool:
        return all(self._resolver.entry(f"{path}/{mark}") is not None for mark in _BARE_MARKS)


def _with_parents(path: str) -> Iterator[str]:
    while path and path != "/":
        yield path
        path = path.rpartition("/")[0]
