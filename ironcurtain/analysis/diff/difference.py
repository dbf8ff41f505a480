"""The semantic difference of two policies, on the common refinement of both.

    difference(old, new, world, opa).changes

Every cell of either policy is decided under both at once. A changed verdict, or another approver of an
escalation, is shown by a whole call that the two policies decide differently; where the exhaustive search
finds none, the change is masked.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping

from ironcurtain.analysis.diff.asked import SaidOf, direction, said_of, with_minimum
from ironcurtain.analysis.diff.change_fingerprint import TOLD, cell_content, space_content, tool_content
from ironcurtain.analysis.diff.new_memory import new_memory
from ironcurtain.analysis.diff.other_words import other_words
from ironcurtain.analysis.diff.report import Change, Decided, Difference, DifferentCall
from ironcurtain.analysis.engine.evaluate import decide_prepared
from ironcurtain.analysis.engine.opa_queries import Examined, examine
from ironcurtain.analysis.engine.policies_under_test import (
    PoliciesUnderTest,
    SharedCaches,
    load_policies,
)
from ironcurtain.analysis.engine.rules.diagram import DiagramPath, merged, paths
from ironcurtain.analysis.engine.rules.regions import Region, grouped
from ironcurtain.analysis.engine.rules.wording import path_words
from ironcurtain.analysis.engine.search import CallSearch, FoundCall, SearchResult, Severities
from ironcurtain.analysis.engine.space.call_space import CUSTOM_MODULES, CallSpace
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.bundle.archive import Bundle
from ironcurtain.decision.decide import Call, prepare
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import VerificationError
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.scenarios import DescribedWorld
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct, replace
from ironcurtain.system.text import visible

_SAME = ("same",)
_SAME_APPROVALS = "each call that was found needs the same approvals as before, of its other resources"
_NOT_SHOWN = "no call was found that shows it, and it is not proved that there is none"


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
    changes = [*_statements(found, decisions), *_whole_tools(tools, policies)]
    gaps = {(tool.space, gap) for tool in examined for gap in tool.gaps}
    gaps |= {(change.examined.space, gap) for change in found if change.call is None for gap in change.gaps}
    if _modules_say_the_same(policies):
        gaps = {(space, gap) for space, gap in gaps if gap != CUSTOM_MODULES}
    return Difference(
        old_revision=old.revision,
        new_revision=new.revision,
        exactness="sampled" if gaps else "exact",
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
    annotated = [side.content.annotations for side in policies]
    names = {(s, t.tool) for a in annotated for s, tools in a.servers.items() for t in tools.tools}
    return {name: (annotated[0].find(*name), annotated[1].find(*name)) for name in sorted(names)}


def _alike(one: ToolAnnotation, other: ToolAnnotation) -> bool:
    """Tell whether two annotations mean the same: what people say about a tool does not count."""
    return one.model_dump(exclude=TOLD) == other.model_dump(exclude=TOLD)


def _whole_tools(
    tools: Mapping[tuple[str, str], tuple[ToolAnnotation | None, ToolAnnotation | None]],
    policies: PoliciesUnderTest,
) -> Iterator[Change]:
    for (server, tool), (one, other) in tools.items():
        if one is not None and other is not None and _alike(one, other):
            continue
        if other is None:
            direction, note = "tightened", "the tool is gone"
        elif one is None:
            direction, note = "loosened", "the tool is new; see the matrix"
        else:
            direction, note = (
                "loosened",
                "the annotation changed, so its cells cannot be compared; see both matrices",
            )
        content: JsonValue = {"tool": [server, tool], "note": note}
        yield Change(
            id=_id(content),
            direction="loosened" if direction == "loosened" else "tightened",
            tools=(f"{server}/{tool}",),
            note=note,
            meaning=json_text.digest([content, tool_content(policies, server, tool)]),
        )


# -- cells ---------------------------------------------------------------------------------------


class _Changed(Struct, eq=False):
    """A path of a cell on which the verdict changed, or whose approval it asks for.

    Attributes:
        call: A call that is decided differently, or
        masked: one that takes the path and is decided alike.
        gaps: Why another one may be decided differently, where none was found.
        asks_alike: The call that takes the path needs the same approvals, and another one may not.
        number: By which the decisions of its call are found.
    """

    examined: Examined
    cell: EquivalenceClass
    path: DiagramPath
    when: tuple[str, ...]
    old: SaidOf
    new: SaidOf
    call: FoundCall | None
    masked: FoundCall | None
    gaps: frozenset[str]
    asks_alike: bool = False
    number: int = 0

    @property
    def behaviour(self) -> tuple[Hashable, ...]:
        return (self.when, self.old, self.new, self.call is None, bool(self.gaps))


def _changes(examined: Examined) -> Iterator[_Changed]:
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


def _shown(examined: Examined, search: CallSearch, cell: EquivalenceClass, path: DiagramPath) -> _Changed:
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
    return _Changed(examined, cell, path, when, old, new, searched.call, masked.call, gaps)


# -- decisions -----------------------------------------------------------------------------------


def _decided(
    found: list[_Changed], policies: PoliciesUnderTest, opa: OpaCommand
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


def _as_decided_alike(change: _Changed, decisions: list[dict[str, Decision]]) -> _Changed:
    """Return a change without the call that was to show it, where something else decides it.

    That is what could not be followed, or another resource that asks for the same approval.
    """
    if change.call is None or not _are_alike(decisions, change.number):
        return change
    asks_alike = change.old.verdict is change.new.verdict and not change.examined.gaps
    return replace(change, call=None, masked=change.call, gaps=change.examined.gaps, asks_alike=asks_alike)


def _joined(found: list[_Changed], decisions: list[dict[str, Decision]]) -> list[_Changed]:
    """Return changes of a cell that differ in nothing but their path in fewer paths, as in the matrix.

    What was searched for each of them stays so: they are joined only where it came to the same, and the
    shortest call stands for them all.
    """
    groups: dict[tuple[Hashable, ...], list[_Changed]] = {}
    for change in found:
        told = [change.old, change.new, change.call is None, change.asks_alike, change.gaps]
        decided = [side.get(str(change.number)) for side in decisions]
        rules = [_rules(change, side, decision) for side, decision in enumerate(decided)]
        hiding = [each.rule for each in decided if each is not None and change.call is None]
        groups.setdefault((change.examined, change.cell.keys, *told, *rules, *hiding), []).append(change)
    return [each for group in groups.values() for each in _in_fewer_paths(group)]


def _in_fewer_paths(group: list[_Changed]) -> Iterator[_Changed]:
    variables = group[0].examined.space.variables
    for path in merged((change.path for change in group), variables):
        first = min((change for change in group if path.covers(change.path)), key=_size)
        yield replace(first, path=path, when=tuple(sorted(path_words(path, variables))))


def _statements(found: list[_Changed], decisions: list[dict[str, Decision]]) -> Iterator[Change]:
    """Group changes: places that changed alike, then roles, then tools."""
    alike: dict[tuple[Hashable, ...], list[_Changed]] = {}
    for change in found:
        name = f"{change.examined.space.server}/{change.examined.space.tool}"
        alike.setdefault((name, change.cell.role, change.behaviour), []).append(change)
    groups: dict[tuple[Hashable, tuple[str, ...]], tuple[set[str], set[str], list[_Changed]]] = {}
    for server_tool, role, where, change in _places(found):
        group = groups.setdefault((change.behaviour, where), (set(), set(), []))
        group[0].add(server_tool)
        group[1].add(role)
        group[2].append(change)
    for (_, where), (tools, roles, members) in groups.items():
        first = min(members, key=_size)
        decided = [side.get(str(first.number)) for side in decisions]
        behind = [
            change
            for tool in tools
            for role in roles
            for change in alike.get((tool, role, first.behaviour), ())
        ]
        statement = _statement(first, tuple(sorted(tools)), tuple(sorted(roles)), where, decided)
        yield statement.model_copy(update={"meaning": _meaning(statement.id, behind)})


def _places(found: Iterable[_Changed]) -> Iterator[tuple[str, str, tuple[str, ...], _Changed]]:
    """Yield every change once for each tool and role, with the places it concerns."""
    tools: dict[Examined, list[_Changed]] = {}
    for change in found:
        tools.setdefault(change.examined, []).append(change)
    for changed in tools.values():
        space = changed[0].examined.space
        for role in sorted({change.cell.role for change in changed}):
            behaviours: dict[tuple[object, ...], tuple[Hashable, ...]] = {}
            for keys, cell in space.cells.items():
                own = [change.behaviour for change in changed if change.cell is cell]
                if cell.role == role:
                    behaviours[keys] = tuple(own)
            regions = [
                Region(c, label, behaviours[k])
                for k, cell in space.cells.items()
                if k in behaviours
                for c, label in cell.regions
            ]
            for behaviour, labels in grouped(regions).items():
                for same in behaviour:
                    member = next(
                        change
                        for change in changed
                        if change.cell.role == role
                        and change.behaviour == same
                        and behaviours[change.cell.keys] == behaviour
                    )
                    yield f"{space.server}/{space.tool}", role, labels, member


def _size(change: _Changed) -> tuple[int, str]:
    call = change.call or change.masked
    return (len(str(call.arguments)), str(call)) if call is not None else (0, "")


def _statement(
    first: _Changed,
    tools: tuple[str, ...],
    roles: tuple[str, ...],
    where: tuple[str, ...],
    decided: list[Decision | None],
) -> Change:
    towards = direction(first.old, first.new)
    content: dict[str, JsonValue] = {
        "tools": [*tools],
        "roles": [*roles],
        "where": [*where],
        "when": [*first.when],
        "old": first.old.verdict.value,
        "new": first.new.verdict.value,
    }
    sides = {"old_asked": first.old.asked, "new_asked": first.new.asked}
    content |= {side: asked.model_dump(mode="json") for side, asked in sides.items() if asked is not None}
    rules = [_rules(first, side, decision) for side, decision in enumerate(decided)]
    known = [each for each in decided if each is not None]
    witness = None
    if first.call is not None and len(known) == len(decided):
        witness = DifferentCall(
            server=first.examined.space.server,
            tool=first.examined.space.tool,
            arguments=first.call.arguments,
            caller=first.call.caller,
            facts=first.call.facts,
            old=_as_decided(known[0]),
            new=_as_decided(known[1]),
        )
    # What decides where the looser of the two verdicts would have counted is what hides the change.
    hiding = known[1 if towards == "loosened" else 0].rule if known else ""
    masks = (hiding,) if first.call is None and hiding and not (first.gaps or first.asks_alike) else ()
    return Change(
        id=_id(content),
        direction=towards,
        tools=tools,
        roles=roles,
        where=where,
        when=first.when,
        old=first.old.verdict,
        new=first.new.verdict,
        old_asked=first.old.asked,
        new_asked=first.new.asked,
        old_rules=rules[0],
        new_rules=rules[1],
        witness=witness,
        masked_by=masks,
        note=_why_not_shown(first),
    )


def _why_not_shown(change: _Changed) -> str:
    if change.asks_alike:
        return _SAME_APPROVALS
    return _NOT_SHOWN if change.call is None and change.gaps else ""


def _meaning(id_: str, behind: Iterable[_Changed]) -> str:
    cells = {
        json_text.canonical([change.examined.space.tool, cell_content(change.cell)]).decode()
        for change in behind
    }
    spaces = {change.examined.space for change in behind}
    cut = {json_text.canonical(space_content(space)).decode() for space in spaces}
    return json_text.digest([id_, [*sorted(cells)], [*sorted(cut)]])


def _rules(first: _Changed, side: int, decision: Decision | None) -> tuple[str, ...]:
    """Return the rule that decides the changed resource under a policy, with its clause."""
    call = first.call or first.masked
    if decision is None or call is None:
        return ()
    content = first.examined.space.policies[side].content
    names = {s.rule for s in decision.subjects if (s.role, s.value) == (call.role, call.value)}
    names |= {decision.rule} if call.role == "none" else set()
    return tuple(sorted(f"{n} ({content.rules[n].clause})" if n in content.rules else n for n in names))


def _as_decided(decision: Decision) -> Decided:
    return Decided(
        verdict=decision.verdict,
        rule=decision.rule,
        clause=decision.clause,
        approvers=decision.approvers,
    )


def _id(content: JsonValue) -> str:
    return json_text.digest(content).removeprefix("sha256:")[:12]
