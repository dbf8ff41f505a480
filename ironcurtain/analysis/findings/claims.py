"""What is said of clauses and does not hold: claims of answers, and the clauses that scenarios name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ironcurtain.analysis.clauses.cited import deciding_clauses, demands_its_clause, wrong_clause
from ironcurtain.analysis.clauses.outcomes import is_kept
from ironcurtain.analysis.clauses.outcomes_text import outcome_words
from ironcurtain.analysis.clauses.report import AskedTool, ClauseOutcome
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.findings.draft import Decided, FindingContext, FindingDraft, WitnessQuery
from ironcurtain.model.scenarios import Scenario
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import quoted, visible


def claim_drafts(looked: FindingContext, outcomes: Sequence[ClauseOutcome]) -> Iterator[FindingDraft]:
    """Yield claims that do not hold, and clauses that nothing keeps although an answer gives a reason."""
    restricting = {
        rule.clause
        for _, rule in looked.rules
        if rule.order in looked.deciding and rule.then is not Verdict.ALLOW
    }
    restricting |= {each.clause.id for each in outcomes if each.outcome in ("structural", "asked")}
    for each in outcomes:
        false = list(_false(each, outcomes))
        yield from false
        # Rules that never decide are findings of their own.
        explained = any(claim.kind != "not-here" for claim in each.claims) or not each.idle
        if explained and not false and each.outcome in ("not-kept", "partly-asked"):
            yield _unkept(each)
        if each.outcome == "merged" and not each.scenarios and not set(each.into) & restricting:
            yield _unshown(each)


def _false(each: ClauseOutcome, outcomes: Sequence[ClauseOutcome]) -> Iterator[FindingDraft]:
    for asked in each.asked:
        if asked.holds == "never":
            yield _not_asked(each, asked)
    for other in each.into:
        if not each.rules and not is_kept(other, outcomes):
            yield _false_claim(
                each,
                f"the rules of {other} are said to keep the clause {each.clause.id}, and {other} has none "
                "that decides a call",
                other,
            )
    said = any(claim.kind == "structural" for claim in each.claims)
    if said and each.scenarios and not (each.structural or each.rules):
        yield _false_claim(
            each,
            f"the clause {each.clause.id} is said to hold by structure, and structural checks do not "
            "decide all its scenarios",
            "structural",
        )


def _not_asked(each: ClauseOutcome, asked: AskedTool) -> FindingDraft:
    tool = f"{visible(asked.server)}/{visible(asked.tool)}"
    draft = _false_claim(
        each,
        f"calls of {tool} are said to be asked about because of the clause {each.clause.id}, and no rule of "
        "it does so, while calls are allowed",
        tool,
    )
    call = asked.witness
    if call is None:
        return draft
    role, _, value = call.subject.partition(" ")
    sought = WitnessQuery(call.server, call.tool, FoundCall(call.arguments, call.caller, role, value))
    return FindingDraft(**{**vars(draft), "witness": sought, "sampled": asked.proof is Proof.NOT_FOUND})


def _false_claim(each: ClauseOutcome, message: str, *about: str) -> FindingDraft:
    return FindingDraft(
        kind="false-claim",
        severity="error",
        about=[each.clause.text, *about],
        where=f"clause {each.clause.id}",
        message=message,
        suggestion="Correct the answer: give the clause a rule, or take back what is said of it.",
        clause=each.clause.id,
    )


def _unkept(each: ClauseOutcome) -> FindingDraft:
    partly = each.outcome == "partly-asked"
    return FindingDraft(
        kind="unkept-clause",
        severity="note" if partly else "warning",
        about=each.clause.text,
        where=f"clause {each.clause.id}",
        message=f"the clause {each.clause.id} {outcome_words(each)}",
        suggestion="Say in the clause what a rule can test, or accept that nothing keeps it.",
        clause=each.clause.id,
        sampled=any(asked.proof is Proof.NOT_FOUND for asked in each.asked),
    )


def _unshown(each: ClauseOutcome) -> FindingDraft:
    """A clause that restricts is not kept by rules that only allow; which clauses do no program can tell."""
    into = " and ".join(each.into)
    return FindingDraft(
        kind="unkept-clause",
        severity="note",
        about=[each.clause.text, *each.into],
        where=f"clause {each.clause.id}",
        message=f"the rules of {into} are said to keep the clause {each.clause.id}: they only allow, and no "
        "scenario shows what they deny because of it",
        suggestion=f"Write a scenario with `clause: {each.clause.id}` and the verdict that it demands.",
        clause=each.clause.id,
    )


# -- the clauses that scenarios name --------------------------------------------------------------


def cited_drafts(looked: FindingContext, decided: Decided) -> Iterator[FindingDraft]:
    """Yield scenarios of clauses that do not exist, and those that other clauses decide."""
    content = looked.examined.content
    for scenario in decided.scenarios:
        decision = decided.decisions[scenario.id]
        wrong = wrong_clause(scenario, decision, content)
        if wrong == "unknown":
            yield _cited(
                scenario,
                f"the scenario {scenario.id} is of {quoted(scenario.clause or '')}, which is no clause",
                "Name the clause that demands what it expects.",
            )
        elif wrong == "other":
            yield _other(scenario, deciding_clauses(content, decision))


def _other(scenario: Scenario, deciding: Mapping[str, str]) -> FindingDraft:
    shown = ", ".join(f"{clause} (by {visible(rule)})" for clause, rule in sorted(deciding.items()))
    draft = _cited(
        scenario,
        f"the scenario {scenario.id} is of the clause {scenario.clause}, and what decides it is {shown}",
        f"Name {min(deciding)} in the scenario; or, if {scenario.clause} has to decide, correct the rules.",
    )
    severity = "error" if demands_its_clause(scenario, "other") else "note"
    return FindingDraft(**{**vars(draft), "kind": "other-clause", "severity": severity})


def _cited(scenario: Scenario, message: str, suggestion: str) -> FindingDraft:
    call = scenario.call
    return FindingDraft(
        kind="unknown-clause",
        severity="error",
        about=[scenario.id, scenario.clause],
        where=f"scenario {scenario.id}",
        message=message,
        suggestion=suggestion,
        clause=scenario.clause,
        witness=WitnessQuery(
            call.server, call.tool, FoundCall(dict(call.arguments), dict(call.caller or {}), "", "call")
        ),
    )
