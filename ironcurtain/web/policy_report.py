"""What the page of a policy shows: what the commands `matrix`, `explain`, `findings`, `coverage` report."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from datetime import date
from functools import cache
from pathlib import Path

from ironcurtain.analysis.advice.advise import Logs, use_of
from ironcurtain.analysis.advice.report import Advice
from ironcurtain.analysis.clauses.outcomes import clause_report
from ironcurtain.analysis.clauses.outcomes_text import outcome_words
from ironcurtain.analysis.clauses.report import ClauseOutcome, ClauseReport
from ironcurtain.analysis.coverage.coverage import coverage
from ironcurtain.analysis.coverage.report import CoverageReport, clause_line
from ironcurtain.analysis.engine.policy_analysis import PlainAnalysis, analyse_policy, analyse_with_guarantees
from ironcurtain.analysis.explain.clause import explain_examined
from ironcurtain.analysis.explain.report import QuotedClause
from ironcurtain.analysis.explain.text import clause_text_lines
from ironcurtain.analysis.findings import findings
from ironcurtain.analysis.findings.report import FindingReport, finding_lines
from ironcurtain.analysis.findings.waivers import Waivers
from ironcurtain.analysis.guarantees.guarantees import decide_guarantees, result_lines, witness_lines
from ironcurtain.analysis.matrix.matrix import matrix_of
from ironcurtain.analysis.matrix.report import Matrix
from ironcurtain.analysis.matrix.witnesses import MatrixCell, shown_calls
from ironcurtain.analysis.sequences.steps import single_calls
from ironcurtain.bundle.archive import Bundle
from ironcurtain.compiler.annotate.embedded_languages import languages
from ironcurtain.compiler.load.clauses import read_clauses
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import IronCurtainError
from ironcurtain.model.guarantees import GuaranteeReport, Guarantees, WitnessCall
from ironcurtain.model.scenarios import Scenarios
from ironcurtain.system import json_text
from ironcurtain.system.files import read_text
from ironcurtain.system.structs import Struct, field


class PolicyFiles(Struct):
    """A policy with the files of its project, read.

    Attributes:
        scenarios: The scenarios, and the world to assume.
        has_scenarios: Whether there is a file of them.
        constitution: What the clauses were read from; a bundle may come without it.
    """

    bundle: Bundle
    scenarios: Scenarios
    has_scenarios: bool
    constitution: Path
    guarantees: Guarantees | None
    waivers: Waivers | None
    engine: OpaCommand


class Sentence(Struct):
    """One clause in the list of the constitution.

    Attributes:
        place: `file:line`, empty where the bundle does not say.
        words: What becomes of it.
        findings: How many findings without a waiver are about it.
        headings: The headings of the constitution that stand between it and the sentence before it, each with
            its level from 0.
    """

    id: str
    text: str
    place: str
    outcome: str
    words: str
    findings: int
    headings: tuple[tuple[int, str], ...] = ()


class ShownCall(Struct):
    """A call that shows a verdict of a cell.

    Attributes:
        lines: The call and its decision, for people.
        to_try: The call as the playground opens it; empty where it needs facts, which hang on the time.
    """

    lines: tuple[str, ...]
    to_try: str


class PolicyReport:
    """A policy after it was examined; what is asked of one clause or one cell is worked out when it is asked.

    Args:
        files: The policy.
        today: What waivers are held against.

    Raises:
        GuaranteeError: For each guarantee that names what does not exist or contradicts itself.
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """

    def __init__(self, files: PolicyFiles, today: date) -> None:
        self._files, engine, world = files, files.engine, files.scenarios.world
        self._analysis: PlainAnalysis = analyse_policy(files.bundle, world, engine)
        listed = single_calls(files.scenarios, files.bundle).scenarios
        told_apart = analyse_with_guarantees(files.bundle, world, engine, files.guarantees)
        material = findings.Material(languages, listed if files.has_scenarios else None)
        waivers = files.waivers or Waivers(format="ironcurtain/waivers/v1")
        self.matrix: Matrix = matrix_of(self._analysis)
        self.clauses: ClauseReport = clause_report(files.bundle, files.scenarios, engine, self._analysis)
        self.findings: FindingReport = findings.waived(
            findings.find(self._analysis, material, engine), waivers, today
        )
        self.coverage: CoverageReport = coverage(told_apart, listed, engine)
        self.guarantees: GuaranteeReport = decide_guarantees(told_apart, engine)
        self.outline = outline(files.constitution, (each.clause for each in self.clauses.clauses))
        self.effects = cache(self._effects)
        self.calls = cache(self._calls)

    @property
    def revision(self) -> str:
        """The revision of the bundle."""
        return self._files.bundle.revision

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The clauses in the order in which they stand."""
        ordered = sorted(self.clauses.clauses, key=lambda each: (each.clause.file, each.clause.line))
        above = [(), *(self.outline.above.get(each.clause.id, ()) for each in ordered)]
        return tuple(
            self._sentence(each, _begun(before, now))
            for each, (before, now) in zip(ordered, itertools.pairwise(above), strict=True)
        )

    @property
    def elsewhere(self) -> tuple[str, ...]:
        """The findings that are about no clause."""
        known = {each.clause.id for each in self.clauses.clauses}
        return tuple(
            line
            for each in self.findings.findings
            if each.waiver is None and each.clause not in known
            for line in finding_lines(each)
        )

    def use(self, logs: Logs) -> Advice:
        """Return what logs used of what the policy permits.

        Raises:
            AuditError: If a line of a log holds no record that we know.
        """
        return use_of(self._files.bundle, self._analysis, logs)

    def _sentence(self, found: ClauseOutcome, headings: tuple[tuple[int, str], ...]) -> Sentence:
        clause = found.clause
        about = [each for each in self.findings.unwaived("note") if each.clause == clause.id]
        place = f"{clause.file}:{clause.line}" if clause.line else ""
        words = outcome_words(found)
        return Sentence(clause.id, clause.text, place, found.outcome, words, len(about), headings)

    def _effects(self, clause: str) -> Mapping[str, tuple[str, ...]]:
        """Return, under headings, all that is known of a clause.

        Raises:
            EvidenceError: If there is no such clause.
        """
        files = self._files
        told = explain_examined(self._analysis, self.clauses, clause, files.scenarios, files.engine)
        about = [each for each in self.findings.findings if each.clause == clause and each.waiver is None]
        held = [each for each in self.guarantees.results if each.clause == clause]
        reached = [each for each in self.coverage.clauses if each.clause == clause]
        return {
            "What it causes": tuple(clause_text_lines(told)),
            "Findings": tuple(line for each in about for line in finding_lines(each)),
            "Guarantees": tuple(line for each in held for line in result_lines(each)),
            "Reached by scenarios and guarantees": tuple(map(clause_line, reached)),
        }

    def _calls(self, cell: MatrixCell) -> tuple[ShownCall, ...]:
        """Return for each verdict of a cell the lines that show a call of it."""
        shown = shown_calls(self._analysis, cell, self._files.engine)
        return tuple(
            ShownCall(tuple(line.strip() for line in witness_lines(call)), _to_try(call)) for call in shown
        )


