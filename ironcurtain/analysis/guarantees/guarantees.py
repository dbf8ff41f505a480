"""Deciding guarantees: each is proved over all calls, or broken by one whole call that OPA confirms.

    check_guarantees(bundle, guarantees, world, opa).results

Where neither succeeds, the result is `not found`, with the reasons why a call may have been missed. A
guarantee that speaks of no call at all `says nothing`, which fails, too.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from ironcurtain.analysis.engine.cell_verdicts import Severities
from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.engine.guarantee_scope import ReadGuarantee
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.policies_under_test import PoliciesUnderTest
from ironcurtain.analysis.engine.policy_analysis import PolicyAnalysis, analyse_with_guarantees
from ironcurtain.analysis.engine.proof import NOT_EXAMINED, exactness_of, reason_line
from ironcurtain.analysis.engine.search import REFUSED, CallSearch, FoundCall, Goal
from ironcurtain.analysis.engine.space.call_space import CUSTOM_MODULES
from ironcurtain.analysis.engine.space.elements import Element
from ironcurtain.analysis.guarantees.spoken_of import overlaps, speaks_of, wanted_classes
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.decision.roles import Registry
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import VerificationError
from ironcurtain.model.decision import Decision
from ironcurtain.model.guarantees import (
    Guarantee,
    GuaranteeReport,
    GuaranteeResult,
    Guarantees,
    GuaranteeStatus,
    WitnessCall,
)
from ironcurtain.model.reserved_rules import RuleKind, kind_of
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import marked, visible


def check_guarantees(
    bundle: Bundle, guarantees: Guarantees, world: DescribedWorld, opa: OpaCommand
) -> GuaranteeReport:
    """Decide every guarantee about a bundle in an assumed world.

    Raises:
        GuaranteeError: For each guarantee that names what does not exist or contradicts itself.
        EvidenceError: If the policy cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    return decide_guarantees(
        analyse_with_guarantees(bundle, world, opa, guarantees, only_guaranteed=True), opa
    )


