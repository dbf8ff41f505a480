"""Claims of answers that do not hold (`false-claim`), and clauses that nothing keeps (`unkept-clause`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ironcurtain.analysis.clauses.outcomes import is_kept
from ironcurtain.analysis.clauses.outcomes_text import outcome_words
from ironcurtain.analysis.clauses.report import AskedTool, ClauseOutcome
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.proof import Proof
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft, WitnessQuery, answers_of
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.model.reserved_rules import ReservedRule
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


def _not_exempt(context: FindingContext, account: ClauseOutcome) -> Iterator[FindingDraft]:
    """Yield what is said to hold by structure of tools of which nothing is exempt in the workspace.

    Scenarios that a structural check refuses show that the clause speaks of refusals; without one nobody can
    tell, and what structure would permit is denied.
    """
    shown = set(account.structural)
    if account.rules or (shown and ReservedRule.SANDBOX_ALLOW not in shown):
        return
    for claim in account.claims:
        if claim.kind == "structural":
            tools = {n: t for (server, n), t in context.analysis.tools.items() if server == claim.server}
            named = [[tools[name]] for name in claim.tools if name in tools]
            for group in named or [list(tools.values())]:
                yield from _without_exemption(context, account, group)


def _without_exemption(
    context: FindingContext, account: ClauseOutcome, tools: Sequence[Examined]
) -> Iterator[FindingDraft]:
    places = [(examined, cell, key) for examined in tools for cell, key, _ in answers_of(examined)]
    if any(key.discharged for _, _, key in places):
        return
    calls = (context.find_call(examined, cell, _is_denied) for examined, cell, _ in places)
    call = next((call for call in calls if call is not None), None)
    unexamined = any(examined.exactness == "not examined" for examined in tools)
    if call is None and not unexamined:
        return
    server, names = tools[0].space.server, sorted(examined.space.tool for examined in tools)
    of = visible(server if len(names) > 1 else f"{server}/{names[0]}")
    message = f"the clause {account.clause.id} is said to hold by structure, and no call of {of} "
    draft = _false_claim(account, f"{message}is exempt in the workspace", server, *names)
    yield replace(
        draft,
        witness=call,
        universal=True,
        sampled=any(examined.gaps for examined in tools),
        unexamined=unexamined,
        suggestion=f"{draft.suggestion} If it says what is refused, a scenario of the clause has to show it.",
    )


def _is_denied(_: object, call: Sequence[int]) -> bool:
    return call[0] == Verdict.DENY.severity


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
