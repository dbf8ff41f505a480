"""What is wrong with scenarios and answers: what a compile says of them before it asks anybody.

Beside their form that is whether their clauses exist and whether any rules could make them come true, which
needs the annotations of the last compile.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

from ironcurtain.compiler.load.clause_record import known_clauses
from ironcurtain.compiler.load.ground_truth import GroundTruth
from ironcurtain.compiler.questions.open_questions import parse_answers, with_answers
from ironcurtain.compiler.render.assemble import Release
from ironcurtain.compiler.verify.policy_builder import without_rules
from ironcurtain.errors import IronCurtainError
from ironcurtain.integrations.editor.mistake import Mistake, of_error
from ironcurtain.integrations.editor.project import EditedProject
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system.files import parse_document


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