def decide_guarantees(examined: PolicyAnalysis, opa: OpaCommand) -> GuaranteeReport:
    """Decide the guarantees that an examination was made with.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    prepared, tools = examined.guarantees, examined.tools
    broken = {read.guarantee.id: _smallest(read, tools) for read in prepared}
    decisions = _confirmed(broken, examined.policies, opa)
    callers = {name for name, each in examined.content.approvers.items() if each.is_caller}
    found = [_result(read, broken[read.guarantee.id], decisions, callers) for read in prepared]
    if examined.sequences:
        # What follows a session loads much, and few guarantees speak of one.
        from ironcurtain.analysis.guarantees.sequences import decide_sequences  # noqa: PLC0415

        found += decide_sequences(examined, opa)
    order = {id_: number for number, id_ in enumerate(examined.order)}
    results = tuple(sorted(found, key=lambda result: order.get(result.id, 0)))
    ok = all(result.holds for result in results)
    return GuaranteeReport(ok=ok, revision=examined.bundle.revision, results=results)


# -- deciding ------------------------------------------------------------------------------------


class _Broken(Struct):
    """What was found about one guarantee.

    Attributes:
        tool: The tool of the smallest call that breaks it, and
        call: that call; None where none was found.
        cells: How many kinds of resources it speaks of.
        gaps: Why there may be a call that breaks it although none was found.
        unsure: Why the call may be decided otherwise than was expected.
        approvers: The approvers that rules ask for in what it speaks of.
    """

    tool: tuple[str, str] | None
    call: FoundCall | None
    cells: int
    gaps: frozenset[str]
    unsure: frozenset[str] = frozenset()
    approvers: frozenset[str] = frozenset()


def _smallest(read: ReadGuarantee, tools: Mapping[tuple[str, str], Examined]) -> _Broken:
    found: list[tuple[tuple[int, int, str], tuple[str, str], FoundCall]] = []
    cells = 0
    gaps: set[str] = set()
    approvers: set[str] = set()
    for tool in read.tools:
        examined = tools[tool]
        gaps |= examined.gaps
        search = CallSearch(examined, _allowed(read, examined.space.policies.registry))
        wanted = wanted_classes(read, examined.space)
        registry, is_refused = examined.space.policies.registry, False
        cells_of_scope = [c for c in examined.space.cells.values() if speaks_of(read, c, registry)]
        for cell in cells_of_scope:
            answers = examined.answers.get(cell.keys, ())
            spoken_of = [answered for answered in answers if overlaps(answered, wanted)]
            cells += bool(spoken_of)
            approvers |= examined.approvers(spoken_of)
            if not search.could(cell, _suspicious(read.guarantee)):
                continue
            searched = search.find(cell, _goal(read.guarantee), wanted=wanted)
            gaps |= searched.gaps
            if searched.call is not None:
                call = searched.call
                found.append(((len(call.arguments), len(str(call.arguments)), str(call)), tool, call))
            is_refused = is_refused or REFUSED in searched.gaps
        made = (search.find(cell, lambda *_: True, wanted=wanted).call for cell in cells_of_scope)
        if is_refused and examined.exactness != "not examined" and not any(made):
            place = "/".join(map(visible, tool))
            gaps.add(f"{NOT_EXAMINED}no call of {place} could be made that it speaks of")
    if read.guarantee.never is not None:
        gaps -= {CUSTOM_MODULES}  # they only ever tighten
    if not found:
        return _Broken(None, None, cells, frozenset(gaps), approvers=frozenset(approvers))
    _, tool, call = min(found, key=lambda item: (item[0], item[1]))
    return _Broken(tool, call, cells, frozenset(gaps), tools[tool].gaps, frozenset(approvers))


def _allowed(read: ReadGuarantee, registry: Registry) -> Callable[[Element], bool]:
    """Return which elements a call may hold: `always` without roles speaks of calls inside its patterns."""
    scope = read.guarantee.when
    if (
        scope.roles is not None
        or read.guarantee.always is None
        or (read.within is None and read.outside is None)
    ):
        return lambda _: True

    def allowed(element: Element) -> bool:
        keys = [seen.key for seen in element.seen[0]]
        return all(
            read.matches(key, registry) for key in keys if registry[key.role].pattern_kind == read.kind
        )

    return allowed


def _goal(guarantee: Guarantee) -> Goal:
    if guarantee.never is not None:
        limit = guarantee.never.severity
        return lambda _, call: call[0] <= limit
    demanded = guarantee.always.severity if guarantee.always is not None else 0
    if guarantee.when.roles is not None:
        return lambda resource, _: resource[0] != demanded
    return lambda _, call: call[0] != demanded


def _suspicious(guarantee: Guarantee) -> Callable[[Severities], bool]:
    """Return a cheap test that every resource of a breaking call passes."""
    if guarantee.never is not None:
        limit = guarantee.never.severity
        return lambda resource: resource[0] <= limit
    if guarantee.when.roles is None:
        return lambda _: True
    demanded = guarantee.always.severity if guarantee.always is not None else 0
    return lambda resource: resource[0] != demanded


# -- confirming ----------------------------------------------------------------------------------


def _confirmed(
    broken: Mapping[str, _Broken], policies: PoliciesUnderTest, opa: OpaCommand
) -> dict[str, Decision]:
    """Let the real steps and OPA decide the calls that break guarantees."""
    side = policies[0]
    prepared = {
        id_: prepare(
            Call(
                counterexample.tool[0],
                counterexample.tool[1],
                counterexample.call.arguments,
                counterexample.call.caller,
                id=id_,
                facts=counterexample.call.facts,
            ),
            side.policy,
        )
        for id_, counterexample in broken.items()
        if counterexample.tool is not None and counterexample.call is not None
    }
    return decide_prepared(prepared, side.bundle, side.policy, opa) if prepared else {}


def _result(
    read: ReadGuarantee, broken: _Broken, decisions: Mapping[str, Decision], callers: Collection[str]
) -> GuaranteeResult:
    guarantee = read.guarantee
    witness, reasons = None, broken.gaps
    if broken.call is not None and broken.tool is not None:
        decision = decisions[guarantee.id]
        if _breaks(guarantee, broken.call, decision):
            witness, reasons = witness_call(broken.tool, broken.call, decision), frozenset()
        elif broken.unsure:
            # What could not be followed decides the call otherwise, and another one perhaps not.
            reasons = broken.gaps | broken.unsure
        else:
            raise VerificationError(
                f"guarantee {guarantee.id}: the call {visible(str(broken.call.arguments))} was expected to "
                f"break it, but is decided {decision.verdict} by {visible(decision.rule)}"
            )
    cells = broken.cells + len(read.unopened)
    denied = [f"no rule opens {tool}, so every such request is denied" for tool in read.unopened]
    return GuaranteeResult(
        id=guarantee.id,
        clause=guarantee.clause,
        demand=guarantee.words,
        status=status_of(witness is not None, reasons, cells),
        reasons=(*sorted(reasons), *denied),
        cells=cells,
        witness=witness,
        asked_of_caller=tuple(sorted(broken.approvers & set(callers))),
    )


def status_of(is_broken: bool, gaps: Collection[str], cells: int) -> GuaranteeStatus:  # noqa: FBT001 - its first fact
    """Return what is known of a guarantee.

    Args:
        is_broken: Whether calls break it.
        gaps: Why some may although none was found.
        cells: How many kinds of resources it speaks of.
    """
    if is_broken:
        return "broken"
    exactness = exactness_of(gaps)
    if exactness != "exact":
        return "not examined" if exactness == "not examined" else "not found"
    return "proved" if cells else "says nothing"


def _breaks(guarantee: Guarantee, call: FoundCall, decision: Decision) -> bool:
    """Tell whether a call, as it is decided, breaks a guarantee."""
    resources = [s.verdict for s in decision.subjects if (s.role, s.value) == (call.role, call.value)]
    resource: Severities = (resources[0].severity if resources else -1,)
    if kind_of(decision.rule) is RuleKind.STRUCTURAL and decision.verdict is Verdict.DENY:
        return False
    return _goal(guarantee)(resource, (decision.verdict.severity,))


def witness_call(tool: tuple[str, str], call: FoundCall, decision: Decision) -> WitnessCall:
    """Return a found call with its decision."""
    return WitnessCall(
        server=tool[0],
        tool=tool[1],
        arguments=call.arguments,
        caller=call.caller,
        facts=call.facts,
        subject=f"{call.role} {call.value}",
        verdict=decision.verdict,
        rule=decision.rule,
        clause=decision.clause,
    )


_MARKS: Mapping[GuaranteeStatus, str] = {
    "proved": "ok",
    "not found": "open",
    "broken": "FAIL",
    "says nothing": "FAIL",
    "not examined": "FAIL",
}


def report_lines(report: GuaranteeReport) -> Iterator[str]:
    """Yield the report as lines of plain text."""
    for result in report.results:
        yield from result_lines(result)


def result_lines(result: GuaranteeResult) -> Iterator[str]:
    """Yield what is known of one guarantee as lines of plain text."""
    clause = f" ({result.clause})" if result.clause else ""
    mark = _MARKS[result.status] if result.holds or result.status == "broken" else "FAIL"
    yield f"{mark:4}  {result.id}{clause}: {result.demand}, {status_words(result)}"
    for reason in map(visible, result.reasons):
        yield f"      {reason if result.status == 'proved' else reason_line(reason)}"
    for name in map(visible, result.asked_of_caller):
        yield f"      asked of {name}, so not enforced against {name}"
    if result.sequence:
        yield from _sequence_lines(result.sequence)
    elif result.witness is not None:
        yield from witness_lines(result.witness)


def status_words(result: GuaranteeResult) -> str:
    """Return what is known of a guarantee."""
    kinds = "1 kind of resource" if result.cells == 1 else f"{result.cells} kinds of resources"
    if result.status == "not found" and not result.cells:
        return "no call was found that it speaks of, and it is not proved that there is none"
    return {
        "proved": f"proved over {kinds}",
        "not found": f"not proved: no counterexample found in {kinds}",
        "broken": f"broken: {'calls were' if len(result.sequence) > 1 else 'a call was'} found",
        "says nothing": "says nothing: it speaks of no call",
        "not examined": "not examined",
    }[result.status]


_SHOWN_CALLS = 6


def _sequence_lines(calls: Sequence[WitnessCall]) -> Iterator[str]:
    """Yield the calls of a session; of many the first ones and the last."""
    for number, call in enumerate(calls, 1):
        if _SHOWN_CALLS <= number < len(calls):
            if number == _SHOWN_CALLS:
                yield f"      and {len(calls) - _SHOWN_CALLS} more, up to"
            continue
        yield f"      {number}. {step_words(call)}"


def step_words(call: WitnessCall) -> str:
    """Return a call of a sequence in one line."""
    caller = f" as {_json(call.caller)}" if call.caller else ""
    facts = f" with the facts {_json(call.facts)}" if call.facts else ""
    approved = " and approved" if call.approved else ""
    gives = f", gives {', '.join(map(visible, call.gives))}" if call.gives else ""
    place = f"{visible(call.server)}/{visible(call.tool)} {_json(call.arguments)}{caller}"
    return f"{place} at {call.at}{facts}: {call.verdict} by {visible(call.rule)}{approved}{gives}"


def witness_lines(witness: WitnessCall) -> Iterator[str]:
    """Yield a whole call with its decision, and the resource that it is about."""
    yield f"      {visible(witness.server)}/{visible(witness.tool)} {_json(witness.arguments)}"
    if witness.caller:
        yield f"      as caller {_json(witness.caller)}"
    if witness.facts:
        yield f"      with the facts {_json(witness.facts)}"
    clause = f" (clause {witness.clause})" if witness.clause else ""
    decided = f"the call is decided {witness.verdict} by {visible(witness.rule)}{clause}"
    yield f"      {visible(witness.subject)}: {decided}"


def _json(value: JsonValue) -> str:
    return marked(json.dumps(value, ensure_ascii=False))
