"""The reach of a server process that is started for one approved call: as usual, and what that call names.

A path that is read is opened itself. To change a file, programs replace it: then the directory is opened in
which it lies or would be made, and what else lies in that directory stays as closed as it was.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.urls import Url
from ironcurtain.enforcement.sandbox.mounts import Mounts, is_within
from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.enforcement.sandbox.reach.opened import is_in
from ironcurtain.enforcement.sandbox.reach.reach import Places
from ironcurtain.servers.config import real_paths

_MOST_BESIDE = 100
"""How many entries of a directory that is opened for one of them are kept closed: each is a mount."""


@dataclass(frozen=True)
class Limits:
    """What one server's sandboxes let through.

    Attributes:
        usual: That of the server that runs.
        asked: The widest that could be started for an approved call.
    """

    usual: Mounts
    asked: Mounts

    def is_apart(self, subjects: Iterable[Resource]) -> bool:
        """Tell whether the server that runs does not reach all that a call names, and a wider one would."""
        return any(is_within(self.asked, each) and not self._is_usual(each) for each in subjects)

    def _is_usual(self, subject: Resource) -> bool:
        if not is_within(self.usual, subject):
            return False
        if not subject.recursive:
            return True
        # Of a tree that is approved, nothing may be missing that only needed approval.
        return self.usual.hidden_below(subject.value) <= self.asked.hidden_below(subject.value)


def widened(name: str, grounds: SandboxInputs, subjects: Iterable[Resource], limits: Limits) -> SandboxInputs:
    """Return the grounds of a server that is started for one call.

    It looks at directories: use it in a thread.

    Args:
        name: The server.
        grounds: Those of the server that runs.
        subjects: The resources of the call, all of them permitted or approved.
        limits: What is opened of them is within `asked`.
    """
    named = [each for each in subjects if is_within(limits.asked, each)]
    # One that leads elsewhere by now is not opened; the call is not sent.
    paths = [
        each for each in named if each.role.category == "path" and os.path.realpath(each.value) == each.value
    ]
    reads = [each.value for each in paths if not each.role.writes]
    changed = [each for each in paths if each.role.writes and not limits.usual.can_write(each.value)]
    writes = [_place(each, limits.asked) for each in changed]
    hosts = [_host(each.resource) for each in named if isinstance(each.resource, Url)]
    reach, asked = grounds.reach(name), grounds.reach_asked(name)
    widest = replace(
        reach,
        reads=_wider(reach.reads, asked.reads, reads, [*reads, *writes], grounds),
        writes=_wider(reach.writes, asked.writes, writes, writes, grounds),
        domains=tuple(dict.fromkeys([*reach.domains, *hosts])),
        repositories=reach.repositories or (asked.repositories and bool(changed)),
    )
    beside = {Path(place) for place in writes}
    unread = _beside(beside, [Path(each.value) for each in paths])
    # What a call only reads is not to be changed, though it may lie beside what is.
    unchanged = _beside(beside, [Path(each.value) for each in changed])
    return replace(
        grounds,
        reaches={**grounds.reaches, name: widest},
        asked={},
        hidden=tuple(path for path in unread if not limits.usual.can_read(str(path))),
        held=tuple(path for path in unchanged if not limits.usual.can_write(str(path))),
    )


def _wider(
    usual: Places, asked: Places, more: list[str], opened: list[str], grounds: SandboxInputs
) -> Places:
    """Add places; what only needed approval is not closed in them any more."""
    found = real_paths(usual.never, home=grounds.home, directory=grounds.directory)
    pairs = zip(usual.never, found, strict=True)
    places = [Path(place) for place in opened]
    never = [text for text, path in pairs if text in asked.never or not is_in(path, places)]
    return replace(usual, named=(*usual.named, *more), never=tuple(never))


def _place(subject: Resource, asked: Mounts) -> str:
    """Return what is opened so that a path can be changed: a directory itself, or the one that holds it.

    Whatever is removed or replaced is removed from that one. Where it must not be opened, the path is.
    """
    path = Path(subject.value)
    if path.is_dir() and subject.role.name != "delete-path":
        return subject.value
    holding = next(each for each in path.parents if each.is_dir())
    return str(holding) if asked.can_write(str(holding)) else subject.value


def _beside(directories: Iterable[Path], named: list[Path]) -> Iterator[Path]:
    """Yield what lies in directories that are opened for some paths in them, and is none of these."""
    for directory in directories:
        if is_in(directory, named):
            continue
        try:
            with os.scandir(directory) as entries:
                found = [Path(entry.path) for entry in entries if not entry.is_symlink()]
        except OSError:
            continue
        others = [entry for entry in found if not any(path.is_relative_to(entry) for path in named)]
        if len(others) <= _MOST_BESIDE:
            yield from others


def _host(url: Url) -> str:
    return url.host.name if url.port is None else f"{url.host.name}:{url.port}"
