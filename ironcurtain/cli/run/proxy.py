"""`ironcurtain proxy`: stand between an agent and its MCP servers."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import Number, engine_options, policy_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument(explicit=True)
@policy_options
@engine_options
@click.option("--caller", metavar="JSON", help="Facts about the principal, as a JSON object.")
@click.option("--session", metavar="NAME", help="Name of the session and its audit log (default: made up).")
@click.option(
    "--http", metavar="HOST:PORT|unix:PATH", help="Serve Streamable HTTP there instead of stdin and stdout."
)
@click.option(
    "--http-clients",
    metavar="FILE",
    help="The clients' tokens (default: ~/.ironcurtain/http-clients.json, made where it is missing).",
)
@click.option("--http-open", is_flag=True, help="Ask clients for no token: a gateway of yours knows them.")
@click.option("--http-anywhere", is_flag=True, help="Let --http be an address that other machines can reach.")
@click.option(
    "--patience",
    type=Number(0, 3600),
    default=45.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a call is held while a person decides; keep it below the client's own limit.",
)
@click.option(
    "--answer-within",
    type=Number(1, 86400),
    default=600.0,
    show_default=True,
    metavar="SECONDS",
    help="How long a person has to answer.",
)
@click.option("--no-approver", is_flag=True, help="Ask nobody: what the policy escalates is refused.")
@click.option(
    "--on-approval",
    metavar="COMMAND",
    help="Run this, without a shell, for each call that waits for a person; see docs/approvals.md.",
)
@click.option("--trust-client", is_flag=True, help="Let the person at the client approve (MCP elicitation).")
@click.option(
    "--observe",
    is_flag=True,
    help="Decide and record, but enforce and protect nothing. For trials only.",
)
@click.option(
    "--audit-values",
    type=click.Choice(["redacted", "abstract"]),
    default="redacted",
    show_default=True,
    help="Whether the log keeps the values of calls; see docs/audit.md.",
)
@click.option("--audit-redact", metavar="ROLE", multiple=True, help="Redact this role's values; repeatable.")
@click.option(
    "--audit-max-bytes",
    type=click.IntRange(1 << 12, 1 << 40),
    default=64 << 20,
    show_default=True,
    metavar="N",
    help="The size at which the log goes on in a new file.",
)
@click.option(
    "--witness", metavar="FILE", help="Append there, outside the log's directory, how far the log has come."
)
@click.option("--telemetry", is_flag=True, help="Tell OpenTelemetry of decisions, as OTEL_... say.")
def command(**options: object) -> Exit:
    """Enforce a policy between an agent and its MCP servers: decide, record and forward every call.

    Put this command where your client's configuration has its MCP servers. It starts the servers of
    --servers and offers their tools as SERVER__TOOL. A second terminal with `ironcurtain approvals --watch`
    shows what waits for you and takes your answers. SIGHUP, or a new bundle in the old one's place, reloads
    the policy.

    \b
    Example:
      ironcurtain proxy --bundle generated/bundle --servers mcp-servers.json \\
        --sandbox ~/work

    \b
    Exit: 0 the client has gone or a signal came, 2 wrong options or
    files, 3 no engine, no intact bundle or no audit log.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.proxy", **options)
