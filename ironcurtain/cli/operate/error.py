"""`ironcurtain error`: the page of an error."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.errors import Exit


@click.command()
@click.argument("code", required=False)
def command(**options: object) -> Exit:
    """Print what error CODE means and what to do about it, or without CODE a line for each error.

    \b
    Example:
      ironcurtain error IC3201

    \b
    Exit: 0 printed, 2 there is no such error.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.error", **options)
