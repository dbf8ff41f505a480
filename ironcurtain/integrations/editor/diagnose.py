"""What is wrong with an open document, said by the functions that `lint` and `compile` call.

No model is asked, no server started and no engine run here; see `verified.py` for what needs an engine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.analysis.forecast.report import Profile
from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.compiler.load.clauses import unread
from ironcurtain.compiler.load.linter import Finding, lint
from ironcurtain.errors import FileError, IronCurtainError, Place
from ironcurtain.integrations.editor.answer import answer_mistakes
from ironcurtain.integrations.editor.mistake import Mistake, of_error
from ironcurtain.integrations.editor.places import first_line, span_of
from ironcurtain.integrations.editor.project import EditedProject
from ironcurtain.integrations.editor.scenarios import answered_mistakes, scenario_mistakes
from ironcurtain.integrations.editor.texts import Texts
from ironcurtain.integrations.gate.approvals_file import DiffApprovals
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.lists import Lists
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.servers.config import check_servers
from ironcurtain.servers.config_model import Servers
from ironcurtain.servers.fetched.lock import read_lock
from ironcurtain.settings import FILE_NAME, parse_settings
from ironcurtain.system.files import parse_document
from ironcurtain.system.frozen import Frozen

_FORMAT = re.compile(
    r'(?:^|[{,])[ \t]*["\']?format["\']?[ \t]*:\s*["\']?(ironcurtain/[a-z-]+)/v\d', re.MULTILINE
)
_LINT_PAGE = "docs/constitution.md#what-the-linter-says"
_CONSTITUTION_PAGE = "docs/constitution.md#clauses"
_YAML = {".yaml", ".yml"}


def _kind(model: type[Frozen]) -> str:
    known: str = get_args(model.model_fields["format"].annotation)[0]
    return known.rpartition("/")[0]


_MODELS = {
    _kind(model): model
    for model in (
        Annotations,
        CompiledPolicy,
        Confirmations,
        DiffApprovals,
        Guarantees,
        Lists,
        Profile,
        Scenarios,
        Waivers,
    )
}
"""By kind of format: what a document of it is validated as."""


def diagnose(path: Path, project: EditedProject) -> list[Mistake]:
    """Return what is wrong with a document, in the order of its places; nothing where it is none of ours."""
    try:
        found = [*_mistakes(path, project)]
    except IronCurtainError as error:
        found = of_error(error, path, project.texts)
    except OSError as error:
        found = of_error(FileError(error.strerror or str(error), where=str(path)), path, project.texts)
    own = dict.fromkeys(mistake for mistake in found if mistake.path == path)
    return sorted(own, key=lambda mistake: (mistake.span.start, mistake.span.end))


def _mistakes(path: Path, project: EditedProject) -> Iterator[Mistake]:
    texts = project.texts
    if path in (project.constitution, project.guidance):
        yield from _of_constitution(path, project)
    elif path == project.scenarios:
        yield from scenario_mistakes(project)
    elif path == project.answers:
        yield from answered_mistakes(project)
    elif path.name == FILE_NAME:
        parse_settings(texts.read(path), path)
    elif path == project.root / project.settings.servers:
        check_servers(parse_document(texts.read(path), str(path), Servers), path, read_lock(path))
    elif path.parent == project.questions:
        yield from answer_mistakes(path, texts)
    elif model := _model_of(path, texts):
        parse_document(texts.read(path), str(path), model)


def _model_of(path: Path, texts: Texts) -> type[Frozen] | None:
    """Return what a document says that it is."""
    if path.suffix not in {".json", *_YAML}:
        return None
    found = _FORMAT.search(texts.shown(path))
    return _MODELS.get(found[1]) if found else None


def _of_constitution(path: Path, project: EditedProject) -> Iterator[Mistake]:
    text = project.texts.read(path)
    own = [placed for placed in project.clauses if placed.clause.source.rpartition(":")[0] == str(path)]
    for finding in lint(project.clauses):
        if finding.clause in {placed.clause.id for placed in own}:
            yield _of_finding(finding, project)
    for line, what in unread(text, own):
        span = span_of(text, Place(str(path), line))
        yield Mistake(path, span, "note", "no-clause", what, _CONSTITUTION_PAGE, "compile")


def _of_finding(finding: Finding, project: EditedProject) -> Mistake:
    placed = project.clause(finding.clause)
    path, span = (project.constitution, first_line("")) if placed is None else project.place_of(placed)
    return Mistake(
        path=path,
        span=span,
        severity=finding.severity,
        code=finding.check,
        message=f"{finding.clause} {finding.what}\n{finding.suggestion}",
        page=_LINT_PAGE,
        by="lint",
    )
