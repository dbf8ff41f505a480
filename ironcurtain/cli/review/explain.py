"""`ironcurtain explain`: why a call is decided as it is, what comes close, and what a clause causes."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import CALL, bundle_argument
from ironcurtain.cli.options.options import MARKDOWN_FORMAT, policy_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument(*CALL, shown="[SERVER TOOL ARGUMENTS]", needed="none")
@policy_options
@click.option("--caller", metavar="JSON", help="Facts about the principal, as a JSON object.")
@click.option(
    "--record", metavar="FILE", help="Explain a decision of an audit log, with the bundle it names."
)
@click.option("--id", "id_", metavar="ID", help="With --record: the decision's id (default: the last one).")
@click.option("--today", metavar="B", help="With --record: say whether this bundle decides it otherwise.")
@click.option(
    "--clause",
    metavar="ID",
    help="Print all that a clause of the constitution causes, or, with `all`, what becomes of each.",
)
@click.option(
    "--scenarios",
    metavar="FILE",
    help="With --clause: the scenarios (default: test-scenarios.json beside the bundle).",
)
@click.option(
    "--view",
    type=click.Choice(["operator", "agent"]),
    default="operator",
    show_default=True,
    help="For whom: an agent is told no rule, no policy text and no protected place.",
)
@MARKDOWN_FORMAT
def command(**options: object) -> Exit:
    """Explain the decision of a call, of a recorded call (--record), or all effects of a clause (--clause).

    Similar calls are shown only after they were decided. Without --sandbox, a record is decided again in the
    workspace that it names.

    \b
    Example:
      ironcurtain explain --sandbox work \\
        filesystem write_file '{"path": "~/Documents/a", "content": ""}'

    \b
    Exit: 0 explained; 1 with --record, it is decided differently than
    recorded, by its own bundle or by the one of --today; 2 wrong
    options or files, or a record that cannot be decided again;
    3 another revision than the record's, or no answer from the engine.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.explain", **options)
