"""Local remotes: the directories that git opens for a path, other than the path itself."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from ironcurtain.system.files import read_regular

_FILE = "file://"
_POINTER = "gitdir:"
_POINTER_BYTES = 8192


def is_local(url: str) -> bool:
    """Tell a local path from an scp-like form or URL as git does: a slash comes first, or no colon at all."""
    return "/" in url.partition(":")[0] or ":" not in url


def local_path(url: str) -> str | None:
    """Return the path of an absolute local path or a `file://` URL, None for anything else."""
    path = unquote(url[len(_FILE) :]) if url.startswith(_FILE) else url
    return path if path.startswith("/") and "\0" not in path else None


def other_places(url: str) -> tuple[str, ...]:
    """Return where git would go for a local remote instead of, or after, the path that it names.

    git tries the path with `.git` behind it, follows a `.git` file to the directory it names, and from
    there to the common directory. All of them that exist are returned, as absolute paths.

    Args:
        url: A remote's URL; anything but an absolute local path or a `file://` URL has no other places.
    """
    path = local_path(url)
    if path is None:
        return ()
    named = Path(path)
    sibling = named.with_name(f"{named.name}.git") if named.name else named
    places = [sibling] if sibling != named and os.path.lexists(sibling) else []
    for place in (named, *places):
        # A link there is resolved with every other path; named here so that it is judged at all.
        places += [place / ".git"] if _is_link(place / ".git") else []
        for pointer in (place, place / ".git"):
            target = pointed(pointer, _POINTER)
            if target is not None:
                common = pointed(target / "commondir", "")
                places += [target] if common is None else [target, common]
    return tuple(dict.fromkeys(str(place) for place in places))


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:
        return False


def pointed(pointer: Path | str, prefix: str) -> Path | None:
    """Return the directory that a file of one line names, relative to its own directory."""
    try:
        text = os.fsdecode(read_regular(pointer, max_bytes=_POINTER_BYTES))
    except (OSError, ValueError):
        return None
    target = text.removeprefix(prefix).strip(" \r\n")
    is_pointer = text.startswith(prefix) and target and "\0" not in target
    return Path(pointer).parent / target if is_pointer else None
