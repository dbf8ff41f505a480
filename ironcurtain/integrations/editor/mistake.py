"""One thing that an editor underlines."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ironcurtain.errors import IronCurtainError, SeveralErrors
from ironcurtain.integrations.editor.places import Span, first_line, span_of
from ironcurtain.integrations.editor.texts import Texts

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Related:
    """Another place that a mistake has to do with."""

    path: Path
    span: Span
    what: str


@dataclass(frozen=True)
class Mistake:
    """One thing that is wrong or stands out.

    Attributes:
        path: The document.
        code: An error's code, a check of `lint`, or `verify` and the check.
        page: The page that explains the code, as `docs/errors/IC1003.md`, with `#anchor` where that helps.
        by: The command that says the same.
    """

    path: Path
    span: Span
    severity: Severity
    code: str
    message: str
    page: str
    by: str
    related: tuple[Related, ...] = ()


def of_error(error: IronCurtainError, path: Path, texts: Texts, by: str = "compile") -> list[Mistake]:
    """Return what an error says, each of several where it stands; one without a place belongs to `path`."""
    errors = error.errors if isinstance(error, SeveralErrors) else [error]
    return [_of_one(each, path, texts, by) for each in errors]


def _of_one(error: IronCurtainError, path: Path, texts: Texts, by: str) -> Mistake:
    where, span = path, first_line(texts.shown(path))
    if error.where is not None and Path(error.where.source).is_absolute():
        where = Path(error.where.source)
        span = span_of(texts.shown(where), error.where)
    return Mistake(
        path=where,
        span=span,
        severity="error",
        code=error.code,
        message=f"{error.what}\n{error.hint}" if error.hint else error.what,
        page=f"docs/errors/{error.code}.md",
        by=by,
    )
