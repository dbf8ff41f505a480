"""Starting servers so that they can be asked: what those who ask are given, and whoever contains gives."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, TypeAlias

from ironcurtain.servers.config import ServerConfig

if TYPE_CHECKING:  # the SDK takes a second to load
    from ironcurtain.servers.server_process import ServerStart
    from ironcurtain.servers.stdio_transport import Streams

Start: TypeAlias = """Callable[
    [str, ServerStart, Callable[[str], None], Callable[[str], None]],
    AbstractAsyncContextManager[Streams],
]"""
"""Starts a server while its streams are used: its name, its start without a sandbox, who is told each line of
its standard error, and who is told why nothing more comes from it."""

ServerLauncher: TypeAlias = Callable[[ServerConfig], Start]
"""Makes ready to start the servers of a configuration; raises `SandboxMissingError` where they have to be
contained and cannot be."""
