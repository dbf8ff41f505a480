"""`ironcurtain drift`: what changed in the live servers since their tools were annotated."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import CONFIG, FORMAT, OPA, QUIET, WORLD, Number, trust_options
from ironcurtain.errors import Exit


@click.command()
@click.option("--server", "only", metavar="NAME", multiple=True, help="Read this server only; repeatable.")
@bundle_argument()
@CONFIG
@click.option("--servers", metavar="FILE", help="The servers' configuration (default: the project's).")
@WORLD
@click.option("--timeout", type=Number(1), default=60.0, show_default=True, help="Seconds for each server.")
@FORMAT
@trust_options
@OPA
@QUIET
def command(**options: object) -> Exit:
    """Say which tools of the live servers are not as they were annotated.

    Reads the tool lists and holds what each tool tells clients (description and schema, and the rest where
    the annotation pins it) against the digests in the bundle. For each tool that changed, came or went:
    what changed, which rules and cells of the policy are touched, and what in its texts speaks to the
    model. Enforcement denies exactly these tools until they are annotated again; the others go on.

    \b
    Examples:
      ironcurtain drift
      ironcurtain drift --server github --format json

    \b
    Exit: 0 all is as annotated, 1 something drifted, 2 wrong options or files,
    3 a server cannot be read, or the bundle or the engine fails.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.drift", **options)
