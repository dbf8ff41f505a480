"""The clauses of a project's constitution, by the ids that they have for a compile."""

from __future__ import annotations

import os
from pathlib import Path

from ironcurtain.cli.options.project import Project
from ironcurtain.compiler.load.clause_ids import NOTHING_KNOWN, KnownClauses
from ironcurtain.compiler.load.clause_record import known_clauses
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.load.load import read_constitution


def project_clauses(project: Project, *, own: bool = True) -> tuple[PlacedClause, ...]:
    """Return the clauses of a project.

    Args:
        project: The project.
        own: Whether the user's own guidance belongs to them, where the project reads it.

    Raises:
        IronCurtainError: If a file cannot be used.
    """
    user = project.existing_guidance if own else None
    return read_constitution(project.path("constitution"), user, project.root, project_ids(project))[1]


def named_clauses(path: Path, project: Project) -> tuple[PlacedClause, ...]:
    """Return the clauses of a constitution that was named; if it is the project's, by the project's ids."""
    base = project.path("constitution")
    is_own = base.exists() and os.path.realpath(base) == os.path.realpath(path)
    return read_constitution(path, None, Path.cwd(), project_ids(project) if is_own else NOTHING_KNOWN)[1]


def project_ids(project: Project) -> KnownClauses:
    """Return what the ids of a project's clauses stand for."""
    return known_clauses(project.path("output"), project.path("questions"))
