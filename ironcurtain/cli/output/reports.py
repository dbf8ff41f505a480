"""Reports of gates: one shape, six formats, to stdout and to files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import click

from ironcurtain.cli.output.report_github import github_text
from ironcurtain.cli.output.report_json import json_text
from ironcurtain.cli.output.report_junit import junit_text
from ironcurtain.cli.output.report_markdown import markdown_text
from ironcurtain.cli.output.report_sarif import sarif_text
from ironcurtain.cli.output.report_text import plain_text
from ironcurtain.compiler.verify.gate_report import GateReport
from ironcurtain.system.files import atomic_write

RENDERERS: dict[str, Callable[[GateReport], str]] = {
    "text": plain_text,
    "json": json_text,
    "markdown": markdown_text,
    "sarif": sarif_text,
    "junit": junit_text,
    "github": github_text,
}
"""By format: what writes it."""

_SUMMARY = "GITHUB_STEP_SUMMARY"


def emit(report: GateReport, format_: str, files: dict[Path, str], *, quiet: bool) -> None:
    """Print a report, write it to files, and add it to the summary page of a GitHub job.

    Raises:
        OSError: If a file cannot be written; what was there before is then untouched.
    """
    for path, each in files.items():
        atomic_write(path, RENDERERS[each](report).encode())
    if format_ == "github" and (summary := os.environ.get(_SUMMARY)):
        # The page is the job's, and other steps write to it, too.
        with Path(summary).open("a", encoding="utf-8") as page:
            page.write(markdown_text(report))
    # What was not examined is said to whoever wants to hear of nothing else, too.
    if not (quiet and report.ok and not report.unexamined and format_ == "text"):
        click.echo(RENDERERS[format_](report), nl=False)
