"""`ironcurtain publish`: put a signed bundle where OPA can fetch it."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, registry_options
from ironcurtain.cli.review.gate_options import SETTINGS
from ironcurtain.errors import Exit


@click.command()
@bundle_argument("target", shown="DIR|URL|oci://…")
@click.option(
    "--scenarios", metavar="FILE", help="Scenarios (default: test-scenarios.json beside the bundle)."
)
@SETTINGS
@click.option(
    "--verify-key", metavar="FILE", help="The public key (default: ~/.ironcurtain/signing-key.pub.pem)."
)
@click.option(
    "--name",
    metavar="NAME",
    default="bundle.tar.gz",
    show_default=True,
    help="The file's name in a directory.",
)
@registry_options
@OPA
@FORMAT
def command(**options: object) -> Exit:
    """Put a signed bundle into a directory, to a URL with HTTP PUT, or into an OCI registry.

    The signature is checked first, then all checks of `ironcurtain verify` run. An existing bundle is
    replaced atomically, and only by one of a higher serial number; the same bundle again changes nothing.
    A server must answer with a strong ETag, so that a newer bundle is never overwritten.

    \b
    Examples:
      ironcurtain publish /srv/policy
      ironcurtain publish https://policy.example/bundle.tar.gz --token-file token
      ironcurtain publish oci://registry.example/policies/agents:stable

    \b
    Exit: 0 published, or already there; 1 verification fails; 2 wrong options or files;
    3 the signature is not valid, a newer bundle is there, or it could not be written.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.publish", **options)
