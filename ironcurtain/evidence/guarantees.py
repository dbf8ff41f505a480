"""Deciding guarantees: each is proven over all calls, or broken by one whole call that OPA confirms."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ironcurtain.bundle.archive import Bundle
from ironcurtain.decide.decide import Call, prepare
from ironcurtain.errors import VerificationError
from ironcurtain.evidence.cells import Cell
from ironcurtain.evidence.evaluate import decide_prepared
from ironcurtain.evidence.examination import Examination, examination
from ironcurtain.evidence.guarantee_scope import ReadGuarantee
from ironcurtain.evidence.questions import Examined
from ironcurtain.evidence.search import FoundCall, Goal, Search, Severities
from ironcurtain.evidence.sides import Sides
from ironcurtain.evidence.sources import Element
from ironcurtain.evidence.space import ToolSpace
from ironcurtain.model.base import Json
from ironcurtain.model.decision import Decision
from ironcurtain.model.guarantees import (
    Guarantee,
    GuaranteeReport,
    GuaranteeResult,
    Guarantees,
    WitnessCall,
)
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.opa.command import OpaCommand
from ironcurtain.roles.registry import Registry
from ironcurtain.text import visible


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
    return decide_guarantees(examination(bundle, world, opa, guarantees, only_guaranteed=True), opa)


def decide_guarantees(examined: Examination, opa: OpaCommand) -> GuaranteeReport:
    """Decide the guarantees that an examination was made with.

    Raises:
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than the bundle's rules say.
    """
    prepared, tools = examined.guarantees, examined.tools
    broken = {each.guarantee.id: _smallest(each, tools) for each in prepared}
    decisions = _confirmed(broken, examined.sides, opa)
    results = tuple(_result(each, tools, broken[each.guarantee.id], decisions) for each in prepared)
    ok = all(result.holds for result in results)
    return GuaranteeReport(ok=ok, revision=examined.bundle.revision, results=results)


# -- deciding ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Broken:
    """What was found about one guarantee: the smallest call that breaks it, if there is one."""

    tool: tuple[str, str] | None
    call: FoundCall | None
    cells: int
    gave_up: bool


def _smallest(each: ReadGuarantee, examined: Mapping[tuple[str, str], Examined]) -> _Broken:
    found: list[tuple[tuple[int, int, str], tuple[str, str], FoundCall]] = []
    cells, gave_up = 0, False
    for tool in each.tools:
        one = examined[tool]
        search = Search(one, _allowed(each, one.space.sides.registry))
        wanted = wanted_classes(each, one.space)
        for cell in one.space.cells.values():
            if not speaks_of(each, cell, one.space.sides.registry):
                continue
            cells += 1
            if not search.could(cell, _suspicious(each.guarantee)):
                continue
            call = search.find(cell, _goal(each.guarantee), wanted=wanted)
            if call is not None:
                found.append(((len(call.arguments), len(str(call.arguments)), str(call)), tool, call))
        gave_up = gave_up or search.gave_up
    if not found:
        return _Broken(None, None, cells, gave_up)
    _, tool, call = min(found, key=lambda item: (item[0], item[1]))
    return _Broken(tool, call, cells, gave_up)


def speaks_of(each: ReadGuarantee, cell: Cell, registry: Registry) -> bool:
    """Tell whether a guarantee speaks of a cell's subjects."""
    key = cell.keys[0]
    return key is not None and each.matches(key, registry)


def _allowed(each: ReadGuarantee, registry: Registry) -> Callable[[Element], bool]:
    """Return which elements a call may hold: `always` without roles speaks of calls inside its patterns."""
    scope = each.guarantee.when
    if (
        scope.roles is not None
        or each.guarantee.always is None
        or (each.within is None and each.outside is None)
    ):
        return lambda _: True

    def allowed(element: Element) -> bool:
        keys = [seen.key for seen in element.seen[0]]
        return all(
            each.matches(key, registry) for key in keys if registry[key.role].pattern_kind == each.kind
        )

    return allowed


def wanted_classes(each: ReadGuarantee, space: ToolSpace) -> dict[int, frozenset[int]]:
    """Return the classes of variables that a guarantee's tests leave."""
    wanted: dict[int, frozenset[int]] = {}
    needed = {atom.key for atom in each.atoms}
    for index, variable in enumerate(space.variables):
        own = needed & {atom.key for atom in variable.atoms}
        if own:
            wanted[index] = frozenset(i for i, c in enumerate(variable.classes) if own <= c.true)
    return wanted


