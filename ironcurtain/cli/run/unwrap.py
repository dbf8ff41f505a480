"""`ironcurtain unwrap`: give a client its servers back."""

from __future__ import annotations

import click

from ironcurtain.cli import lazy
from ironcurtain.cli.options.options import FORMAT
from ironcurtain.cli.run.wrap import CLIENT, DRY_RUN, SCOPE
from ironcurtain.errors import Exit


@click.command()
@CLIENT
@SCOPE
@DRY_RUN
@click.option(
    "--discard-edits", is_flag=True, help="Put the backup back, whatever the file holds now; that is kept."
)
@FORMAT
def command(**options: object) -> Exit:
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
    return lazy.run("run.unwrap", **options)
