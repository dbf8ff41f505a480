"""Repositories that come into being where a contained server can write, while it runs.

No mount holds a name that is not there yet in every directory, so a server can make a repository with a
program in its configuration, which whoever runs git in it, or around it, starts. It is told of.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ironcurtain.enforcement.sandbox.reach.opened import is_in
from ironcurtain.enforcement.sandbox.reach.repositories import git_directories
from ironcurtain.enforcement.sandbox.report import Observation
from ironcurtain.system.text import quoted

_MOST_TOLD = 100
_TOO_MANY = "there are more directories than are looked at for new repositories: some would not be found"


@dataclass(frozen=True)
class Look:
    """What one look found that the one before did not.

    Attributes:
        new: Git directories that have come, in the places of others, too.
        gone: Those that are not there any more.
        ceased: Whether not all directories were looked at, for the first time.
    """

    new: frozenset[Path]
    gone: frozenset[Path]
    ceased: bool


class RepositoryWatch:
    """The git directories where one server can write. It walks through them: use it in a thread."""

    def __init__(self, places: Iterable[Path]) -> None:
        """Take what is there for known."""
        self._places = tuple(places)
        self._known = _identities(git_directories(self._places)[0])
        self._whole = True

    def look(self) -> Look:
        """Return what has changed since the last look."""
        places, whole = git_directories(self._places)
        found, known = _identities(places), self._known
        # No mount holds a link, or what a person replaced: another one in its place is as new as any.
        new = frozenset(path for path, identity in found.items() if known.get(path) != identity)
        look = Look(new, frozenset(known.keys() - found.keys()), self._whole and not whole)
        self._known, self._whole = found, whole
        return look


def _identities(places: Iterable[Path]) -> dict[Path, tuple[int, ...]]:
    """Return what tells git directories, files and links that name one from others in their places."""
    found: dict[Path, tuple[int, ...]] = {}
    for path in places:
        with suppress(OSError):
            status = path.lstat()
            kind = stat.S_IFMT(status.st_mode)
            # The number of a link that was removed may be given to the next one.
            made = status.st_ctime_ns if kind == stat.S_IFLNK else 0
            found[path] = (status.st_dev, status.st_ino, kind, made)
    return found


class NewRepositories:
    """The new repositories that were told of, for all servers: nothing says which of them made one."""

    def __init__(self) -> None:
        """Nothing has been told."""
        self._told: set[Path] = set()

    def of(self, look: Look, makers: Iterable[Path]) -> list[Observation]:
        """Return what is to be told after a look.

        Args:
            look: What one server's look found.
            makers: Where running servers can write that have tools for repositories: there a new one is
                no violation, since one of these may have been asked to make it.
        """
        seen = [Observation("unexamined", _TOO_MANY)] if look.ceased else []
        let = tuple(makers)
        self._told -= look.gone
        # Those that a server may have been asked to make must not keep others from being named.
        new = sorted((is_in(path, let), path) for path in look.new - self._told)
        self._told |= look.new
        seen += [Observation(_kind(is_let), _words(path)) for is_let, path in new[:_MOST_TOLD]]
        if more := new[_MOST_TOLD:]:
            seen.append(
                Observation(_kind(more[0][0]), f"{len(more):,} more new repositories, which are not named")
            )
        return seen


def _kind(is_let: bool) -> Literal["repository", "violation"]:  # noqa: FBT001 - what it is of
    return "repository" if is_let else "violation"


def _words(path: Path) -> str:
    return (
        f"new repository {quoted(str(path))}: it was not there when the server started. Unless you know who "
        "made it, run no git in it or around it: read its config, which names programs, or remove it"
    )
