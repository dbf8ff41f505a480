"""Whether git would wait for a pipe or a device where it reads a repository: then it is not asked at all.

A look-up is bounded in time, but a pipe in the place of a file that git reads would cost that time at every
call. What git reads is found here without git, and without waiting.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from ironcurtain.canonical.git_local import pointed
from ironcurtain.canonical.git_process import GitFailedError, to_text
from ironcurtain.files import read_regular
from ironcurtain.text import quoted

_READ = ("HEAD", "config", "config.worktree", "commondir", "index", "packed-refs")
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
            _refuse_in(repository, home)
        if place == "/":
            return
        place = os.path.dirname(place)  # noqa: PTH120 - a `Path` costs more than the look


def _repositories(place: str) -> Iterator[Path]:
    """Yield what git could take for the git directory of a place, and the common directory behind it."""
    entry = os.path.join(place, ".git")  # noqa: PTH118 - as above
    found = [Path(entry)] if os.path.lexists(entry) else []
    if found and not os.path.isdir(entry):  # noqa: PTH112 - as above
        target = pointed(found[0], "gitdir:")
        found += [target] if target is not None else []
    if os.path.lexists(f"{place}/HEAD") and os.path.lexists(f"{place}/objects"):
        found.append(Path(place))
    for each in found:
        yield each
        written = os.path.lexists(f"{each}/commondir")
        if written and (common := pointed(each / "commondir", "")):
            yield common


def _refuse_in(repository: Path, home: str | None) -> None:
    for name in _READ:
        _refuse(f"{repository}/{name}")
    head = pointed(repository / "HEAD", "ref:")
    if head is not None:
        _refuse(str(head))
    configured = (repository / name for name in ("config", "config.worktree"))
    waiting = [file for file in configured if os.path.lexists(file)]
    for file in waiting:
        _refuse(str(file))
        waiting += [each for each in included_files(file, home) if each not in waiting]
        if len(waiting) > _MOST_FILES:
            raise GitFailedError(f"the repository includes more than {_MOST_FILES} files of configuration")


def included_files(file: Path, home: str | None) -> Iterator[Path]:
    """Yield whatever a file of configuration could include; a pipe is not waited for."""
    try:
        text = to_text(read_regular(file, max_bytes=_MOST_BYTES))
    except OSError:
        return  # git says what it thinks of it
    includes = False
    for line in text.replace("\\\n", "").split("\n"):
        section = _SECTION.match(line)
        if section is not None:
            includes = section[1].lower() in ("include", "includeif")
        written = _PATH.match(line, section.end() if section else 0) if includes else None
        for value in {written[1], _COMMENT.sub("", written[1])} if written else ():
            plain = re.sub(r"\\(.)", r"\1", value.replace('\\"', "").replace('"', "")).strip()
            expanded = f"{home or ''}{plain[1:]}" if plain.startswith("~/") else plain
            if expanded and "\0" not in expanded:
                yield file.parent / expanded


def _refuse(path: str) -> None:
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116 - as above
    except (OSError, ValueError):
        return  # git does not open it either
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise GitFailedError(f"git would wait for {quoted(path)}, which is no file")
