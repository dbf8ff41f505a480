"""The tool lists in a published directory: written by a compile, read by whoever reviews it."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable
from pathlib import Path

from ironcurtain.errors import IronCurtainError
from ironcurtain.servers.tools import ListedServer, Tools, read_saved_tools, saved_document
from ironcurtain.system import json_text
from ironcurtain.system.files import atomic_write

DIRECTORY = "tools"
"""Where in the published directory the lists lie, one file for each server."""


def recorded_files(tools: Tools) -> dict[str, bytes]:
    """Return the files that record tool lists, by path in the published directory."""
    return {
        f"{DIRECTORY}/{server}.json": json_text.pretty(saved_document(listed)).encode()
        for server, listed in tools.items()
    }


def note_lists(questions: Path, tools: Tools) -> None:
    """Record tool lists beside the open questions of a compile that publishes nothing.

    Raises:
        OSError: If they cannot be written.
    """
    for name, content in recorded_files(tools).items():
        atomic_write(questions / name, content)


def forget_lists(questions: Path) -> None:
    """Drop what was recorded there: a published result holds it."""
    shutil.rmtree(questions / DIRECTORY, ignore_errors=True)


def recorded_server(output: Path, server: str) -> ListedServer | None:
    """Return what a compile recorded of a server, to quote from; None where that is not there or unusable."""
    try:
        return read_saved_tools(server, output / DIRECTORY / f"{server}.json")
    except IronCurtainError:
        return None


def recorded_servers(output: Path, servers: Iterable[str]) -> Tools:
    """Return what a compile recorded of servers, likewise, of those of which it did."""
    found = {server: recorded_server(output, server) for server in servers}
    return {server: listed for server, listed in found.items() if listed is not None}


def read_recorded(output: Path, known: Collection[str]) -> Tools:
    """Read every tool list that a compile recorded in a published directory, whatever is configured now.

    Args:
        output: The published directory.
        known: Digests of tools that were annotated, whose schemas were looked at then.

    Raises:
        FileError, FormatError, ServerFailedError: If a file is no usable tool list.
    """
    files = sorted((output / DIRECTORY).glob("*.json"))
    return {file.stem: read_saved_tools(file.stem, file, known) for file in files}
