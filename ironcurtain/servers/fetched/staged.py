"""What a package manager has put into a directory of ours, before it becomes an installation."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Staged:
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
