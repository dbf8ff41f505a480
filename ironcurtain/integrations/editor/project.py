"""The project of a document, read over the texts that an editor shows, and what `verify` says of it.

The gate runs as the command runs it, over the published policy. What it names is looked for in the texts each
time they are shown, so that its places move with what is typed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from ironcurtain.bundle.opening import Trust, open_bundle
from ironcurtain.compiler.annotate.changes import published_annotations
from ironcurtain.compiler.load.clause_record import known_clauses, published_policy
from ironcurtain.compiler.load.clauses import PlacedClause, read_clauses, read_user_clauses
from ironcurtain.compiler.load.sources import ANSWERS_FILE
from ironcurtain.compiler.verify.gate_report import Check, GateReport, Problem
from ironcurtain.engine.locate import find
from ironcurtain.errors import IronCurtainError, Place
from ironcurtain.integrations.editor.places import (
    Mistake,
    Related,
    Span,
    Texts,
    first_line,
    line_at,
    span_of,
    words_at,
)
from ironcurtain.integrations.gate.checks.all_checks import run_published
from ironcurtain.integrations.gate.inputs import GateInputs
from ironcurtain.integrations.gate.reading import read_policy_under_review
from ironcurtain.integrations.gate.report import gate_report
from ironcurtain.model.annotations import Annotations
from ironcurtain.model.policy import CompiledPolicy
from ironcurtain.model.severity import Severity
from ironcurtain.settings import FILE_NAME, Settings, find_settings, parse_settings, user_constitution
from ironcurtain.system.structs import Struct


class EditedProject(Struct):
    """A project, or for a document outside of one its directory with default settings.

    Attributes:
        file: Its `ironcurtain.toml`, if it has one.
        root: The directory that its paths are relative to.
    """

    file: Path | None
    root: Path
    settings: Settings
    texts: Texts

    @classmethod
    def of(cls, path: Path, texts: Texts) -> EditedProject:
        """Return the project of a document; settings with mistakes count as the default ones."""
        file = path if path.name == FILE_NAME else find_settings(path.parent)
        root = file.parent if file is not None else path.parent
        try:
            settings = parse_settings(texts.read(file), file) if file is not None else Settings()
        except IronCurtainError:
            settings = Settings()
        return cls(file, root, settings, texts)

    @property
    def constitution(self) -> Path:
        """The constitution."""
        return self.root / self.settings.constitution

    @property
    def guidance(self) -> Path | None:
        """The user's own guidance, if the project reads one and it is there."""
        guidance = user_constitution(self.file, self.settings)
        return guidance if guidance is not None and self.texts.has(guidance) else None

    @property
    def scenarios(self) -> Path:
        """The handwritten scenarios."""
        return self.root / self.settings.scenarios

    @property
    def answers(self) -> Path:
        """What people answered."""
        return self.scenarios.with_name(ANSWERS_FILE)

    @property
    def questions(self) -> Path:
        """The directory of open questions and of the answers to them."""
        return self.root / self.settings.questions

    @property
    def published(self) -> Path:
        """The directory of what a compile publishes."""
        return self.root / self.settings.output

    @cached_property
    def clauses(self) -> tuple[PlacedClause, ...]:
        """The clauses as they are typed, the user's own first; a clause's source is its whole path.

        Raises:
            FileError: If the constitution is missing, or holds no sentence.
            ClauseIdError: For each written id that cannot be one, or is another clause's.
        """
        base, guidance = self.constitution, self.guidance
        known = known_clauses(self.published, self.questions)
        first = (
            read_user_clauses(self.texts.read(guidance), str(guidance), known) if guidance is not None else ()
        )
        elsewhere = [placed.clause.id for placed in first]
        return (*first, *read_clauses(self.texts.read(base), str(base), known, elsewhere))

    def clause(self, id_: str) -> PlacedClause | None:
        """Return a clause by its id; None where there is none, or the constitution cannot be read."""
        try:
            return next((placed for placed in self.clauses if placed.clause.id == id_), None)
        except IronCurtainError:
            return None

    def place_of(self, placed: PlacedClause) -> tuple[Path, Span]:
        """Return the document of a clause, and where its words stand there."""
        source, _, line = placed.clause.source.rpartition(":")
        path = Path(source)
        return path, words_at(self.texts.shown(path), int(line), placed.clause.text)

    @cached_property
    def annotations(self) -> Annotations | None:
        """What the last compile knows of the tools; None before one, or where it cannot be read."""
        try:
            return published_annotations(self.published)
        except IronCurtainError:
            return None

    @cached_property
    def policy(self) -> CompiledPolicy | None:
        """The rules of the last compile; None before one, or where they cannot be read."""
        try:
            return published_policy(self.published)
        except IronCurtainError:
            return None


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
    reviewed = read_policy_under_review(
        read, GateInputs(bundle=bundle, config=project.file), engine, datetime.now(UTC).date()
    )
    return gate_report("verify", read, engine, run_published(reviewed))


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
        if match := pattern.search(text):
            return Related(path, _of_match(text, match), f"scenario {id_}")
    return None


def _of_match(text: str, found: re.Match[str]) -> Span:
    line = line_at(text, found.start())
    return Span(found.start(), min(found.end(), line.end))
