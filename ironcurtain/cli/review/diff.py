"""`ironcurtain diff`: what changed between two policies, each change with a call that shows it."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import OPA, trust_options
from ironcurtain.cli.review.gate_options import OUTPUT, REPORT_FORMAT
from ironcurtain.errors import Exit


@click.command()
@click.argument("old")
@click.argument("new", required=False)
@click.option(
    "--bundle",
    "bundle",
    metavar="B",
    help="The new bundle, directory or .tar.gz, also as the second argument (default: the project's).",
)
@click.option(
    "--scenarios", metavar="FILE", help="Assume the world of FILE (default: test-scenarios.json beside NEW)."
)
@click.option("--approvals", metavar="FILE", help="Changes that people approved.")
@click.option("--guarantees", metavar="FILE", help="Decide the guarantees of FILE about NEW, too.")
@click.option(
    "--write-approval", metavar="FILE", help="Add approvals of what is loosened to FILE, for review."
)
@click.option("--reason", help="Why the changes are wanted; for --write-approval.")
@click.option("--approver", help="Who approves; for --write-approval.")
@click.option(
    "--expires",
    type=click.DateTime(["%Y-%m-%d"]),
    metavar="DATE",
    help="The last day on which the approvals count; for --write-approval.",
)
@click.option(
    "--accept-sampled",
    is_flag=True,
    help="Pass where nothing was found, although not every kind of call could be compared.",
)
@trust_options
@OPA
@REPORT_FORMAT
@OUTPUT
def command(**options: object) -> Exit:
    """Compare the policies in the bundles OLD and NEW by what they decide.

    --verify-key is demanded of both, --expect-revision and --min-serial of NEW.

    \b
    Examples:
      ironcurtain diff published.tar.gz
      ironcurtain diff published.tar.gz generated/bundle --format markdown
      ironcurtain diff published.tar.gz --write-approval diff-approvals.yaml \\
        --reason "Mail is to be read, too." --approver alice@example.com

    \b
    Exit: 0 nothing is loosened that nobody approved, and no guarantee is broken; 1 otherwise,
    2 wrong options or files, 3 no answer: the engine gives none, or nothing was found and it is not
    proved that there is nothing,
    4 approvals were written, and a person must review them.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.diff", **options)
