"""`ironcurtain key`: the keys that bundles are signed with, and their public parts."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import FORMAT, KEY
from ironcurtain.errors import Exit


@click.group()
def command() -> None:
    """Make the keys that bundles are signed with, and show the public parts that signatures are checked with.

    \b
    Example:
      ironcurtain key new

    \b
    Exit: that of the command.
    """  # noqa: D301 - click reads the escape


@command.command()
@click.option(
    "-o", "--output", metavar="FILE", help="The private key's file (default: ~/.ironcurtain/signing-key.pem)."
)
@click.option(
    "--algorithm",
    type=click.Choice(["ES256", "ES384", "ES512", "RS256"]),
    default="ES256",
    show_default=True,
    help="What the key signs with.",
)
@FORMAT
def new(**options: object) -> Exit:
    """Make a key pair, and print the public key's id.

    The private key goes to a new file that only you can read, outside of the project and where no tool call
    can reach it; it is never overwritten. The public key lies beside it as NAME.pub.pem.

    \b
    Example:
      ironcurtain key new

    \b
    Exit: 0 made, 2 there is a key already, 3 not writable.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.key", "new", **options)


@command.command()
@KEY
@FORMAT
def show(**options: object) -> Exit:
    """Print id and algorithm of a private or public key.

    \b
    Example:
      ironcurtain key show --key release.pub.pem

    \b
    Exit: 0 printed, 2 no such key, or no key that OPA can use.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.key", "show", **options)


@command.command()
@KEY
@FORMAT
def public(**options: object) -> Exit:
    """Print the public key of a private one; with --format json as OPA's configuration wants it in "keys".

    \b
    Example:
      ironcurtain key public > release.pub.pem

    \b
    Exit: 0 printed, 2 no such key, or no key that OPA can use.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.key", "public", **options)


@command.command("sign-domain")
@click.argument("file", metavar="DOMAIN.json")
@click.option("-o", "--output", metavar="FILE", required=True, help="Where the signed configuration goes.")
@KEY
def sign_domain(**options: object) -> Exit:
    """Sign the configuration of a domain, for `ironcurtain serve --domain` (docs/gateway.md).

    \b
    Example:
      ironcurtain key sign-domain desk-eu.json -o desk-eu.signed.json

    \b
    Exit: 0 signed, 2 no such key, or no configuration of a domain, 3 not
    writable.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.key", "sign_domain", **options)
