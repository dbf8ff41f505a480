"""The worlds that calls are decided in: as described, with an attacker's links, and with names that fold."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence

from ironcurtain.analysis.attack.spellings.leaves import ResourceLeaf
from ironcurtain.analysis.attack.spellings.spelling import Links, Scene, SpellingContext
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical.host_view import (
    FileEntry,
    FileKind,
    HostView,
    RemoteUrls,
    RepositoryPlaces,
)
from ironcurtain.decision.canonical.paths import Resolver, is_within
from ironcurtain.decision.canonical.simulated_host import SimulatedHost
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.decide import Call, trace
from ironcurtain.decision.loaded_policy import Deployment, LoadedPolicy
from ironcurtain.model.scenarios import DescribedFile, DescribedWorld
from ironcurtain.system.structs import replace

_PRESENT = ".present"
_MAX_PLACES = 4


class Scenes:
    """One policy in each of the worlds, which are made when they are first needed."""

    def __init__(self, bundle: Bundle, world: DescribedWorld) -> None:
        """Load the policy in the described world.

        Raises:
            BundleRelationError: If the world is not the one that the bundle was verified in.
        """
        self._content, self._described = PolicyContent.of(bundle), world
        self._known = {Scene.DESCRIBED: self._load(SimulatedHost(world))}
        self.links = Links()

    def policy(self, scene: Scene) -> LoadedPolicy:
        """Return the policy, loaded in a world."""
        if scene not in self._known:
            make = self._linked if scene is Scene.LINKED else self._folded
            self._known[scene] = self._load(make())
        return self._known[scene]

    def ground(self, server: str) -> SpellingContext:
        """Return what spellings need to know of the described world."""
        policy = self.policy(Scene.DESCRIBED)
        bounds = policy.boundaries(server)
        return SpellingContext(
            home=self._real(policy.deployment.home) or policy.deployment.home,
            root=self._real(bounds.working_root) if bounds.working_root is not None else None,
            places=self._places(bounds.sandbox),
            links=self.links,
            folding_hosts=self._content.case_insensitive_hosts,
        )

    def grounds(self, call: Call) -> Callable[[ResourceLeaf], SpellingContext]:
        """Return what spellings of each leaf of a call need to know: relative ones start where it says."""
        ground, canonical = self.ground(call.server), trace(call, self.policy(Scene.DESCRIBED)).canonical

        def of(leaf: ResourceLeaf) -> SpellingContext:
            if canonical is None:
                return ground
            start = canonical.starts.get(leaf.steps) if leaf.is_path else canonical.remote_start
            return replace(ground, root=self._real(start) if start is not None else None)

        return of

    def is_protected_file(self, path: str) -> bool:
        """Tell whether a real path lies below a protected one and is a file, or could be one."""
        protected = self.policy(Scene.DESCRIBED).boundaries("").protection.paths
        if not any(is_within(path, place) for place in protected):
            return False
        entry = SimulatedHost(self._described).entry(path)
        return entry is None or entry.kind is FileKind.FILE

    def _load(self, world: HostView) -> LoadedPolicy:
        described = self._described
        deployment = Deployment(
            home=described.home,
            sandbox=described.sandbox,
            protected=described.protected,
            working_roots=described.working_roots,
            domains=described.domains,
        )
        return LoadedPolicy(self._content, deployment, world)

    def _places(self, sandbox: str | None) -> tuple[str, ...]:
        """Return where an attacker could have made links: the workspace, and directories that rules name."""
        named = sorted(set(self.policy(Scene.DESCRIBED).patterns.directories.values()))
        files = {*self._described.files, *self._described.symlinks}
        free = [place for place in named if place != "/" and place not in files]
        return tuple(dict.fromkeys([*([sandbox] if sandbox else []), *free]))[:_MAX_PLACES]

    def _real(self, path: str) -> str | None:
        try:
            return Resolver(SimulatedHost(self._described), home=self._described.home).resolve(path, None)
        except UnrepresentableError:
            return None

    def _linked(self) -> HostView:
        described = self._described
        symlinks = {**described.symlinks, **self.links.symbolic}
        # Of two protected names of which one lies below the other only the deeper one can be a file.
        targets = set(self.links.hard.values())
        hard = {
            place: target
            for place, target in self.links.hard.items()
            if not any(other != target and is_within(other, target) for other in targets)
        }
        there = {name: DescribedFile(links=2) for name in (*hard, *hard.values())}
        world = described.model_copy(update={"symlinks": symlinks, "files": {**described.files, **there}})
        return SecondNames(SimulatedHost(world), hard)

    def _folded(self) -> HostView:
        """Return a world that folds names, in which the directories that rules name are there."""
        described = self._described
        named = self.policy(Scene.DESCRIBED).patterns.directories.values()
        taken = {*described.files, *described.symlinks}
        there = {
            f"{place.rstrip('/')}/{_PRESENT}": DescribedFile()
            for place in named
            if not any(is_within(place, path) for path in taken)
        }
        return FoldingWorld(
            SimulatedHost(described.model_copy(update={"files": {**described.files, **there}}))
        )


class _Passing:
    """A world that answers from another one; the base of those that change some answers."""

    def __init__(self, world: HostView) -> None:
        self._world = world

    def name_of(self, path: str) -> str:
        """Return the path as the other world stores it."""
        return path

    @property
    def never_changes(self) -> bool:
        """See `HostView.never_changes`."""
        return self._world.never_changes

    def for_one_call(self) -> _Passing:
        """See `HostView.for_one_call`."""
        return self

    def entry(self, path: str) -> FileEntry | None:
        """See `HostView.entry`."""
        return self._world.entry(self.name_of(path))

    def readlink(self, path: str) -> str:
        """See `HostView.readlink`."""
        return self._world.readlink(self.name_of(path))

    def children(self, path: str) -> Sequence[str]:
        """See `HostView.children`."""
        return self._world.children(self.name_of(path))

    def is_process_link(self, path: str) -> bool:
        """See `HostView.is_process_link`."""
        return self._world.is_process_link(self.name_of(path))

    def repository(self, path: str, *, server: str) -> RepositoryPlaces | None:
        """See `HostView.repository`."""
        return self._world.repository(self.name_of(path), server=server)

    def remote(self, repository: str | None, remote: str | None, *, server: str) -> RemoteUrls:
        """See `HostView.remote`."""
        name = None if repository is None else self.name_of(repository)
        return self._world.remote(name, remote, server=server)


class SecondNames(_Passing):
    """A world in which some files are second names of others."""

    def __init__(self, world: HostView, names: Mapping[str, str]) -> None:
        super().__init__(world)
        self._names = names

    def entry(self, path: str) -> FileEntry | None:
        """See `HostView.entry`: a second name has the identity of the first."""
        entry = self._world.entry(path)
        if entry is None or path not in self._names:
            return entry
        first = self._world.entry(self._names[path])
        return entry if first is None else FileEntry(entry.kind, first.identity, entry.links, entry.name)


class FoldingWorld(_Passing):
    """A world whose names are the same in any case and Unicode form, as on macOS and Windows."""

    def __init__(self, world: HostView) -> None:
        super().__init__(world)
        self._stored: dict[str, str] = {}
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            self._stored.setdefault(folded(path), path)
            entry = world.entry(path)
            if entry is not None and entry.kind is FileKind.DIRECTORY:
                waiting += [f"{path.rstrip('/')}/{name}" for name in world.children(path)]

    def name_of(self, path: str) -> str:
        """Return the path as it is stored, or as it is where nothing is there."""
        return self._stored.get(folded(path), path)


def folded(path: str) -> str:
    """Return the form in which such a file system compares names."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFD", path).casefold())
