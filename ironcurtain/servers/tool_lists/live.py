"""Reading tool lists from live servers, side by side."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import anyio

from ironcurtain.errors import ContainedServerError, IronCurtainError, raise_all
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.connect import LastWords, cause, first_of, parameters
from ironcurtain.servers.launching import ServerLauncher, Start
from ironcurtain.servers.tool_lists.session import ServerAnswerError, open_session
from ironcurtain.servers.tools import ListedServer, Tools
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

Outcome = tuple[list[IronCurtainError], ListedServer]
"""What is wrong with a server, and its tools; one of them is empty."""

Roots = Sequence[Mapping[str, JsonValue]]
"""Roots of a client, as the protocol writes them."""

RootsOf = Callable[[str], Roots]
"""Returns the roots that a server is told of."""

Outcomes = dict[str, Outcome]
"""The outcome of each server, by its name."""


class Listener(ABC):
    """Is told how far the reading of some servers' lists is."""

    def running(self, server: str) -> None:  # noqa: B027 - not everybody waits for that
        """Take note that a server has been started."""

    @abstractmethod
    def listed(self, server: str, outcome: Outcome) -> None:
        """Take a server's outcome; a later one, as of its end, replaces it."""


def all_listed(config: ServerConfig, results: Outcomes) -> Tools:
    """Return the tools of each server of a configuration, of which none may be wrong.

    Raises:
        ServerFailedError: For each server that does not start, dies, is too slow or lists nonsense.
    """
    for name, (errors, _) in results.items():
        for error in (each for each in errors if not isinstance(each, ContainedServerError)):
            error.hint = f"{error.hint} {_without_it(config.servers[name])}".strip()
    raise_all([error for errors, _ in results.values() for error in errors])
    return {name: tools for name, (_, tools) in results.items()}


def _without_it(server: Server) -> str:
    """Say how to compile where the server cannot run."""
    if server.tools:
        return f"`compile --saved-tools` reads its tools from {visible(server.tools)} instead."
    return (
        "Where it cannot run, save what `ironcurtain tools` prints elsewhere, name the file as its "
        '"tools", and compile with --saved-tools.'
    )


def no_roots(_server: str) -> Roots:
    """Return the roots that a server is told of where no policy is known."""
    return ()


def list_each(
    config: ServerConfig,
    launcher: ServerLauncher,
    seconds: float,
    roots_of: RootsOf = no_roots,
) -> Outcomes:
    """Start servers and return, for each, what is wrong with it and its tools; one of them is empty.

    Args:
        config: Servers that have a command, each.
        launcher: Starts them.
        seconds: Time for each server.
        roots_of: Returns the roots that each is told of.

    Raises:
        SandboxMissingError: If they have to be contained and cannot be.
    """
    found = _Found()
    anyio.run(list_side_by_side, config, launcher(config), seconds, found, roots_of)
    return {name: found.each[name] for name in config.servers}


class _Found(Listener):
    def __init__(self) -> None:
        self.each: Outcomes = {}

    def listed(self, server: str, outcome: Outcome) -> None:
        self.each[server] = outcome


async def list_side_by_side(
    config: ServerConfig,
    start: Start,
    seconds: float,
    listener: Listener,
    roots_of: RootsOf = no_roots,
) -> None:
    """Start servers, tell of each what is wrong with it or its tools, and end them."""
    async with anyio.create_task_group() as tasks:
        for name in config.servers:
            tasks.start_soon(_list_one, config, name, start, seconds, listener, roots_of(name))


async def _list_one(
    config: ServerConfig, name: str, start: Start, seconds: float, listener: Listener, roots: Roots
) -> None:
    """Tell one server's tools or what is wrong with it: no error of one hides another's."""
    words = LastWords()
    failed: IronCurtainError
    try:
        program = parameters(name, config)
        async with (
            asyncio.timeout(seconds),
            start(name, program, words.line, words.end, partial(open_session, roots=roots)) as session,
        ):
            listener.running(name)
            listener.listed(name, ([], await session.list_server()))
    except TimeoutError:
        failed = words.failed(name, f"gave no tool list within {seconds:g} seconds")
    except IronCurtainError as error:
        failed = error
        if isinstance(error, ContainedServerError):
            error.hint = f"To mend it, {error.hint}. {words.shown}"
    except Exception as error:  # noqa: BLE001 - whatever is raised, this server failed
        first = first_of(error)
        why = visible(str(first)) if isinstance(first, ServerAnswerError) else cause(first)
        failed = words.failed(name, f"failed: {why}")
    else:
        return
    listener.listed(name, ([failed], ListedServer()))
