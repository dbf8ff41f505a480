"""The checks of policy and evidence together: what stands out, what is reached, what would be noticed.

The check of other spellings: whether a call gets further in one of them, where somebody asks for that.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from ironcurtain.analysis.clauses.outcomes_text import outcome_words
from ironcurtain.analysis.findings.findings import waived
from ironcurtain.analysis.findings.report import Finding, StaleWaiver
from ironcurtain.analysis.sequences.steps import single_calls
from ironcurtain.compiler.verify.gate_report import Check, Problem
from ironcurtain.integrations.gate.checks.behaviour import witness_words
from ironcurtain.integrations.gate.policy_under_review import PolicyUnderReview
from ironcurtain.model.severity import SEVERITIES, Severity
from ironcurtain.system.text import counted

if TYPE_CHECKING:
    from ironcurtain.analysis.attack.report import Break
    from ironcurtain.analysis.mutation.report import MutantResult

_OF_SCENARIOS = ("unknown-clause", "other-clause")
_SHOWN = 10


def findings(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Judge what stands out in the policy and was not accepted."""
    found = reviewed.evidence.findings
    # The check of scenarios has told of the clauses that they name wrongly.
    told = [each for each in found.findings if each.kind in _OF_SCENARIOS and each.severity == "error"]
    others = tuple(each for each in found.findings if each not in told)
    report = waived(found.model_copy(update={"findings": others}), reviewed.waivers, reviewed.today)
    failing = report.unwaived(reviewed.demands.findings)
    grave = SEVERITIES[: SEVERITIES.index(reviewed.demands.findings) + 1]
    open_ = [each for each in report.findings if each.waiver is None]
    problems = [_finding(reviewed, each, fails=each.severity in grave) for each in open_]
    accepted = len(report.findings) - len(open_)
    summary = f"{len(failing)} that fail, {len(problems) - len(failing)} others, {accepted} accepted"
    return (
        Check(
            name="findings",
            status="failed" if failing else "passed",
            summary=summary,
            cases=tuple(each.id for each in report.findings),
            count=len(report.findings),
            problems=(*problems, *(_stale(reviewed, each) for each in report.stale)),
        ),
    )


def _finding(reviewed: PolicyUnderReview, finding: Finding, *, fails: bool) -> Problem:
    file, line = reviewed.clause_place(finding.clause)
    severity: Severity = "error" if fails else ("note" if finding.severity == "note" else "warning")
    witness = finding.witness
    shown = witness_words(witness) if witness else ()
    return Problem(
        id=finding.id,
        severity=severity,
        message=f"{finding.where}: {finding.message}",
        clause=finding.clause,
        file=file,
        line=line,
        details=shown,
        suggestion=finding.suggestion,
        docs=finding.docs,
    )


def _stale(reviewed: PolicyUnderReview, stale: StaleWaiver) -> Problem:
    why = {"expired": f"expired on {stale.waiver.expires}", "gone": "is for a finding that is gone"}
    number = reviewed.waivers.waivers.index(stale.waiver)
    return Problem(
        id=stale.waiver.id,
        severity="warning",
        message=f"the waiver {stale.waiver.id} {why[stale.problem]}",
        file=reviewed.waivers_file.shown,
        line=reviewed.waivers_file.line_of("waivers", number),
        suggestion="Remove it.",
        docs="docs/findings/README.md",
    )


