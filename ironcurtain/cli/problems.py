"""Errors as people read them on stderr: code, what, where with the source line, what to do."""

from __future__ import annotations

from pathlib import Path

import click

from ironcurtain.errors import Exit, IronCurtainError, Place, SeveralErrors
from ironcurtain.text import visible


def print_error(error: IronCurtainError) -> Exit:
    """Print an error (or all of several) to stderr; return the exit status that it means."""
    errors = error.errors if isinstance(error, SeveralErrors) else [error]
    for each in errors:
        click.echo(_rendered(each), err=True)
    return errors[0].exit


def _rendered(error: IronCurtainError) -> str:
    lines = [f"error[{error.code}]: {visible(error.what)}"]
    if error.where:
        lines += [f"  --> {_relative(error.where)}", *_source_line(error.where)]
    if error.hint:
        lines.append(f"  hint: {visible(error.hint)}")
    lines.append(f"  see: docs/errors/{error.code}.md")
    return "\n".join(lines)


def _relative(place: Place) -> str:
    """Show paths relative to the working directory, so that output is the same on every machine."""
    path = Path(place.source)
    if path.is_absolute() and path.is_relative_to(Path.cwd()):
        place = Place(str(path.relative_to(Path.cwd())), place.line, place.column)
    return visible(str(place))


def _source_line(place: Place) -> list[str]:
    if place.line is None:
        return []
    try:
        lines = Path(place.source).read_text(encoding="utf-8").splitlines()
        return [f"   | {visible(lines[place.line - 1])[:160]}"]
    except (OSError, UnicodeDecodeError, IndexError):
        return []
