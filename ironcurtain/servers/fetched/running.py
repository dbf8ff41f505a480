"""Running a package manager: npm or uv, as the user configured it, in a directory of ours.

In: its command line. Out: the files of a server, `Staged`, before they become an installation.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from ironcurtain.errors import FetchError
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.secret_forms.hiding import without_secrets
from ironcurtain.system.structs import Struct
from ironcurtain.system.subprocess_runner import run as run_program
from ironcurtain.system.text import quoted, visible


class Staged(Struct):
    """A server's files.

    Attributes:
        directory: Where they lie.
        package: The package that holds the server's program, with `version`.
        run: The program, a path relative to the directory.
        pins: What was installed, as lines of the manager's own lock file.
        unrun: Packages with install scripts, which were not run.
    """

    directory: Path
    package: str
    version: str
    run: str
    pins: tuple[str, ...]
    unrun: tuple[str, ...] = ()


_SECONDS = 900.0
_LINES = 6
_MAX_LINE = 300


def find_program(name: str) -> Path | None:
    """Return a program of PATH that nobody else could have put there, None if there is none."""
    return ProgramSearch.own().find(name)


def run(words: Sequence[str | Path], where: Path, *, told: str, more: Mapping[str, str] | None = None) -> str:
    """Run a package manager and return what it printed.

    It has the user's own environment: registry, proxy and sign-in are the user's. It runs in a directory of
    ours, so that no configuration of a project counts.

    Args:
        words: Program and arguments.
        where: The directory.
        told: What is being done, for the error: `npm cannot fetch …`.
        more: Variables beside the user's.

    Raises:
        FetchError: With the last of what it said.
    """
    try:
        environment = {**os.environ, **(more or {})}
        ended = run_program([*map(str, words)], cwd=where, environment=environment, timeout=_SECONDS)
    except TimeoutError:
        raise FetchError(f"{told}: it took more than {_SECONDS:g} seconds", hint="Try again.") from None
    except OSError as error:
        raise FetchError(f"{told}: {error.strerror}", hint=f"Look at {quoted(str(words[0]))}.") from None
    if ended.status != 0:
        text = without_secrets((ended.stderr or ended.stdout).decode("utf-8", "replace"))
        said = [line.strip() for line in text.splitlines() if line.strip()]
        last = " | ".join(visible(line)[:_MAX_LINE] for line in said[:_LINES])
        raise FetchError(told, hint=f"It said: {last}" if last else "It said nothing.")
    return ended.stdout.decode("utf-8", "replace")
