"""What started sandboxes let through, asked before a call is sent, and the reach of one started for a call.

`Mounts` answers for one sandbox. `Limits` holds those of the server that runs and of the widest one that a
person could approve. `widened` returns the inputs of a server process that is started for one approved
call: as usual, and what that call names. A path that is read is opened itself. To change a file, programs
replace it: then the directory is opened in which it lies or would be made, and what else lies in that
directory stays as closed as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.urls import DEFAULT_PORTS, Url
from ironcurtain.enforcement.sandbox.profile import Profile, SandboxInputs
from ironcurtain.enforcement.sandbox.reach.opened import is_in
from ironcurtain.enforcement.sandbox.reach.reach import Places
from ironcurtain.servers.config import real_paths
from ironcurtain.system.structs import Struct, replace

_SCHEMES = frozenset({"http", "https"})


class Mounts(Struct):
    """The settings of one started sandbox; paths are real ones.

    Attributes:
        readable: What is shown of hidden places; what can be written is, too.
        hidden: What cannot be read.
        writable: What can be written.
        held: What of that cannot.
        domains: Hosts that can be contacted, `*.` for subdomains, some with a port.
        barred: Those of these that cannot.
    """

    readable: frozenset[str]
    hidden: frozenset[str]
    writable: frozenset[str]
    held: frozenset[str]
    domains: tuple[str, ...]
    barred: tuple[str, ...]

    @classmethod
    def of(cls, profile: Profile) -> Mounts:
        """Return the mounts of a profile."""
        return cls(
            readable=_names([*profile.allow_read, *profile.allow_write]),
            hidden=_names(profile.deny_read),
            writable=_names(profile.allow_write),
            held=_names(profile.deny_write),
            domains=profile.allowed_domains,
            barred=profile.denied_domains,
        )

    def can_read(self, path: str) -> bool:
        """Tell whether a file can be read: the deepest place that holds it decides; of two the open one."""
        return _depth(path, self.readable) >= _depth(path, self.hidden)

    def hidden_below(self, path: str) -> frozenset[str]:
        """Return what of a tree cannot be read."""
        return frozenset(each for each in self.hidden if PurePosixPath(path) in PurePosixPath(each).parents)

    def can_write(self, path: str) -> bool:
        """Tell whether a file can be written: what is held wins."""
        return _depth(path, self.writable) > 0 and not _depth(path, self.held) and self.can_read(path)

    def held_below(self, path: str) -> frozenset[str]:
        """Return what of a tree cannot be written, such as the `.git` of a repository."""
        return frozenset(each for each in self.held if PurePosixPath(path) in PurePosixPath(each).parents)

    def mount_of(self, path: str) -> str:
        """Return the place that a file is writable in; `/` for none."""
        pure = PurePosixPath(path)
        return next((str(each) for each in (pure, *pure.parents) if str(each) in self.writable), "/")

    def can_contact(self, host: str, port: int | None) -> bool:
        """Tell whether a host can be contacted."""
        barred = any(names_host(domain, host, port) for domain in self.barred)
        return not barred and any(names_host(domain, host, port) for domain in self.domains)


def _names(paths: Iterable[Path]) -> frozenset[str]:
    return frozenset(map(str, paths))


def _depth(path: str, places: frozenset[str]) -> int:
    """Return how deep the deepest place lies that is the path or holds it; 0 for none."""
    pure = PurePosixPath(path)
    return max((len(each.parts) for each in (pure, *pure.parents) if str(each) in places), default=0)


def names_host(domain: str, host: str, port: int | None) -> bool:
    """Tell whether an entry of a domain list names a host: `*.` is any of its subdomains."""
    name, _, wanted = domain.rpartition(":")
    if not name or not wanted.isdigit() or "]" in wanted:
        name, wanted = domain, ""
    if wanted and str(port) != wanted:
        return False
    return host.endswith(name[1:]) if name.startswith("*.") else host == name


def beyond(mounts: Mounts, resource: Resource) -> str:
    """Return what a sandbox keeps a call from doing with one of its resources; nothing if it lets it."""
    if resource.unresolved is not None:
        return ""
    if isinstance(resource.resource, Url):
        url = resource.resource
        contacted = url.scheme in _SCHEMES and not mounts.can_contact(
            url.host.name, url.port or DEFAULT_PORTS[url.scheme]
        )
        return "contact" if contacted else ""
    if resource.role.category != "path":
        return ""
    if resource.role.writes:
        return "" if mounts.can_write(resource.value) else "write"
    return "" if mounts.can_read(resource.value) else "read"


def is_within(mounts: Mounts, resource: Resource) -> bool:
    """Tell whether a path or host of a call is one that a sandbox is known to let it reach."""
    if resource.unresolved is not None:
        return False
    if isinstance(resource.resource, Url):
        url = resource.resource
        return mounts.can_contact(url.host.name, url.port or DEFAULT_PORTS.get(url.scheme))
    return resource.role.category == "path" and not beyond(mounts, resource)


# -- the reach of a process for one call -------------------------------------------------------

_MOST_BESIDE = 100
"""How many entries of a directory that is opened for one of them are kept closed: each is a mount."""


class SandboxLimits(Struct):
    """What one server's sandboxes let through.

    Attributes:
        usual: That of the server that runs.
        asked: The widest that could be started for an approved call.
    """

    usual: Mounts
    asked: Mounts

    def is_apart(self, resources: Iterable[Resource]) -> bool:
        """Tell whether the server that runs does not reach all that a call names, and a wider one would."""
        return any(is_within(self.asked, each) and not self.is_usual(each) for each in resources)

    def is_usual(self, resource: Resource) -> bool:
        """Tell whether the server that runs reaches what a call names, and all of it that could be opened."""
        if not is_within(self.usual, resource):
            return False
        # Of a tree that is approved, nothing may be missing that only needed approval.
        is_seen = not resource.recursive or (
            self.usual.hidden_below(resource.value) <= self.asked.hidden_below(resource.value)
        )
        return is_seen and not (resource.role.writes and self._holds_more(resource.value))

    def _holds_more(self, path: str) -> bool:
        """Tell whether something below a path can be written once it is approved, and not before."""
        return not self.usual.held_below(path) <= self.asked.held_below(path)


def widened(
    name: str, inputs: SandboxInputs, resources: Iterable[Resource], limits: SandboxLimits
) -> SandboxInputs:
    """Return the inputs of a server that is started for one call.

    It looks at directories: use it in a thread.
    """
    named = [each for each in resources if is_within(limits.asked, each)]
    # One that leads elsewhere by now is not opened; the call is not sent.
    paths = [
        each for each in named if each.role.category == "path" and os.path.realpath(each.value) == each.value
    ]
    reads = [each.value for each in paths if not each.role.writes]
    changed = [each for each in paths if each.role.writes and not limits.usual.can_write(each.value)]
    writes = [_place(each, limits.asked) for each in changed]
    hosts = [_host(each.resource) for each in named if isinstance(each.resource, Url)]
    reach, asked = inputs.reach(name), inputs.reach_asked(name)
    widest = replace(
        reach,
        reads=_wider(reach.reads, asked.reads, reads, [*reads, *writes], inputs),
        writes=_wider(reach.writes, asked.writes, writes, writes, inputs),
        domains=tuple(dict.fromkeys([*reach.domains, *hosts])),
        repositories=reach.repositories
        or (asked.repositories and any(each.role.writes and not limits.is_usual(each) for each in paths)),
    )
    beside = {Path(place) for place in writes}
    unread = _beside(beside, [Path(each.value) for each in paths])
    # What a call only reads is not to be changed, though it may lie beside what is.
    unchanged = _beside(beside, [Path(each.value) for each in changed])
    return replace(
        inputs,
        reaches={**inputs.reaches, name: widest},
        asked={},
        hidden=tuple(path for path in unread if not limits.usual.can_read(str(path))),
        held=tuple(path for path in unchanged if not limits.usual.can_write(str(path))),
    )


def _wider(usual: Places, asked: Places, more: list[str], opened: list[str], inputs: SandboxInputs) -> Places:
    """Add places; what only needed approval is not closed in them any more."""
    found = real_paths(usual.never, home=inputs.home, directory=inputs.directory)
    pairs = zip(usual.never, found, strict=True)
    places = [Path(place) for place in opened]
    never = [text for text, path in pairs if text in asked.never or not is_in(path, places)]
    return replace(usual, named=(*usual.named, *more), never=tuple(never))


def _place(resource: Resource, asked: Mounts) -> str:
    """Return what is opened so that a path can be changed: a directory itself, or the one that holds it.

    Whatever is removed or replaced is removed from that one. Where it must not be opened, the path is.
    """
    path = Path(resource.value)
    if path.is_dir() and resource.role.name != "delete-path":
        return resource.value
    holding = next(each for each in path.parents if each.is_dir())
    return str(holding) if asked.can_write(str(holding)) else resource.value


def _beside(directories: Iterable[Path], named: list[Path]) -> Iterator[Path]:
    """Yield what lies in directories that are opened for some paths in them, and is none of these."""
    for directory in directories:
        if is_in(directory, named):
            continue
        try:
            with os.scandir(directory) as entries:
                children = [Path(entry.path) for entry in entries if not entry.is_symlink()]
        except OSError:
            continue
        others = [entry for entry in children if not any(path.is_relative_to(entry) for path in named)]
        if len(others) <= _MOST_BESIDE:
            yield from others


def _host(url: Url) -> str:
    return url.host.name if url.port is None else f"{url.host.name}:{url.port}"
