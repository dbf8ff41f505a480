"""Claims of answers that do not hold (`false-claim`), and clauses that nothing keeps (`unkept-clause`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ironcurtain.analysis.clauses.outcomes import is_kept
from ironcurtain.analysis.clauses.outcomes_text import outcome_words
from ironcurtain.analysis.clauses.report import AskedTool, ClauseOutcome
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft, WitnessQuery, answers_of
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import replace
from ironcurtain.system.text import visible


def clause_claims(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield claims that do not hold, and clauses that nothing keeps although an answer gives a reason."""
    context, outcomes = inputs.context, inputs.outcomes
    restricting = {
        rule.clause
        for _, rule in context.rules
        if rule.order in context.deciding and rule.then is not Verdict.ALLOW
    }
    restricting |= {account.clause.id for account in outcomes if account.outcome in ("structural", "asked")}
    for account in outcomes:
        false = [*_false_claims(account, outcomes), *_not_exempt(context, account)]
        yield from false
        # Rules that never decide are findings of their own.
        explained = any(claim.kind != "not-here" for claim in account.claims) or not account.idle
        if explained and not false and account.outcome in ("not-kept", "partly-asked"):
            yield _unkept(account)
        if account.outcome == "merged" and not account.scenarios and not set(account.into) & restricting:
            yield _unshown(account)


def _false_claims(account: ClauseOutcome, outcomes: Sequence[ClauseOutcome]) -> Iterator[FindingDraft]:
    for asked in account.asked:
        if asked.holds in ("never", "not examined"):
            yield _not_asked(account, asked)
    for other in account.into:
        if not account.rules and not is_kept(other, outcomes):
            yield _false_claim(
                account,
                f"the rules of {other} are said to keep the clause {account.clause.id}, and {other} has none "
                "that decides a call",
                other,
            )
    claimed = any(claim.kind == "structural" for claim in account.claims)
    if claimed and account.scenarios and not (account.structural or account.rules):
        yield _false_claim(
            account,
            f"the clause {account.clause.id} is said to hold by structure, and structural checks do not "
            "decide all its scenarios",
            "structural",
        )


_PERMITS = re.compile(r"\bagent may (?!not|never|only).*\b(?:sandbox|workspace)\b", re.IGNORECASE)


def _not_exempt(context: FindingContext, account: ClauseOutcome) -> Iterator[FindingDraft]:
    """Yield what is permitted in the workspace by structure, of tools of which nothing is exempt."""
    if account.rules or account.structural or not _PERMITS.search(account.clause.text):
        return
    for claim in account.claims:
        tools = [
            examined
            for (server, tool), examined in context.analysis.tools.items()
            if claim.kind == "structural" and server == claim.server and tool in (claim.tools or (tool,))
        ]
        places = [(examined, cell, key) for examined in tools for cell, key, _ in answers_of(examined)]
        if any(key.discharged for _, _, key in places) or any(examined.gaps for examined in tools):
            continue
        for examined, cell, _ in places:
            call = context.find_call(examined, cell, lambda _, call: call[0] == Verdict.DENY.severity)
            if call is not None:
                tool = f"{visible(call.server)}/{visible(call.tool)}"
                message = f"the clause {account.clause.id} is said to hold by structure, and no call of "
                draft = _false_claim(account, f"{message}{tool} is exempt in the workspace", tool)
                yield replace(draft, witness=call)
                break


_NO_RULE = "no rule does so, while calls are allowed"


def _not_asked(account: ClauseOutcome, asked: AskedTool) -> FindingDraft:
    tool = f"{visible(asked.server)}/{visible(asked.tool)}"
    draft = _false_claim(
        account,
        f"calls of {tool} are said to be asked about because of the clause {account.clause.id}, and "
        + ("no call of it could be made" if asked.holds == "not examined" else _NO_RULE),
        tool,
    )
    call = asked.witness
    if call is None:
        return replace(draft, unexamined=asked.proof is Proof.NOT_EXAMINED)
    role, _, value = call.subject.partition(" ")
    witness = WitnessQuery(call.server, call.tool, FoundCall(call.arguments, call.caller, role, value))
    return replace(draft, witness=witness, sampled=asked.proof is Proof.NOT_FOUND)


def _false_claim(account: ClauseOutcome, message: str, *about: str) -> FindingDraft:
    return FindingDraft(
        kind="false-claim",
        severity="error",
        about=[account.clause.text, *about],
        where=f"clause {account.clause.id}",
        message=message,
        suggestion="Correct the answer: give the clause a rule, or take back what is said of it.",
        clause=account.clause.id,
    )


def _unkept(account: ClauseOutcome) -> FindingDraft:
    partly = account.outcome == "partly-asked"
    return FindingDraft(
        kind="unkept-clause",
        severity="note" if partly else "warning",
        about=account.clause.text,
        where=f"clause {account.clause.id}",
        message=f"the clause {account.clause.id} {outcome_words(account)}",
        suggestion="Say in the clause what a rule can test, or accept that nothing keeps it.",
        clause=account.clause.id,
        sampled=any(asked.proof is Proof.NOT_FOUND for asked in account.asked),
    )


def _unshown(account: ClauseOutcome) -> FindingDraft:
    """A clause that restricts is not kept by rules that only allow; which clauses do no program can tell."""
    into = " and ".join(account.into)
    return FindingDraft(
        kind="unkept-clause",
        severity="note",
        about=[account.clause.text, *account.into],
        where=f"clause {account.clause.id}",
        message=f"the rules of {into} are said to keep the clause {account.clause.id}: they only allow, and "
        "no scenario shows what they deny because of it",
        suggestion=f"Write a scenario with `clause: {account.clause.id}` and the verdict that it demands.",
        clause=account.clause.id,
    )
