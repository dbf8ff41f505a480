"""Real paths: where the kernel would end up for a path that an agent wrote (specification 1.3).

The component walk is our own, over a `HostView`, so that scenarios are judged by the same code as calls
and so that paths whose end does not exist yet have an exact answer too. What comes out is what the
server is sent: absolute, free of links, `.`, `..` and doubled slashes.
"""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from ironcurtain.decision.canonical.host_view import FileEntry, FileKind, HostView, UnreadableError
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError

MAX_BYTES = 4096
"""Longest path, as UTF-8."""

MAX_COMPONENTS = 128
"""Most components of a path."""

MAX_LINKS = 40
"""Symlinks that the kernel follows for one path; the next one is ELOOP."""

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SCHEME = re.compile(r"\s*([A-Za-z][A-Za-z0-9+.-]*):(//)?")
# Libraries accept these without "//", so `file:x` is never only a file's name.
_KNOWN_SCHEMES = frozenset(
    {"data", "file", "ftp", "ftps", "git", "http", "https", "jar", "nfs", "sftp", "smb", "ssh"}
)
# The ASCII characters that Unicode composition makes of other ones (of the Kelvin sign, for example).
_COMPOSED_ASCII = frozenset("K;`")
_OF_PROCESSES = "leads through a place that is another one for every process"
_MOST_BYTES = 4
"""Bytes of a character in UTF-8, at most."""


def is_within(path: str, directory: str) -> bool:
    """Tell whether the directory contains or equals the path, by whole components.

    Both are real absolute paths.
    """
    return path == directory or path.startswith(directory if directory == "/" else f"{directory}/")


def ancestors(path: str) -> tuple[str, ...]:
    """Return the real absolute path itself and every directory above it, deepest first, `/` last."""
    places = [path]
    while places[-1] != "/":
        places.append(_parent(places[-1]))
    return tuple(places)


class _Position(NamedTuple):
    """How far a walk has come: the real place, its components that do not exist, the links followed."""

    place: str
    missing: int
    links: int


_STAYING = frozenset({"", ".", ".."})
"""Names that lead to no entry of the directory."""
_ROOT = _Position("/", missing=0, links=0)


