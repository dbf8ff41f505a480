"""What `ironcurtain unwrap` does."""

from __future__ import annotations

from ironcurtain.cli.run.run_wrap import chosen, print_report
from ironcurtain.errors import Exit, UsageError
from ironcurtain.integrations.clients.places import Scope
from ironcurtain.integrations.clients.unwrap import is_wrapped, restore, unwrap


def run(*, client: str, scope: Scope | None, dry_run: bool, discard_edits: bool, format_: str) -> Exit:
    """Unwrap a client's configuration."""
    if dry_run and discard_edits:
        raise UsageError("--discard-edits has no dry run", hint="Leave one of the two out.")
    place = chosen(client, scope, is_wrapped)
    report = restore(place) if discard_edits else unwrap(place, dry_run=dry_run)
    print_report(report, format_)
    return Exit.YES
