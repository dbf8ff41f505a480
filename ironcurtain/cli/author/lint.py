"""`ironcurtain lint`: what is wrong with a constitution, said before any model is asked."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import CONFIG, FORMAT, QUIET
from ironcurtain.errors import Exit


@click.command()
@click.argument("constitution", required=False)
@CONFIG
@click.option("--clauses", is_flag=True, help="Print each clause with its id and place, and no findings.")
@click.option("--strict", is_flag=True, help="Fail for warnings too.")
@FORMAT
@QUIET
def command(**options: object) -> Exit:
    """Check CONSTITUTION (default: the project's, with your own guidance) for likely mistakes.

    Findings are contradictions, repetitions, and sentences that a call's arguments cannot decide today (they
    need a clock, memory, the state of a record, or judgement), that name nothing, or that have no word for
    what may be done. No model is asked.

    \b
    Examples:
      ironcurtain lint
      ironcurtain lint --clauses

    \b
    Exit: 0 no mistakes, 1 there is an error (with --strict: or a warning), 2 wrong options or files.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.lint", **options)
