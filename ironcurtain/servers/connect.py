"""How an MCP server over stdio is started, and what is said when it fails.

A server's standard error goes to a temporary file; only its last lines are ever shown, escaped, inside an
error.
"""

from __future__ import annotations

import logging
import shutil
from pathlib import Path
from typing import IO

from mcp import StdioServerParameters
from mcp.client.stdio import get_default_environment

from ironcurtain.errors import ServerFailedError
from ironcurtain.model.servers import Server
from ironcurtain.text import quoted, visible

_TAIL_BYTES = 4_096
_TAIL_LINES = 5

# The SDK logs what it cannot parse; without a handler Python would print that on our standard error.
logging.getLogger("mcp").addHandler(logging.NullHandler())
logging.getLogger("client").addHandler(logging.NullHandler())


def parameters(name: str, server: Server, directory: Path) -> StdioServerParameters:
    """Return how a server is started: program, arguments, a minimal environment, working directory.

    Args:
        name: Its name, for errors.
        server: Its configuration, with a command.
        directory: The directory that relative paths of the configuration start from.

    Raises:
        ServerFailedError: If its program or its working directory does not exist.
    """
    cwd = directory / (server.cwd or "")
    if not cwd.is_dir():
        raise ServerFailedError(f"the working directory {quoted(str(cwd))} does not exist", where=name)
    environment = get_default_environment() | server.env
    command = server.command or ""
    program = str(cwd / command) if "/" in command else command
    if shutil.which(program, path=environment.get("PATH")) is None:
        raise ServerFailedError(
            f"the server does not start: the command {quoted(command)} was not found",
            where=name,
            hint="Install it, or write its absolute path.",
        )
    return StdioServerParameters(command=program, args=list(server.args), env=environment, cwd=cwd)


def failed(name: str, what: str, stderr: IO[bytes]) -> ServerFailedError:
    """Make the error for a server, with the last lines that it wrote to its standard error."""
    stderr.seek(0, 2)
    stderr.seek(max(0, stderr.tell() - _TAIL_BYTES))
    lines = stderr.read().decode("utf-8", "replace").split("\n")
    shown = [visible(line.rstrip("\r"))[:300] for line in lines if line.strip()][-_TAIL_LINES:]
    hint = "It last wrote: " + " | ".join(shown) if shown else "It wrote nothing to its standard error."
    return ServerFailedError(f"the server {what}", where=name, hint=hint)


def cause(error: BaseException) -> str:
    """Return what an exception of the SDK says, escaped; of a group, what its first one says."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = visible(str(error)).strip()
    return f"{text[:300]} ({type(error).__name__})" if text else type(error).__name__
