"""`ironcurtain pull`: fetch a bundle from an OCI registry."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import FORMAT, registry_options, trust_options
from ironcurtain.errors import Exit


@click.command()
@click.argument("source", metavar="oci://HOST/NAME[:TAG][@DIGEST]")
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    default="bundle.tar.gz",
    show_default=True,
    help="Where the archive is written.",
)
@registry_options
@trust_options
@FORMAT
def command(**options: object) -> Exit:
    """Fetch a bundle from an OCI registry into a file.

    What comes is held against the digests of the registry's manifest, and against --verify-key,
    --expect-revision and --min-serial, before anything is written. Without one of them nobody vouches for it.

    \b
    Examples:
      ironcurtain pull oci://registry.example/policies/agents:stable --verify-key release.pub.pem
      ironcurtain pull oci://localhost:5000/agents@sha256:1f… -o policy.tar.gz

    \b
    Exit: 0 written; 2 wrong options or files; 3 it is not there, not what the manifest names, or not signed
    as it has to be.
    """  # noqa: D301 - click reads the escape
    return lazy.run("operate.pull", **options)
