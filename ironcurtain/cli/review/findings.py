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
    """Say what stands out in a policy: rules that never decide, gaps, ways around a rule, lost clauses.

    Each finding has an id that stays, a call that shows it, an edit that would mend it, and a page in
    docs/findings. A waiver (docs/findings/README.md) accepts a finding until a day, with a reason.

    \b
    Example:
      ironcurtain findings --fail-on note

    \b
    Exit: 0 nothing stands out, 1 there are findings that no waiver accepts, 2 wrong options or files,
    a waiver that counts no longer, or a policy too large to examine, 3 the bundle is corrupt or the
    engine gives no answer.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.findings", **options)
