"""Results that take long to work out, kept in files of this user from one run to the next.

Whoever keeps one names in its key all that it depends on; our own code is a part of that (`own_code`). What
is kept counts only where nobody but us and root can have written it. A file that is missing, cut off or of
another version is as good as none: the result is worked out anew.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel

from ironcurtain.errors import IronCurtainError
from ironcurtain.system import assets
from ironcurtain.system.files import atomic_write, load
from ironcurtain.system.json_text import digest
from ironcurtain.system.ownership import check_own

M = TypeVar("M", bound=BaseModel)

MOST = 32
"""How many results are kept in one directory: those that were written last."""


def read_kept(place: Path, model: type[M]) -> M | None:
    """Return what was kept in a file, None where nothing usable was."""
    try:
        check_own(place, "what was kept")
        return load(place, model)
    except (IronCurtainError, OSError):
        return None


def keep(place: Path, result: BaseModel) -> None:
    """Keep a result, unless reading it would give another one; the oldest beside it go.

    Raises:
        OSError: If it cannot be written.
    """
    written = result.model_dump_json(by_alias=True).encode()
    if type(result).model_validate_json(written) != result:
        return
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic_write(place, written, mode=0o600)
    newest = sorted(place.parent.glob("*.json"), key=lambda each: each.stat().st_mtime, reverse=True)
    for old in newest[MOST:]:
        old.unlink(missing_ok=True)


@functools.cache
def own_code() -> str:
    """Return a digest that tells our code, and what it is run with, from other code."""
    package = Path(__file__).parents[1]
    ours = [*_below(package, ".py"), *_below(assets.REGO), *_below(assets.OPA)]
    installed = {entry for place in sys.path for entry in _names(place) if entry.endswith(".dist-info")}
    return digest([version("ironcurtain"), sys.version, sorted(installed), file_state(sorted(ours))])


def file_state(files: Iterable[Path | str]) -> list[list[str]]:
    """Return what changes whenever somebody writes one of some files, whatever times they set.

    One that cannot be looked at, as an editor's link to nothing or a file that went just now, has no state.
    """
    return [[str(file), *_state(file)] for file in files]


def _state(file: Path | str) -> tuple[str, ...]:
    try:
        status = os.stat(file)  # noqa: PTH116 - hundreds of files, for which every start waits
    except OSError:
        return ()
    return str(status.st_size), str(status.st_ctime_ns)


def _below(directory: Path, ending: str = "") -> list[str]:
    """Return the files below a directory whose names end so."""
    return [
        f"{place}/{name}" for place, _, names in os.walk(directory) for name in names if name.endswith(ending)
    ]


def _names(place: str) -> list[str]:
    """Return what stands in a directory of Python's search path, which may be an archive or not be there."""
    try:
        return os.listdir(place or ".")  # noqa: PTH208 - names alone
    except OSError:
        return []
