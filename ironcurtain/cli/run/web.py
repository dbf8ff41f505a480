"""`ironcurtain web`: pages for people, in the browser of this machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.options import PolicyOptions, policy_options
from ironcurtain.cli.run.approvals import place
from ironcurtain.errors import Exit

if TYPE_CHECKING:
    from ironcurtain.analysis.explain.report import Explanation
    from ironcurtain.enforcement.audit.record_types import DecisionRecord


@click.command()
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default=True,
    help="The port; 0 takes a free one.",
)
@place
@click.option(
    "--audit", metavar="DIR", help="The directory of the audit logs (default: ~/.ironcurtain/audit)."
)
@click.option("--bundle", metavar="B", help="The policy, to have recorded decisions explained.")
@policy_options
def command(
    *,
    port: int,
    directory: str | None,
    key: str | None,
    audit: str | None,
    bundle: str | None,
    **deployment: Unpack[PolicyOptions],
) -> Exit:
    """Show in a browser on this machine what waits for you and what was decided, and take your answers.

    It prints an address with a code that lets one browser in, once, for eight hours; when it was used, the
    next one is printed. Only this machine can connect. Run it in a terminal of your own, not in the agent's.

    \b
    Examples:
      ironcurtain web
      ironcurtain web --bundle generated/bundle

    \b
    Exit: 0 a signal came, 2 wrong options, 3 the port cannot be taken.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.system.extras import need

    need("jinja2")
    import anyio

    from ironcurtain.enforcement.approvals.inbox import default_paths
    from ironcurtain.enforcement.audit.log_paths import audit_directory
    from ironcurtain.enforcement.audit.recent import RecentRecords
    from ironcurtain.web.app import Shown
    from ironcurtain.web.approvals import Waiting
    from ironcurtain.web.serving import serve

    usual_directory, usual_key = default_paths()
    waiting = Waiting(Path(directory) if directory else usual_directory, Path(key) if key else usual_key)
    records = RecentRecords(Path(audit) if audit else audit_directory())
    explain = partial(_explain, bundle, deployment) if bundle is not None else None
    anyio.run(serve, Shown(waiting, records, explain), port, click.echo)
    return Exit.YES


def _explain(bundle: str, deployment: PolicyOptions, record: DecisionRecord) -> Explanation:
    """Explain a recorded decision as `ironcurtain explain --record` does."""
    from ironcurtain.analysis.explain.record import explain_recorded
    from ironcurtain.policy import Policy

    there = deployment.copy()
    if there["sandbox"] is None:
        there["sandbox"] = record.sandbox.directory
    return explain_recorded(record, partial(Policy.load, bundle, **there), bundle)[0]
