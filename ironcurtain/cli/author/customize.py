"""`ironcurtain customize`: from a wish to edits of the user's own guidance."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import CONFIG, MAX_COST, MODEL
from ironcurtain.errors import Exit


@click.command()
@click.argument("wish", nargs=-1)
@CONFIG
@MODEL
@MAX_COST
@click.option("-y", "--yes", is_flag=True, help="Write the change without asking.")
@click.option("--dry-run", is_flag=True, help="Show the change and write nothing.")
def command(**options: object) -> Exit:
    """Edit your own guidance: WISH says in your own words what should change.

    Your guidance (constitution-user.md) takes precedence over the constitution. The change is shown
    as a diff and written only when you confirm it. On a terminal you can omit WISH and are asked for it.

    \b
    Example:
      ironcurtain customize "never send mail to the press without asking me"

    \b
    Exit: 0 written, or nothing to change, 1 you declined, 2 wrong options or files,
    3 the model fails, 4 a question waits for a person.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.customize", **options)
