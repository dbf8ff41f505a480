"""`ironcurtain diff`: what changed between two policies, each change with a call that shows it."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.options import OPA, OUTPUT, REPORT_FORMAT, TrustOptions, trust_options
from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import counted

if TYPE_CHECKING:
    from ironcurtain.analysis.diff.report import Change
    from ironcurtain.integrations.gate.change_approvals import DiffApproval


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
def command(
    *,
    old: str,
    new: str | None,
    bundle: str | None,
    scenarios: str | None,
    approvals: str | None,
    guarantees: str | None,
    write_approval: str | None,
    reason: str | None,
    approver: str | None,
    expires: datetime | None,
    accept_sampled: bool,
    opa: str | None,
    format_: str,
    output: tuple[str, ...],
    **trust: Unpack[TrustOptions],
) -> Exit:
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
    from ironcurtain.analysis.guarantees.guarantees import check_guarantees
    from ironcurtain.bundle.opening import Trust, open_bundle
    from ironcurtain.cli.options.bundle_argument import one_bundle
    from ironcurtain.cli.output.report_formats import formats_of
    from ironcurtain.cli.output.reports import emit
    from ironcurtain.cli.review.policy_argument import assumed_world, bundle_or_project
    from ironcurtain.engine.command import OpaCommand
    from ironcurtain.engine.locate import find
    from ironcurtain.integrations.gate.change_approvals import (
        UNPROVED,
        add_approvals,
        difference_check,
        read_approvals,
        uncovered,
    )
    from ironcurtain.integrations.gate.checks.behaviour import guarantee_check
    from ironcurtain.integrations.gate.policy_under_review import Document
    from ironcurtain.integrations.gate.report import compared, gate_report
    from ironcurtain.model.guarantees import Guarantees
    from ironcurtain.system.files import load

    files = formats_of(output)
    target = _target(write_approval, reason, approver, expires)
    demanded = load(Path(guarantees), Guarantees) if guarantees else None
    approved = read_approvals(Path(approvals), must_exist=True) if approvals else None
    required = Trust.of(**trust)
    path = bundle_or_project(one_bundle(bundle, new))
    older, newer = open_bundle(Path(old), Trust(required.key)), open_bundle(Path(path), required)
    program = find(Path(opa) if opa else None)
    engine, world, today = OpaCommand(program), assumed_world(path, scenarios), datetime.now(UTC).date()
    result = compared(older, newer, world, engine)
    file = Path(approvals) if approvals else None
    checks = [difference_check(result, approved, file, today, sampled=accept_sampled)]
    if demanded is not None and guarantees is not None:
        document = Document(Path(guarantees))
        checks.append(guarantee_check(check_guarantees(newer, demanded, world, engine), document))
    report = gate_report("diff", newer, program, checks, result)
    emit(report, format_, files, quiet=False)
    open_ = uncovered(result, approved, today)
    if target is not None and open_:
        add_approvals(target, _drafts(open_, reason, approver, expires))
        written, them = counted(len(open_), "approval"), "it" if len(open_) == 1 else "them"
        click.echo(f"{written} written to {target}: let {them} be reviewed", err=True)
        return Exit.NEEDS_APPROVAL
    if report.ok:
        return Exit.YES
    answered = [check for check in report.checks if check.status == "failed"]
    failing = {problem.id for check in answered for problem in check.failing}
    # Nothing speaks against the new policy, and nothing proves it harmless: that is no answer.
    return Exit.NO_ANSWER if failing <= {UNPROVED} else Exit.NO


def _target(
    write_approval: str | None, reason: str | None, approver: str | None, expires: datetime | None
) -> Path | None:
    """Return the file that approvals are written to; mistakes show before any work is done."""
    from ironcurtain.integrations.gate.change_approvals import read_approvals, require_yaml

    if write_approval is None:
        if reason or approver or expires:
            raise UsageError(
                "--reason, --approver and --expires belong to --write-approval",
                hint="Name the file to write.",
            )
        return None
    if not (reason or "").strip() or not (approver or "").strip():
        raise UsageError(
            "an approval needs a --reason and an --approver",
            where=write_approval,
            hint="Give both: whoever reviews the approval reads them.",
        )
    target = Path(write_approval)
    require_yaml(target)
    read_approvals(target, must_exist=False)
    return target


def _drafts(
    changes: tuple[Change, ...], reason: str | None, approver: str | None, expires: datetime | None
) -> tuple[DiffApproval, ...]:
    from ironcurtain.integrations.gate.change_approvals import draft

    end: date | None = expires.date() if expires else None
    return draft(changes, reason=reason or "", approver=approver or "", expires=end)
