"""`ironcurtain diff`: what changed between two policies, each change with a call that shows it."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options import OPA
from ironcurtain.errors import Exit


@click.command()
@click.argument("old")
@click.argument("new")
@click.option(
    "--scenarios", metavar="FILE", help="Assume the world of FILE (default: test-scenarios.json beside NEW)."
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How to print the changes.",
)
@OPA
def command(**options: object) -> Exit:
    """Compare the policies in the bundles OLD and NEW by what they decide.

    \b
    Example:
      ironcurtain diff published.tar.gz generated/bundle --format markdown

    \b
    Exit: 0 nothing is loosened, 1 something is,
    2 wrong options or files, 3 the engine gives no answer.
    """  # noqa: D301 - click reads the escape
    return lazy.run("diff", **options)
