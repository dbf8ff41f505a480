"""Writing the files of a new project, before any stage: `ironcurtain init`, offline.

Existing files are never changed, so a second run changes nothing. Where servers are configured already,
the other files are about these; otherwise they are about the file server that is written with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from string import Template

from ironcurtain.errors import FileError
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.config_model import Server
from ironcurtain.system import assets
from ironcurtain.system.files import atomic_write, naming
from ironcurtain.system.structs import Struct

_STARTER = Path(__file__).parent / "starter"

FILES = {
    "constitution.md": "constitution.md",
    "mcp-servers.json": "mcp-servers.json",
    "tools/filesystem.json": "filesystem.json",
    "scenarios.yaml": "scenarios.yaml",
    "ironcurtain.toml": "ironcurtain.toml",
    "ci/ironcurtain.sh": "ci.sh",
    ".gitignore": "gitignore",
}
"""Place in the project, by name of the starter file."""

SERVERS = "mcp-servers.json"
_FITTED = {"constitution.md": "fitted-constitution.md", "scenarios.yaml": "fitted-scenarios.yaml"}
"""Place in a project whose servers were there first, by name of the template that is filled in for them."""

_OF_THE_FILE_SERVER = frozenset({SERVERS, "tools/filesystem.json"})
_OF_ONE_SERVER = Template("""\
## The server `$server`

- The agent must ask before it uses a tool of the server `$server`.
""")

_PROGRAMS = {"ci/ironcurtain.sh"}

SCHEMAS = ".ironcurtain/schemas"
"""Directory of the JSON Schemas by which an editor checks what is typed; the starter files name them."""

WRITTEN_BY_PEOPLE = (
    "annotations",
    "confirmations",
    "diff-approvals",
    "guarantees",
    "lists",
    "policy",
    "profile",
    "scenarios",
    "servers",
    "settings",
    "waivers",
)
"""The schemas of the files that people write."""


class Written(Struct):
    """What `init` did.

    Attributes:
        written: Files that are new.
        kept: Files that were there, and stay as they were.
        schemas: How many schemas for editors are new, or are of this version now.
        servers: The servers that were configured already, which the new files are about.
        saved: Whether every server has a saved tool list, so that a compile need not start any.
        unfetched: Whether a server has to be fetched before it can be started.
    """

    written: tuple[str, ...]
    kept: tuple[str, ...]
    schemas: int = 0
    servers: tuple[str, ...] = ()
    saved: bool = True
    unfetched: bool = False

    @property
    def next(self) -> tuple[tuple[str, str], ...]:
        """The next commands, and what each is for."""
        fetch = ("ironcurtain servers fetch", "install the servers that npx or uvx would fetch, and pin them")
        compile_ = "ironcurtain compile" + (" --saved-tools" if self.saved else "")
        return (
            *((fetch,) if self.unfetched else ()),
            ("ironcurtain lint", "see what stands out in the constitution"),
            (compile_, "make a policy of it; it asks questions on the way"),
            ("ironcurtain verify", "check the policy against the scenarios"),
            ("ironcurtain matrix", "read what it allows, asks about and denies, tool by tool"),
            ("ironcurtain wrap --help", "put it in front of the MCP client that you have"),
        )


def init(directory: Path) -> Written:
    """Write each starter file that is not there yet; the directory is made where it is missing.

    The schemas for editors are no one's own files: they are written anew where they are of another version.

    Raises:
        FileError: If something that is no directory stands in the way.
        FormatError, ServerConfigError: If servers are configured there, and not as they have to be.
    """
    configured = _configured(directory / SERVERS)
    servers = tuple(configured)
    written: list[str] = []
    kept: list[str] = [SERVERS] if servers else []
    for target, data in (_fitted(servers) if servers else _starter()).items():
        new = _write_new(directory / target, data, 0o755 if target in _PROGRAMS else 0o644)
        (written if new else kept).append(target)
    schemas = sum(_write_schema(directory / SCHEMAS, name) for name in WRITTEN_BY_PEOPLE)
    saved = all(server.tools for server in configured.values())
    installed = load_servers(directory / SERVERS).installed
    unfetched = any(each.missing is not None for each in installed.values())
    return Written(tuple(written), tuple(kept), schemas, servers, saved, unfetched)


def _configured(path: Path) -> Mapping[str, Server]:
    """Return the servers, by name, that somebody configured; none where we did it, or nobody."""
    if not path.exists() or path.read_bytes() == (_STARTER / SERVERS).read_bytes():
        return {}
    return load_servers(path).servers


def _starter() -> Mapping[str, bytes]:
    return {target: (_STARTER / source).read_bytes() for target, source in FILES.items()}


def _fitted(servers: tuple[str, ...]) -> Mapping[str, bytes]:
    """Return the files of a project about these servers, which claim nothing about what their tools do."""
    parts = "\n".join(_OF_ONE_SERVER.substitute(server=server) for server in servers)
    filled = {
        target: Template((_STARTER / source).read_text("utf-8"))
        .substitute(servers=parts, server=servers[0])
        .encode()
        for target, source in _FITTED.items()
    }
    general = {target: data for target, data in _starter().items() if target not in _OF_THE_FILE_SERVER}
    return {**general, **filled}


def _write_schema(directory: Path, name: str) -> bool:
    """Write a schema where it is missing or another version's; tell whether it was written."""
    path, data = directory / f"{name}.json", (assets.SCHEMAS / f"{name}.json").read_bytes()
    if path.is_file() and path.read_bytes() == data:
        return False
    atomic_write(path, data)
    return True


def _write_new(path: Path, data: bytes, mode: int) -> bool:
    """Write a file only if nothing has its name; tell whether it was written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("xb")
    except FileExistsError:
        if not path.parent.is_dir():
            raise FileError(
                "this is no directory", where=str(path.parent), hint="Choose another place."
            ) from None
        return False
    except NotADirectoryError:
        raise FileError("a part of this path is no directory", where=str(path.parent)) from None
    try:
        with naming(path), stream:
            stream.write(data)
    except BaseException:
        path.unlink()  # half a file would be kept by the next run
        raise
    path.chmod(mode)
    return True
