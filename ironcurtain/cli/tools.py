"""`ironcurtain tools`: print the tool list of a server, to be saved and compiled against elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.model import jsontext
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.listing import DEFAULT_TIMEOUT, list_tools
from ironcurtain.servers.saved import saved_document


@click.command("tools")
@click.argument("server")
@click.option(
    "--servers",
    "servers_file",
    type=click.Path(path_type=Path),
    default="mcp-servers.json",
    show_default=True,
    envvar=["IRONCURTAIN_TOOLS_SERVERS", "IRONCURTAIN_SERVERS"],
    help="The servers' configuration.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=DEFAULT_TIMEOUT,
    show_default=True,
    help="Seconds that the server has to answer.",
)
def command(server: str, servers_file: Path, timeout: float) -> None:
    r"""Start SERVER, read its tool list and print it as JSON.

    The output is what the key "tools" of a server in mcp-servers.json names, so that a policy can be
    compiled where the server cannot run.

    \b
    Example:
      ironcurtain tools github > tools/github.json
    \b
    Exit codes: 0 printed, 2 wrong configuration, 3 the server failed.
    """
    config = load_servers(servers_file)
    for note in config.notes:
        click.echo(f"note: {note}", err=True)
    tools = list_tools(config, only=[server], timeout=timeout)
    click.echo(jsontext.pretty(saved_document(tools[server])), nl=False)
