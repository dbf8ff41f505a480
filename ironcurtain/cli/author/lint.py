"""`ironcurtain lint`: what is wrong with a constitution, said before any model is asked."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import CONFIG, FORMAT, QUIET
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit
from ironcurtain.system.text import counted, printable

if TYPE_CHECKING:
    from ironcurtain.cli.options.project import Project
    from ironcurtain.compiler.load.clauses import PlacedClause


@click.command()
@click.argument("constitution", required=False)
@CONFIG
@click.option("--clauses", is_flag=True, help="Print each clause with its id and place, and no findings.")
@click.option("--strict", is_flag=True, help="Fail for warnings too.")
@FORMAT
@QUIET
def command(
    *, constitution: str | None, config: str | None, clauses: bool, strict: bool, format_: str, quiet: bool
) -> Exit:
    """Check CONSTITUTION (default: the project's, with your own guidance) for likely mistakes.

    Findings are contradictions, repetitions, and sentences that a call's arguments cannot decide today (they
    need a clock, memory, the state of a record, or judgement), that name nothing, or that have no word for
    what may be done. Where the project is compiled, its rules are asked: a clause whose rules test what it
    needs has no such finding. No model is asked.

    \b
    Examples:
      ironcurtain lint
      ironcurtain lint --clauses

    \b
    Exit: 0 no mistakes, 1 there is an error (with --strict: or a warning), 2 wrong options or files.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.cli.options.project import read_project
    from ironcurtain.compiler.load.clause_record import published_policy
    from ironcurtain.compiler.load.linter import LintReport, remaining

    project = read_project(config)
    read = _read(constitution, project)
    if clauses:
        return _list(read, format_)
    findings = remaining(read, published_policy(project.path("output")))
    counts = Counter(finding.severity for finding in findings)
    ok = not counts["error"] and not (strict and counts["warning"])
    if format_ == "json":
        report = LintReport(ok=ok, findings=tuple(findings))
        print_json(report)
    else:
        for finding in findings:
            click.echo(printable(finding.line))
        if not quiet:
            shown = ", ".join(counted(counts[each], each) for each in ("error", "warning", "note"))
            click.echo(f"{counted(len(read), 'clause')}: {shown}", err=True)
    return Exit.YES if ok else Exit.NO


def _read(constitution: str | None, project: Project) -> tuple[PlacedClause, ...]:
    from ironcurtain.cli.author.authoring import named_clauses, project_ids
    from ironcurtain.compiler.load.load import read_constitution

    if constitution is not None:
        return named_clauses(Path(constitution), project)
    # Places are shown as an editor finds them from here.
    base = Path(os.path.relpath(project.path("constitution")))
    return read_constitution(base, project.existing_guidance, Path.cwd(), project_ids(project))[1]


def _list(read: tuple[PlacedClause, ...], format_: str) -> Exit:
    """Print each clause with its id and place."""
    from ironcurtain.model.policy import ClauseList

    listed = ClauseList(clauses=tuple(placed.clause for placed in read))
    if format_ == "json":
        print_json(listed)
        return Exit.YES
    width = max((len(each.id) for each in listed.clauses), default=0)
    for each in listed.clauses:
        click.echo(printable(f"{each.id.ljust(width)}  {each.source}  {each.text}"))
    return Exit.YES
