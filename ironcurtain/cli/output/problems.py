"""Failures as people read them on stderr: code, what, where with the source line, what to do.

What only waits for a person is no failure: it is told last, and the last line says what to do next.
"""

from __future__ import annotations

import traceback
from pathlib import Path

import click

from ironcurtain.errors import (
    Exit,
    IronCurtainError,
    OpenQuestionError,
    Place,
    SeveralErrors,
    SystemFailedError,
    UsageError,
)
from ironcurtain.system.extras import missing_extra
from ironcurtain.system.text import printable, visible

_SHOWN_LINE = 160


def print_failure(error: Exception, *, debug: bool) -> Exit:
    """Print a failure (or all of several) to stderr; return the exit status that it means."""
    if debug:
        traceback.print_exception(error)
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show()
        return Exit.USAGE
    known = _ours(error)
    errors = known.errors if isinstance(known, SeveralErrors) else [known]
    waits = [each for each in errors if isinstance(each, OpenQuestionError)]
    failures = [each for each in errors if each not in waits]
    for text in (*map(_rendered, failures), *map(_waiting, waits)):
        click.echo(text, err=True)
    for hint in dict.fromkeys(each.hint for each in waits):
        click.echo(f"next: {printable(hint)}", err=True)
    return (failures or waits)[0].exit


def is_interrupt(error: Exception) -> bool:
    """Tell whether Ctrl-C is what an exception comes of.

    It may be raised while the interrupt leaves what it came into, as by a lock that was given up to wait.
    Of one that came while pydantic built a model its words alone say so, as of a wrong model.
    """
    from pydantic_core import SchemaError

    if isinstance(error, SchemaError) and str(error).rstrip().endswith("KeyboardInterrupt:"):
        return True
    before: BaseException | None = error
    while before is not None and not isinstance(before, KeyboardInterrupt):
        before = before.__context__
    return before is not None


def _waiting(error: IronCurtainError) -> str:
    return "\n".join([f"waiting[{error.code}]: {printable(error.what)}", *map(printable, error.block)])


def _ours(error: Exception) -> IronCurtainError:
    """Return the error of ours that an exception of another kind means."""
    if isinstance(error, IronCurtainError):
        return error
    if isinstance(error, click.ClickException):
        context = getattr(error, "ctx", None)
        program = context.command_path if context else "ironcurtain"
        return UsageError(error.format_message(), hint=f"`{program} --help` shows what there is.")
    if missing := missing_extra(error):
        return missing
    if isinstance(error, OSError):
        return SystemFailedError(
            error.strerror or str(error), where=str(error.filename) if error.filename is not None else None
        )
    return IronCurtainError(
        f"a bug in IronCurtain: {type(error).__name__}",
        hint="Run `ironcurtain --debug …` and report what it prints.",
    )


def _rendered(error: IronCurtainError) -> str:
    lines = [f"error[{error.code}]: {printable(error.what)}"]
    if error.where:
        lines += [f"  --> {_relative(error.where)}", *_source_line(error.where)]
    if error.hint:
        lines.append(f"  hint: {printable(error.hint)}")
    if error.block:
        lines += ["", *(printable(line) for line in error.block), ""]
    lines.append(f"  see: ironcurtain error {error.code}")
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
        return [f"   | {visible(lines[place.line - 1])[:_SHOWN_LINE]}"]
    except (OSError, UnicodeDecodeError, IndexError):
        return []
