"""`ironcurtain guarantees`: what a policy must never and must always do, over all calls and sessions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from ironcurtain.cli.options.bundle_argument import bundle_argument
from ironcurtain.cli.options.options import FORMAT, OPA, QUIET, WORLD, TrustOptions, trust_options
from ironcurtain.cli.output.results import print_json
from ironcurtain.errors import Exit, FileError
from ironcurtain.system.text import counted

if TYPE_CHECKING:
    from ironcurtain.model.guarantees import Guarantees

_EXAMPLE = """\
format: ironcurtain/guarantees/v1
guarantees:
  - id: documents-are-never-changed
    never: allow
    when: {roles: [write-path, delete-path], within: [~/Documents]}
"""


@click.command()
@bundle_argument()
@click.option(
    "--file", "file_", metavar="FILE", default="guarantees.yaml", show_default=True, help="The guarantees."
)
@WORLD
@FORMAT
@trust_options
@OPA
@QUIET
def command(
    *,
    bundle: str | None,
    file_: str,
    scenarios: str | None,
    format_: str,
    opa: str | None,
    quiet: bool,
    **trust: Unpack[TrustOptions],
) -> Exit:
    """Decide the guarantees of a file about a policy.

    \b
    Example:
      ironcurtain guarantees --file guarantees.yaml

    \b
    Exit: 0 all hold, 1 one is broken (the smallest call that breaks it is shown,
    or the calls of a session), 2 wrong options or files, 3 the engine gives no answer,
    or nothing is known of one, since no call could be made that it speaks of.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.analysis.guarantees.guarantees import check_guarantees, report_lines
    from ironcurtain.cli.review.policy_argument import (
        assumed_world,
        bundle_or_project,
        opa_command,
        read_rendered,
    )
    from ironcurtain.model.guarantees import STATUSES

    guarantees = _guarantees(Path(file_))
    path = bundle_or_project(bundle)
    read = read_rendered(path, **trust)
    engine = opa_command(opa)
    report = check_guarantees(read, guarantees, assumed_world(path, scenarios), engine)
    if format_ == "json":
        print_json(report)
    elif not (quiet and report.ok):
        click.echo("\n".join(report_lines(report)))
        counts = {status: sum(each.status == status for each in report.results) for status in STATUSES}
        said = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
        click.echo(f"{counted(len(report.results), 'guarantee')}: {said}", err=True)
    if report.is_unexamined:
        return Exit.NO_ANSWER
    return Exit.YES if report.ok else Exit.NO


def _guarantees(path: Path) -> Guarantees:
    """Read the guarantees; where there are none yet, say what they look like."""
    from ironcurtain.model.guarantees import Guarantees
    from ironcurtain.system.files import load

    if not path.exists():
        hint = "Say there what the policy must never do, or must always do, such as:"
        raise FileError("no guarantees are written", where=str(path), hint=hint, block=_EXAMPLE.splitlines())
    return load(path, Guarantees)
