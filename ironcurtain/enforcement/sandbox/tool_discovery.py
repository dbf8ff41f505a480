"""Starting servers to read their tools or to call one: contained as behind the proxy."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ironcurtain.bundle.origin import usual_files
from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.enforcement.sandbox.reach.reach import NOTHING
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.launching import Open, ServerLauncher, Start
from ironcurtain.servers.permitted import check_permitted
from ironcurtain.servers.server_process import ServerStart
from ironcurtain.settings import user_directory
from ironcurtain.system.configuration_directory import CONFIGURATION_DIRECTORY

if TYPE_CHECKING:
    from ironcurtain.enforcement.sandbox.report import Observation

S = TypeVar("S")


def without_policy(config: ServerConfig) -> SandboxInputs:
    """Return what sandboxes are made from where no rule speaks of a server, and it has no session.

    It sees nothing of the home but its own program, and can write its temporary directory, and what its
    configuration names.
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
        reaches=dict.fromkeys(config.servers, NOTHING),
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
        for note in launcher.notes():
            say(note)

        async def tell(name: str, seen: Observation) -> None:
            if seen.kind in {"violation", "open"}:
                say(f"server {name}: sandbox: {seen.kind}: {seen.text}")

        def start(
            name: str,
            program: ServerStart,
            on_words: Callable[[str], None],
            on_end: Callable[[str], None],
            opened: Open[S],
        ) -> AbstractAsyncContextManager[S]:
            return launcher.connect(name, program, on_words=on_words, on_end=on_end, tell=tell, opened=opened)

        return start

    return make_ready
