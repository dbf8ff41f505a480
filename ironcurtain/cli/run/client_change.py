"""A change of a client's files, as `wrap` and `unwrap` show it, ask about it, and do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from ironcurtain.errors import Exit
from ironcurtain.system.text import printable, visible

if TYPE_CHECKING:
    from ironcurtain.integrations.clients.report import ClientReport

SCOPE = click.option(
    "--scope",
    type=click.Choice(["user", "project"]),
    help="The user's configuration or the project's (default: the one that has servers).",
)
DRY_RUN = click.option("--dry-run", is_flag=True, help="Change nothing; show the difference.")


def carried_out(act: Callable[..., ClientReport], *, dry_run: bool, yes: bool, format_: str) -> Exit:
    """Show a change, ask about it unless that is answered already, and do it."""
    from ironcurtain.system import terminal

    if not (dry_run or yes):
        preview = act(dry_run=True)
        if not terminal.is_there():
            return _unasked(preview, format_)
        if not _agreed(preview):
            click.echo("nothing was changed", err=True)
            return Exit.NO
        report = act(dry_run=False)
        print_report(report, format_, told=preview)
    else:
        report = act(dry_run=dry_run)
        print_report(report, format_)
    return exit_of(report)


def exit_of(report: ClientReport) -> Exit:
    """Return no where servers stay outside the policy."""
    return Exit.NO if any(left.outside for left in report.left) else Exit.YES


def _unasked(report: ClientReport, format_: str) -> Exit:
    """Show what would change where nobody can be asked; what is as it should be needs no answer."""
    print_report(report, format_)
    if report.status == "unchanged":
        return exit_of(report)
    click.echo("nothing was changed: nobody is there to be asked, and --yes was not given", err=True)
    return Exit.NO


def _agreed(report: ClientReport) -> bool:
    """Show what would change and ask; nothing to change needs no answer."""
    from ironcurtain.system import terminal

    if report.status == "unchanged":
        return True
    _print_difference(report, err=True)
    tell(report)
    return terminal.types("yes", f"write {visible(report.file)}; anything else leaves it")


def print_report(report: ClientReport, format_: str, told: ClientReport | None = None) -> None:
    """Print what was done: the result to standard output, what to know of it to standard error.

    Args:
        report: What was done, or would be.
        format_: `text` or `json`.
        told: What was shown of it before; what is to be known of it is not said again.
    """
    if format_ == "json":
        click.echo(report.model_dump_json())
        return
    _print_difference(report)
    if not report.diff:
        click.echo(f"{report.status.replace('-', ' ')}: {visible(report.file)}")
        if report.servers and report.status != "unwrapped":
            click.echo(f"  behind the proxy: {visible(', '.join(report.moved))}")
            click.echo(f"  their configuration: {visible(report.servers)}")
        for path in report.kept:
            click.echo(f"  kept: {visible(path)}")
    if told is None or (told.left, told.notes) != (report.left, report.notes):
        tell(report)


def joined(report: ClientReport, hooks: ClientReport) -> ClientReport:
    """Return the report on a change of servers and one of hooks."""
    is_other = report.status == "unchanged" and hooks.status != "unchanged"
    return report.model_copy(
        update={
            "status": hooks.status if is_other else report.status,
            "notes": (*report.notes, f"hooks: {hooks.file}", *hooks.notes),
            "kept": (*report.kept, *hooks.kept),
            "diff": report.diff + hooks.diff,
        }
    )


def _print_difference(report: ClientReport, *, err: bool = False) -> None:
    for line in report.diff.split("\n")[:-1]:
        click.echo(printable(line), err=err)


def tell(report: ClientReport) -> None:
    """Print what to know of a change to standard error."""
    for left in report.left:
        outside = "OUTSIDE the policy" if left.outside else "left alone"
        click.echo(f"{outside}: {visible(left.name)}: {printable(left.reason)}", err=True)
    for note in report.notes:
        click.echo(f"note: {printable(note)}", err=True)
