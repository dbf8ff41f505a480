"""`ironcurtain serve`: serve tools of one's own."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import EXPLICIT_BUNDLE
from ironcurtain.cli.options.options import OPA, Number, engine_options, trust_options
from ironcurtain.errors import Exit


@click.command()
@click.argument("target", metavar="TOOLS.PY")
@click.option("--check", is_flag=True, help="Only check the tools, and print what leaves of their answers.")
@EXPLICIT_BUNDLE
@click.option("--permissions", metavar="FILE", help="Whom the agent acts for, and what that one may do.")
@click.option(
    "--tokens", metavar="FILE", help="With --http: the keys of signed tokens (JWT) that clients show instead."
)
@click.option(
    "--domain", metavar="FILE", help="The signed configuration of a domain: its tools and permissions alone."
)
@click.option("--domain-key", metavar="FILE", help="With --domain: the public key that it is signed with.")
@click.option(
    "--audit",
    type=click.Choice(["production", "debug"]),
    default="production",
    show_default=True,
    help="Whether the log keeps arguments: hashed, or in clear but for personal fields.",
)
@click.option("--sandbox", metavar="DIR", help="The workspace: the agent's working directory.")
@click.option("--home", metavar="DIR", help="The home directory that ~ means (default: yours).")
@click.option("--protected", metavar="PATH", multiple=True, help="A path no tool may touch; repeatable.")
@trust_options
@OPA
@engine_options
@click.option("--session", metavar="NAME", help="Name of the session and its audit log (default: made up).")
@click.option(
    "--http", metavar="HOST:PORT|unix:PATH", help="Serve Streamable HTTP there instead of stdin and stdout."
)
@click.option("--http-clients", metavar="FILE", help="The clients' own tokens, where --tokens is not given.")
@click.option("--http-anywhere", is_flag=True, help="Let --http be an address that other machines can reach.")
@click.option(
    "--patience",
    type=Number(0, 3600),
    default=45.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a call is held while a person decides.",
)
@click.option("--no-approver", is_flag=True, help="Ask nobody: what the policy escalates is refused.")
@click.option(
    "--on-approval", metavar="COMMAND", help="Run this, without a shell, when a call waits for you."
)
@click.option("--witness", metavar="FILE", help="Append there how far the log has come.")
def command(**options: object) -> Exit:
    """Serve tools of your own: with permissions, validation, output policies and audit, under a policy.

    TOOLS.PY declares tools with `define_tool` (docs/gateway.md); or it is an mcp-servers.json that
    names such files beside other servers. Tools are offered as GATEWAY__TOOL.

    \b
    Example:
      ironcurtain serve tools.py --check
      ironcurtain serve tools.py --bundle generated/bundle --permissions agent.json

    \b
    Exit: 0 the client has gone or a signal came, or nothing is wrong,
    2 wrong options, files or tools, 3 no engine, no intact bundle or no
    audit log.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.serve", **options)
