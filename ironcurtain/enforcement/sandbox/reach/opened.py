"""What the rules of a policy open for one server on this machine, less what nothing opens.

A server that rules let read certain places only sees nothing else of the home and of people's directories
(`personal_places`). Repositories are a case of their own: a server can make one wherever it can write, with a
program in its configuration that whoever runs git there will start. No mount holds a name that is not there
yet in every directory, so new repositories are told of while it runs.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

from ironcurtain.enforcement.sandbox.reach.reach import Reach
from ironcurtain.enforcement.sandbox.reach.repositories import git_directories, searched_within
from ironcurtain.enforcement.sandbox.report import Observation
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

_SYSTEM = frozenset(
    {
        *("bin", "boot", "dev", "etc", "gnu", "lib", "lib32", "lib64", "libx32", "lost+found", "nix", "opt"),
        *("proc", "run", "sbin", "snap", "sys", "tmp", "usr", "var"),
        *("Applications", "Library", "System", "cores", "private"),
    }
)
"""Names in the root directory that are the system's: programs need them, and anybody can read them."""
_OF_ANYBODY = (Path("/opt"), Path("/private"), Path("/tmp"), Path("/var"))  # noqa: S108 - nothing is made there
"""Directories of the system in which people keep files, too."""
_NOT_FILES = frozenset({"Applications", "Library", "snap"})
"""Visible names in a home that hold programs and their settings."""


def personal_places(home: Path) -> list[Path]:
    """Return what is hidden from a server that rules let read certain places only.

    That is the home, and all else in the root directory that is not the system's.
    """
    top = [Path(entry.path) for entry in _directories(Path("/")) if entry.name not in _SYSTEM]
    return outermost([home, *top])


def files_of_home(home: Path) -> list[Path]:
    """Return what writing anywhere opens: the visible directories of the home.

    What lies in the home itself, or is hidden there, is settings and programs that run by themselves.
    """
    return [
        Path(entry.path)
        for entry in _directories(home)
        if not entry.name.startswith(".") and entry.name not in _NOT_FILES and os.access(entry.path, os.W_OK)
    ]


def is_of_anybody(place: Path) -> bool:
    """Tell whether a place lies in a directory of the system in which people keep files, too."""
    return any(each in place.parents for each in _OF_ANYBODY)


def outermost(places: Iterable[Path]) -> list[Path]:
    """Return those of some paths that lie in no other of them, sorted."""
    directories: list[Path] = []
    for place in sorted(set(places)):
        if not any(place.is_relative_to(other) for other in directories):
            directories.append(place)
    return directories


def _directories(place: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            found = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)


class Kept(Struct):
    """What stays closed, whatever rules say; real paths.

    Attributes:
        unread: What is not read.
        unwritten: What is not written, beside that.
        projects: Directories that hold what policy and servers are configured by: not written.
        session: The session's sandbox where the server has one; it is open by itself.
    """

    unread: tuple[Path, ...]
    unwritten: tuple[Path, ...]
    projects: tuple[Path, ...]
    session: tuple[Path, ...]


class Opened(Struct):
    """What the rules open; real paths, there or not.

    Attributes:
        anywhere: Whether everything can be read that is not hidden; `reads` says what can be otherwise.
        reads: What can be read because rules name it.
        writes: What can be written because rules name it.
        of_home: What can be written because a rule names no place, or names the whole home.
        held: What lies in `of_home` and is not written.
        code: What of repositories there is not.
        kept: What is there in `writes` and is not written.
        hidden: What no rule lets be read, and that would be open.
    """

    anywhere: bool
    reads: tuple[Path, ...]
    writes: tuple[Path, ...]
    of_home: tuple[Path, ...]
    held: tuple[Path, ...]
    code: tuple[Path, ...]
    kept: tuple[Path, ...]
    hidden: tuple[Path, ...]

    @property
    def writable(self) -> tuple[Path, ...]:
        """All that can be written."""
        return (*self.writes, *self.of_home)


def opened_by(reach: Reach, home: Path, real: Callable[[Iterable[str]], list[Path]], kept: Kept) -> Opened:
    """Return what a reach opens."""
    reads, writes = real(reach.reads.named), real(reach.writes.named)
    unwritten = (*kept.unread, *kept.unwritten)
    of_home: tuple[Path, ...] = ()
    held: list[Path] = []
    code: tuple[Path, ...] = ()
    never = real(reach.writes.never)
    if reach.writes.anywhere or _is_large(writes, home):
        named = [path for path in never if not is_in(path, writes)]
        entries = [path for path in files_of_home(home) if not is_in(path, [*unwritten, *named])]
        searched = searched_within([path for path in entries if not _is_taken(path, kept)], home)
        of_home, held, code = searched.roots, [*named, *kept.projects], searched.code
    return Opened(
        anywhere=reach.reads.anywhere,
        reads=tuple(path for path in reads if not is_in(path, kept.unread)),
        writes=tuple(path for path in writes if not is_in(path, unwritten) and not home.is_relative_to(path)),
        of_home=of_home,
        held=tuple(path for path in held if is_in(path, of_home)),
        code=tuple(path for path in code if is_in(path, of_home)),
        kept=tuple(path for path in never if path not in writes and is_in(path, writes) and path.exists()),
        hidden=tuple(_hidden(reach, real, [*reads, *writes])),
    )


def _hidden(reach: Reach, real: Callable[[Iterable[str]], list[Path]], opened: list[Path]) -> list[Path]:
    """Return what is to be hidden of places that rules take away: elsewhere nothing is shown anyway."""
    taken = [path for path in real(reach.reads.never) if path not in opened]
    return [path for path in taken if reach.reads.anywhere or is_in(path, opened) or is_of_anybody(path)]


def is_in(path: Path, places: Iterable[Path]) -> bool:
    """Tell whether a path is one of some places, or lies in one."""
    around = {path, *path.parents}  # for `is_relative_to`, pathlib takes each place apart anew
    return any(place in around for place in places)


def _is_large(places: Iterable[Path], home: Path) -> bool:
    return any(home.is_relative_to(place) for place in places)


def _is_taken(entry: Path, kept: Kept) -> bool:
    """Tell whether a directory of the home is a project, or holds one that holds the session's sandbox.

    The rest of such a project is held as a whole, which would hold the sandbox in it, too.
    """
    inside = [project for project in kept.projects if project.is_relative_to(entry)]
    holding = [project for project in inside if any(one.is_relative_to(project) for one in kept.session)]
    return entry in inside or entry in kept.session or bool(holding)


_MOST_TOLD = 100
_TOO_MANY = "there are more directories than are looked at for new repositories: some would not be found"


class Look(Struct):
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
    opened: dict[Path, tuple[int, ...]] = {}
    for path in places:
        with suppress(OSError):
            status = path.lstat()
            kind = stat.S_IFMT(status.st_mode)
            # The number of a link that was removed may be given to the next one.
            made = status.st_ctime_ns if kind == stat.S_IFLNK else 0
            opened[path] = (status.st_dev, status.st_ino, kind, made)
    return opened


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
