"""`ironcurtain findings`: what stands out in a policy, proven by evaluating every case in OPA."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import CONFIG, MARKDOWN_FORMAT, OPA, QUIET, SCENARIOS, trust_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument()
@CONFIG
@SCENARIOS
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
@MARKDOWN_FORMAT
@trust_options
@OPA
@QUIET
def command(**options: object) -> Exit:
    """Report likely mistakes in a policy: dead rules, gaps, evasions, clauses without rules.

    Each finding has a stable id, an example call, a suggested edit, and a page in docs/findings.
    A waiver (docs/findings/README.md) accepts a finding until a date, with a reason.

    \b
    Example:
      ironcurtain findings --fail-on note

    \b
    Exit: 0 no findings, 1 there are findings without a waiver, 2 wrong options or files,
    an expired waiver, or a policy too large to examine, 3 the bundle is corrupt or the
    engine gives no answer.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.findings", **options)
