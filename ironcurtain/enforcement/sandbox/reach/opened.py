"""What the rules of a policy open for one server on this machine, less what nothing opens."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.enforcement.sandbox.reach.personal import files_of_home, is_of_anybody
from ironcurtain.enforcement.sandbox.reach.reach import Reach
from ironcurtain.enforcement.sandbox.reach.repositories import searched_within


@dataclass(frozen=True)
class Kept:
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


@dataclass(frozen=True)
class Opened:
    """What the rules open; real paths, there or not.

    Attributes:
        anywhere: Whether everything can be read that is not hidden; `reads` says what can be otherwise.
        reads: What can be read because rules name it.
        writes: What can be written because rules name it.
        of_home: What can be written because a rule names no place, or names the whole home.
        held: What lies in `of_home` and is not written.
        kept: What is there in `writes` and is not written.
        hidden: What no rule lets be read, and that would be open.
    """

    anywhere: bool
    reads: tuple[Path, ...]
    writes: tuple[Path, ...]
    of_home: tuple[Path, ...]
    held: tuple[Path, ...]
    kept: tuple[Path, ...]
    hidden: tuple[Path, ...]

    @property
    def writable(self) -> tuple[Path, ...]:
        """All that can be written."""
        return (*self.writes, *self.of_home)


def opened_by(reach: Reach, home: Path, real: Callable[[Iterable[str]], list[Path]], kept: Kept) -> Opened:
    """Return what a reach opens.

    Args:
        reach: What rules could let the server reach.
        home: The home directory, a real path.
        real: Returns the real paths of places as rules name them.
        kept: What stays closed.
    """
    reads, writes = real(reach.reads.named), real(reach.writes.named)
    unwritten = (*kept.unread, *kept.unwritten)
    of_home: tuple[Path, ...] = ()
    held: list[Path] = []
    never = real(reach.writes.never)
    if reach.writes.anywhere or _is_large(writes, home):
        named = [path for path in never if not is_in(path, writes)]
        entries = [path for path in files_of_home(home) if not is_in(path, [*unwritten, *named])]
        searched = searched_within([path for path in entries if not _is_taken(path, kept)], home)
        of_home, held = searched.roots, [*named, *kept.projects, *searched.code]
    return Opened(
        anywhere=reach.reads.anywhere,
        reads=tuple(path for path in reads if not is_in(path, kept.unread)),
        writes=tuple(path for path in writes if not is_in(path, unwritten) and not home.is_relative_to(path)),
        of_home=of_home,
        held=tuple(path for path in held if is_in(path, of_home)),
        kept=tuple(path for path in never if path not in writes and is_in(path, writes) and path.exists()),
        hidden=tuple(_hidden(reach, real, [*reads, *writes])),
    )


def _hidden(reach: Reach, real: Callable[[Iterable[str]], list[Path]], opened: list[Path]) -> list[Path]:
    """Return what is to be hidden of places that rules take away: elsewhere nothing is shown anyway."""
    taken = [path for path in real(reach.reads.never) if path not in opened]
    return [path for path in taken if reach.reads.anywhere or is_in(path, opened) or is_of_anybody(path)]


def is_in(path: Path, places: Iterable[Path]) -> bool:
    """Tell whether a path is one of some places, or lies in one."""
    return any(path.is_relative_to(place) for place in places)


def _is_large(places: Iterable[Path], home: Path) -> bool:
    return any(home.is_relative_to(place) for place in places)


def _is_taken(entry: Path, kept: Kept) -> bool:
    """Tell whether a directory of the home is a project, or holds one that holds the session's sandbox.

    The rest of such a project is held as a whole, which would hold the sandbox in it, too.
    """
    inside = [project for project in kept.projects if project.is_relative_to(entry)]
    holding = [project for project in inside if any(one.is_relative_to(project) for one in kept.session)]
    return entry in inside or entry in kept.session or bool(holding)
