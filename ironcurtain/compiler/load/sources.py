"""The files that people wrote for a compile, and their digests, by which a bundle is held against them.

A compile writes the digests into the bundle's manifest; the gate holds the files that lie in the project
against them. Line ends do not count: a checkout may change them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from ironcurtain.bundle.provenance_model import Source, SourceKind
from ironcurtain.settings import FILE_NAME, Settings
from ironcurtain.system import json_text
from ironcurtain.system.files import MAX_BYTES, has_content, read_text
from ironcurtain.system.structs import Struct

ANSWERS_FILE = "answers.yaml"
"""What people answered, beside the scenarios."""

MAX_CONSTITUTION_BYTES = 1 << 20
_CONSTITUTIONS = ("constitution", "user constitution")
_COMPILED_SETTINGS = ("approvers", "caller", "case_insensitive_hosts", "directories", "roles")
"""The settings that change what a compile makes, and that no option replaces."""


class Sources(Struct):
    """Where a compile reads from.

    Attributes:
        root: Directory that places in results are relative to, so that no result names a machine's path.
        user_constitution: The user's own guidance, which supersedes the constitution, if it is to be read.
        guarantees: The file of what the policy has to keep, which need not exist.
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
    guarantees: Path | None = None
    custom: Path | None = None
    user_constitution: Path | None = None

    @property
    def answers(self) -> Path:
        """Directory with the answers that the published result was made from."""
        return self.output / "answers"


def sources_of(read: Sources, settings: Settings) -> tuple[Source, ...]:
    """Return the files that a compile reads, in the order of their kinds; files that are not there are none.

    Raises:
        FileError: If a file cannot be read.
    """
    paths: dict[SourceKind, Path | None] = {
        "constitution": read.constitution,
        "user constitution": read.user_constitution,
        "scenarios": read.scenarios,
        "answers": read.scenarios.with_name(ANSWERS_FILE),
        "lists": read.lists,
        "confirmations": read.confirmations,
    }
    return (*_digested(paths, read.custom, read.root), _settings(settings))


def project_sources(root: Path, settings: Settings) -> tuple[Source, ...]:
    """Return the files that a compile of a project would read, as `sources_of` does.

    The user's own guidance is among them only where the project names its file: one in a user's own
    directory is another on each machine.

    Raises:
        FileError: If a file cannot be read.
    """
    user = settings.user_constitution
    read = Sources(
        root=root,
        constitution=root / settings.constitution,
        user_constitution=root / Path(user).expanduser() if isinstance(user, str) else None,
        servers=root / settings.servers,
        scenarios=root / settings.scenarios,
        lists=root / settings.lists,
        confirmations=root / settings.confirmations,
        custom=root / settings.custom if settings.custom is not None else None,
        output=root / settings.output,
        pending=root / settings.questions,
    )
    return sources_of(read, settings)


def _digested(paths: Mapping[SourceKind, Path | None], custom: Path | None, root: Path) -> Iterator[Source]:
    for kind, path in paths.items():
        if path is not None and has_content(path):
            yield _source(kind, path, root)
    if custom is not None and custom.is_dir():
        for path in sorted(custom.rglob("*.rego")):
            yield _source("custom", path, root)


def _source(kind: SourceKind, path: Path, root: Path) -> Source:
    limit = MAX_CONSTITUTION_BYTES if kind in _CONSTITUTIONS else MAX_BYTES
    text = read_text(path, max_bytes=limit).replace("\r\n", "\n")
    return Source(kind=kind, path=shown_path(path, root), digest=json_text.digest_bytes(text.encode()))


def _settings(settings: Settings) -> Source:
    compiled = settings.model_dump(mode="json", include=set(_COMPILED_SETTINGS))
    return Source(kind="settings", path=FILE_NAME, digest=json_text.digest(compiled))


def shown_path(path: Path, root: Path) -> str:
    """Return a path relative to the project, or its last part where it lies outside."""
    relative = os.path.relpath(path.absolute(), root.absolute())
    return path.name if relative.startswith("..") else Path(relative).as_posix()
