"""`ironcurtain opa`: which OPA is used, installing the pinned one, and its version."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import FORMAT
from ironcurtain.errors import Exit

_OPA = click.option("--opa", metavar="PATH", help="This executable and no other.")


@click.group()
def command() -> None:
    """Find, install and identify the engine, OPA.

    \b
    Example:
      ironcurtain opa which
    """  # noqa: D301 - click reads the escape


@command.command()
@_OPA
@FORMAT
def which(**options: object) -> Exit:
    """Print the OPA that is used; nothing is installed.

    \b
    Example:
      ironcurtain opa which

    \b
    Exit: 0 printed, 3 there is none that can be used.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.opa", "which", **options)


@command.command()
@FORMAT
def install(**options: object) -> Exit:
    """Build the pinned OPA with Go, or download it, into the managed cache.

    \b
    Example:
      ironcurtain opa install

    \b
    Exit: 0 installed, or was there already, 3 it could not be had.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.opa", "install", **options)


@command.command()
@_OPA
@FORMAT
def version(**options: object) -> Exit:
    """Print the version of the OPA that is used, and the pinned one.

    \b
    Example:
      ironcurtain opa version

    \b
    Exit: 0 printed, 3 there is none that can be used.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.opa", "version", **options)
