"""What `ironcurtain tools` does."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.cli.run.connecting import visits
from ironcurtain.errors import Exit
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.listing import list_tools
from ironcurtain.servers.saved import saved_document
from ironcurtain.system import json_text


def run(*, server: str, servers: str, timeout: float) -> Exit:
    """Print the tool list of a server."""
    config = load_servers(Path(servers))
    for note in config.notes:
        click.echo(f"note: {note}", err=True)
    tools = list_tools(config, visits(), only=[server], timeout=timeout)
    click.echo(json_text.pretty(saved_document(tools[server])), nl=False)
    return Exit.YES
