"""What becomes of each clause: what an answer claims of it, compared with the policy over all calls.

    report = clause_report(bundle, scenarios, opa)

A claim counts only as far as the examined policy or a decided scenario supports it; but that a clause without
scenarios holds by structure is taken from the answer. A clause has one outcome, the first that holds in the
table of `_kind`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ironcurtain.analysis.clauses.report import (
    AskedTool,
    ClauseCell,
    ClauseOutcome,
    ClauseReport,
    OutcomeKind,
)
from ironcurtain.analysis.coverage.coverage import numbered
from ironcurtain.analysis.engine.guarantee_scope import read_guarantees
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis, analyse_policy
from ironcurtain.analysis.engine.proof import Proof, exactness_of
from ironcurtain.analysis.explain.report import QuotedClause, clauses_of
from ironcurtain.analysis.findings.context import FindingContext, answers_of
from ironcurtain.analysis.findings.decided_scenarios import DecidedScenarios, demanded
from ironcurtain.analysis.guarantees.guarantees import decide_guarantees
from ironcurtain.analysis.matrix.matrix import tool_table
from ironcurtain.analysis.matrix.report import RowOutcome
from ironcurtain.analysis.sequences.steps import single_calls
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.escalation import checks_of
from ironcurtain.engine.command import OpaCommand
from ironcurtain.model.guarantees import Guarantee, GuaranteeResult, Guarantees, GuaranteeScope
from ironcurtain.model.policy import UNENFORCEABLE, Claim
from ironcurtain.model.reserved_rules import RuleKind, kind_of
from ironcurtain.model.scenarios import Scenario, Scenarios
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct

KEPT: frozenset[OutcomeKind] = frozenset({"enforced", "structural", "asked"})
"""The outcomes of a clause that another one can be merged into."""
_Tool = tuple[str, str]


def clause_outcomes(
    context: FindingContext, decided: DecidedScenarios | None, opa: OpaCommand
) -> tuple[ClauseOutcome, ...]:
    """Return every clause of an examined bundle with its outcome, in the order of their numbers.

    Args:
        context: The policy.
        decided: The scenarios that demand something, decided; None where there are none to be known.
        opa: The engine.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    analysis = context.analysis
    reader = _Reader(context, decided, _never_allowed(analysis, opa))
    quoted = clauses_of(analysis.content)
    outcomes = {id_: reader.outcome(quoted[id_]) for id_ in sorted(quoted, key=numbered)}
    return tuple(_merged(outcome, outcomes) for outcome in outcomes.values())


