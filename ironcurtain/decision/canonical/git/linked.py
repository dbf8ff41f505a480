"""What else git opens for a repository: the object stores, submodules and work trees that it is linked with.

A repository in the sandbox may borrow its objects from another one (`objects/info/alternates`, links), may
have submodules whose git directory lies anywhere, and knows the work trees that were added to it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from ironcurtain.decision.canonical.git.process import Git, GitFailedError, run_git, to_text
from ironcurtain.decision.canonical.git.survey import RepositorySurvey, survey
from ironcurtain.decision.canonical.paths import is_within
from ironcurtain.system.files import read_regular
from ironcurtain.system.structs import Struct

_MOST_BYTES = 1 << 20
_MOST_PLACES = 100
_GITLINK = b"\x00\x00\xe0\x00"
"""The mode of a submodule in an index, in its four bytes."""
_LISTED = {"": ("objects", "refs", "info"), "objects": ("info", "pack")}
"""Directories of a git directory in which a link would lead git elsewhere, and those of them in each; not
those of single objects."""
_CHUNK_BYTES = 1 << 20


class Linked(Struct):
    """Real absolute paths of places, each sorted.

    Attributes:
        stores: Where git reads objects and its own files.
        repositories: Work trees and git directories of submodules, which git works in, too.
        worktrees: Work trees that were added, which git changes and removes.
    """

    stores: tuple[str, ...]
    repositories: tuple[str, ...]
    worktrees: tuple[str, ...]

    def outside(self, *places: str | None) -> Linked:
        """Return what does not lie in any of some places."""
        roots = [place for place in places if place is not None]

        def kept(paths: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(path for path in paths if not any(is_within(path, root) for root in roots))

        return Linked(kept(self.stores), kept(self.repositories), kept(self.worktrees))


def linked(found: RepositorySurvey, *, git: Git) -> Linked:
    """Return what a repository is linked with, submodules of submodules included.

    Raises:
        GitFailedError: If it cannot be told, or there is too much of it.
    """
    stores: set[str] = set()
    repositories: set[str] = set()
    waiting = [found]
    try:
        for each in waiting:
            listed = {place: _names(place) for place in (each.common, each.git_directory)}
            stores.update(_stores(each, listed))
            inside = _submodules(each, listed[each.git_directory], git) if each.top is not None else ()
            for module in inside:
                known = {path for path in (module.top, module.git_directory, module.common) if path}
                if not known <= repositories:
                    waiting.append(module)
                repositories |= known
            if len(waiting) > _MOST_PLACES:
                raise GitFailedError(f"the repository has more than {_MOST_PLACES} submodules")
        trees = {str(path) for each in waiting for path in _worktrees(each.common)}
    except OSError as error:
        raise GitFailedError(
            f"what the repository is linked with cannot be read: {error.strerror}"
        ) from error
    return Linked(_real(stores), _real(repositories), _real(trees))


def _real(paths: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({os.path.realpath(path) for path in paths}))


def alternates(store: Path) -> tuple[Path, ...]:
    """Return the object stores that one borrows from, and those that these borrow from.

    Raises:
        GitFailedError: If there are too many, or one is written in a way that is not followed.
        OSError: If a list of them cannot be read.
    """
    stores: dict[Path, None] = {}
    waiting = [store]
    for current in waiting:
        for borrowed in _borrowed(current):
            if borrowed not in stores:
                stores[borrowed] = None
                waiting.append(borrowed)
        if len(stores) > _MOST_PLACES:
            raise GitFailedError(f"the repository borrows objects from more than {_MOST_PLACES} others")
    return tuple(stores)


def lent(place: str) -> tuple[str, ...]:
    """Return what a local remote borrows objects from: whoever clones it is given these, too.

    Raises:
        GitFailedError: As `alternates`, or if that cannot be read.
    """
    try:
        stores = (Path(place, "objects"), Path(place, ".git", "objects"))
        return tuple(str(borrowed) for store in stores for borrowed in alternates(store))
    except OSError as error:
        raise GitFailedError(f"what the remote borrows from cannot be read: {error.strerror}") from error


def _borrowed(store: Path) -> Iterator[Path]:
    listed = f"{store}/info/alternates"
    for line in _lines(listed) if os.path.lexists(listed) else ():
        if line.startswith('"'):
            raise GitFailedError("the repository names an object store in quotation marks")
        if line and not line.startswith("#"):
            yield Path(os.path.normpath(Path(os.path.realpath(store)) / line))


def _stores(found: RepositorySurvey, listed: Mapping[str, Mapping[str, bool]]) -> Iterator[str]:
    yield from (str(path) for path in alternates(Path(found.common, "objects")))
    for directory, names in listed.items():
        if os.path.islink(directory):  # noqa: PTH114 - a `Path` costs more than the look
            yield directory
        yield from _links(directory, "", names)


def _links(directory: str, inside: str, names: Mapping[str, bool]) -> Iterator[str]:
    """Yield the links in a directory of a git directory, and in those inside it that `_LISTED` names."""
    yield from (f"{directory}/{name}" for name, is_link in names.items() if is_link)
    for name in _LISTED.get(inside, ()):
        below = f"{directory}/{name}"  # opened, not looked up among the names: letter case may not matter
        try:
            found = _names(below)
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield from _links(below, name, found)


def _names(directory: str) -> dict[str, bool]:
    """Return what a directory holds, and whether each is a link."""
    with os.scandir(directory) as entries:
        return {entry.name: entry.is_symlink() for entry in entries}


def _submodules(found: RepositorySurvey, names: Iterable[str], git: Git) -> Iterator[RepositorySurvey]:
    """Yield the submodules of a work tree that are there; git is asked only where the index has any."""
    top = Path(found.top or "")
    indexes = (name for name in names if name.lower().startswith(("index", "sharedindex.")))
    if not any(_has_gitlinks(f"{found.git_directory}/{name}") for name in indexes):
        return
    listed = run_git(("ls-files", "--stage", "-z"), directory=str(top), git=git)
    if listed.status:
        raise GitFailedError("git does not list the repository's files")
    entries = (line for line in listed.output.split("\0") if line.startswith("160000 "))
    for place in dict.fromkeys(top / line.partition("\t")[2] for line in entries):
        if os.path.lexists(place / ".git"):
            module = survey(str(place), git)
            if module is not None:
                yield module


def _has_gitlinks(index: str) -> bool:
    try:
        handle = os.open(index, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise GitFailedError("the repository's index is no file")
        kept = b""
        # Read, not mapped: whoever shortens a mapped file ends the process that looks into it.
        while chunk := os.read(handle, _CHUNK_BYTES):
            if _GITLINK in kept + chunk:
                return True
            kept = (kept + chunk)[-len(_GITLINK) + 1 :]
        return False
    finally:
        os.close(handle)


def _worktrees(common: str) -> Iterator[Path]:
    """Yield the work trees that were added to a repository."""
    added = f"{common}/worktrees"
    for pointer in sorted(Path(added).glob("*/gitdir")) if os.path.lexists(added) else ():
        for line in _lines(pointer):
            yield Path(os.path.normpath(pointer.parent / line)).parent


def _lines(path: Path | str) -> list[str]:
    try:
        return to_text(read_regular(path, max_bytes=_MOST_BYTES)).rstrip("\n").split("\n")
    except (FileNotFoundError, NotADirectoryError):
        return []
