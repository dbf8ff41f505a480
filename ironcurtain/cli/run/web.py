"""`ironcurtain web`: pages for people, in the browser of this machine."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.options import PolicyOptions, policy_options
from ironcurtain.cli.run.approvals import place
from ironcurtain.errors import Exit, UsageError

if TYPE_CHECKING:
    from ironcurtain.analysis.explain.report import Explanation
    from ironcurtain.enforcement.audit.record_types import DecisionRecord
    from ironcurtain.web.passkeys import Passkeys


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
@click.option(
    "--bundle", metavar="B", help="The policy to show, to try out, and to explain recorded decisions by."
)
@click.option(
    "--against", metavar="OLD", help="Compare the policy with a bundle, or with that of a git commit."
)
@click.option(
    "--export",
    "exported",
    metavar="DIR",
    help="Write the pages of the policy and the comparison to DIR as files, and serve nothing.",
)
@click.option(
    "--confirm",
    is_flag=True,
    help="Ask for a passkey each time that something is approved in the browser.",
)
@policy_options
def command(
    *,
    port: int,
    directory: str | None,
    key: str | None,
    audit: str | None,
    bundle: str | None,
    against: str | None,
    exported: str | None,
    confirm: bool,
    **deployment: Unpack[PolicyOptions],
) -> Exit:
    """Show in a browser on this machine what waits for you and what was decided, and take your answers.

    It prints an address with a code that lets one browser in, once, for eight hours; when it was used, the
    next one is printed. Only this machine can connect. Run it in a terminal of your own, not in the agent's.
    With --confirm the first browser registers a passkey, and every approval in the pages then asks for it.

    \b
    Examples:
      ironcurtain web
      ironcurtain web --confirm
      ironcurtain web --bundle generated/bundle --against main
      ironcurtain web --export pages --against published.tar.gz

    \b
    Exit: 0 a signal came or the files are written, 1 the bundle's Rego is not what its rules say,
    2 wrong options or files, 3 a bundle cannot be used, the port cannot be taken, or the engine gives
    no answer.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.system.extras import need

    need("jinja2")
    if exported is not None:
        return _export(Path(exported), bundle, against, deployment)
    if against is not None and bundle is None:
        raise UsageError("--against needs a policy to compare", hint="Name it with --bundle.")
    import anyio

    from ironcurtain.cli.run.web_policy import (
        advice_for,
        approvals_text,
        check_named,
        comparison_of,
        logs_in,
        playground_of,
        policy_of,
    )
    from ironcurtain.enforcement.approvals.places import default_paths
    from ironcurtain.enforcement.audit.log_paths import audit_directory
    from ironcurtain.enforcement.audit.recent import RecentRecords
    from ironcurtain.web.app import PageSources
    from ironcurtain.web.approvals import WaitingApprovals
    from ironcurtain.web.serving import serve

    if bundle is not None:
        check_named(bundle, against, deployment)
    usual_directory, usual_key = default_paths()
    waiting = WaitingApprovals(
        Path(directory) if directory else usual_directory, Path(key) if key else usual_key
    )
    logs = Path(audit) if audit else audit_directory()
    records = RecentRecords(logs)
    if audit is not None and records.missing:
        click.echo(f"note: there is no directory {records.missing} yet, so no decisions are shown", err=True)
    explain = partial(_explain, bundle, deployment) if bundle is not None else None
    policy = policy_of(bundle, deployment) if bundle is not None else None
    comparison = comparison_of(bundle, against, deployment) if bundle and against else None
    passkeys = _passkeys(Path(key) if key else usual_key) if confirm else None
    playground = playground_of(bundle, against, deployment) if bundle is not None else None
    advice = partial(advice_for, bundle, logs, deployment)
    use = partial(logs_in, logs, deployment) if bundle is not None else None
    shown = PageSources(
        waiting, records, advice, explain, policy, comparison, approvals_text, passkeys, playground, use
    )
    anyio.run(serve, shown, port, click.echo)
    return Exit.YES


def _passkeys(key: Path) -> Passkeys:
    """Return the passkey that lies beside the key of the approvals."""
    from ironcurtain.system.extras import need

    need("webauthn")
    from ironcurtain.web.passkeys import FILE, Passkeys

    return Passkeys(key.with_name(FILE))


def _explain(bundle: str, deployment: PolicyOptions, record: DecisionRecord) -> Explanation:
    """Explain a recorded decision as `ironcurtain explain --record` does."""
    from ironcurtain.analysis.explain.record import explain_recorded
    from ironcurtain.policy import Policy

    there = deployment.copy()
    if there["sandbox"] is None:
        there["sandbox"] = record.sandbox.directory
    return explain_recorded(record, partial(Policy.load, bundle, **there), bundle)[0]


def _export(directory: Path, bundle: str | None, against: str | None, deployment: PolicyOptions) -> Exit:
    """Write the pages as files."""
    from ironcurtain.cli.review.policy_argument import bundle_or_project
    from ironcurtain.cli.run.web_policy import compared_with, examined
    from ironcurtain.web.export import export

    path = bundle_or_project(bundle)
    comparison = compared_with(path, against, deployment) if against is not None else None
    for written in export(directory, examined(path, deployment), comparison):
        click.echo(written)
    return Exit.YES
