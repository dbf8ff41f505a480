"""`ironcurtain decide`: decide calls and show why."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.bundle_argument import CALL, bundle_argument
from ironcurtain.cli.options.options import FORMAT, engine_options, policy_options
from ironcurtain.errors import Exit


@click.command()
@bundle_argument(*CALL, shown="[SERVER TOOL ARGUMENTS]", needed="none", explicit=True)
@policy_options
@engine_options
@click.option("--caller", metavar="JSON", help="Facts about the principal, as a JSON object.")
@click.option("--batch", metavar="FILE", help="JSON lines, one call each; one decision a line comes out.")
@click.option("--watch", is_flag=True, help="Decide again whenever the bundle changes; Ctrl-C ends.")
@FORMAT
def command(**options: object) -> Exit:
    """Decide one call, or with --batch a file of calls.

    A line of the batch is {"id": …, "server": …, "tool": …, "arguments": …}, with "caller" where it differs
    from --caller. A line that is no call is denied.

    With --watch the same calls are decided by each new bundle, and those that come out otherwise are shown:
    `ironcurtain compile --watch` in one terminal, this in another.

    \b
    Example:
      ironcurtain decide --bundle generated/bundle --sandbox work \\
        filesystem read_text_file '{"path": "notes.txt"}'

    \b
    Exit: 0 allow, 4 escalate, 1 deny, 3 no answer from the engine,
    2 wrong options or files. With --batch: the worst line, in the
    order 3, 1, 4, 0. With --watch: 130, when it is ended.
    """  # noqa: D301 - click reads the escape
    return lazy.run("review.decide", **options)
