"""`ironcurtain findings`: what stands out in a policy, proven by evaluating every case in OPA."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options import CONFIG, OPA, QUIET, trust_options
from ironcurtain.errors import Exit


@click.command()
@click.option("--bundle", metavar="B", help="Bundle directory or .tar.gz (default: the project's).")
@CONFIG
@click.option(
    "--scenarios",
    metavar="FILE",
    help="The scenarios, and the world to assume (default: test-scenarios.json beside the bundle).",
)
@click.option(
    "--waivers", metavar="FILE", help="Findings that are accepted (default: the project's waivers.yaml)."
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note"]),
    default="warning",
    show_default=True,
    help="The least severity that fails.",
)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown"]),
    default="text",
    show_default=True,
    help="How to print the result.",
)
@trust_options
@OPA
@QUIET
def command(**options: object) -> Exit:
    """Say what stands out in a policy: rules that never decide, gaps, ways around a rule, lost clauses.

    Each finding has an id that stays, a call that shows it, an edit that would mend it, and a page in
    docs/findings. A waiver (docs/findings/README.md) accepts a finding until a day, with a reason.

    \b
    Example:
      ironcurtain findings --bundle generated/bundle

    \b
    Exit: 0 nothing stands out, 1 there are findings that no waiver accepts, 2 wrong options or files,
    a waiver that counts no longer, or a policy too large to examine, 3 the bundle is corrupt or the
    engine gives no answer.
    """  # noqa: D301 - click reads the escape
    return lazy.run("findings", **options)