def _to_try(call: WitnessCall) -> str:
    told = call.model_dump(mode="json", include={"server", "tool", "arguments", "caller"})
    return json_text.canonical(told).decode() if not call.facts else ""


def _begun(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """Return the headings that begin between two sentences."""
    pairs = itertools.zip_longest(before, now)
    same = next((level for level, (old, new) in enumerate(pairs) if old != new), len(now))
    return tuple(enumerate(now))[same:]


class Outline(Struct):
    """The headings above each sentence.

    Attributes:
        above: By the id of a clause, the headings above it, outermost first.
        why_none: Why there are none, where there is a file; else empty.
    """

    above: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    why_none: str = ""


def outline(file: Path, clauses: Iterable[QuotedClause]) -> Outline:
    """Return the headings of a constitution's file above the clauses of a bundle.

    Args:
        file: The file; none of a project is no mistake, as a bundle may come alone.
        clauses: The bundle's clauses.
    """
    if not file.exists():
        return Outline()
    try:
        read = read_clauses(read_text(file), file.name)
    except IronCurtainError as error:
        return Outline(why_none=str(error))
    found = {(each.clause.source, each.clause.text): each.headings for each in read}
    own = [each for each in clauses if each.file == file.name]
    if any((f"{each.file}:{each.line}", each.text) not in found for each in own):
        return Outline(why_none=f"{file.name} was changed since: its headings are not shown.")
    return Outline({each.id: found[f"{each.file}:{each.line}", each.text] for each in own})
