"""What goes with a decision that a person is asked about: what they must check, and who they must be."""

from __future__ import annotations

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.model.decision import ClauseCheck, Decision
from ironcurtain.model.policy import UNENFORCEABLE
from ironcurtain.model.verdict import Verdict


def checks_of(content: PolicyContent, server: str, tool: str) -> tuple[ClauseCheck, ...]:
    """Return the clauses that concern calls of a tool and that no rule can test, in the order of the claims.

    A claim that names no tools concerns every call of its server.
    """
    concerned = dict.fromkeys(
        claim.clause
        for claim in content.claims
        if claim.kind in UNENFORCEABLE
        and claim.server == server
        and (not claim.tools or tool in claim.tools)
        and claim.clause in content.clauses
    )
    return tuple(ClauseCheck(clause=id_, text=content.clauses[id_]) for id_ in concerned)


def with_checklist(decision: Decision, content: PolicyContent) -> Decision:
    """Return a decision with what the person who is asked must check, and who they must be.

    Where rules of one call name several approvers, all of them are asked: each rule is kept. A rule that
    names none is content with any of them.
    """
    if decision.verdict is not Verdict.ESCALATE:
        return decision
    asking = [decision.rule, *(each.rule for each in decision.subjects if each.verdict is Verdict.ESCALATE)]
    named = {content.rules[name].approver for name in asking if name in content.rules}
    approvers = tuple(sorted(name for name in named if name is not None))
    return decision.model_copy(
        update={
            "checks": checks_of(content, decision.server, decision.tool),
            "approvers": approvers,
            "once_only": any(content.approvers[name].once for name in approvers if name in content.approvers),
        }
    )
