"""How commands start servers to read them: contained, and with a note on stderr where they are not."""

from __future__ import annotations

import click

from ironcurtain.enforcement.sandbox.tool_discovery import contained_visits
from ironcurtain.servers.launching import ServerLauncher
from ironcurtain.system.text import printable


def say(text: str) -> None:
    """Say on stderr what has to be known of how servers are started, or are not."""
    click.echo(printable(f"note: {text}"), err=True)


def visits() -> ServerLauncher:
    """Return what starts servers, and says on stderr what has to be known of their sandbox."""
    return contained_visits(say)
