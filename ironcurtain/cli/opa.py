"""`ironcurtain opa`: which OPA is used, installing the pinned one, and its version."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ironcurtain.opa.install import install as install_opa
from ironcurtain.opa.locate import Opa, find
from ironcurtain.opa.pin import pin
from ironcurtain.text import visible

_OPA = click.option(
    "--opa",
    "configured",
    type=click.Path(path_type=Path),
    help="This executable and no other.",
)
_FORMAT = click.option(
    "--format", "form", type=click.Choice(["text", "json"]), default="text", help="How to print the result."
)


@click.group(name="opa")
def command() -> None:
    """Find, install and identify the engine, OPA."""


@command.command()
@_OPA
@_FORMAT
def which(configured: Path | None, form: str) -> None:
    """Print the OPA that is used; nothing is installed."""
    _print_opa(find(configured), form)


@command.command()
@_FORMAT
def install(form: str) -> None:
    """Build the pinned OPA with Go, or download it, into the managed cache."""
    _print_opa(install_opa(report=lambda sentence: click.echo(sentence, err=True)), form)


@command.command()
@_OPA
@_FORMAT
def version(configured: Path | None, form: str) -> None:
    """Print the version of the OPA that is used, and the pinned one."""
    opa = find(configured)
    if form == "json":
        click.echo(json.dumps({"version": opa.version, "pinned": pin().version}))
    else:
        click.echo(f"{opa.version} (at least {pin().version} is required)")


def _print_opa(opa: Opa, form: str) -> None:
    if form == "json":
        click.echo(json.dumps({"path": str(opa.path), "version": opa.version, "origin": opa.origin}))
    else:
        click.echo(visible(str(opa.path)))
