"""Stability: the same questions answered several times; where the policies differ, a person decides.

Policies are compared by meaning: each decides the calls generated over the patterns and tests of all of
them, on the real engine. A difference is a call with several verdicts; differences of one kind (same
tool, same verdicts, same clauses) are one question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ironcurtain.compiler.questions.open_questions import OpenQuestion, ask_about
from ironcurtain.compiler.verify.judge import DecideCalls
from ironcurtain.model.scenarios import Scenario, ScenarioCall
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import counted

MAX_QUESTIONS = 30


class Compared(Struct):
    """What a comparison found.

    Attributes:
        calls: How many calls were decided by each policy.
        questions: One for each kind of difference that people have not settled.
        notes: One line for each kind that they have settled, and for those beyond the limit.
    """

    calls: int
    questions: tuple[OpenQuestion, ...]
    notes: tuple[str, ...]


class _Kind(Struct):
    """What differences of one kind have in common: the tool, and each run's verdict and clause."""

    server: str
    tool: str
    verdicts: tuple[Verdict, ...]
    clauses: tuple[str | None, ...]


def compare(
    policies: Sequence[DecideCalls], calls: Sequence[ScenarioCall], fixed: Iterable[Scenario]
) -> Compared:
    """Compare policies over calls.

    Args:
        policies: At least two; the first is the one that will be published.
        calls: Generated over the patterns and tests of all of them.
        fixed: Scenarios that people wrote: a kind of difference that one of them shows is settled.
    """
    settled = {kind for kind, _ in _differences(policies, [scenario.call for scenario in fixed])}
    differences: dict[_Kind, list[ScenarioCall]] = {}
    for kind, call in _differences(policies, calls):
        differences.setdefault(kind, []).append(call)
    open_kinds = {kind: witnesses for kind, witnesses in differences.items() if kind not in settled}
    notes = [
        f"the runs differ about {kind.server}/{kind.tool} ({_said(kind)}); a scenario of yours settles it"
        for kind in differences
        if kind in settled
    ]
    if len(open_kinds) > MAX_QUESTIONS:
        notes.append(
            f"the runs differ in {counted(len(open_kinds), 'way')}; the first {MAX_QUESTIONS} are asked"
        )
    questions = [_question(kind, witnesses) for kind, witnesses in list(open_kinds.items())[:MAX_QUESTIONS]]
    return Compared(len(calls), tuple(questions), tuple(notes))


def _differences(
    policies: Sequence[DecideCalls], calls: Sequence[ScenarioCall]
) -> list[tuple[_Kind, ScenarioCall]]:
    """Return the calls that not all policies decide alike, each with the kind of its difference."""
    decided = [decide(calls) for decide in policies] if calls else []
    differences = []
    for call, *decisions in zip(calls, *decided, strict=True):
        verdicts = tuple(decision.verdict for decision in decisions)
        if len(set(verdicts)) > 1:
            clauses = tuple(decision.clause for decision in decisions)
            differences.append((_Kind(call.server, call.tool, verdicts, clauses), call))
    return differences


def _question(kind: _Kind, witnesses: Sequence[ScenarioCall]) -> OpenQuestion:
    more = f"; {len(witnesses)} calls differ like this" if len(witnesses) > 1 else ""
    clause = next((clause for clause in kind.clauses if clause), None)
    return ask_about(witnesses[0], kind.verdicts, clause=clause, why=f"{_said(kind)}{more}")


def _said(kind: _Kind) -> str:
    runs = zip(kind.verdicts, kind.clauses, strict=True)
    return ", ".join(
        f"run {number} says {verdict}" + (f" by {clause}" if clause else "")
        for number, (verdict, clause) in enumerate(runs, 1)
    )
