"""What runs in the place of a command that fetches: the program that was installed, or why there is none."""

from __future__ import annotations

import os
from pathlib import Path

from ironcurtain.errors import FetchError, IronCurtainError
from ironcurtain.servers.config_model import Server
from ironcurtain.servers.fetched.lock import FetchedServer, ServerLock
from ironcurtain.servers.fetched.request import PackageRequest, request_of
from ironcurtain.servers.fetched.tree import installation, is_whole
from ironcurtain.system.frozen import Digest
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted, visible


class InstalledPackage(Struct):
    """A server that is fetched and not started by its own command.

    Attributes:
        name: The server's name.
        servers: The file that it stands in.
        directory: Where it is installed; None where it is not.
        tree: The digest of what its lock says.
        missing: Why it cannot be started; None where it can, if it is whole.
        package: What was installed, with its version.
    """

    name: str
    servers: Path
    directory: Path | None = None
    tree: Digest = ""
    missing: FetchError | None = None
    package: str = ""

    def check(self) -> None:
        """See that what is installed is what was pinned, file by file.

        Raises:
            FetchError: If it is not, or nothing is installed.
        """
        if self.missing is not None or self.directory is None:
            raise self.missing or FetchError("it is not fetched", where=self.name)
        if not is_whole(self.directory, self.tree):
            raise FetchError(
                f"what was installed as {visible(self.package)} was changed on disk, or a part is gone",
                where=self.name,
                hint=f"`{fetch_command(self.servers, self.name)}` fetches the same again.",
            )


def fetch_command(servers: Path, name: str) -> str:
    """Return the command that fetches a server of a file."""
    return f"ironcurtain servers fetch {visible(name)} --servers {visible(str(servers))}"


def resolved(
    name: str, server: Server, lock: ServerLock, servers: Path
) -> tuple[Server, InstalledPackage | None]:
    """Return a server as it is started, and how it is installed if its command fetches it.

    A server without a sandbox that is in no lock is started by its own command, as the configuration wants.
    """
    try:
        request = request_of(server.command, server.args)
    except IronCurtainError as error:
        if server.sandbox is False:
            return server, None
        missing = FetchError(error.what, where=name, hint=error.hint)
        return server, InstalledPackage(name, servers, missing=missing)
    known = lock.servers.get(name)
    if request is None or (known is None and server.sandbox is False):
        return server, None
    from ironcurtain.servers.fetched.fetch import platform_of  # noqa: PLC0415 - few servers are fetched

    why = _missing(request, known)
    if known is None or why:
        hint = f"Run `{fetch_command(servers, name)}`."
        return server, InstalledPackage(name, servers, missing=FetchError(why, where=name, hint=hint))
    tree = known.platforms[platform_of(known.wanted)].tree
    place = installation(known.package, known.version, tree)
    package = f"{known.package} {known.version}"
    return _installed(server, request, known, place), InstalledPackage(
        name, servers, place, tree, package=package
    )


def _missing(request: PackageRequest, known: FetchedServer | None) -> str:
    """Say why a server cannot be started; nothing if it can."""
    from ironcurtain.servers.fetched import pypi  # noqa: PLC0415 - as above
    from ironcurtain.servers.fetched.fetch import platform_of, program_of  # noqa: PLC0415

    asked = quoted(request.wanted.packages[0])
    if known is None:
        return (
            f"the server fetches itself ({asked}), which its sandbox does not let it, and is not fetched yet"
        )
    if known.wanted != request.wanted:
        what = f"{known.wanted.packages[0]}, version {known.version}"
        return f"the configuration asks for {asked}, and what was fetched is {visible(what)}"
    pinned = known.platforms.get(platform_of(known.wanted))
    if pinned is None:
        return f"{asked} is not fetched for this machine ({platform_of(known.wanted)})"
    if known.wanted.manager == "pypi" and pypi.interpreter(known.wanted.python) is None:
        return f"{asked} asks for Python {known.wanted.python}, which is not on PATH"
    place = installation(known.package, known.version, pinned.tree)
    why = ""
    try:
        program_of(known, place)
    except FetchError as error:
        why = error.what
    if not place.is_dir():
        why = f"{asked} is in the lock, version {known.version}, and is not installed here"
    return why


def _installed(server: Server, request: PackageRequest, known: FetchedServer, place: Path) -> Server:
    if known.wanted.manager == "npm":
        program, words = request.command(str(place / known.run))
        return server.model_copy(update={"command": program, "args": words})
    from ironcurtain.servers.fetched import pypi  # noqa: PLC0415 - as above

    python = pypi.interpreter(known.wanted.python)
    interpreter, first, variables = pypi.command(python or Path(), place)
    program, words = request.command(interpreter, first)
    given = server.env.get("PYTHONPATH")
    path = {"PYTHONPATH": os.pathsep.join([variables["PYTHONPATH"], given])} if given else {}
    return server.model_copy(
        update={
            "command": program,
            "args": words,
            "env": {**server.env, **variables, **path},
        }
    )
