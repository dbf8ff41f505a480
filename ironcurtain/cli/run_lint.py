"""What `ironcurtain lint` does."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import click

from ironcurtain.cli.project import read_project
from ironcurtain.errors import Exit
from ironcurtain.model import jsontext
from ironcurtain.pipeline.linter import LintReport, lint
from ironcurtain.pipeline.load import read_constitution
from ironcurtain.text import printable


def run(*, constitution: str | None, config: str | None, strict: bool, format_: str, quiet: bool) -> Exit:
    """Print the findings about a constitution."""
    if constitution is not None:
        base, user = Path(constitution), None
    else:
        project = read_project(config)
        base, user = project.path("constitution"), project.existing_guidance
        # Places are shown as an editor finds them from here.
        base = Path(os.path.relpath(base))
    _, clauses = read_constitution(base, user, Path.cwd())
    findings = lint(clauses)
    counts = Counter(finding.severity for finding in findings)
    ok = not counts["error"] and not (strict and counts["warning"])
    if format_ == "json":
        report = LintReport(ok=ok, findings=tuple(findings))
        click.echo(jsontext.pretty(report.model_dump(mode="json")), nl=False)
    else:
        for finding in findings:
            click.echo(printable(finding.line))
        if not quiet:
            shown = ", ".join(f"{counts[each]} {each}s" for each in ("error", "warning", "note"))
            click.echo(f"{len(clauses)} clauses: {shown}", err=True)
    return Exit.YES if ok else Exit.NO
