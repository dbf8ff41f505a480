"""What the commands that ask a model beside a compile share: the book of its answers, and what they cost.

The clauses of a project's constitution, by the ids that they have for a compile.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import click

from ironcurtain.cli.options.project import Project
from ironcurtain.compiler.llm.ledger import Ledger
from ironcurtain.compiler.llm.providers.choose import provider_for
from ironcurtain.compiler.load.clause_ids import NOTHING_KNOWN, KnownClauses
from ironcurtain.compiler.load.clause_record import known_clauses
from ironcurtain.compiler.load.clauses import PlacedClause
from ironcurtain.compiler.load.load import read_constitution
from ironcurtain.compiler.questions.answers import AnswerCache


def answer_cache(project: Project, kept: str, model: str | None, ledger: Ledger) -> AnswerCache:
    """Return the answers of questions that belong to no published result.

    Args:
        project: The project that they are asked for.
        kept: Name of the directory, below that of the questions, where they are kept.
        model: Who answers, if not whom the settings name.
        ledger: Where calls are written down, with the budget.
    """
    questions = project.path("questions")
    chosen = model or project.settings.model
    return AnswerCache(
        questions / kept / "none",
        questions / kept,
        lambda: provider_for(chosen, questions=questions, ledger=ledger),
    )


@contextmanager
def spending(max_cost: float | None) -> Iterator[Ledger]:
    """Keep the book of a command's calls; however the command ends, say what they cost.

    Args:
        max_cost: US dollars that they may cost at most; None means no limit.
    """
    ledger = Ledger(None if max_cost is None else Decimal(str(max_cost)))
    try:
        yield ledger
    finally:
        if ledger.total.calls:
            click.echo(f"model: {ledger.total}", err=True)


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
