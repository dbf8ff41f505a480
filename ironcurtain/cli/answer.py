"""`ironcurtain answer`: the questions that a compile left to a person, and their answers."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options import CONFIG, FORMAT
from ironcurtain.errors import Exit


@click.command()
@click.argument("question", required=False)
@click.argument("verdict", required=False, type=click.Choice(["yes", "no", "allow", "escalate", "deny"]))
@click.option("--why", metavar="TEXT", default="", help="Your reason, kept with the answer.")
@CONFIG
@FORMAT
def command(**options: object) -> Exit:
    """List the open questions, or answer one: QUESTION is its id, VERDICT what the call must get.

    An answer goes into answers.yaml beside the scenarios. It is as binding as they are: no policy is
    published that decides the call otherwise. Compile again when all are answered.

    \b
    Examples:
      ironcurtain answer
      ironcurtain answer q1f09c3d2 no --why "Only people in the team"

    \b
    Exit: 0 recorded, or nothing is open; 2 no such question or a wrong file; 4 questions are open.
    """  # noqa: D301 - click reads the escape
    return lazy.run("answer", **options)
