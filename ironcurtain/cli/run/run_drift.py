"""What `ironcurtain drift` does."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.analysis.drift.drift import drift, touched
from ironcurtain.analysis.drift.text import text_lines
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.bundle.opening import Trust
from ironcurtain.cli.review.policy_argument import read_policy
from ironcurtain.cli.run.connecting import visits
from ironcurtain.compiler.annotate.tool_texts import text_findings
from ironcurtain.engine.command import OpaCommand
from ironcurtain.engine.locate import find
from ironcurtain.errors import Exit, raise_all
from ironcurtain.servers.config import load_servers
from ironcurtain.servers.listing import list_reachable
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Json


def run(
    *,
    only: tuple[str, ...],
    bundle: str | None,
    config: str | None,
    servers: str | None,
    scenarios: str | None,
    timeout: float,
    format_: str,
    opa: str | None,
    quiet: bool,
    **trust: Json,
) -> Exit:
    """Print the drift of the servers that can be read; then fail for those that cannot."""
    policy = read_policy(bundle, config, scenarios, Trust.of(**trust))
    configured = load_servers(Path(servers) if servers is not None else policy.project.path("servers"))
    live, failed = list_reachable(configured, visits(), only=only or None, timeout=timeout)
    report = drift(PolicyContent.of(policy.bundle), live, text_findings)
    if report.tools:
        report = touched(report, policy.bundle, policy.world, OpaCommand(find(Path(opa) if opa else None)))
    if format_ == "json":
        click.echo(json_text.pretty(report.model_dump(mode="json")), nl=False)
    elif report.tools or not quiet:
        click.echo("\n".join(text_lines(report)))
    raise_all([error for errors in failed.values() for error in errors])
    return Exit.NO if report.tools else Exit.YES
