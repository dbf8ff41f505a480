"""How a client starts this program: from any directory, with any search path, and by absolute paths."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

from ironcurtain.errors import UsageError
from ironcurtain.system.text import visible


def search_path() -> str:
    """Return the absolute directories in which this process finds programs, as PATH names them."""
    return os.pathsep.join(filter(os.path.isabs, os.get_exec_path()))


def program() -> tuple[str, ...]:
    """Return how this program is started from anywhere, with any search path."""
    called = Path(sys.argv[0])
    if called.name == "ironcurtain" and os.access(called, os.X_OK) and called.is_file():
        return (str(called.absolute()),)
    # -I: neither the client's directory nor its environment can put another module in our place.
    return (sys.executable, "-I", "-c", "from ironcurtain.cli.main import main; main()")


def absolute(path: str) -> str:
    """Return a path of the command line without `..` and `~`; symbolic links stay.

    Raises:
        UsageError: If it is not UTF-8, as a client's configuration has to be.
    """
    made = os.path.abspath(Path(path).expanduser())  # noqa: PTH100 - without ..; links stay
    try:
        made.encode()
    except UnicodeEncodeError:
        quoted_path = shlex.quote(visible(made))
        raise UsageError(f"the path {quoted_path} is not UTF-8; no client can be told it") from None
    return made
