"""Stage 1, load: everything a compile reads from the project; the next stage is `annotate`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ironcurtain.files import load, read_text
from ironcurtain.model.base import Frozen
from ironcurtain.model.lists import Lists
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.pipeline.clauses import PlacedClause, read_clauses
from ironcurtain.pipeline.heuristics import Confirmations
from ironcurtain.servers.config import ServerConfig, load_servers

MAX_CONSTITUTION_BYTES = 1 << 20

F = TypeVar("F", bound=Frozen)


@dataclass(frozen=True)
class Sources:
    """Where a compile reads from.

    Attributes:
        root: Directory that places in results are relative to, so that no result names a machine's path.
        custom: Directory of the project's own Rego modules, if it has one.
        output: The published directory, `generated/`.
        pending: Directory for answers that are paid for and not published yet.
    """

    root: Path
    constitution: Path
    servers: Path
    scenarios: Path
    lists: Path
    confirmations: Path
    output: Path
    pending: Path
    custom: Path | None = None


@dataclass(frozen=True)
class Inputs:
    """What was read, validated."""

    constitution: str
    clauses: tuple[PlacedClause, ...]
    servers: ServerConfig
    scenarios: Scenarios
    lists: Lists
    confirmations: Confirmations


def load_inputs(sources: Sources) -> Inputs:
    """Read and validate all files that people wrote.

    Lists are read from the project's own file, or else from those published last, so that additions and
    removals by hand survive.

    Raises:
        FileError, FormatError, NewerFormatError, ServerConfigError: For whatever is wrong with a file.
    """
    text = read_text(sources.constitution, max_bytes=MAX_CONSTITUTION_BYTES)
    published_lists = sources.output / "dynamic-lists.json"
    lists_file = sources.lists if sources.lists.exists() else published_lists
    return Inputs(
        constitution=text,
        clauses=read_clauses(text, shown_path(sources.constitution, sources.root)),
        servers=load_servers(sources.servers),
        scenarios=load(sources.scenarios, Scenarios),
        lists=_optional(lists_file, Lists(format="ironcurtain/lists/v1")),
        confirmations=_optional(sources.confirmations, Confirmations(format="ironcurtain/confirmations/v1")),
    )


def shown_path(path: Path, root: Path) -> str:
    """Return a path relative to the project, or its last part where it lies outside."""
    relative = os.path.relpath(path.absolute(), root.absolute())
    return path.name if relative.startswith("..") else Path(relative).as_posix()


def _optional(path: Path, default: F) -> F:
    return load(path, type(default)) if path.exists() else default
