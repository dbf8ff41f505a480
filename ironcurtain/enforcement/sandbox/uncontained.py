"""Starting a server without a sandbox: it runs no program from where tools and servers can write."""

from __future__ import annotations

import os
from pathlib import Path

from ironcurtain.enforcement.sandbox.profile import SandboxInputs
from ironcurtain.errors import ServerFailedError
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.server_process import ServerStart
from ironcurtain.system.programs import ProgramSearch
from ironcurtain.system.structs import replace
from ironcurtain.system.text import quoted


def reachable(config: ServerConfig, inputs: SandboxInputs) -> tuple[Path, ...]:
    """Return real paths of the directories that tools or servers can write."""
    session = (Path(os.path.realpath(inputs.workspace)),) if inputs.workspace else ()
    return (*session, *config.writable(inputs.home))


def without_reachable(start: ServerStart, written: tuple[Path, ...]) -> ServerStart:
    """Return an uncontained start that runs nothing by name from where tools and servers can write.

    Raises:
        ServerFailedError: If its program is only there.
    """
    environment = start.env or {}
    search = ProgramSearch(environment.get("PATH", os.defpath), written)
    program = Path(start.command) if "/" in start.command else search.find(start.command)
    if program is None:
        raise ServerFailedError(
            f"the command {quoted(start.command)} {search.passed_over(start.command) or 'was not found'}",
            hint="Write its absolute path, or install it outside the sandbox.",
        )
    return replace(start, command=str(program), env={**environment, "PATH": search.safe_path()})
