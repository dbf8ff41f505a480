"""Options that the gates share: `verify` and `diff`."""

from __future__ import annotations

import click

REPORT_FORMAT = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json", "markdown", "sarif", "junit", "github"]),
    default="text",
    show_default=True,
    help="How to print the report.",
)
OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    multiple=True,
    help="Write the report to FILE, too: .txt, .json, .md, .sarif or .xml (JUnit); repeatable.",
)
APPROVALS = click.option(
    "--approvals",
    metavar="FILE",
    help="Changes that people approved (default: diff-approvals.yaml of the project, if it is there).",
)
SETTINGS = click.option(
    "--config",
    metavar="FILE",
    help="The project's settings (default: the ironcurtain.toml above the bundle).",
)
