"""What the commands that ask a model beside a compile share: the book of its answers, and what they cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal

import click

from ironcurtain.cli.options.project import Project
from ironcurtain.compiler.llm.ledger import Ledger
from ironcurtain.compiler.llm.providers.choose import provider_for
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
