"""The semantic difference of two policies, on the common refinement of both.

    difference(old, new, world, opa).changes

Every cell of either policy is decided under both at once. A changed verdict, or another approver of an
escalation, is shown by a whole call that the two policies decide differently; where the exhaustive search
finds none, the change is masked.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping

from ironcurtain.analysis.diff.asked import SaidOf, direction, said_of, with_minimum
from ironcurtain.analysis.diff.change_fingerprint import tool_content
from ironcurtain.analysis.diff.report import Change, Difference, Direction, OtherWords
from ironcurtain.analysis.diff.statements import ChangedPath, change_id, rules_behind, size_of, statements
from ironcurtain.analysis.engine.cell_verdicts import Severities
from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import (
    PoliciesUnderTest,
    SharedCaches,
    load_policies,
)
from ironcurtain.analysis.engine.proof import exactness_of
from ironcurtain.analysis.engine.rules.diagram import DiagramPath, merged, paths
from ironcurtain.analysis.engine.rules.wording import path_words
from ironcurtain.analysis.engine.search import CallSearch, SearchResult
from ironcurtain.analysis.engine.space.call_space import CUSTOM_MODULES, CallSpace
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent, RuleText
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.enforcement.facts.facts_of_tool import declaration_digest
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import VerificationError
from ironcurtain.model.annotations import SAID_ABOUT_TOOLS, ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.facts import CounterFact, Fact, LabelFact
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import replace
from ironcurtain.system.text import visible

_SAME = ("same",)
_OTHER_DIGEST = "its digest changed: another live tool is decided about, which could not be compared"


def difference(
    old: Bundle,
    new: Bundle,
    world: DescribedWorld,
    opa: OpaCommand,
    only: Collection[tuple[str, str]] | None = None,
    caches: SharedCaches | None = None,
) -> Difference:
    """Compare two policies in an assumed world.

    Args:
        old: One policy.
        new: The other one.
        world: What both are examined in.
        opa: The engine that evaluates every question.
        only: The tools to look at, by server and name (default: all).
        caches: What comparisons with policies that differ little did.

    Raises:
        EvidenceError: If one of the policies cannot be examined.
        EngineFailedError: If OPA does not run.
        VerificationError: If OPA decides otherwise than a bundle's rules say.
    """
    policies = load_policies([old, new], world, caches=caches)
    tools = {name: each for name, each in _tools(policies).items() if only is None or name in only}
    same = sorted(name for name, (one, other) in tools.items() if one and other and _alike(one, other))
    examined = examine([CallSpace(server, tool, policies) for server, tool in same], opa)
    seen = (change for tool in examined for change in _changes(tool))
    found = [replace(change, number=number) for number, change in enumerate(seen)]
    decisions = _decided(found, policies, opa)
    found = _joined([_as_decided_alike(change, decisions) for change in found], decisions)
    changes = [*statements(found, decisions), *_whole_tools(tools, policies)]
    gaps = {(tool.space, gap) for tool in examined for gap in tool.gaps}
    gaps |= {(change.examined.space, gap) for change in found if change.call is None for gap in change.gaps}
    if _modules_say_the_same(policies):
        gaps = {(space, gap) for space, gap in gaps if gap != CUSTOM_MODULES}
    return Difference(
        old_revision=old.revision,
        new_revision=new.revision,
        exactness=exactness_of([gap for _, gap in gaps]),
        reasons=tuple(sorted({f"{space.server}/{space.tool}: {gap}" for space, gap in gaps})),
        words=other_words(*(side.content for side in policies)) if only is None else (),
        begins_empty=new_memory(*(side.content.facts for side in policies)) if only is None else (),
        changes=tuple(sorted(changes, key=lambda c: (c.direction, c.tools, c.roles, c.where, c.when))),
        world=world,
    )


def _modules_say_the_same(policies: PoliciesUnderTest) -> bool:
    """Tell whether the project's own modules are the same, and all that they are told of a call."""
    said = [
        (
            side.bundle.custom_modules,
            side.content.patterns,
            side.content.lists,
        )
        for side in policies
    ]
    return said[0] == said[1]


# -- tools ---------------------------------------------------------------------------------------


def _tools(
    policies: PoliciesUnderTest,
) -> dict[tuple[str, str], tuple[ToolAnnotation | None, ToolAnnotation | None]]:
    old, new = (side.content.tools for side in policies)
    return {place: (old.get(place), new.get(place)) for place in sorted(old.keys() | new.keys())}


