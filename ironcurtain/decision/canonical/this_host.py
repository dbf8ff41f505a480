"""The world as the running kernel and real git tell it."""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ironcurtain.decision.canonical.git.process import Git
from ironcurtain.decision.canonical.git.repository import remote_urls, repository_places
from ironcurtain.decision.canonical.git.survey import Survey, survey, survey_once
from ironcurtain.decision.canonical.host_view import (
    PROCESS_PLACES,
    FileEntry,
    FileKind,
    RemoteUrls,
    RepositoryPlaces,
    UnreadableError,
    is_own_process,
    is_process_relative,
)

_KINDS = {stat.S_IFDIR: FileKind.DIRECTORY, stat.S_IFREG: FileKind.FILE, stat.S_IFLNK: FileKind.SYMLINK}
_NO_ENVIRONMENTS: Mapping[str, Mapping[str, str]] = MappingProxyType({})


class ThisHost:
    """A `HostView` that asks the kernel at every question and remembers nothing but where git is.

    The view of one call also remembers where git found a repository, since a push asks twice, and directories
    that were seen to tell `a` from `A`, in which no name in ASCII has another spelling.

    Args:
        home: Absolute path of the user's home directory; git's `HOME` where a server has no environment.
        git_environ: By server, the variables that git has when that server runs it.
        reachable: Directories that tools or servers can write: no git is taken from there.
    """

    def __init__(
        self,
        *,
        home: str,
        git_environ: Mapping[str, Mapping[str, str]] = _NO_ENVIRONMENTS,
        reachable: tuple[Path, ...] = (),
    ) -> None:
        self._minimal = Git.of({"HOME": home}, reachable)
        self._gits = {server: Git.of(environ, reachable) for server, environ in git_environ.items()}
        self._survey: Survey = survey
        self._exact: set[str] | None = None

    @property
    def never_changes(self) -> bool:
        """See `HostView.never_changes`."""
        return False

    def for_one_call(self) -> ThisHost:
        """See `HostView.for_one_call`."""
        view = object.__new__(type(self))  # `copy.copy` takes ten times as long
        view.__dict__.update(self.__dict__, _survey=survey_once(), _exact=set())
        return view

    def entry(self, path: str) -> FileEntry | None:
        """See `HostView.entry`; the name is the stored one where a file system accepts several ones."""
        status = _lstat(path)
        if status is None:
            return None
        identity = (status.st_dev, status.st_ino)
        kind = _KINDS.get(stat.S_IFMT(status.st_mode), FileKind.OTHER)
        directory, _, name = path.rpartition("/")
        if self._exact is None or directory not in self._exact or not name.isascii():
            name = self._name(path, status)
        return FileEntry(kind, identity, status.st_nlink, name)

    def readlink(self, path: str) -> str:
        """See `HostView.readlink`."""
        try:
            return _text(os.readlink(_bytes(path)))  # noqa: PTH115 - a `Path` cannot hold bytes
        except OSError as error:
            raise UnreadableError(error.strerror) from error

    def children(self, path: str) -> Sequence[str]:
        """See `HostView.children`."""
        try:
            with os.scandir(_bytes(path)) as listing:
                return sorted(_text(entry.name) for entry in listing)
        except OSError as error:
            raise UnreadableError(error.strerror) from error

    def is_process_link(self, path: str) -> bool:
        """See `HostView.is_process_link`."""
        return path.startswith(PROCESS_PLACES) and (is_process_relative(path) or is_own_process(path))

    def repository(self, path: str, *, server: str) -> RepositoryPlaces | None:
        """See `HostView.repository`."""
        return repository_places(path, git=self._git(server), surveyed=self._survey)

    def remote(self, repository: str | None, remote: str | None, *, server: str) -> RemoteUrls:
        """See `HostView.remote`."""
        return remote_urls(repository, remote, git=self._git(server), surveyed=self._survey)

    def _name(self, path: str, status: os.stat_result) -> str:
        directory, _, name = path.rpartition("/")
        if self._exact is None or not name.isascii():
            return _stored_name(path, status)
        if (other := name.swapcase()) == name:
            return name
        if not _is_another(f"{directory}/{other}", status):
            return _stored_name(path, status)
        self._exact.add(directory)
        return name

    def _git(self, server: str) -> Git:
        return self._gits.get(server, self._minimal)


# Paths cross to the kernel as bytes: servers write UTF-8 whatever the locale of this process is.
def _bytes(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _text(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path if path.isascii() else _bytes(path))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise UnreadableError(error.strerror) from error


def _stored_name(path: str, status: os.stat_result) -> str:
    """Return the name by which the directory holds the entry at the path.

    A directory is listed only where another spelling of the name finds the same file.
    """
    place, name = path.rsplit("/", 1)
    for other in _respelled(name):
        if _is_same(f"{place}/{other}", status):
            break
    else:
        return name
    try:
        with os.scandir(_bytes(place or "/")) as listing:
            same = [_text(entry.name) for entry in listing if _is_listed(entry, name, status)]
    except OSError as error:
        raise UnreadableError(error.strerror) from error
    if name in same:
        return name
    if len(same) != 1:
        raise UnreadableError("the stored spelling of a name cannot be told")
    return same[0]


def _respelled(name: str) -> Iterable[str]:
    """Return spellings of the name that some file systems hold to be the same."""
    if name.isascii():
        other = name.swapcase()
        return () if other == name else (other,)
    return {name.swapcase(), *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))} - {name}


def _is_same(path: str, status: os.stat_result) -> bool:
    try:
        found = os.lstat(path.encode("utf-8", "surrogateescape"))
    except OSError:
        return False
    return os.path.samestat(found, status)


def _is_another(path: str, status: os.stat_result) -> bool:
    """Tell whether the path was seen not to be another spelling of the file's."""
    try:
        return not os.path.samestat(os.lstat(_bytes(path)), status)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def _is_listed(listed: os.DirEntry[bytes], name: str, status: os.stat_result) -> bool:
    # The inode of a listing is that of the covered directory at a mount point, so it is asked anew.
    return _text(listed.name) == name or os.path.samestat(os.lstat(listed.path), status)
