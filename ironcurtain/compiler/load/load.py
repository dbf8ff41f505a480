"""Stage 1, load: everything a compile reads from the project; the next stage is `annotate`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.compiler.lists.edit import read_lists
from ironcurtain.compiler.load.clause_ids import NOTHING_KNOWN, KnownClauses
from ironcurtain.compiler.load.clause_record import known_clauses
from ironcurtain.compiler.load.clauses import PlacedClause, read_clauses, read_user_clauses, unread_lines
from ironcurtain.compiler.load.linter import contradictions, lint
from ironcurtain.compiler.load.sources import MAX_CONSTITUTION_BYTES, Sources, shown_path
from ironcurtain.errors import raise_all
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.lists import Lists
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.servers.config import ServerConfig
from ironcurtain.servers.permitted import project_servers
from ironcurtain.servers.samples import ToolSamples, read_samples
from ironcurtain.system.files import has_content, load, read_text
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.structs import Struct, field

_BETWEEN = "\0"
"""It keeps two files apart from one that holds both texts."""

F = TypeVar("F", bound=Frozen)


class Inputs(Struct):
    """What was read, validated.

    Attributes:
        constitution: The whole text, the user's own guidance at its end: what the digest is made of.
        clauses: The user's own clauses first, since they supersede the others.
        unread: What stands in the text and is no clause, one line each.
        published: What ids stand for in the published result.
        samples: Results of tools, which say what a record holds.
    """

    constitution: str
    clauses: tuple[PlacedClause, ...]
    servers: ServerConfig
    scenarios: Scenarios
    lists: Lists
    confirmations: Confirmations
    guarantees: Guarantees | None = None
    unread: tuple[str, ...] = ()
    published: KnownClauses = NOTHING_KNOWN
    samples: ToolSamples = field(default_factory=ToolSamples)


def load_inputs(sources: Sources) -> Inputs:
    """Read and validate all files that people wrote.

    Lists are read from the project's own file with what the last compile resolved, or else from those
    published last, so that additions and removals by hand survive.

    Raises:
        FileError, FormatError, NewerFormatError, ServerConfigError: For whatever is wrong with a file.
        ConstitutionError: For each contradiction among the clauses.
        ClauseIdError: For each written id that cannot be one, or is another clause's.
    """
    known = known_clauses(sources.output, sources.pending.parent)
    text, clauses = read_constitution(sources.constitution, sources.user_constitution, sources.root, known)
    stated = sources.guarantees
    raise_all([*contradictions(lint(clauses))])
    return Inputs(
        constitution=text,
        clauses=clauses,
        servers=project_servers(sources.servers),
        scenarios=load(sources.scenarios, Scenarios),
        lists=read_lists(sources.lists, sources.output),
        confirmations=_optional(sources.confirmations, Confirmations(format="ironcurtain/confirmations/v1")),
        guarantees=load(stated, Guarantees) if stated is not None and has_content(stated) else None,
        unread=tuple(_unread(sources, text, clauses)),
        published=known_clauses(sources.output),
        samples=read_samples(sources.servers.parent),
    )


def _unread(sources: Sources, text: str, clauses: Sequence[PlacedClause]) -> Iterator[str]:
    files = [file for file in (sources.constitution, sources.user_constitution) if file is not None]
    for file, part in zip(files, text.split(_BETWEEN, len(files) - 1), strict=True):
        name = shown_path(file, sources.root)
        clauses_of_file = [placed for placed in clauses if placed.clause.source.rpartition(":")[0] == name]
        yield from unread_lines(part, name, clauses_of_file)


def read_constitution(
    base: Path, user: Path | None, root: Path, known: KnownClauses = NOTHING_KNOWN
) -> tuple[str, tuple[PlacedClause, ...]]:
    """Return the combined text and the clauses of a constitution.

    Args:
        base: The constitution; its clauses are `C1`, `C2`, … where their author wrote no ids.
        user: The user's own guidance, if there is any; its clauses are `U1`, `U2`, … and come first.
        root: Directory that places are relative to.
        known: What ids stood for until now (`clause_record.known_clauses`).

    Raises:
        FileError: If a file cannot be read, or the constitution holds no sentence.
        ClauseIdError: For each written id that cannot be one, or is another clause's.
    """
    text = read_text(base, max_bytes=MAX_CONSTITUTION_BYTES)
    if user is None:
        return text, read_clauses(text, shown_path(base, root), known)
    own = read_text(user, max_bytes=MAX_CONSTITUTION_BYTES)
    first = read_user_clauses(own, shown_path(user, root), known)
    elsewhere = [placed.clause.id for placed in first]
    return f"{text}{_BETWEEN}{own}", (*first, *read_clauses(text, shown_path(base, root), known, elsewhere))


def _optional(path: Path, default: F) -> F:
    return load(path, type(default)) if has_content(path) else default
