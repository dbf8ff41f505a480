"""`ironcurtain bundle`: from hand-written rules and annotations to a checked bundle, without a model."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import FORMAT, KEY, OPA, QUIET, SIGN
from ironcurtain.errors import Exit


@click.command()
@click.option("--policy", metavar="FILE", required=True, help="Rules: compiled-policy.json.")
@click.option("--annotations", metavar="FILE", required=True, help="tool-annotations.json.")
@click.option("--lists", metavar="FILE", help="Named lists: dynamic-lists.json.")
@click.option("--custom", metavar="DIR", help="Directory of the project's own Rego modules.")
@click.option(
    "--serial", type=click.IntRange(min=0), default=0, show_default=True, help="The policy's serial number."
)
@SIGN
@KEY
@OPA
@click.option(
    "-o", "--output", metavar="PATH", required=True, help="A directory, or a file ending in .tar.gz."
)
@FORMAT
@QUIET
def command(**options: object) -> Exit:
    """Build a bundle from rules and annotations, and print its revision.

    The rules are rendered to Rego, checked and tested with OPA, and written only if all of that succeeds.

    \b
    Example:
      ironcurtain bundle --policy compiled-policy.json --annotations tool-annotations.json -o bundle

    \b
    Exit: 0 written, 1 OPA rejects the result, 2 a mistake in a file,
    3 no engine or not writable.
    """  # noqa: D301 - click reads the escape
    return lazy.run("author.bundle", **options)
