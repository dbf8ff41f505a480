"""What `ironcurtain approvals always` prints of a request that waits."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.cli.output.results import print_json
from ironcurtain.enforcement.approvals.describe import in_lines
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.enforcement.audit.always import parts_of_preview, preview, sentence_place
from ironcurtain.enforcement.audit.log_paths import audit_directory
from ironcurtain.enforcement.audit.recent import RecentRecords


def print_preview(
    request: ApprovalRequest, bundle: str | None, audit: str | None, format_: str, *, width: int
) -> None:
    """Print the sentence that asks, where it stands, and the past requests that it asked about.

    Args:
        request: The request.
        bundle: The policy that tells where the sentence stands, if one is named.
        audit: The directory of the audit logs; None for the user's own.
        format_: `text` or `json`.
        width: The terminal's columns.

    Raises:
        IronCurtainError: If the policy is not there, or cannot be used.
        OSError: If a log cannot be read.
    """
    logs = RecentRecords(Path(audit) if audit else audit_directory())
    records = logs.records()
    content = PolicyContent.of(open_bundle(Path(bundle), Trust())) if bundle else None
    source = sentence_place(content, request) if content is not None else ""
    shown = preview(request, records, source=source, problems=logs.troubles)
    if format_ == "json":
        print_json(shown)
    else:
        click.echo(in_lines(f"request {shown.request}", parts_of_preview(shown), width), nl=False)
