"""`ironcurtain key`: the keys that bundles are signed with, and their public parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import FORMAT, KEY
from ironcurtain.errors import Exit
from ironcurtain.system.text import visible

if TYPE_CHECKING:
    from ironcurtain.bundle.signing.keys import PublicKey, SigningAlgorithm


_MARK = b"PRIVATE KEY"


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
def new(*, output: str | None, algorithm: SigningAlgorithm, format_: str) -> Exit:
    """Make a key pair, and print the public key's id.

    The private key goes to a new file that only you can read, outside of the project and where no tool call
    can reach it; it is never overwritten. The public key lies beside it as NAME.pub.pem.

    \b
    Example:
      ironcurtain key new

    \b
    Exit: 0 made, 2 there is a key already, 3 not writable.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.bundle.signing.keys import new_key
    from ironcurtain.cli.options.signing import default_key, public_beside
    from ironcurtain.system.files import atomic_write

    path = Path(output) if output is not None else default_key()
    key = new_key(path, algorithm).public
    beside = public_beside(path)
    atomic_write(beside, key.pem.encode())
    _print(key, format_, private=str(path), public=str(beside))
    return Exit.YES


@command.command()
@KEY
@FORMAT
def show(*, key: str | None, format_: str) -> Exit:
    """Print id and algorithm of a private or public key.

    \b
    Example:
      ironcurtain key show --key release.pub.pem

    \b
    Exit: 0 printed, 2 no such key, or no key that OPA can use.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.signing import key_file

    _print(_public(key_file(key)), format_)
    return Exit.YES


@command.command()
@KEY
@FORMAT
def public(*, key: str | None, format_: str) -> Exit:
    """Print the public key of a private one; with --format json as OPA's configuration wants it in "keys".

    \b
    Example:
      ironcurtain key public > release.pub.pem

    \b
    Exit: 0 printed, 2 no such key, or no key that OPA can use.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.signing import key_file

    found = _public(key_file(key))
    if format_ == "json":
        click.echo(json.dumps({found.id: {"algorithm": found.algorithm, "key": found.pem}}))
    else:
        click.echo(found.pem, nl=False)
    return Exit.YES


@command.command("sign-domain")
@click.argument("file", metavar="DOMAIN.json")
@click.option("-o", "--output", metavar="FILE", required=True, help="Where the signed configuration goes.")
@KEY
def sign_domain(*, file: str, output: str, key: str | None) -> Exit:
    """Sign the configuration of a domain, for `ironcurtain serve --domain` (`ironcurtain error gateway`).

    \b
    Example:
      ironcurtain key sign-domain desk-eu.json -o desk-eu.signed.json

    \b
    Exit: 0 signed, 2 no such key, or no configuration of a domain, 3 not
    writable.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.bundle.domain import read_domain
    from ironcurtain.bundle.domain import sign_domain as sign_domain_file
    from ironcurtain.bundle.signing.keys import read_private_key
    from ironcurtain.cli.options.signing import key_file
    from ironcurtain.system.files import atomic_write

    signed = sign_domain_file(read_domain(Path(file)), read_private_key(key_file(key)))
    atomic_write(Path(output), signed)
    return Exit.YES


def _public(path: Path) -> PublicKey:
    from ironcurtain.bundle.signing.keys import read_private_key, read_public_key
    from ironcurtain.system.files import read_bytes

    private = _MARK in read_bytes(path)
    return read_private_key(path).public if private else read_public_key(path)


def _print(key: PublicKey, format_: str, **files: str) -> None:
    facts = {"id": key.id, "algorithm": key.algorithm, **files}
    if format_ == "json":
        click.echo(json.dumps(facts))
    else:
        for name, value in facts.items():
            click.echo(f"{name + ':':11}{visible(value)}")
