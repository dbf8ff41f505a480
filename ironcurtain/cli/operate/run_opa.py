"""What the commands of `ironcurtain opa` do."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ironcurtain.engine.install import install as install_opa
from ironcurtain.engine.locate import Opa, find
from ironcurtain.engine.pin import pin
from ironcurtain.errors import Exit
from ironcurtain.system.text import visible


def which(*, opa: str | None, format_: str) -> Exit:
    """Print the path of the OPA that is used."""
    return _print_opa(_find(opa), format_)


def install(*, format_: str) -> Exit:
    """Install the pinned OPA and print its path."""
    return _print_opa(install_opa(report=lambda sentence: click.echo(sentence, err=True)), format_)


def version(*, opa: str | None, format_: str) -> Exit:
    """Print the version of the OPA that is used, and the pinned one."""
    found, pinned = _find(opa).version, pin().version
    if format_ == "json":
        click.echo(json.dumps({"version": found, "pinned": pinned}))
    else:
        click.echo(f"{found} (at least {pinned} is required)")
    return Exit.YES


def _find(configured: str | None) -> Opa:
    return find(Path(configured) if configured is not None else None)


def _print_opa(opa: Opa, format_: str) -> Exit:
    if format_ == "json":
        click.echo(json.dumps({"path": str(opa.path), "version": opa.version, "origin": opa.origin}))
    else:
        click.echo(visible(str(opa.path)))
    return Exit.YES