def _alike(one: ToolAnnotation, other: ToolAnnotation) -> bool:
    """Tell whether two annotations mean the same: what people say about a tool does not count."""
    return one.model_dump(exclude=SAID_ABOUT_TOOLS) == other.model_dump(exclude=SAID_ABOUT_TOOLS)


def _pinned(tool: ToolAnnotation) -> tuple[str | None, str | None]:
    """Return the digests of the live tool that a policy takes; of any other every call is denied."""
    return tool.schema_digest, tool.listing_digest


def _whole_tools(
    tools: Mapping[tuple[str, str], tuple[ToolAnnotation | None, ToolAnnotation | None]],
    policies: PoliciesUnderTest,
) -> Iterator[Change]:
    for (server, tool), (one, other) in tools.items():
        said = _of_whole_tool(one, other)
        if said is None:
            continue
        direction, note = said
        content: dict[str, JsonValue] = {"tool": [server, tool], "note": note}
        if note == _OTHER_DIGEST:
            content["digests"] = [[*_pinned(each)] for each in (one, other) if each is not None]
        yield Change(
            id=change_id(content),
            direction=direction,
            tools=(f"{server}/{tool}",),
            note=note,
            meaning=json_text.digest([content, tool_content(policies, server, tool)]),
        )


def _of_whole_tool(one: ToolAnnotation | None, other: ToolAnnotation | None) -> tuple[Direction, str] | None:
    """Return what changed about a tool as a whole, None where its cells say all."""
    if other is None:
        return "tightened", "the tool is gone"
    if one is None:
        return "loosened", "the tool is new; see the matrix"
    if not _alike(one, other):
        return "loosened", "the annotation changed, so its cells cannot be compared; see both matrices"
    return ("loosened", _OTHER_DIGEST) if _pinned(one) != _pinned(other) else None


# -- cells ---------------------------------------------------------------------------------------


def _changes(examined: Examined) -> Iterator[ChangedPath]:
    search = CallSearch(examined)
    for cell in examined.space.cells.values():
        diagram = examined.verdict_diagram(cell)
        outcomes = {path.outcome for path in paths(diagram)}
        mapped: dict[tuple[Hashable, ...] | None, tuple[Hashable, ...] | None] = {None: None}
        mapped |= {outcome: _change(examined, cell, outcome) for outcome in outcomes}
        for path in paths(examined.space.diagrams.mapped(diagram, mapped)):
            if path.outcome != _SAME and examined.calls.is_taken(cell, path):
                shown = _shown(examined, search, cell, path)
                # Where it is proved that no whole call takes the path, nothing changed.
                if (
                    shown.call is not None
                    or shown.gaps
                    or (shown.masked is not None and None not in cell.keys)
                ):
                    yield shown


def _change(
    examined: Examined, cell: EquivalenceClass, outcome: tuple[Hashable, ...]
) -> tuple[Hashable, ...]:
    """Return what the policies say where they differ; what one side lacks adds nothing there."""
    sides = zip(cell.keys, outcome, examined.space.policies, strict=True)
    decided = [(key, each, side.content.approvers) for key, each, side in sides if isinstance(each, tuple)]
    said = [said_of(verdict, approver, names) for _, (verdict, _, approver), names in decided]
    if None in cell.keys or any(each.asked for each in said):
        said = [with_minimum(key, each) for (key, _, _), each in zip(decided, said, strict=True)]
    return _SAME if said[0] == said[1] else tuple(said)


def _shown(examined: Examined, search: CallSearch, cell: EquivalenceClass, path: DiagramPath) -> ChangedPath:
    old, new = (each for each in path.outcome if isinstance(each, SaidOf))
    asks = Verdict.ESCALATE.severity

    def differs(_: Severities, call: Severities) -> bool:
        if old.verdict is new.verdict:
            return call[0] == call[1] == asks
        return call[1] < call[0] if direction(old, new) == "loosened" else call[1] > call[0]

    searched = search.find(cell, differs, path)
    masked = SearchResult(None) if searched.call is not None else search.find(cell, lambda _, __: True, path)
    when = tuple(sorted(path_words(path, examined.space.variables)))
    gaps = searched.gaps if masked.call is not None else searched.gaps | masked.gaps
    return ChangedPath(examined, cell, path, when, old, new, searched.call, masked.call, gaps)


# -- decisions -----------------------------------------------------------------------------------


