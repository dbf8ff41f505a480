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
    """List the tools of live servers that changed since they were annotated.

    Reads the tool lists and compares what each tool tells clients (description and schema, and the rest where
    the annotation pins it) with the digests in the bundle. For each tool that was changed, added or removed
    it reports what changed, which rules and cells of the policy are affected, and which of its texts address
    the model. Enforcement denies exactly these tools until they are annotated again.

    \b
    Examples:
      ironcurtain drift
      ironcurtain drift --server github --format json

    \b
    Exit: 0 no drift, 1 a tool drifted, 2 wrong options or files,
    3 a server cannot be read, or the bundle or the engine fails.
    """  # noqa: D301 - click reads the escape
    return lazy.run("run.drift", **options)
