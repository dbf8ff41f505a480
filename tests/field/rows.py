"""The rows of `field.toml`: servers and clients in exact versions, how each is started, and one call."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from ironcurtain.system.frozen import Frozen, JsonValue

FILE = Path(__file__).parent / "field.toml"


class Package(Frozen):
    """What a registry gives, in one version.

    Attributes:
        npm: Its name and version there, as npm reads them; else `pypi` has them, as uv reads them.
        beside: More packages for the same environment, each with its version.
        program: What to run of it, where that is not the package's name.
        setup: What its install script would have done, as a command in its directory.
        own: Why it cannot do its work on a machine without accounts and browsers, if that is so.
    """

    npm: str | None = None
    pypi: str | None = None
    beside: tuple[str, ...] = ()
    program: str | None = None
    setup: tuple[str, ...] = ()
    own: str | None = None

    @property
    def name(self) -> str:
        """The package's name without its version."""
        return self.npm.rpartition("@")[0] if self.npm else re.split(r"[\[=]", self.pypi or "")[0]

    @property
    def version(self) -> str:
        """Its version."""
        return self.npm.rpartition("@")[2] if self.npm else (self.pypi or "").partition("==")[2]


class ServerRow(Package):
    """A server.

    Attributes:
        args: What follows its program in an entry.
        env: Its entry's variables.
        call: The name of a tool, and arguments that are harmless.
        fetched: Whether its entry starts it by `npx -y` or `uvx`, not as an installed program.
        differs: Why its answers cannot be compared word by word, if that is so.
    """

    args: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    call: tuple[str, dict[str, JsonValue]]
    fetched: bool = False
    differs: str | None = None


class ClientRow(Package):
    """A client.

    Attributes:
        files: What it reads in the person's home, by path; {servers} is the servers
            as JSON, {model} the loopback model's address.
        known: The name by which `wrap` knows it, if it does; else it is given the first of the files.
        argv: Of an agent, its command line, with a task.
        script: Of a library, a Python program that defines `use` as the library's documentation does.
        list: Of a tool for people, how it lists the tools of {server}, if it does.
        call: How it calls {tool} of {server} with {arguments}.
        env: Variables that it gets.
        varies: A regular expression for what differs from use to use in what it shows.
    """

    files: Mapping[str, str] = {}
    known: str | None = None
    argv: tuple[str, ...] = ()
    script: str | None = None
    list_: tuple[str, ...] = Field(default=(), alias="list")
    call: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    varies: str | None = None


class Rows(Frozen):
    """All rows, by name."""

    servers: dict[str, ServerRow]
    clients: dict[str, ClientRow]


def load() -> Rows:
    """Read the file of the rows."""
    return Rows.model_validate_json(json.dumps(tomllib.loads(FILE.read_text())))


def filled(value: Any, places: Mapping[str, str]) -> Any:
    """Put places into the texts of a JSON value."""
    if isinstance(value, str):
        for name, place in places.items():
            value = value.replace(f"{{{name}}}", place)
        return value
    if isinstance(value, list | tuple):
        return [filled(each, places) for each in value]
    if isinstance(value, dict):
        return {key: filled(each, places) for key, each in value.items()}
    return value
