"""`ironcurtain error`: the page of an error, or of something else that a message names."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.errors import Exit, UsageError
from ironcurtain.system.text import quoted

_PREFIX = "IC"


@click.command()
@click.argument("name", required=False, metavar="[CODE]")
def command(*, name: str | None) -> Exit:
    """Print what error CODE means and what to do about it, or without CODE a line for each error.

    In place of CODE, a kind of finding or a page of the documentation that a message names.

    \b
    Examples:
      ironcurtain error IC3201
      ironcurtain error dead-rule
      ironcurtain error signing

    \b
    Exit: 0 printed, 2 there is no such error or page.
    """  # noqa: D301 - click reads the escape
    from ironcurtain.system import assets

    codes = _pages(assets.ERRORS, f"{_PREFIX}*.md")
    if name is None:
        headings = (path.read_text(encoding="utf-8").partition("\n")[0] for path in codes.values())
        click.echo("\n".join(heading.removeprefix("# ") for heading in headings))
        return Exit.YES
    findings = assets.DOCS / "findings"
    others = {"findings": findings / "README.md", **_pages(assets.DOCS, "*.md"), **_pages(findings, "*-*.md")}
    page = codes.get(f"{_PREFIX}{name.upper().removeprefix(_PREFIX)}") or others.get(name)
    if page is None:
        raise UsageError(
            f"there is no error or page {quoted(name)}", hint="`ironcurtain error` lists all errors."
        )
    click.echo(page.read_text(encoding="utf-8"), nl=False)
    return Exit.YES


def _pages(directory: Path, pattern: str) -> dict[str, Path]:
    return {path.stem: path for path in sorted(directory.glob(pattern))}
