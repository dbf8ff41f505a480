"""What is wrong with an open document, said by the functions that `lint` and `compile` call.

No model is asked, no server started and no engine run here; what needs an engine is in
`project.py` (`verify`). Of scenarios that is what a compile says before it asks anybody: their form, whether
their clauses exist, and whether any rules could make them come true, which needs the annotations of the last
compile. Of an answer to a question it is the syntax and what the schema refuses; the rest is told by the next
compile, which knows what the question was about.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import get_args

from jsonschema.exceptions import ValidationError
from referencing.exceptions import Unresolvable

from ironcurtain.analysis.advice.forecast_report import UsageProfile
from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.compiler.annotate.confirmations import Confirmations
from ironcurtain.compiler.llm.chat import document_text
from ironcurtain.compiler.llm.question import closest
from ironcurtain.compiler.load.clause_record import known_clauses
from ironcurtain.compiler.load.clauses import unread
from ironcurtain.compiler.load.ground_truth import GroundTruth
from ironcurtain.compiler.load.linter import Finding, remaining
from ironcurtain.compiler.questions.open_questions import parse_answers, with_answers
from ironcurtain.compiler.render.assemble import Release
from ironcurtain.compiler.verify.policy_builder import without_rules
from ironcurtain.decision.canonical.schema_patterns import UnusableSchemaError
from ironcurtain.decision.canonical.schema_validator import SchemaValidator, TooCostlyError
from ironcurtain.errors import BadAnswerError, FileError, IronCurtainError, Place
from ironcurtain.integrations.editor.places import Mistake, Texts, first_line, of_error, span_of
from ironcurtain.integrations.editor.project import EditedProject
from ironcurtain.integrations.gate.change_approvals import DiffApprovals
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.guarantees import Guarantees
from ironcurtain.model.lists import Lists
from ironcurtain.model.metaschema import schema_fault
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.servers.config import check_servers
from ironcurtain.servers.config_model import Servers
from ironcurtain.servers.fetched.lock import read_lock
from ironcurtain.settings import FILE_NAME, parse_settings
from ironcurtain.system import json_text
from ironcurtain.system.files import MAX_BYTES, parse_document
from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import visible
from ironcurtain.system.yaml_text import place_of

_FORMAT = re.compile(
    r'(?:^|[{,])[ \t]*["\']?format["\']?[ \t]*:\s*["\']?(ironcurtain/[a-z-]+)/v\d', re.MULTILINE
)
_LINT_PAGE = "docs/constitution.md#linter-findings"
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
        UsageProfile,
        Scenarios,
        Waivers,
    )
}
"""By kind of format: what a document of it is validated as."""


def diagnose(path: Path, project: EditedProject) -> list[Mistake]:
    """Return what is wrong with a document, in the order of its places; nothing where it is none of ours."""
    try:
        mistakes = [*_mistakes(path, project)]
    except IronCurtainError as error:
        mistakes = of_error(error, path, project.texts)
    except OSError as error:
        mistakes = of_error(FileError(error.strerror or str(error), where=str(path)), path, project.texts)
    own = dict.fromkeys(mistake for mistake in mistakes if mistake.path == path)
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
    match = _FORMAT.search(texts.shown(path))
    return _MODELS.get(match[1]) if match else None


def _of_constitution(path: Path, project: EditedProject) -> Iterator[Mistake]:
    text = project.texts.read(path)
    clauses = [placed for placed in project.clauses if placed.clause.source.rpartition(":")[0] == str(path)]
    for finding in remaining(project.clauses, project.policy):
        if finding.clause in {placed.clause.id for placed in clauses}:
            yield _of_finding(finding, project)
    for line, what in unread(text, clauses):
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


def scenario_mistakes(project: EditedProject) -> Iterator[Mistake]:
    """Yield what is wrong with the handwritten scenarios.

    Raises:
        IronCurtainError: If they are not of their form.
    """
    handwritten = _handwritten(project)
    yield from _of_truth(
        GroundTruth(handwritten, project.scenarios, project.answers, project.texts.read), project
    )


def answered_mistakes(project: EditedProject) -> Iterator[Mistake]:
    """Yield what is wrong with the answers, which hold in the world of the scenarios.

    Raises:
        IronCurtainError: If they are not of their form.
    """
    answers = parse_answers(project.texts.read(project.answers), str(project.answers))
    try:
        handwritten = _handwritten(project)
    except IronCurtainError:
        return  # told where the scenarios stand
    document = with_answers(handwritten, answers, str(project.answers))
    yield from _of_truth(
        GroundTruth(document, project.scenarios, project.answers, project.texts.read), project
    )


def _handwritten(project: EditedProject) -> Scenarios:
    return _parsed(project.texts.read(project.scenarios), str(project.scenarios))


@functools.lru_cache(maxsize=8)
def _parsed(text: str, source: str) -> Scenarios:
    """Parse scenarios, once for as long as another document is typed."""
    return parse_document(text, source, Scenarios)


def _of_truth(truth: GroundTruth, project: EditedProject) -> Iterator[Mistake]:
    yield from _told(lambda: _require_clauses(truth, project), project)
    yield from _told(lambda: _require_reachable(truth, project), project)


def _require_clauses(truth: GroundTruth, project: EditedProject) -> None:
    try:
        known = [placed.clause for placed in project.clauses]
        before = known_clauses(project.published)
    except IronCurtainError:
        return  # told where the constitution stands, or there is none beside the scenarios
    truth.require_clauses(known, before)


def _require_reachable(truth: GroundTruth, project: EditedProject) -> None:
    if project.annotations is None:
        return
    hosts = frozenset(project.settings.case_insensitive_hosts)
    release = Release("", case_insensitive_hosts=hosts)
    truth.require_reachable(without_rules(project.annotations, release, truth.document.world))


def _told(check: Callable[[], None], project: EditedProject) -> list[Mistake]:
    try:
        check()
    except IronCurtainError as error:
        return of_error(error, project.scenarios, project.texts)
    return []


_ANSWER = ".answer.json"
_MOST_MISFITS = 20


def answer_mistakes(path: Path, texts: Texts) -> Iterator[Mistake]:
    """Yield the mistakes of `KEY.answer.json`; nothing for a file without a question beside it."""
    question = path.with_name(f"{path.name.removesuffix(_ANSWER)}.json")
    if not path.name.endswith(_ANSWER) or not texts.has(question):
        return
    asked = json_text.members(json_text.parse(texts.read(question), max_bytes=MAX_BYTES))
    schema = json_text.members(asked.get("answer_schema"))
    try:
        text = document_text(texts.read(path), max_bytes=MAX_BYTES)
        content = json_text.parse(text, max_bytes=MAX_BYTES)
    except json_text.MalformedJsonError as error:
        where = Place(str(path), error.line, error.column)
        yield from _bad(f"not valid JSON: {visible(str(error))}", where, path, texts)
        return
    for unfit in map(closest, _misfits(schema, content)):
        where = place_of(text, str(path), list(unfit.absolute_path))
        yield from _bad(visible(f"{unfit.json_path}: {unfit.message}"), where, path, texts)


def _misfits(schema: dict[str, JsonValue], content: JsonValue) -> list[ValidationError]:
    """Return what the schema refuses; nothing for one that no compile wrote."""
    if schema_fault(schema):
        return []
    try:
        return SchemaValidator(schema).errors(content, _MOST_MISFITS)
    except (Unresolvable, RecursionError, TooCostlyError, UnusableSchemaError):
        return []


def _bad(what: str, where: Place, path: Path, texts: Texts) -> list[Mistake]:
    return of_error(BadAnswerError(what, where=where), path, texts)
