"""Types a command line: our own command runs inside this process, everything else in bash."""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from e2e.program import Ended, in_process

_OPERATORS = frozenset("|&;<>()")
_EXPANDED = frozenset("$`*?[]\n\\")


def typed(command: str, directory: Path, environment: Mapping[str, str]) -> Ended:
    """Run a command line in a directory.

    Starting the program anew costs more than most of our commands do; the shell is needed only for what is
    more than words.
    """
    words = _own_words(command, environment["HOME"])
    if words is not None:
        return in_process(*words, cwd=directory, **environment)
    ended = subprocess.run(
        ["bash", "-c", command],
        cwd=directory,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    return Ended(ended.returncode, ended.stdout, ended.stderr)


def _own_words(command: str, home: str) -> list[str] | None:
    """Return the arguments of a plain command of ours, None for everything else."""
    if not _EXPANDED.isdisjoint(command):
        return None
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    first, *words = lexer
    if first != "ironcurtain" or any(_OPERATORS.issuperset(word) for word in words if word):
        return None
    return [f"{home}{word[1:]}" if word.startswith("~/") else word for word in words]