def clause_report(
    bundle: Bundle, scenarios: Scenarios, opa: OpaCommand, analysis: PolicyAnalysis | None = None
) -> ClauseReport:
    """Return every clause of a bundle with its outcome.

    Args:
        bundle: The policy.
        scenarios: The scenarios, and the world to assume.
        opa: The engine.
        analysis: The policy's analysis, where there is one.

    Raises:
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    analysis = analysis or analyse_policy(bundle, scenarios.world, opa)
    decided = demanded(analysis, single_calls(scenarios, bundle).scenarios, opa)
    return ClauseReport(
        revision=bundle.revision, clauses=clause_outcomes(FindingContext(analysis), decided, opa)
    )


def _never_allowed(analysis: PolicyAnalysis, opa: OpaCommand) -> dict[_Tool, GuaranteeResult]:
    """Decide, for each tool that a claim names, whether no call of it is allowed."""
    tools = sorted({tool for claim in analysis.content.claims for tool in _claimed(claim, analysis)})
    if not tools:
        return {}
    demanded = Guarantees(
        format="ironcurtain/guarantees/v1",
        guarantees=tuple(
            Guarantee(
                id=f"claim-{number}",
                never=Verdict.ALLOW,
                when=GuaranteeScope(server=(server,), tool=(tool,)),
            )
            for number, (server, tool) in enumerate(tools)
        ),
    )
    policies = analysis.policies
    read = read_guarantees(demanded, analysis.content, policies.registry, policies.world)
    report = decide_guarantees(PolicyAnalysis(policies, analysis.tools, tuple(read)), opa)
    return dict(zip(tools, report.results, strict=True))


def _claimed(claim: Claim, analysis: PolicyAnalysis) -> Iterator[_Tool]:
    """Yield the tools that are said to be asked about; if none is named, those whose calls are escalated."""
    if claim.server is None:
        return
    if claim.kind in UNENFORCEABLE and not claim.tools:
        yield from (
            place
            for place, examined in analysis.tools.items()
            if place[0] == claim.server and escalated_cells(examined)
        )
    for tool in claim.asked:
        if (claim.server, tool) in analysis.tools:
            yield claim.server, tool


class _Reader(Struct):
    """Works out the outcome of a clause.

    Attributes:
        never_allowed: By tool, whether no call of it is allowed.
    """

    context: FindingContext
    decided: DecidedScenarios | None
    never_allowed: Mapping[_Tool, GuaranteeResult]

    def outcome(self, clause: QuotedClause) -> ClauseOutcome:
        content = self.context.analysis.content
        of_clause = [name for name, rule in self.context.rules if rule.clause == clause.id]
        idle = {name: gaps for name in of_clause if (gaps := self._idle(name)) is not None}
        rules = tuple(name for name in of_clause if name not in idle)
        claims = tuple(claim for claim in content.claims if claim.clause == clause.id)
        scenarios = [s for s in self._scenarios() if s.clause == clause.id]
        asked = tuple(
            self._asked(clause.id, tool)
            for claim in claims
            for tool in _claimed(claim, self.context.analysis)
        )
        outcome = ClauseOutcome(
            clause=clause,
            outcome="unaccounted",
            rules=rules,
            idle=tuple(idle),
            unproved={name: exactness_of(gaps) for name, gaps in idle.items() if gaps},
            structural=self._structural(claims, scenarios),
            into=tuple(dict.fromkeys(id_ for claim in claims for id_ in claim.into)),
            asked=asked,
            claims=claims,
            scenarios=len(scenarios),
        )
        return outcome.model_copy(
            update={
                "outcome": _kind(
                    outcome,
                    principle=clause.id in content.principles,
                    only_asks=all(self._only_asks(rule, asked) for rule in rules),
                )
            }
        )

    def _idle(self, rule: str) -> frozenset[str] | None:
        """Return why a rule may yet give a verdict of which no call was found; None where one was."""
        if self.decided is not None and any(d.rule == rule for d in self.decided.decisions.values()):
            return None
        searched = self.context.rule_verdict(rule)
        return searched.gaps if searched.call is None else None

    def _only_asks(self, name: str, asked: Collection[AskedTool]) -> bool:
        """Tell whether a rule only asks about tools of which it is said that no rule can test the clause."""
        rule = self.context.analysis.content.rules[name]
        claimed = {(each.server, each.tool) for each in asked}
        decides = {
            (examined.space.server, examined.space.tool)
            for examined, _ in self.context.concerned(rule.order)
            if any(answered.path.outcome[0] == rule.order for _, _, answered in answers_of(examined))
        }
        return rule.then is Verdict.ESCALATE and decides <= claimed

    def _scenarios(self) -> Sequence[Scenario]:
        return self.decided.scenarios if self.decided is not None else ()

    def _structural(self, claims: Collection[Claim], scenarios: Sequence[Scenario]) -> tuple[str, ...]:
        """Return the structural rules that decide all scenarios of a clause which is said to hold by them."""
        if self.decided is None or not any(claim.kind == "structural" for claim in claims):
            return ()
        rules = {self.decided.decisions[scenario.id].rule for scenario in scenarios}
        return tuple(sorted(rules)) if all(kind_of(rule) is RuleKind.STRUCTURAL for rule in rules) else ()

    def _asked(self, clause: str, tool: _Tool) -> AskedTool:
        examined, result = self.context.analysis.tools[tool], self.never_allowed[tool]
        # Whoever is asked, because of whatever clause, is told to check this one.
        denied = (cell for cell in cells_of(examined, clause) if cell.verdict is Verdict.DENY)
        checked = clause in {each.clause for each in checks_of(self.context.analysis.content, *tool)}
        asking = escalated_cells(examined) if checked else _own_escalated(examined, clause)
        cells = (*asking, *denied)
        verdicts = {
            answered.outcomes[0].verdict for _, _, answered in answers_of(examined) if answered.outcomes[0]
        }
        if result.status == "not examined":
            return AskedTool(server=tool[0], tool=tool[1], holds="not examined", proof=Proof.NOT_EXAMINED)
        # A tool of which it is proved that it has no call is asked about as far as that goes.
        always = result.status != "broken"
        return AskedTool(
            server=tool[0],
            tool=tool[1],
            holds="always" if always else "partly" if cells else "never",
            proof=_proof(result, examined, always=always),
            verdicts=tuple(v for v in (Verdict.ESCALATE, Verdict.DENY) if v in verdicts) if always else (),
            cells=cells,
            witness=result.witness,
        )


def _proof(result: GuaranteeResult, examined: Examined, *, always: bool) -> Proof:
    if always:
        return Proof.PROVED if result.status == "proved" else Proof.NOT_FOUND
    # A call shows that not every one is asked about; that the cells are all there are is proved, or is not.
    return Proof.FOUND if examined.exactness == "exact" else Proof.NOT_FOUND


def _kind(account: ClauseOutcome, *, principle: bool, only_asks: bool) -> OutcomeKind:
    """Return a clause's outcome.

    Args:
        account: What is known of the clause.
        principle: Whether it is a principle.
        only_asks: Whether its rules do no more than ask a person.
    """
    claimed_structural = any(claim.kind == "structural" for claim in account.claims)
    untestable = any(claim.kind in UNENFORCEABLE for claim in account.claims)
    by_rank: tuple[tuple[bool, OutcomeKind], ...] = (
        # A rule that asks a person about what no rule can test implements the asking, not the clause.
        (bool(account.rules) and not (untestable and only_asks and account.asked), "enforced"),
        # Without a scenario the answer is believed; a scenario that something else decides refutes it.
        (bool(account.structural) or (claimed_structural and not account.scenarios), "structural"),
        (bool(account.into), "merged"),
        (bool(account.asked) and all(asked.holds == "always" for asked in account.asked), "asked"),
        (any(asked.holds in ("always", "partly") for asked in account.asked), "partly-asked"),
        (bool(account.claims or account.idle), "not-kept"),
        (principle, "principle"),
    )
    return next((kind for holds, kind in by_rank if holds), "unaccounted")


def _merged(account: ClauseOutcome, outcomes: Mapping[str, ClauseOutcome]) -> ClauseOutcome:
    """Return an outcome, where it is `merged` only if something keeps each of the other clauses."""
    if account.outcome != "merged" or all(is_kept(id_, outcomes) for id_ in account.into):
        return account
    return account.model_copy(update={"outcome": "not-kept"})


def is_kept(clause: str, outcomes: Mapping[str, ClauseOutcome] | Collection[ClauseOutcome]) -> bool:
    """Tell whether rules, structural checks or approvals keep a clause by itself."""
    known = (
        outcomes if isinstance(outcomes, Mapping) else {outcome.clause.id: outcome for outcome in outcomes}
    )
    return clause in known and known[clause].outcome in KEPT


def cells_of(examined: Examined, clause: str) -> Iterator[ClauseCell]:
    """Yield the places where a clause decides, tool by tool as the matrix has them."""
    return _cells(examined, lambda outcome: outcome.clause == clause)


def escalated_cells(examined: Examined) -> tuple[ClauseCell, ...]:
    """Return the places where a person is asked, because of whatever clause."""
    return tuple(_cells(examined, lambda outcome: outcome.verdict is Verdict.ESCALATE))


def _own_escalated(examined: Examined, clause: str) -> tuple[ClauseCell, ...]:
    return tuple(cell for cell in cells_of(examined, clause) if cell.verdict is Verdict.ESCALATE)


def _cells(examined: Examined, wanted: Callable[[RowOutcome], bool]) -> Iterator[ClauseCell]:
    for row in tool_table(examined).rows:
        for outcome in row.outcomes:
            if wanted(outcome):
                yield ClauseCell(
                    server=examined.space.server,
                    tool=examined.space.tool,
                    roles=row.roles,
                    where=row.where,
                    when=outcome.when,
                    verdict=outcome.verdict,
                    exactness=row.exactness,
                )
