"""What `ironcurtain doctor` does."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.approvals.answering import default_place
from ironcurtain.audit.places import audit_directory
from ironcurtain.cli.authoring import read_project
from ironcurtain.doctor.checks import examine, exit_of
from ironcurtain.doctor.subject import Subject
from ironcurtain.errors import Exit
from ironcurtain.model import jsontext
from ironcurtain.settings import user_directory
from ironcurtain.text import printable

_WIDTH = 5


def run(
    *,
    config: str | None,
    bundle: str | None,
    servers: str | None,
    sandbox: str | None,
    verify_key: str | None,
    clients: tuple[str, ...],
    timeout: float,
    opa: str | None,
    format_: str,
) -> Exit:
    """Examine the installation and print what was found."""
    project = read_project(config)
    subject = Subject(
        bundle=Path(bundle) if bundle else project.path("output") / "bundle",
        servers=Path(servers) if servers else project.path("servers"),
        user=user_directory(),
        approvals=default_place(),
        audit=audit_directory(),
        cwd=Path.cwd(),
        opa=Path(opa) if opa else None,
        sandbox=Path(sandbox) if sandbox else None,
        verify_key=Path(verify_key) if verify_key else None,
        clients=clients,
        timeout=timeout,
    )
    report = examine(subject)
    if format_ == "json":
        click.echo(jsontext.pretty(report.model_dump(mode="json")), nl=False)
        return exit_of(report)
    for each in report.checks:
        click.echo(printable(f"{each.status:<{_WIDTH}}{each.name}: {each.what}"))
        if each.fix:
            click.echo(printable(f"{'':<{_WIDTH}}fix: {each.fix}"))
    return exit_of(report)
