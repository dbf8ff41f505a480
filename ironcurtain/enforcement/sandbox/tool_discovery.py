"""Starting servers to read their tools or to call one: contained as behind the proxy."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ironcurtain.bundle.origin import usual_files
from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.enforcement.sandbox.reach.opened import is_in, personal_places
from ironcurtain.enforcement.sandbox.reach.reach import Places, Reach
from ironcurtain.enforcement.sandbox.server_program import named_directories
from ironcurtain.errors import ContainedServerError, IronCurtainError
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.connect import first_of
from ironcurtain.servers.launching import Open, ServerLauncher, Start
from ironcurtain.servers.permitted import check_permitted
from ironcurtain.servers.server_process import ServerStart
from ironcurtain.settings import user_directory
from ironcurtain.system.configuration_directory import CONFIGURATION_DIRECTORY
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher
    from ironcurtain.enforcement.sandbox.report import Observation

S = TypeVar("S")


def without_policy(config: ServerConfig) -> SandboxInputs:
    """Return what sandboxes are made from where no rule speaks of a server, and it has no session.

    It sees nothing of the home but its own program and what its command line names (`named_places`), and can
    write its temporary directory, and what its configuration names.
    """
    files = (*config.files, *usual_files(config.directory))
    return SandboxInputs(
        home=Path.home(),
        workspace=None,
        own=(user_directory(), Path.home() / CONFIGURATION_DIRECTORY),
        protected=files,
        directory=config.directory,
        settings=config.sandbox.filesystem,
        configuration=files,
        reaches={name: Reach(reads=Places(named_places(config, name))) for name in config.servers},
    )


def named_places(config: ServerConfig, name: str) -> tuple[str, ...]:
    """Return the directories that a server's arguments and variables name and that it sees to list its tools.

    Whoever wrote the entry may not be whoever reads it: one that may also contact hosts sees those of its
    own project alone.
    """
    server = config.servers[name]
    named = named_directories(server, config.directory, Path.home())
    if server.domains:
        named = [path for path in named if path.is_relative_to(os.path.realpath(config.directory))]
    return tuple(map(str, named))


def _shown(config: ServerConfig, launcher: SandboxLauncher) -> Iterator[str]:
    """Say what of people's directories servers see because their entries name it."""
    hidden = [Path(os.path.realpath(place)) for place in personal_places(Path.home())]
    for name, server in config.servers.items():
        named = named_places(config, name) if server.command and server.sandbox is not False else ()
        places = [place for place in named if is_in(Path(place), hidden)]
        if shown := [visible(place) for place in launcher.readable(name, places)]:
            yield (
                f"server {name} can read {', '.join(shown)} while its tools are listed, since its entry "
                "names that; behind the proxy, the rules decide"
            )


def contained_launcher(
    say: Callable[[str], None], inputs: Callable[[ServerConfig], SandboxInputs] = without_policy
) -> ServerLauncher:
    """Return what starts servers as their configuration wants them contained, if a person permitted that.

    Args:
        say: Told what has to be known of their sandboxes.
        inputs: Returns what these are made from.
    """

    def make_ready(config: ServerConfig) -> Start:
        from ironcurtain.enforcement.sandbox.launcher import SandboxLauncher  # noqa: PLC0415 - few commands start servers

        check_permitted(config, config.servers)
        launcher = SandboxLauncher.open(config, inputs(config))
        for note in (*launcher.notes(), *(_shown(config, launcher) if inputs is without_policy else ())):
            say(note)

        async def tell(name: str, seen: Observation) -> None:
            if seen.kind in {"violation", "open"}:
                say(f"server {name}: sandbox: {seen.kind}: {seen.text}")

        @asynccontextmanager
        async def start(
            name: str,
            program: ServerStart,
            on_words: Callable[[str], None],
            on_end: Callable[[str], None],
            opened: Open[S],
        ) -> AsyncIterator[S]:
            started = launcher.connect(
                name, program, on_words=on_words, on_end=on_end, tell=tell, opened=opened
            )
            try:
                async with started as spoken_to:
                    yield spoken_to
            except Exception as error:
                if isinstance(first_of(error), IronCurtainError) or not (why := launcher.why_ended(name)):
                    raise
                what = f"the server does not start, and its sandbox is the likely cause: {why.what}"
                raise ContainedServerError(what, where=name, hint=why.fix) from error

        return start

    return make_ready
