"""How an MCP server over stdio is started, and what is said when it fails.

Whoever reads tools or calls one is given a `ServerLauncher`, which contains servers as the configuration
wants it: here nothing is started. Of a server's standard error only its last lines are ever shown, inside
an error.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections import deque

from ironcurtain.errors import ServerFailedError
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.server_process import ServerStart
from ironcurtain.servers.variables import filled_server
from ironcurtain.system.secret_forms.hiding import without_secrets
from ironcurtain.system.text import quoted, visible

_LAST_LINES = 5
_MAX_LINE = 300
_PLAIN_END = "it ended"
_WORDLESS = "It wrote nothing to its standard error."
HANDED_ON = ("HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER")
"""What a server gets of our environment; its configuration names the rest."""

# The SDK logs what it cannot parse; without a handler Python would print that on our standard error.
logging.getLogger("mcp").addHandler(logging.NullHandler())
logging.getLogger("client").addHandler(logging.NullHandler())


def parameters(name: str, config: ServerConfig) -> ServerStart:
    """Return how a server is started: program, arguments, a minimal environment, working directory.

    What was fetched is held against its digest each time.

    Raises:
        ServerFailedError: If its program or its working directory does not exist.
        ServerConfigError: If a variable in its entry is not set, or a secret cannot be read.
        FetchError: If it has to be fetched, or is not what was fetched.
    """
    if name in config.installed:
        config.installed[name].check()
    server, directory = filled_server(config.servers[name], name), config.directory
    cwd = directory / (server.cwd or "")
    if not cwd.is_dir():
        raise ServerFailedError(f"the working directory {quoted(str(cwd))} does not exist", where=name)
    # What begins so is a function of bash's, which another bash would define.
    ours = {key: os.environ[key] for key in HANDED_ON if key in os.environ}
    kept = {key: value for key, value in ours.items() if not value.startswith("()")}
    environment = kept | server.env
    command = server.command or ""
    program = str(cwd / command) if "/" in command else command
    if shutil.which(program, path=environment.get("PATH")) is None:
        raise ServerFailedError(
            f"the server does not start: the command {quoted(command)} was not found",
            where=name,
            hint="Install it, or write its absolute path.",
        )
    return ServerStart(program, server.args, environment, cwd)


class LastWords:
    """What a started server last wrote to its standard error, and why nothing more comes from it."""

    def __init__(self) -> None:
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._end = ""

    def line(self, text: str) -> None:
        """Take a line, safe to show."""
        self._lines.append(text[:_MAX_LINE])

    def end(self, why: str) -> None:
        """Take the reason of its end."""
        self._end = self._end or why

    @property
    def shown(self) -> str:
        """The lines, as a sentence."""
        return f"It last wrote: {' | '.join(self._lines).rstrip('.')}." if self._lines else _WORDLESS

    def failed(self, name: str, what: str) -> ServerFailedError:
        """Make the error for the server: what the reader of it saw, or else why it was ended."""
        if self._end and self._end != _PLAIN_END:
            what = f"failed: {self._end}"
        return ServerFailedError(f"the server {what}", where=name, hint=self.shown)


def first_of(error: BaseException) -> BaseException:
    """Return the first exception of a group; one that is none as it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def cause(error: BaseException) -> str:
    """Return what an exception of the SDK says, safe to show; of a group, what its first one says."""
    error = first_of(error)
    text = visible(without_secrets(str(error))).strip()
    return f"{text[:300]} ({type(error).__name__})" if text else type(error).__name__
