"""Starting servers so that they can be asked: what those who ask are given, and whoever contains gives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias, TypeVar

from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.server_process import ServerProcess, ServerStart

S = TypeVar("S")

Open: TypeAlias = Callable[
    [ServerProcess, Callable[[str], None], Callable[[str], None]], AbstractAsyncContextManager[S]
]
"""Opens what a started server is spoken to through, and ends the server with it. It is given who is told each
line of the server's standard error, and who is told why nothing more comes from it."""


class Start(Protocol):
    """Starts a server while it is spoken to."""

    def __call__(
        self,
        name: str,
        program: ServerStart,
        on_words: Callable[[str], None],
        on_end: Callable[[str], None],
        opened: Open[S],
        /,
    ) -> AbstractAsyncContextManager[S]:
        """Start a server, and open what it is spoken to through.

        Args:
            name: The server.
            program: How it is started without a sandbox.
            on_words: Told each line of its standard error.
            on_end: Told why nothing more comes from it.
            opened: Opens that.
        """


ServerLauncher: TypeAlias = Callable[[ServerConfig], Start]
"""Makes ready to start the servers of a configuration; raises `SandboxMissingError` where they have to be
contained and cannot be."""
