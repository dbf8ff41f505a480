"""What of a machine is its people's, and what of that a rule without a place opens for writing."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

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

    Args:
        home: The home directory, a real path.
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
    found: list[Path] = []
    for place in sorted(set(places)):
        if not any(place.is_relative_to(other) for other in found):
            found.append(place)
    return found


def _directories(place: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(place) as entries:
            found = [entry for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(found, key=lambda entry: entry.name)