def clauses(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Tell what becomes of each clause; what is wrong with one is a finding."""
    outcomes = reviewed.evidence.clauses.clauses
    counts = Counter(each.outcome for each in outcomes)
    told = ", ".join(f"{count} {outcome}" for outcome, count in counts.items()) or "none"
    problems = []
    for each in outcomes:
        if each.claims and each.outcome != "enforced":
            file, line = reviewed.clause_place(each.clause.id)
            problems.append(
                Problem(
                    id=f"clause-{each.clause.id}",
                    severity="note",
                    message=f"the clause {outcome_words(each)}",
                    clause=each.clause.id,
                    file=file,
                    line=line,
                    docs="docs/compile.md",
                )
            )
    return (
        Check(
            name="clauses",
            status="passed",
            summary=f"{len(outcomes)}: {told}",
            count=len(outcomes),
            problems=tuple(problems),
        ),
    )


def coverage(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Hold what scenarios and guarantees reach against the threshold."""
    report = reviewed.evidence.coverage
    least = reviewed.demands.coverage
    cells, rules = report.cells, report.rules
    all_cells, all_rules = counted(cells.total, "cell"), counted(rules.total, "rule")
    shares = f"{cells.reached} of {all_cells}, {rules.reached} of {all_rules}"
    summary = f"{report.percent:g} %: {shares}"
    if report.percent >= least:
        return (Check(name="coverage", status="passed", summary=summary, count=cells.total),)
    missed = [f"{each.server}/{each.tool} {each.role}: {', '.join(each.where)}" for each in report.missed]
    problem = Problem(
        id="coverage",
        message=f"{report.percent:g} % of the policy is reached, and at least {least:g} % is demanded",
        details=_first([f"not reached: {each}" for each in missed]),
        suggestion="Write scenarios about what is not reached.",
        docs="docs/coverage.md",
    )
    failed = Check(name="coverage", status="failed", summary=summary, count=cells.total, problems=(problem,))
    return (failed,)


def mutation(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Measure the mutation score where a threshold asks for it."""
    name, least = "mutation", reviewed.demands.mutation
    if least is None:
        return (Check(name=name, status="skipped", summary="no score is demanded"),)
    # Loading what nobody asks for would take longer than some checks do.
    from ironcurtain.analysis.mutation.score import mutation_score  # noqa: PLC0415

    report = mutation_score(reviewed.bundle, reviewed.scenarios, reviewed.guarantees, reviewed.engine)
    score = "nothing to notice" if report.score is None else f"{report.score:g} %"
    counts = f"{report.killed} noticed, {report.survived} survived, {report.equivalent} equivalent"
    unproved = f", {report.unproved} not found to differ" if report.unproved else ""
    summary = f"{score}: {counts}{unproved}"
    if report.score is not None and report.score >= least:
        return (Check(name=name, status="passed", summary=summary, count=len(report.mutants)),)
    survived = [_survivor(each) for each in report.mutants if each.outcome == "survived"]
    problem = Problem(
        id=name,
        message=f"the mutation score is {score}, and at least {least:g} % is demanded",
        details=_first(survived),
        suggestion="`ironcurtain mutation` prints the missing scenarios, ready to paste.",
        docs="docs/mutation.md",
    )
    return (Check(name=name, status="failed", summary=summary, problems=(problem,)),)


def _survivor(result: MutantResult) -> str:
    return f"unnoticed: {result.kind} in {result.rule} ({result.clause}): {result.change}"


def _first(lines: list[str]) -> tuple[str, ...]:
    more = [f"and {len(lines) - _SHOWN} more"] if len(lines) > _SHOWN else []
    return (*lines[:_SHOWN], *more)


def attacked(reviewed: PolicyUnderReview) -> tuple[Check, ...]:
    """Respell the calls of scenarios and witnesses, and fail where one gets further."""
    name = "attack"
    if not reviewed.demands.attack:
        return (Check(name=name, status="skipped", summary="none is demanded"),)
    from ironcurtain.analysis.attack.report import break_lines, summary  # noqa: PLC0415 - as above
    from ironcurtain.analysis.attack.run import attack  # noqa: PLC0415 - as above

    evidence = reviewed.evidence.guaranteed
    scenarios = single_calls(reviewed.scenarios, reviewed.bundle).scenarios
    report = attack(evidence, scenarios, reviewed.engine)
    problems = tuple(
        _problem(reviewed, number, each, break_lines(each)) for number, each in enumerate(report.breaks, 1)
    )
    return (
        Check(
            name=name,
            status="failed" if problems else "passed",
            summary=f"{counted(sum(report.tried.values()), 'respelled call')}, {summary(report)}",
            problems=problems,
        ),
    )


def _problem(reviewed: PolicyUnderReview, number: int, found: Break, lines: Iterable[str]) -> Problem:
    clause = found.base.clause
    file, line = reviewed.clause_place(clause)
    _, *calls = lines
    kind = "reaches what is denied" if found.kind == "reached" else "gets further than what it stands for"
    return Problem(
        id=f"attack-{number}",
        message=f"a respelled call ({found.respelling}) {kind}",
        clause=clause,
        file=file,
        line=line,
        details=tuple(line.strip() for line in calls),
        suggestion="Give the argument its role, or write the rule so that it names what is allowed.",
        docs="docs/attack.md",
    )