def _goal(guarantee: Guarantee) -> Goal:
    if guarantee.never is not None:
        limit = guarantee.never.severity
        return lambda _, call: call[0] <= limit
    demanded = guarantee.always.severity if guarantee.always is not None else 0
    if guarantee.when.roles is not None:
        return lambda subject, _: subject[0] != demanded
    return lambda _, call: call[0] != demanded


def _suspicious(guarantee: Guarantee) -> Callable[[Severities], bool]:
    """Return a cheap test that every subject of a breaking call passes."""
    if guarantee.never is not None:
        limit = guarantee.never.severity
        return lambda subject: subject[0] <= limit
    if guarantee.when.roles is None:
        return lambda _: True
    demanded = guarantee.always.severity if guarantee.always is not None else 0
    return lambda subject: subject[0] != demanded


# -- confirming ----------------------------------------------------------------------------------


def _confirmed(broken: Mapping[str, _Broken], sides: Sides, opa: OpaCommand) -> dict[str, Decision]:
    """Let the real steps and OPA decide the calls that break guarantees."""
    side = sides.sides[0]
    prepared = {
        id_: prepare(
            Call(each.tool[0], each.tool[1], each.call.arguments, each.call.caller, id=id_), side.policy
        )
        for id_, each in broken.items()
        if each.tool is not None and each.call is not None
    }
    return decide_prepared(prepared, side.bundle, side.policy, opa) if prepared else {}


def _result(
    each: ReadGuarantee,
    examined: Mapping[tuple[str, str], Examined],
    broken: _Broken,
    decisions: Mapping[str, Decision],
) -> GuaranteeResult:
    guarantee = each.guarantee
    reasons = {reason for tool in each.tools for reason in examined[tool].reasons}
    if broken.gave_up:
        reasons.add("more combinations than could be searched")
    witness = None
    if broken.call is not None and broken.tool is not None:
        witness = witness_call(broken.tool, broken.call, decisions[guarantee.id])
        _hold_against(guarantee, broken.call, decisions[guarantee.id])
    return GuaranteeResult(
        id=guarantee.id,
        clause=guarantee.clause,
        demand=guarantee.words,
        holds=witness is None,
        exactness="sampled" if reasons and witness is None else "exact",
        reasons=tuple(sorted(reasons)),
        cells=broken.cells,
        witness=witness,
    )


def _hold_against(guarantee: Guarantee, call: FoundCall, decision: Decision) -> None:
    """Refuse to report a call that does not break the guarantee after all."""
    subjects = [s.verdict for s in decision.subjects if (s.role, s.value) == (call.role, call.value)]
    subject: Severities = (subjects[0].severity if subjects else -1,)
    if (decision.rule.startswith("structural-") and decision.verdict is Verdict.DENY) or not _goal(guarantee)(
        subject, (decision.verdict.severity,)
    ):
        raise VerificationError(
            f"guarantee {guarantee.id}: the call {visible(str(call.arguments))} was expected to break it, "
            f"but is decided {decision.verdict} by {visible(decision.rule)}"
        )


def witness_call(tool: tuple[str, str], call: FoundCall, decision: Decision) -> WitnessCall:
    """Return a found call with its decision."""
    return WitnessCall(
        server=tool[0],
        tool=tool[1],
        arguments=call.arguments,
        caller=call.caller,
        subject=f"{call.role} {call.value}",
        verdict=decision.verdict,
        rule=decision.rule,
        clause=decision.clause,
    )


def report_lines(report: GuaranteeReport) -> Iterator[str]:
    """Yield the report as lines of plain text."""
    for result in report.results:
        mark = "ok  " if result.holds else "FAIL"
        clause = f" ({result.clause})" if result.clause else ""
        kinds = f"{result.exactness} over {result.cells} kinds of subjects"
        yield f"{mark}  {result.id}{clause}: {result.demand}, {kinds}"
        yield from (f"      sampled: {visible(reason)}" for reason in result.reasons)
        if result.witness is not None:
            yield from _witness_lines(result.witness)


def _witness_lines(witness: WitnessCall) -> Iterator[str]:
    yield f"      {visible(witness.server)}/{visible(witness.tool)} {_json(witness.arguments)}"
    if witness.caller:
        yield f"      as caller {_json(witness.caller)}"
    clause = f" (clause {witness.clause})" if witness.clause else ""
    decided = f"the call is decided {witness.verdict} by {visible(witness.rule)}{clause}"
    yield f"      {visible(witness.subject)}: {decided}"


def _json(value: Json) -> str:
    return visible(json.dumps(value, ensure_ascii=False))
