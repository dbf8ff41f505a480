"""Fetching a server: outside the sandbox, once, pinned, into the user's own directory."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import ValidationError

from ironcurtain.errors import FetchError
from ironcurtain.servers.fetched import npm, pypi
from ironcurtain.servers.fetched.lock import FetchedServer, Pinned, Wanted
from ironcurtain.servers.fetched.running import Staged
from ironcurtain.servers.fetched.tree import (
    digests,
    installation,
    is_whole,
    managed_directory,
    note_of,
)
from ironcurtain.system.files import atomic_write
from ironcurtain.system.frozen import Digest
from ironcurtain.system.locks import work_lock
from ironcurtain.system.text import quoted, visible

_PRIVATE = 0o700
_STAGING = ".staging-"


def platform_of(wanted: Wanted) -> str:
    """Return the name that a lock has for this machine."""
    return npm.platform() if wanted.manager == "npm" else pypi.platform(wanted.python)


def program_of(known: FetchedServer, place: Path) -> str:
    """Return the program of a server that is installed in a directory, relative to it.

    Raises:
        FetchError: If it has none, or another one than its lock names.
    """
    program = npm.program(place, known.wanted) if known.wanted.manager == "npm" else pypi.START
    if program != known.run:
        raise FetchError(
            f"its lock names the program {quoted(known.run)}, and the package has {quoted(program)}"
        )
    return program


def fetch(wanted: Wanted, known: FetchedServer | None = None) -> FetchedServer:
    """Install a server, by the digests of its lock where it is in one, and return its part of the lock.

    One that is installed as the lock says is left as it is.

    Args:
        wanted: What is fetched.
        known: What the lock has of the same server; None fetches what the registry has now.

    Raises:
        FetchError: If it cannot be fetched, or what was fetched is not what the lock says.
    """
    if known is not None and known.wanted != wanted:
        known = None
    if known is not None and is_there(known, wanted):
        return known
    here = platform_of(wanted)
    pinned = known.platforms.get(here) if known is not None else None
    try:
        with _staging() as where:
            staged = _fetched(wanted, known, pinned, where)
            tree = digests(staged.directory).tree
            if pinned is not None and tree != pinned.tree:
                raise _other(staged)
            if not is_whole(installation(staged.package, staged.version, tree), tree):
                _put(staged, wanted, tree)
    except OSError as error:
        raise FetchError(
            f"nothing can be installed in {quoted(str(managed_directory()))}: {error.strerror or error}"
        ) from error
    platforms = {**(known.platforms if known else {}), here: Pinned(tree=tree, pins=staged.pins)}
    try:
        return FetchedServer(
            wanted=wanted,
            package=staged.package,
            version=staged.version,
            run=staged.run,
            unrun=staged.unrun,
            platforms=dict(sorted(platforms.items())),
        )
    except ValidationError as error:
        raise FetchError(f"what was fetched cannot be pinned: {error.errors()[0]['msg']}") from None


def is_there(known: FetchedServer, wanted: Wanted) -> bool:
    """Tell whether what is wanted is installed here as the lock says, file by file."""
    pinned = known.platforms.get(platform_of(wanted))
    if known.wanted != wanted or pinned is None:
        return False
    place = installation(known.package, known.version, pinned.tree)
    with contextlib.suppress(FetchError):
        return is_whole(place, pinned.tree) and bool(program_of(known, place))
    return False


def _fetched(wanted: Wanted, known: FetchedServer | None, pinned: Pinned | None, where: Path) -> Staged:
    """Fetch by the pins; for a kind of machine that has none, the same version, and npm's own pins."""
    if wanted.manager == "npm":
        others = next(iter(known.platforms.values())).pins if known is not None and known.platforms else ()
        staged = npm.fetch(wanted, pinned.pins if pinned is not None else others, where)
    else:
        exact = wanted if known is None or pinned is not None else _exactly(wanted, known.version)
        staged = pypi.fetch(exact, pinned.pins if pinned is not None else (), where)
    if not (where / staged.run).is_file():
        raise FetchError(f"what was fetched has no program {visible(staged.run)}", where=wanted.packages[0])
    return staged


def _exactly(wanted: Wanted, version: str) -> Wanted:
    name = pypi.bare_with_extras(wanted.packages[0])
    return wanted.model_copy(update={"packages": (f"{name}=={version}", *wanted.packages[1:])})


def _other(staged: Staged) -> FetchError:
    return FetchError(
        f"what was fetched as {visible(staged.package)} {visible(staged.version)} is not what the lock says",
        hint="Look who changed it; `ironcurtain servers fetch --update` pins what the registry has now.",
    )


@contextmanager
def _staging() -> Iterator[Path]:
    """Yield a directory beside the installations, one at a time; what a killed one left is removed."""
    place = managed_directory()
    place.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
    with work_lock(place / ".lock"):
        for left in place.glob(f"{_STAGING}*"):
            shutil.rmtree(left, ignore_errors=True)
        where = Path(tempfile.mkdtemp(prefix=_STAGING, dir=place))
        try:
            yield where
        finally:
            shutil.rmtree(where, ignore_errors=True)


def _put(staged: Staged, wanted: Wanted, tree: Digest) -> None:
    """Make it an installation, in the place of a damaged one; it is whole once its note is written."""
    place = installation(staged.package, staged.version, tree)
    note_of(place).unlink(missing_ok=True)
    if os.path.lexists(place):
        place.rename(staged.directory.with_name(f"{staged.directory.name}.old"))
    staged.directory.rename(place)
    if wanted.manager == "pypi":
        pypi.compile_(place, wanted.python)
    atomic_write(note_of(place), digests(place).whole.encode(), mode=0o600)
    shutil.rmtree(staged.directory.with_name(f"{staged.directory.name}.old"), ignore_errors=True)
