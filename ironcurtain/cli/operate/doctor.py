"""`ironcurtain doctor`: why something does not work, and what mends it."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import CONFIG, FORMAT, OPA, Number, engine_options, trust_options
from ironcurtain.errors import Exit


@click.command()
@CONFIG
@bundle_argument()
@click.option("--servers", metavar="FILE", help="The servers' configuration (default: the project's).")
@click.option("--sandbox", metavar="DIR", help="The workspace: the agent's working directory.")
@trust_options
@engine_options
@click.option(
    "--client",
    "clients",
    metavar="NAME|FILE",
    multiple=True,
    help="A client that has to be wrapped (default: look at all); repeatable.",
)
@click.option("--permissions", metavar="FILE", help="As serve is given it: whom a gateway's agent acts for.")
@click.option("--tokens", metavar="FILE", help="As serve is given it: the keys of signed tokens.")
@click.option("--domain", metavar="FILE", help="As serve is given it: a domain's signed configuration.")
@click.option("--domain-key", metavar="FILE", help="With --domain: the public key that it is signed with.")
@click.option(
    "--publish-to",
    metavar="DIR|URL",
    multiple=True,
    help="Where bundles are published to; repeatable. Nothing is written.",
)
@click.option("--publish-token-file", metavar="FILE", help="With --publish-to: a file with its bearer token.")
@click.option(
    "--online", is_flag=True, help="Ask the model's provider whether it takes the key; costs nothing."
)
@click.option("--timeout", type=Number(1), default=30.0, show_default=True, help="Seconds for each server.")
@OPA
@FORMAT
def command(**options: object) -> Exit:
    """Diagnose each part of an installation, and print the fix for each failure.

    Checks Python and its packages, settings, the model's key, OPA, the bundle (revision, signature, rules),
    the servers (they are started, in their sandbox), gateways (their modules are read), drift, the sandbox,
    approvals, audit logs, keys, the clients' configurations and running proxies, and lets an engine decide a
    call. Changes nothing, and asks the network only for what --engine, --publish-to and --online name.

    \b
    Examples:
      ironcurtain doctor
      ironcurtain doctor --client claude-code --format json
      ironcurtain doctor --engine https://node-1:8181

    \b
    Exit: 0 no failure (warnings allowed), 1 something fails, 2 wrong options.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.doctor", **options)
