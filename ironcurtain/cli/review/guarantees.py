"""`ironcurtain guarantees`: what a policy must never and must always do, decided over all calls."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, QUIET, WORLD, trust_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument()
@click.option(
    "--file", "file_", metavar="FILE", default="guarantees.yaml", show_default=True, help="The guarantees."
)
@WORLD
@FORMAT
@trust_options
@OPA
@QUIET
def command(**options: object) -> Exit:
    """Decide the guarantees of a file about a policy.

    \b
    Example:
      ironcurtain guarantees --file guarantees.yaml

    \b
    Exit: 0 all hold, 1 one is broken (the smallest call that breaks it is shown),
    2 wrong options or files, 3 the engine gives no answer.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.guarantees", **options)
