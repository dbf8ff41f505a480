"""What `verify` says of the published policy, at the places that an editor shows.

The gate runs as the command runs it. What it names is looked for in the texts each time they are shown, so
that its places move with what is typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.compiler.verify.gate_report import Check, GateReport, Problem
from ironcurtain.engine.locate import find
from ironcurtain.errors import Place
from ironcurtain.integrations.editor.mistake import Mistake, Related, Severity
from ironcurtain.integrations.editor.places import Span, first_line, line_at, span_of
from ironcurtain.integrations.editor.project import EditedProject
from ironcurtain.integrations.gate.checks.all_checks import run_published
from ironcurtain.integrations.gate.reading import GateInputs, read_policy_under_review
from ironcurtain.integrations.gate.report import gate_report

_SOURCES = "sources"
_SCENARIOS = "scenarios"


def verify(project: EditedProject) -> GateReport | None:
    """Run the gate on the published policy; None where nothing is published.

    Raises:
        IronCurtainError: If it cannot be judged: no engine, a corrupt bundle, a mistake in a file.
    """
    bundle = project.published / "bundle"
    if not bundle.exists():
        return None
    engine = find(None)
    read = open_bundle(bundle, Trust())
    subject = read_policy_under_review(
        read, GateInputs(bundle=bundle, config=project.file), engine, datetime.now(UTC).date()
    )
    return gate_report("verify", read, engine, run_published(subject))


def verified_mistakes(report: GateReport, project: EditedProject) -> list[Mistake]:
    """Return what a report says, each at its place in the texts as they are now."""
    return [
        _mistake(check, problem, report, project) for check in report.checks for problem in _problems(check)
    ]


def _problems(check: Check) -> Sequence[Problem]:
    if check.status == "failed" and not check.failing and not check.summary.startswith("cannot be judged"):
        return (*check.problems, Problem(id=check.name, message=check.summary))
    return check.problems


def _mistake(check: Check, problem: Problem, report: GateReport, project: EditedProject) -> Mistake:
    places = [*_places(check, problem, report, project)]
    first, *others = places
    lines = [problem.message, *problem.details, *([problem.suggestion] if problem.suggestion else [])]
    return Mistake(
        path=first.path,
        span=first.span,
        severity=_severity(check, problem),
        code=f"verify/{check.name.replace(' ', '-')}",
        message="\n".join(lines),
        page=problem.docs,
        by="verify",
        related=tuple(others),
    )


def _severity(check: Check, problem: Problem) -> Severity:
    """Return how grave a problem is; that a file was edited since the last compile is none while editing."""
    return "warning" if check.name == _SOURCES else problem.severity


def _places(check: Check, problem: Problem, report: GateReport, project: EditedProject) -> Iterator[Related]:
    """Yield where a problem stands, the best place first."""
    if check.name == _SCENARIOS and (scenario := _scenario(problem.id, project)):
        yield scenario
    words = report.clauses.get(problem.clause or "")
    placed = project.clause(problem.clause) if problem.clause else None
    if placed is not None and (check.name == _SOURCES or placed.clause.text == words):
        path, span = project.place_of(placed)
        yield Related(path, span, f"clause {placed.clause.id}")
        return
    path = Path.cwd() / problem.file if problem.file else project.constitution
    text = project.texts.shown(path)
    place = Place(str(path), problem.line if words is None else None)
    yield Related(path, span_of(text, place) if text else first_line(text), problem.id)


def _scenario(id_: str, project: EditedProject) -> Related | None:
    """Return where a scenario has its id, in the file that people write."""
    pattern = re.compile(rf'\bid["\']?\s*:\s*["\']?{re.escape(id_)}(?![\w.-])')
    for path in (project.scenarios, project.answers):
        text = project.texts.shown(path)
        if found := pattern.search(text):
            return Related(path, _of_match(text, found), f"scenario {id_}")
    return None


def _of_match(text: str, found: re.Match[str]) -> Span:
    line = line_at(text, found.start())
    return Span(found.start(), min(found.end(), line.end))
