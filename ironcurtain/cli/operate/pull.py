"""`ironcurtain pull`: fetch a bundle from an OCI registry."""

from __future__ import annotations

import json
from pathlib import Path

import click

from ironcurtain.cli.options.options import FORMAT, registry_options, trust_options
from ironcurtain.errors import Exit
from ironcurtain.system.text import visible


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
def command(
    *,
    source: str,
    output: str,
    token_file: str | None,
    credentials_file: str | None,
    plain_http: bool,
    verify_key: str | None,
    expect_revision: str | None,
    min_serial: int | None,
    format_: str,
) -> Exit:
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
    from ironcurtain.bundle.oci.access import RegistryAccess
    from ironcurtain.bundle.oci.client import pull
    from ironcurtain.bundle.oci.layout import Reference
    from ironcurtain.bundle.opening import Trust, parse_bundle
    from ironcurtain.system.files import atomic_write, unwritten

    trust = Trust.of(verify_key=verify_key, expect_revision=expect_revision, min_serial=min_serial)
    reference = Reference.parse(source)
    access = RegistryAccess.of(
        reference, token_file=token_file, credentials_file=credentials_file, plain_http=plain_http
    )
    pulled = pull(reference, access)
    bundle = parse_bundle(pulled.archive, trust, source)
    try:
        atomic_write(Path(output), pulled.archive)
    except OSError as error:
        raise unwritten("the bundle", Path(output), error) from error
    if format_ == "json":
        facts = {"digest": pulled.digest, "revision": bundle.revision, "serial": bundle.serial}
        click.echo(json.dumps({**facts, "output": output, "trusted": trust.vouches}))
        return Exit.YES
    click.echo(f"pulled serial {bundle.serial}, revision {bundle.revision}")
    click.echo(f"  digest {pulled.digest}")
    click.echo(f"  to {visible(output)}")
    if not trust.vouches:
        said = f"note: the bundle is {trust.signature_words(bundle)}, and nobody vouches for it: neither"
        click.echo(f"{said} --verify-key nor --expect-revision is given", err=True)
    return Exit.YES