def _decided(
    found: list[ChangedPath], policies: PoliciesUnderTest, opa: OpaCommand
) -> list[dict[str, Decision]]:
    """Decide every witness under both policies, by the real steps and OPA."""
    decisions = []
    for side in policies:
        prepared = {}
        for change in found:
            call = change.call or change.masked
            if call is not None:
                space = change.examined.space
                asked = Call(space.server, space.tool, call.arguments, call.caller, facts=call.facts)
                prepared[str(change.number)] = prepare(asked, side.policy)
        decisions.append(decide_prepared(prepared, side.bundle, side.policy, opa) if prepared else {})
    for change in found:
        if change.call is not None and _are_alike(decisions, change.number):
            if change.examined.gaps or change.old.verdict is change.new.verdict:
                continue
            raise VerificationError(
                f"the call {visible(str(change.call.arguments))} of {visible(change.examined.space.tool)} "
                "was expected to be decided differently, but is not"
            )
    return decisions


def _are_alike(decisions: list[dict[str, Decision]], number: int) -> bool:
    old, new = (each[str(number)] for each in decisions)
    return (old.verdict, old.approvers) == (new.verdict, new.approvers)


def _as_decided_alike(change: ChangedPath, decisions: list[dict[str, Decision]]) -> ChangedPath:
    """Return a change without the call that was to show it, where something else decides it.

    That is what could not be followed, or another resource that asks for the same approval.
    """
    if change.call is None or not _are_alike(decisions, change.number):
        return change
    asks_alike = change.old.verdict is change.new.verdict and not change.examined.gaps
    return replace(change, call=None, masked=change.call, gaps=change.examined.gaps, asks_alike=asks_alike)


def _joined(found: list[ChangedPath], decisions: list[dict[str, Decision]]) -> list[ChangedPath]:
    """Return changes of a cell that differ in nothing but their path in fewer paths, as in the matrix.

    What was searched for each of them stays so: they are joined only where it came to the same, and the
    shortest call stands for them all.
    """
    groups: dict[tuple[Hashable, ...], list[ChangedPath]] = {}
    for change in found:
        told = [change.old, change.new, change.call is None, change.asks_alike, change.gaps]
        decided = [side.get(str(change.number)) for side in decisions]
        rules = [rules_behind(change, side, decision) for side, decision in enumerate(decided)]
        hiding = [each.rule for each in decided if each is not None and change.call is None]
        groups.setdefault((change.examined, change.cell.keys, *told, *rules, *hiding), []).append(change)
    return [each for group in groups.values() for each in _in_fewer_paths(group)]


def _in_fewer_paths(group: list[ChangedPath]) -> Iterator[ChangedPath]:
    variables = group[0].examined.space.variables
    for path in merged((change.path for change in group), variables):
        first = min((change for change in group if path.covers(change.path)), key=size_of)
        yield replace(first, path=path, when=tuple(sorted(path_words(path, variables))))


# -- what begins empty, and what only words say ----------------------------------------------------


def new_memory(old: Mapping[str, Fact], new: Mapping[str, Fact]) -> tuple[str, ...]:
    """Return the counters and labels on which nothing is booked when a policy replaces another one.

    Args:
        old: The facts that one policy declares.
        new: Those of the policy that replaces it.

    Returns:
        Each with what it is: `counter paid`, `label private`.
    """
    known = {_kept_as(name, fact) for name, fact in old.items()}
    return tuple(
        f"{fact.source} {name}"
        for name, fact in sorted(new.items())
        if isinstance(fact, CounterFact | LabelFact) and _kept_as(name, fact) not in known
    )


def _kept_as(name: str, fact: Fact) -> tuple[str, ...]:
    """Return under what its bookings are found again: a caller's total is that of one declaration."""
    if isinstance(fact, CounterFact):
        if fact.per == "caller":
            return fact.source, fact.per, name, declaration_digest(fact)
        return fact.source, fact.per, name, fact.window
    return fact.source, name


def other_words(old: PolicyContent, new: PolicyContent) -> tuple[OtherWords, ...]:
    """Return the sentences that are not in both policies alike, and the rules that both tell of otherwise.

    Args:
        old: What one policy holds.
        new: What the other one holds.
    """
    return (*_clauses(old, new), *_rules(old, new))


def _clauses(old: PolicyContent, new: PolicyContent) -> Iterator[OtherWords]:
    for id_ in sorted(old.clauses.keys() | new.clauses.keys()):
        before, now = old.clauses.get(id_), new.clauses.get(id_)
        if before != now:
            yield OtherWords(of="clause", name=id_, old=before, new=now)


def _rules(old: PolicyContent, new: PolicyContent) -> Iterator[OtherWords]:
    for name in sorted(old.rules.keys() & new.rules.keys()):
        before, now = (_told(content.rules[name]) for content in (old, new))
        if before != now:
            yield OtherWords(of="rule", name=name, old=before, new=now)


def _told(rule: RuleText) -> str:
    return f"{rule.clause}: {rule.reason}"
