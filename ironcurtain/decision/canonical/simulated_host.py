"""The world as a scenario file describes it, so that verification is the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from ironcurtain.decision.canonical.host_view import (
    FileEntry,
    FileKind,
    RemoteUrls,
    RepositoryPlaces,
    UnreadableError,
    is_process_relative,
)
from ironcurtain.decision.canonical.paths import ancestors, is_within
from ironcurtain.errors import ScenarioError
from ironcurtain.model.scenarios import DescribedWorld, Repository
from ironcurtain.system.text import quoted

_MAX_NAME_BYTES = 255
_DEVICE = 0
_DIRECTORY_LINKS = 2


@dataclass
class _Node:
    kind: FileKind
    links: int = 1
    target: str = ""
    children: set[str] = field(default_factory=set)


class SimulatedHost:
    """A `HostView` built from a `DescribedWorld`.

    What the description names exists, every directory above it too, and nothing else does. Named
    directories (home, sandbox, working roots, protected places) are directories unless the
    description says that they are symlinks or files.

    Raises:
        ScenarioError: If the description contradicts itself or names a path that is not absolute.
    """

    def __init__(self, described: DescribedWorld) -> None:
        self._nodes: dict[str, _Node] = {"/": _Node(FileKind.DIRECTORY, links=_DIRECTORY_LINKS)}
        self._repositories: dict[str, Repository] = {}
        home = described.home
        for path, target in described.symlinks.items():
            self._add(_place(path, home), _Node(FileKind.SYMLINK, target=target))
        for path, file in described.files.items():
            self._add(_place(path, home), _Node(FileKind.FILE, links=file.links))
        for path, repository in described.repositories.items():
            top = _place(path, home)
            self._add_directory(top if repository.bare else f"{top}/.git")
            self._repositories[top] = repository
        for path in _named(described):
            place = _place(path, home)
            if place not in self._nodes:
                self._add_directory(place)
        self._numbers = {path: number for number, path in enumerate(sorted(self._nodes), start=1)}

    @property
    def never_changes(self) -> bool:
        """See `HostView.never_changes`."""
        return True

    def for_one_call(self) -> SimulatedHost:
        """See `HostView.for_one_call`."""
        return self

    def entry(self, path: str) -> FileEntry | None:
        """See `HostView.entry`; identities are the same for equal descriptions."""
        # No name is longer than its path, and no character than four bytes.
        names = path.split("/") if len(path) > _MAX_NAME_BYTES // 4 else ()
        if any(len(name.encode(errors="surrogateescape")) > _MAX_NAME_BYTES for name in names):
            raise UnreadableError("a name is too long")
        node = self._nodes.get(path)
        if node is None:
            return None
        return FileEntry(node.kind, (_DEVICE, self._numbers[path]), node.links, path.rsplit("/", 1)[1])

    def readlink(self, path: str) -> str:
        """See `HostView.readlink`."""
        node = self._nodes.get(path)
        if node is None or node.kind is not FileKind.SYMLINK:
            raise UnreadableError("no symbolic link")
        return node.target

    def children(self, path: str) -> Sequence[str]:
        """See `HostView.children`."""
        if not self._is_directory(path):
            raise UnreadableError("no directory")
        return sorted(self._nodes[path].children)

    def is_process_link(self, path: str) -> bool:
        """See `HostView.is_process_link`; a described world has no processes, only the system's names."""
        return is_process_relative(path)

    def repository(self, path: str, *, server: str) -> RepositoryPlaces | None:  # noqa: ARG002 - one git serves all
        """See `HostView.repository`; where nothing stands at the path, its deepest directory counts."""
        top = self._repository_top(path)
        if top is None:
            return None
        git = top if self._repositories[top].bare else f"{top}/.git"
        return RepositoryPlaces(top=None if is_within(path, git) else top, common=git)

    def remote(self, repository: str | None, remote: str | None, *, server: str) -> RemoteUrls:  # noqa: ARG002 - as in repository
        """See `HostView.remote`."""
        if repository is not None and not self._is_directory(repository):
            return RemoteUrls((), unresolved="the repository does not exist")
        top = None if repository is None else self._repository_top(repository)
        if top is not None and (remote is None or remote in self._repositories[top].remotes):
            return _configured(self._repositories[top], remote)
        if remote is not None and ("/" in remote or ":" in remote):
            return RemoteUrls((_address(remote, top),))
        return RemoteUrls((), unresolved="no remote of this name is described")

    def _repository_top(self, path: str) -> str | None:
        return next((place for place in ancestors(path) if place in self._repositories), None)

    def _is_directory(self, path: str) -> bool:
        node = self._nodes.get(path)
        return node is not None and node.kind is FileKind.DIRECTORY

    def _add(self, path: str, node: _Node) -> None:
        if path in self._nodes:
            raise ScenarioError(
                f"the world names {quoted(path)} twice, as two different things",
                hint="Describe each place once.",
            )
        parent, name = path.rsplit("/", 1)
        self._add_directory(parent or "/")
        self._nodes[parent or "/"].children.add(name)
        self._nodes[path] = node

    def _add_directory(self, path: str) -> None:
        if path not in self._nodes:
            self._add(path, _Node(FileKind.DIRECTORY, links=_DIRECTORY_LINKS))
        elif not self._is_directory(path):
            raise ScenarioError(
                f"the world needs a directory at {quoted(path)}, which it describes as a file or a symlink",
                hint="Name the place that the symlink leads to.",
            )


def _named(described: DescribedWorld) -> Iterable[str]:
    yield described.home
    if described.sandbox is not None:
        yield described.sandbox
    yield from described.working_roots.values()
    yield from described.protected


def _place(path: str, home: str) -> str:
    """Return a path of the description in canonical spelling, with `~` as its home."""
    absolute = home + path[1:] if path == "~" or path.startswith("~/") else path
    names = [name for name in absolute.split("/") if name not in ("", ".")]
    if not absolute.startswith("/") or ".." in names:
        raise ScenarioError(
            f"the world names {quoted(path)}, which is not an absolute path",
            hint="Begin with `/` or `~/`, without `..`.",
        )
    return "/" + "/".join(names)


def _address(remote: str, top: str | None) -> str:
    """Return a URL or path unchanged, a path beside the repository as git joins it."""
    before_colon = remote.partition(":")[0]
    is_beside = before_colon == remote or "/" in before_colon
    return f"{top}/{remote}" if top and is_beside and not remote.startswith(("/", "~")) else remote


def _configured(repository: Repository, name: str | None) -> RemoteUrls:
    """Return the URLs of a described remote, or of the one that git would take for none."""
    if name is None:
        candidates = [repository.tracking.get(repository.branch, "origin"), "origin"]
        if len(repository.remotes) == 1:
            candidates.extend(repository.remotes)
        name = next((each for each in candidates if each in repository.remotes), None)
    if name is None:
        return RemoteUrls((), unresolved="the repository has no remote that git would take by itself")
    remote = repository.remotes[name]
    urls = tuple(dict.fromkeys((*remote.fetch, *remote.push)))
    return RemoteUrls(urls, None if urls else "the remote has no URL")
