"""`ironcurtain unwrap`: give a client its servers back."""

from __future__ import annotations

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ironcurtain.cli.options.options import FORMAT
from ironcurtain.cli.run.client_change import DRY_RUN, SCOPE, joined, print_report
from ironcurtain.errors import Exit, UsageError

if TYPE_CHECKING:
    from ironcurtain.integrations.clients.target import ConfigScope


@click.command()
@click.argument("client", metavar="CLIENT|FILE")
@SCOPE
@DRY_RUN
@click.option(
    "--discard-edits", is_flag=True, help="Put the backup back, whatever the file holds now; that is kept."
)
@click.option("--yes", is_flag=True, expose_value=False, help="As of `wrap`; an unwrap asks nothing.")
@FORMAT
def command(
    *, client: str, scope: ConfigScope | None, dry_run: bool, discard_edits: bool, format_: str
) -> Exit:
    """Restore a client's configuration as it was before `ironcurtain wrap`, byte for byte.

    If the file was changed since, its servers are put back and the changes stay. Where that cannot be done,
    nothing is changed.

    \b
    Example:
      ironcurtain unwrap claude-code --dry-run

    \b
    Exit: 0 restored or not wrapped, 2 wrong options, or it cannot be told what the file should be, 3 the file
    is busy or not writable.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.integrations.clients.hooks import CLIENT as HOOKED
    from ironcurtain.integrations.clients.hooks import HookedSettings, remove
    from ironcurtain.integrations.clients.target import chosen_location, places
    from ironcurtain.integrations.clients.unwrap import is_wrapped, restore, unwrap

    if dry_run and discard_edits:
        raise UsageError("--discard-edits has no dry run", hint="Leave one of the two out.")
    scopes: tuple[ConfigScope, ...] = ("user", "project") if scope is None else (scope,)
    settings = [HookedSettings.of(one, Path.cwd()) for one in scopes if client == HOOKED]
    hooked = [each for each in settings if each.is_hooked]
    for each in hooked if not discard_edits else ():
        remove(each, dry_run=True)  # whatever keeps them from being removed leaves the servers, too
    reports = []
    if not hooked or any(map(is_wrapped, places(client, scope, Path.cwd()))):
        place = chosen_location(client, scope, is_wrapped, "is wrapped")
        reports.append(restore(place) if discard_edits else unwrap(place, dry_run=dry_run))
    reports += [remove(each, dry_run=dry_run, discard_edits=discard_edits) for each in hooked]
    print_report(reduce(joined, reports), format_)
    return Exit.YES
