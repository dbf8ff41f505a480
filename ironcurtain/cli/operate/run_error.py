"""What `ironcurtain error` does."""

from __future__ import annotations

import click

from ironcurtain.errors import Exit, UsageError
from ironcurtain.system import assets
from ironcurtain.system.text import quoted

_PREFIX = "IC"


def run(*, code: str | None) -> Exit:
    """Print a page, or the headings of all."""
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
