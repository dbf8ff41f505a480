"""Whether git would wait for a pipe or a device where it reads a repository: then it is not waited for.

A look-up is bounded in time, but a pipe in the place of a file that git reads would cost that time at every
call. What git reads is found here without git, and without waiting, while git does its work.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.decision.canonical.git.local_remotes import pointed
from ironcurtain.decision.canonical.git.process import GitFailedError, to_text
from ironcurtain.system.files import read_regular
from ironcurtain.system.text import quoted

_READ = ("HEAD", "commondir", "index", "packed-refs")
_CONFIGURED = ("config", "config.worktree")
_SECTION = re.compile(r"[ \t]*\[[ \t]*([A-Za-z0-9.-]*)[^\n\]]*\]?")
_PATH = re.compile(r"[ \t]*path[ \t]*=[ \t]*(.*)", re.IGNORECASE)
_COMMENT = re.compile(r"[ \t]*[#;].*")
_MOST_BYTES = 1 << 20
_MOST_FILES = 100


def refuse_pipes(directory: str, *, home: str | None) -> None:
    """See that git waits for nothing when it reads the repository of a directory.

    Args:
        directory: Real path that git is started in.
        home: What `~` means to git.

    Raises:
        GitFailedError: If it would, naming the place.
    """
    place = directory
    while True:
        for repository in _repositories(place):
            common = _refuse_in(repository, home)
            if common is not None:
                _refuse_in(common, home)
        if place == "/":
            return
        place = os.path.dirname(place)  # noqa: PTH120 - a `Path` costs more than the look


def _repositories(place: str) -> Iterator[str]:
    """Yield what git could take for the git directory of a place.

    What a link without an end leads to is nothing that git could open, so links are followed here.
    """
    entry = f"{place.rstrip('/')}/.git"
    if os.access(entry, os.F_OK):
        yield entry
        target = None if os.path.isdir(entry) else pointed(entry, "gitdir:")  # noqa: PTH112 - as above
        if target is not None:
            yield str(target)
    if os.access(f"{place}/HEAD", os.F_OK) and os.access(f"{place}/objects", os.F_OK):
        yield place


def _refuse_in(repository: str, home: str | None) -> str | None:
    """Look at what git reads in a git directory; return the common directory behind it, if it names one."""
    there = [name for name in _READ if _is_there(f"{repository}/{name}")]
    head = pointed(f"{repository}/HEAD", "ref:") if "HEAD" in there else None
    if head is not None:
        _is_there(str(head))
    waiting = [f"{repository}/{name}" for name in _CONFIGURED]
    for file in waiting:
        if _is_there(file):
            included = dict.fromkeys(str(each) for each in included_files(Path(file), home))
            waiting += [each for each in included if each not in waiting]
        if len(waiting) > _MOST_FILES:
            raise GitFailedError(f"the repository includes more than {_MOST_FILES} files of configuration")
    common = pointed(f"{repository}/commondir", "") if "commondir" in there else None
    return None if common is None else str(common)


def included_files(file: Path, home: str | None) -> Iterator[Path]:
    """Yield whatever a file of configuration could include; a pipe is not waited for."""
    try:
        text = to_text(read_regular(file, max_bytes=_MOST_BYTES))
    except OSError:
        return  # git says what it thinks of it
    joined = text.replace("\\\n", "")
    if "include" not in joined.lower():
        return  # as in nearly every file: no line need be looked at
    includes = False
    for line in joined.split("\n"):
        section = _SECTION.match(line)
        if section is not None:
            includes = section[1].lower() in ("include", "includeif")
        written = _PATH.match(line, section.end() if section else 0) if includes else None
        for value in {written[1], _COMMENT.sub("", written[1])} if written else ():
            plain = re.sub(r"\\(.)", r"\1", value.replace('\\"', "").replace('"', "")).strip()
            expanded = f"{home or ''}{plain[1:]}" if plain.startswith("~/") else plain
            if expanded and "\0" not in expanded:
                yield file.parent / expanded


def _is_there(path: str) -> bool:
    """Tell whether git could open something there, having seen that it would not wait for it."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return False  # git does not open it either
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise GitFailedError(f"git would wait for {quoted(path)}, which is no file")
    return True
