"""`ironcurtain matrix`: what a policy decides, tool by tool, proven by evaluating every case in OPA."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import OPA, WORLD, trust_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument()
@WORLD
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown", "html"]),
    default="text",
    show_default=True,
    help="How to print the matrix.",
)
@trust_options
@OPA
def command(**options: object) -> Exit:
    """Print what a policy decides about every tool, role and place.

    \b
    Example:
      ironcurtain matrix --format html > matrix.html

    \b
    Exit: 0 printed, 1 the bundle's Rego is not what its rules say,
    2 wrong options or files, or a policy that is too large to examine,
    3 the bundle is corrupt or the engine gives no answer.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.matrix", **options)
