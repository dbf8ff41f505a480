"""`ironcurtain error`: the page of an error."""

from __future__ import annotations

import click

from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import quoted

_PREFIX = "IC"


@click.command()
@click.argument("code", required=False)
def command(*, code: str | None) -> Exit:
    """Print what error CODE means and what to do about it, or without CODE a line for each error.

    \b
    Example:
      ironcurtain error IC3201

    \b
    Exit: 0 printed, 2 there is no such error.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.system import assets

    pages = {path.stem: path for path in sorted(assets.ERRORS.glob(f"{_PREFIX}*.md"))}
    if code is None:
        headings = (path.read_text(encoding="utf-8").partition("\n")[0] for path in pages.values())
        click.echo("\n".join(heading.removeprefix("# ") for heading in headings))
        return Exit.YES
    name = f"{_PREFIX}{code.upper().removeprefix(_PREFIX)}"
    if name not in pages:
        raise UsageError(f"there is no error {quoted(code)}", hint="`ironcurtain error` lists all of them.")
    click.echo(pages[name].read_text(encoding="utf-8"), nl=False)
    return Exit.YES
