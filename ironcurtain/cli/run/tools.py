"""`ironcurtain tools`: print the tool list of a server, to be saved and compiled against elsewhere."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.cli.options.options import Number
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit


@click.command()
@click.argument("server")
@click.option(
    "--servers",
    metavar="FILE",
    default="mcp-servers.json",
    show_default=True,
    envvar=["IRONCURTAIN_TOOLS_SERVERS", "IRONCURTAIN_SERVERS"],
    help="The servers' configuration.",
)
@click.option(
    "--timeout",
    type=Number(min=0, min_open=True),
    default=60.0,
    show_default=True,
    help="Seconds that the server has to answer.",
)
def command(*, server: str, servers: str, timeout: float) -> Exit:
    """Start SERVER, read its tool list and print it as JSON.

    The output is what the key "tools" of a server in mcp-servers.json names, so that a policy can be
    compiled where the server cannot run.

    \b
    Example:
      ironcurtain tools github > tools/github.json

    \b
    Exit: 0 printed, 2 wrong configuration, 3 the server failed.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.run.fetching import visits
    from ironcurtain.servers.config import load_servers
    from ironcurtain.servers.listing import list_tools
    from ironcurtain.servers.tools import saved_document

    config = load_servers(Path(servers))
    for note in config.notes:
        click.echo(f"note: {note}", err=True)
    tools = list_tools(config, visits(), only=[server], timeout=timeout)
    print_json(saved_document(tools[server]))
    return Exit.YES
