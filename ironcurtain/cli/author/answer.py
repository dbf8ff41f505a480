"""`ironcurtain answer`: what a compile waits for, and answers to it."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import CONFIG, FORMAT
from ironcurtain.errors import Exit

_VERDICTS = ["yes", "no", "allow", "escalate", "deny", "keep"]


@click.command()
@click.argument("question", required=False)
@click.argument(
    "verdict", required=False, type=click.Choice(["yes", "no", "allow", "escalate", "deny", "keep"])
)
@click.option("--why", metavar="TEXT", default="", help="Your reason, kept with the answer.")
@CONFIG
@FORMAT
def command(**options: object) -> Exit:
    """List the open questions of a compile, or answer one: QUESTION is its id.

    For a question about a call, VERDICT is the verdict that the call must get. The answer is written to
    answers.yaml next to the scenarios and binds like them: no policy that decides the call differently is
    published.

    A question in a file is answered by a file next to it; a chat's reply can be saved there unchanged. If it
    was answered before and a clause was edited since, `keep` repeats the last answer.

    \b
    Examples:
      ironcurtain answer
      ironcurtain answer q1f09c3d2 no --why "Only people in the team"
      ironcurtain answer rules-git keep

    \b
    Exit: 0 recorded, or nothing is open; 2 no such question or a wrong file; 4 questions are open.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.answer", **options)
