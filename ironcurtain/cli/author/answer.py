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
    """List what a compile waits for, or answer a question: QUESTION is its id.

    Of a question about a call, VERDICT is what the call must get. The answer goes into answers.yaml beside
    the scenarios. It is as binding as they are: no policy is published that decides the call otherwise.

    A question in a file is answered by a file beside it; what a chat wrote can go there as it is. If it was
    answered before and a clause was edited since, `keep` gives the last answer again.

    \b
    Examples:
      ironcurtain answer
      ironcurtain answer q1f09c3d2 no --why "Only people in the team"
      ironcurtain answer rules-git keep

    \b
    Exit: 0 recorded, or nothing is open; 2 no such question or a wrong file; 4 questions are open.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.answer", **options)
