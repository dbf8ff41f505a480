"""`ironcurtain opa`: which OPA is used, installing the pinned one, and its version."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import FORMAT
from ironcurtain.errors import Exit
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.engine.locate import Opa

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
def which(*, opa: str | None, format_: str) -> Exit:
    """Print the OPA that is used; nothing is installed.

    \b
    Example:
      ironcurtain opa which

    \b
    Exit: 0 printed, 3 there is none that can be used.
    """  # noqa: D301 - click reads the escape
    return _print_opa(_find(opa), format_)


@command.command()
@FORMAT
def install(*, format_: str) -> Exit:
    """Build the pinned OPA with Go, or download it, into the managed cache.

    \b
    Example:
      ironcurtain opa install

    \b
    Exit: 0 installed, or was there already, 3 it could not be had.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.engine.install import install as install_opa

    return _print_opa(install_opa(report=lambda sentence: click.echo(sentence, err=True)), format_)


@command.command()
@_OPA
@FORMAT
def version(*, opa: str | None, format_: str) -> Exit:
    """Print the version of the OPA that is used, and the pinned one.

    \b
    Example:
      ironcurtain opa version

    \b
    Exit: 0 printed, 3 there is none that can be used.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.engine.locate import pin

    found, pinned = _find(opa).version, pin().version
    if format_ == "json":
        click.echo(json.dumps({"version": found, "pinned": pinned}))
    else:
        click.echo(f"{found} (at least {pinned} is required)")
    return Exit.YES


def _find(configured: str | None) -> Opa:
    from ironcurtain.engine.locate import find

    return find(Path(configured) if configured is not None else None)


def _print_opa(opa: Opa, format_: str) -> Exit:
    if format_ == "json":
        click.echo(json.dumps({"path": str(opa.path), "version": opa.version, "origin": opa.origin}))
    else:
        click.echo(visible(str(opa.path)))
    return Exit.YES