class Resolver:
    """Resolves paths in one world, asking it about each place once.

    A resolver lives as long as one call (or one load): what it remembers may be stale afterwards, unless its
    world never changes.

    Args:
        world: Where the paths are looked up.
        home: Absolute path that `~` stands for; it may itself lead through symlinks.
    """

    def __init__(self, world: HostView, *, home: str) -> None:
        self._world = world
        self._home = home
        self._found: dict[str, FileEntry | None] = {}
        self._steps: dict[str, tuple[str, FileEntry | None]] = {}
        self._targets: dict[str, str] = {}
        self._walked: dict[str, _Position] = {}

    def resolve(self, text: str, base: str | None) -> str:
        """Return the real absolute path that the kernel would end up at.

        Symlinks are followed, dangling ones too; what does not exist is appended to the deepest real
        directory, with `..` taken lexically there.

        Args:
            text: The path as it was written.
            base: Absolute path of the directory that relative paths start from; None if there is none.

        Raises:
            UnrepresentableError: If the text has no exact real path here.
        """
        _check_text(text)
        absolute = self._absolute(text, base)
        _check_bounds(absolute)
        try:
            real = self._walk(absolute)
        except UnreadableError as error:
            raise UnrepresentableError("leads through a place that cannot be read") from error
        if real != text:
            _check_characters(real)
            _check_bounds(real)
        return real

    def entry(self, path: str) -> FileEntry | None:
        """Return what stands at the absolute path, links not followed, or None if nothing does.

        Raises:
            UnreadableError: If that cannot be told.
        """
        if path not in self._found:
            self._found[path] = self._world.entry(path)
        return self._found[path]

    def _absolute(self, text: str, base: str | None) -> str:
        if text.startswith("/"):
            return text
        if text == "~" or text.startswith("~/"):
            return f"{_start(self._home)}/{text[1:]}"
        if text.startswith("~"):
            raise UnrepresentableError("begins with the home directory of a user by name")
        if base is None:
            raise UnrepresentableError("is a relative path, and there is no directory that it starts from")
        return f"{_start(base)}/{text}"

    def _walk(self, absolute: str) -> str:
        # Many paths of one call lie in few directories, and the way to each of them is walked once.
        directory, _, name = absolute.rpartition("/")
        start = self._walked.get(directory)
        if start is None:
            start = self._walked[directory] = self._follow(_ROOT, directory)
        if not start.missing and name not in _STAYING:
            here, entry = self._step(start.place, name)
            if entry is None or entry.kind is not FileKind.SYMLINK:
                return here
        return self._follow(start, name).place

    def _follow(self, start: _Position, path: str) -> _Position:
        """Walk on from a position, component by component."""
        place, missing, links = start
        pending = _components(path)[::-1]
        while pending:
            name = pending.pop()
            if name == "..":
                place = _parent(place)
                missing = max(0, missing - 1)
                continue
            here, entry = self._missing_step(place, name) if missing else self._step(place, name)
            if entry is None:
                missing += 1
            elif entry.kind is FileKind.SYMLINK:
                links += 1
                if links > MAX_LINKS:
                    raise UnrepresentableError(
                        f"leads through more than {MAX_LINKS} symbolic links, or a loop of them"
                    )
                target = self._target(here)
                pending.extend(_components(target)[::-1])
                here = "/" if target.startswith("/") else place
            place = here
        return _Position(place, missing, links)

    def _step(self, place: str, name: str) -> tuple[str, FileEntry | None]:
        """Return where the component of an existing directory is, as it is stored, and its entry."""
        asked = _join(place, name)
        found = self._steps.get(asked)
        if found is None:
            entry = self.entry(asked)
            here = asked if entry is None or entry.name == name else _join(place, entry.name)
            if self._world.is_process_link(here):
                raise UnrepresentableError(_OF_PROCESSES)
            if entry is None:
                self._refuse_equivalent(place, name)
            found = self._steps[asked] = (here, entry)
        return found

    def _missing_step(self, place: str, name: str) -> tuple[str, None]:
        here = _join(place, name)
        if self._world.is_process_link(here):
            raise UnrepresentableError(_OF_PROCESSES)
        return here, None

    def _refuse_equivalent(self, place: str, name: str) -> None:
        """Refuse a missing name that Unicode normalisation makes one that exists.

        The kernel tells the two apart, but servers that normalise names open the existing one, or
        follow it where it is a symlink.
        """
        if name.isascii() and _COMPOSED_ASCII.isdisjoint(name):
            return
        directory = self.entry(place)
        if directory is None or directory.kind is not FileKind.DIRECTORY:
            return
        composed = unicodedata.normalize("NFC", name)
        if any(unicodedata.normalize("NFC", other) == composed for other in self._world.children(place)):
            raise UnrepresentableError("differs only in Unicode normalisation from the name of another file")

    def _target(self, link: str) -> str:
        if link not in self._targets:
            self._targets[link] = self._world.readlink(link)
        target = self._targets[link]
        if not target:
            raise UnrepresentableError("leads through a symbolic link without a target")
        return target


def _start(directory: str) -> str:
    if not directory.startswith("/"):
        raise UnrepresentableError("starts from a directory that is itself no absolute path")
    return directory


def _check_text(text: str) -> None:
    if text.startswith("/") and text.isascii() and text.isprintable():
        return  # as most paths are
    if not text:
        raise UnrepresentableError("is empty")
    _check_characters(text)
    scheme = _SCHEME.match(text)
    if scheme and (scheme[2] or scheme[1].lower() in _KNOWN_SCHEMES):
        raise UnrepresentableError("is a URL; a path is needed")


def _check_characters(path: str) -> None:
    try:
        path.encode()
    except UnicodeEncodeError as error:
        raise UnrepresentableError("is, or leads to, a name that is no valid UTF-8") from error
    if _CONTROL.search(path):
        raise UnrepresentableError("holds, or leads to, a control character")


def _check_bounds(path: str) -> None:
    if len(path) <= MAX_BYTES // _MOST_BYTES and path.count("/") < MAX_COMPONENTS:
        return
    if len(path.encode(errors="surrogateescape")) > MAX_BYTES:
        raise UnrepresentableError(f"is a path of more than {MAX_BYTES} bytes")
    if len([name for name in path.split("/") if name]) > MAX_COMPONENTS:
        raise UnrepresentableError(f"is a path of more than {MAX_COMPONENTS} components")


def _components(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in ("", ".")]


def _parent(path: str) -> str:
    return path[: path.rindex("/")] or "/"


def _join(place: str, name: str) -> str:
    return f"/{name}" if place == "/" else f"{place}/{name}"
