"""`ironcurtain wrap`: run a client's MCP servers behind the proxy."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import EXPLICIT_BUNDLE
from ironcurtain.cli.options.options import FORMAT, OPA, trust_options
from ironcurtain.errors import Exit

CLIENT = click.argument("client", metavar="CLIENT|FILE")
YES = click.option("--yes", is_flag=True, help="Do it without asking; needed where no terminal is.")
SCOPE = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    help="The user's configuration or the project's (default: the one that has servers).",
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="Change nothing; show the difference.")


@click.command(context_settings={"allow_interspersed_args": True})
@click.argument(
    "positions", nargs=-1, type=click.UNPROCESSED, metavar="[BUNDLE] [CLIENT|FILE] [-- PROXY OPTION...]"
)
@EXPLICIT_BUNDLE
@click.option("--sandbox", metavar="DIR", help="The sessions' working directory.")
@click.option("--home", metavar="DIR", help="The home directory that ~ means (default: yours).")
@click.option("--protected", metavar="PATH", multiple=True, help="A path no tool may touch; repeatable.")
@trust_options
@OPA
@SCOPE
@click.option(
    "--only", metavar="SERVER", multiple=True, help="Leave all servers but this one alone; repeatable."
)
@DRY_RUN
@YES
@click.option("--print", "print_", is_flag=True, help="Change nothing; print the client's entry alone.")
@click.option(
    "--servers", metavar="FILE", help="With --print and no client: the mcp-servers.json that the entry names."
)
@FORMAT
def command(**options: object) -> Exit:
    """Rewrite a client's configuration so that its MCP servers run behind `ironcurtain proxy`.

    CLIENT is claude-desktop, claude-code, cursor or vscode; FILE is any file of their shape. The servers go
    to a file of our own, below ~/.ironcurtain, and the client gets one server, "ironcurtain". Comments and
    everything else in the file stay. `ironcurtain unwrap` gives back the same bytes. What follows `--`
    goes to the proxy. The change is shown first, and you are asked; where there is no terminal to ask at,
    nothing is changed without --yes. Servers that fetch themselves (npx, uvx and their like) are fetched
    now, once, and pinned; one that would not run behind the proxy is an error, and nothing is changed.
    Without CLIENT it says which clients it finds here.

    \b
    Examples:
      ironcurtain wrap claude-code --bundle generated/bundle --sandbox . --dry-run
      ironcurtain wrap --print --servers mcp-servers.json --bundle generated/bundle

    \b
    Exit: 0 every server that is switched on or named is behind the proxy, 1 some servers have to stay
    outside, you said no or could not be asked, 2 wrong options, a file that is not what it should be, or
    a server that would not run, 3 no engine, no intact bundle, a server that cannot be fetched, or the file
    is busy or not writable.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.wrap", **options)
