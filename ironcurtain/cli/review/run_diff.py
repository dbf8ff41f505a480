"""What `ironcurtain diff` does."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path

import click

from ironcurtain.analysis.diff.report import Change
from ironcurtain.analysis.guarantees.guarantees import check_guarantees
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.cli.options.bundle_argument import one_bundle
from ironcurtain.cli.output.reports import emit, formats_of
from ironcurtain.cli.review.assumed_facts import assumed_world
from ironcurtain.cli.review.policy_argument import bundle_or_project
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import Exit, UsageError
from ironcurtain.integrations.gate.approvals import UNPROVED, draft, judge, uncovered
from ironcurtain.integrations.gate.approvals_file import add_approvals, read_approvals, require_yaml
from ironcurtain.integrations.gate.change_approvals_model import DiffApproval
from ironcurtain.integrations.gate.checks.behaviour import guarantee_check
from ironcurtain.integrations.gate.document import Document
from ironcurtain.integrations.gate.report import gate_report
from ironcurtain.integrations.gate.review import compared
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.system.files import load
from ironcurtain.system.frozen import Json
from ironcurtain.system.text import counted


def run(
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
    **trust: Json,
) -> Exit:
    """Compare two bundles and print what changed."""
    files = formats_of(output)
    target = _target(write_approval, reason, approver, expires)
    demanded = load(Path(guarantees), Guarantees) if guarantees else None
    approved = read_approvals(Path(approvals), must_exist=True) if approvals else None
    required = Trust.of(**trust)
    path = bundle_or_project(one_bundle(bundle, new))
    older, newer = open_bundle(Path(old), Trust(required.key)), open_bundle(Path(path), required)
    found = find(Path(opa) if opa else None)
    engine, world, today = OpaCommand(found), assumed_world(path, scenarios), datetime.now(UTC).date()
    result = compared(older, newer, world, engine)
    file = Path(approvals) if approvals else None
    checks = [judge(result, approved, file, today, sampled=accept_sampled)]
    if demanded is not None and guarantees is not None:
        document = Document(Path(guarantees))
        checks.append(guarantee_check(check_guarantees(newer, demanded, world, engine), document))
    report = gate_report("diff", newer, found, checks, result)
    emit(report, format_, files, quiet=False)
    open_ = uncovered(result, approved, today)
    if target is not None and open_:
        add_approvals(target, _drafts(open_, reason, approver, expires))
        written, them = counted(len(open_), "approval"), "it" if len(open_) == 1 else "them"
        click.echo(f"{written} written to {target}: let {them} be reviewed", err=True)
        return Exit.PERSON
    if report.ok:
        return Exit.YES
    failing = {problem.id for check in report.checks for problem in check.failing}
    # Nothing speaks against the new policy, and nothing proves it harmless: that is no answer.
    return Exit.NO_ANSWER if failing == {UNPROVED} else Exit.NO


def _target(
    write_approval: str | None, reason: str | None, approver: str | None, expires: datetime | None
) -> Path | None:
    """Return the file that approvals are written to; mistakes show before any work is done."""
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
    end: date | None = expires.date() if expires else None
    return draft(changes, reason=reason or "", approver=approver or "", expires=end)
