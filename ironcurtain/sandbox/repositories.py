"""The files of git repositories that are code: whoever writes them runs programs as whoever uses git."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_DEPTH = 6
_MOST_DIRECTORIES = 20_000
_BARE = frozenset({"HEAD", "objects", "refs"})
_CODE = ("hooks", "config")


def code_of_repositories(roots: Iterable[Path]) -> list[Path]:
    """Return hooks and configuration of every repository at or below some directories, sorted.

    A `.git` that is a file points elsewhere; it is returned itself, because another content would point to
    another repository. Directories more than 6 levels down, and more than 20,000 in all, are not looked at.
    """
    return sorted({path for root in roots for path in _below(root)})


def _below(root: Path) -> Iterator[Path]:
    for seen, (place, directories, files) in enumerate(os.walk(root), 1):
        here = Path(place)
        if {*directories, *files} >= _BARE:
            yield from (here / name for name in _CODE)
            directories.clear()
        for name in [name for name in (*directories, *files) if name.lower() == ".git"]:
            entry = here / name
            yield from ((entry / part for part in _CODE) if entry.is_dir() else (entry,))
        directories[:] = [name for name in directories if name.lower() != ".git"]
        if len(here.relative_to(root).parts) >= _DEPTH or seen >= _MOST_DIRECTORIES:
            directories.clear()
