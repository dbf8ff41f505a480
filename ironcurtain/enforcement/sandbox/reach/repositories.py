"""The files of git repositories that are code: whoever writes them runs programs as whoever uses git."""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.decision.canonical.git.local_remotes import pointed
from ironcurtain.decision.canonical.git.pipes import included_files
from ironcurtain.system.files import read_regular
from ironcurtain.system.structs import Struct

_DEPTH = 6
_MODULE_DEPTH = 4
_MOST_DIRECTORIES = 20_000
_MOST_BYTES = 1 << 20
_GIT_DIRECTORIES = (frozenset({"HEAD", "objects", "refs"}), frozenset({"HEAD", "commondir"}))
"""What git takes for a git directory, whatever its name is."""
_OF_A_GIT_DIRECTORY = frozenset().union(*_GIT_DIRECTORIES)
_UNREAD_WITH_COMMONDIR = re.compile(
    rb"""(?:^|\])\s*(?:worktree\b|bare\b(?!\s*=\s*"?(?:false|no|off|0)\b))""", re.IGNORECASE | re.MULTILINE
)
"""Settings of a repository, `core.worktree` and `core.bare`, that git does not read where `commondir` is."""


def code_of_repositories(roots: Iterable[Path], *, home: Path) -> list[Path]:
    """Return what is code in every repository at or below some directories, sorted, there or not.

    That is its hooks and configuration, what its configuration includes, and what names another directory
    where git would look for these: `commondir`, a `.git` that is a file. A git directory in which `commondir`
    must not come into being stands there as a whole where git would not be the same with one. The
    repositories of its submodules and of the work trees that were added to it are looked at, too. Directories
    more than 6 levels down, and more than 20,000 in all, are not.
    """
    return sorted({path for root in roots for path in _below(root, str(home), _Seen())})


def git_directories(roots: Iterable[Path]) -> tuple[frozenset[Path], bool]:
    """Return every git directory, or `.git` that names one, at or below some directories.

    Directories more than 6 levels down, and more than 20,000 for each root, are not looked at.

    Returns:
        The git directories; whether no directory was left out because there were too many.
    """
    tops: set[Path] = set()
    whole = True
    for root in roots:
        seen = _Seen()
        tops.update(_git_directories(root, seen))
        whole = whole and seen.count < seen.most
    return frozenset(tops), whole


def closed_to_strangers(roots: Iterable[Path]) -> list[Path]:
    """Return what a server cannot write that has no business with repositories, sorted, there or not.

    That is every git directory as a whole, and the `.git` that would make one of the directories a work
    tree. A directory that is itself a git directory is not: nothing else could be written.
    """
    tops = {root for root in roots if root.is_dir()}
    directories = {path for path in git_directories(tops)[0] if path.is_dir()} - tops
    new = {top / ".git" for top in tops if not _is_git_directory(_names(top))}
    return sorted(path for path in directories | new if not path.is_symlink())


class RepositorySearch(Struct):
    """Directories that were searched in full, and what is code in the repositories there, there or not."""

    roots: tuple[Path, ...]
    code: tuple[Path, ...]


def searched_within(roots: Iterable[Path], home: Path) -> RepositorySearch:
    """Search directories as `code_of_repositories` does, but for so many directories in all."""
    most = _MOST_DIRECTORIES
    whole: list[Path] = []
    code: set[Path] = set()
    for root in roots:
        seen = _Seen(most // 2)  # a single large one must leave room for others
        below = set(_below(root, str(home), seen))
        most -= seen.count
        if seen.count < seen.most:
            whole.append(root)
            code |= below
    return RepositorySearch(tuple(whole), tuple(sorted(code)))


@dataclass
class _Seen:
    """How many directories are looked at, and how many have been."""

    most: int = _MOST_DIRECTORIES
    count: int = 0


def _below(root: Path, home: str, seen: _Seen) -> Iterator[Path]:
    for entry in _git_directories(root, seen):
        yield from _code(entry, home) if entry.is_dir() else (entry,)


def _git_directories(root: Path, seen: _Seen) -> Iterator[Path]:
    """Yield git directories, the upper ones first: of too many directories the deepest are left out."""
    waiting = deque([(str(root), 0)])
    while waiting and seen.count < seen.most:
        place, depth = waiting.popleft()
        entries = _entries(place)
        seen.count += 1
        named = [Path(each.path) for each in entries if each.name.lower() == ".git"]
        yield from (path for path in named if not _is_empty(path))
        if _is_git_directory(each.name for each in entries):
            yield Path(place)
        elif depth < _DEPTH:
            below = [each for each in entries if each.is_dir(follow_symlinks=False)]
            waiting += [(each.path, depth + 1) for each in below if each.name.lower() != ".git"]


def _entries(place: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            return list(entries)
    except OSError:
        return []


def _is_git_directory(names: Iterable[str]) -> bool:
    typical = _OF_A_GIT_DIRECTORY.intersection(names)
    return any(needed <= typical for needed in _GIT_DIRECTORIES)


def _is_empty(entry: Path) -> bool:
    """Tell an empty directory: it is no repository, and stands in for one that must not come into being."""
    return entry.is_dir() and not _names(entry)


def _names(directory: Path) -> list[str]:
    try:
        return [each.name for each in directory.iterdir()]
    except OSError:
        return []


def _code(repository: Path, home: str) -> Iterator[Path]:
    """Yield what is code in a git directory, and in those that it holds."""
    yield from (repository / name for name in ("hooks", "config"))
    common = repository / "commondir"
    yield common if os.path.lexists(common) or is_same_with_commondir(repository) else repository
    yield from _configured(repository, home)
    for tree in _directories(repository / "worktrees"):
        yield from (tree / name for name in ("commondir", "gitdir") if (tree / name).exists())
        yield from _configured(tree, home)
    for module in _modules(repository / "modules", _MODULE_DEPTH):
        yield from _code(module, home)


def is_same_with_commondir(repository: Path) -> bool:
    """Tell whether git does in a git directory what it does with a `commondir` there that names the same one.

    With one, git takes the directory for that of an added work tree and leaves settings aside by which it
    would know its own: a commit could then record the deletion of every file.
    """
    try:
        config = read_regular(repository / "config", max_bytes=_MOST_BYTES)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return _UNREAD_WITH_COMMONDIR.search(config) is None


def _configured(repository: Path, home: str) -> Iterator[Path]:
    """Yield further configuration: of this work tree, and whatever is included."""
    config = repository / "config.worktree"
    common = pointed(repository / "commondir", "") or repository
    if config.exists() or _has_own(common / "config"):
        yield config
    for file in (repository / "config", config):
        yield from (Path(os.path.realpath(each)) for each in included_files(file, home))


def _has_own(config: Path) -> bool:
    """Tell whether git reads configuration of single work trees there."""
    try:
        return b"worktreeconfig" in read_regular(config, max_bytes=_MOST_BYTES).lower()
    except OSError:
        return True


def _modules(place: Path, depth: int) -> Iterator[Path]:
    """Yield the git directories of submodules; the names of these may have slashes."""
    for directory in _directories(place):
        if (directory / "HEAD").exists() or (directory / "config").exists():
            yield directory
        elif depth > 1:
            yield from _modules(directory, depth - 1)


def _directories(place: Path) -> list[Path]:
    try:
        return sorted(each for each in place.iterdir() if each.is_dir() and not each.is_symlink())
    except OSError:
        return []
