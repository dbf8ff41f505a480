"""What changed, told for people: paths that changed alike are one statement about tools, roles and places."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from ironcurtain.analysis.diff.asked import SaidOf, direction
from ironcurtain.analysis.diff.change_fingerprint import cell_content, space_content
from ironcurtain.analysis.diff.report import Change, Decided, DifferentCall
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.diagram import DiagramPath
from ironcurtain.analysis.engine.rules.regions import Region, grouped
from ironcurtain.analysis.engine.search import FoundCall
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.model.decision import Decision
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.structs import Struct

_SAME_APPROVALS = "each call that was found needs the same approvals as before, of its other resources"
_NOT_SHOWN = "no call was found that shows it, and it is not proved that there is none"


class ChangedPath(Struct, eq=False):
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
        """What two paths that changed alike have in common."""
        return (self.when, self.old, self.new, self.call is None, bool(self.gaps))


def statements(found: list[ChangedPath], decisions: list[dict[str, Decision]]) -> Iterator[Change]:
    """Group changes: places that changed alike, then roles, then tools.

    Args:
        found: The changes.
        decisions: For each of the two policies the decisions of their calls, by the number of the change.
    """
    alike: dict[tuple[Hashable, ...], list[ChangedPath]] = {}
    for change in found:
        name = f"{change.examined.space.server}/{change.examined.space.tool}"
        alike.setdefault((name, change.cell.role, change.behaviour), []).append(change)
    groups: dict[tuple[Hashable, tuple[str, ...]], tuple[set[str], set[str], list[ChangedPath]]] = {}
    for server_tool, role, where, change in _places(found):
        group = groups.setdefault((change.behaviour, where), (set(), set(), []))
        group[0].add(server_tool)
        group[1].add(role)
        group[2].append(change)
    for (_, where), (tools, roles, members) in groups.items():
        first = min(members, key=size_of)
        decided = [side.get(str(first.number)) for side in decisions]
        behind = [
            change
            for tool in tools
            for role in roles
            for change in alike.get((tool, role, first.behaviour), ())
        ]
        statement = _statement(first, tuple(sorted(tools)), tuple(sorted(roles)), where, decided)
        yield statement.model_copy(update={"meaning": _meaning(statement.id, behind)})


def rules_behind(first: ChangedPath, side: int, decision: Decision | None) -> tuple[str, ...]:
    """Return the rule that decides the changed resource under a policy, with its clause."""
    call = first.call or first.masked
    if decision is None or call is None:
        return ()
    content = first.examined.space.policies[side].content
    names = {s.rule for s in decision.subjects if (s.role, s.value) == (call.role, call.value)}
    names |= {decision.rule} if call.role == "none" else set()
    return tuple(sorted(f"{n} ({content.rules[n].clause})" if n in content.rules else n for n in names))


def change_id(content: JsonValue) -> str:
    """Return the id of a change that says this: the same in every comparison."""
    return json_text.digest(content).removeprefix("sha256:")[:12]


def _places(found: Iterable[ChangedPath]) -> Iterator[tuple[str, str, tuple[str, ...], ChangedPath]]:
    """Yield every change once for each tool and role, with the places it concerns."""
    tools: dict[Examined, list[ChangedPath]] = {}
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


def size_of(change: ChangedPath) -> tuple[int, str]:
    """Return what orders changes by how short the call is that shows them."""
    call = change.call or change.masked
    return (len(str(call.arguments)), str(call)) if call is not None else (0, "")


def _statement(
    first: ChangedPath,
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
    rules = [rules_behind(first, side, decision) for side, decision in enumerate(decided)]
    known = [each for each in decided if each is not None]
    # What decides where the looser of the two verdicts would have counted is what hides the change.
    hiding = known[1 if towards == "loosened" else 0].rule if known else ""
    masks = (hiding,) if first.call is None and hiding and not (first.gaps or first.asks_alike) else ()
    return Change(
        id=change_id(content),
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
        witness=_witness(first, known) if len(known) == len(decided) else None,
        masked_by=masks,
        note=_why_not_shown(first),
    )


def _witness(change: ChangedPath, decided: list[Decision]) -> DifferentCall | None:
    if change.call is None:
        return None
    return DifferentCall(
        server=change.examined.space.server,
        tool=change.examined.space.tool,
        arguments=change.call.arguments,
        caller=change.call.caller,
        facts=change.call.facts,
        old=_as_decided(decided[0]),
        new=_as_decided(decided[1]),
    )


def _why_not_shown(change: ChangedPath) -> str:
    if change.asks_alike:
        return _SAME_APPROVALS
    return _NOT_SHOWN if change.call is None and change.gaps else ""


def _meaning(id_: str, behind: Iterable[ChangedPath]) -> str:
    cells = {
        json_text.canonical([change.examined.space.tool, cell_content(change.cell)]).decode()
        for change in behind
    }
    spaces = {change.examined.space for change in behind}
    cut = {json_text.canonical(space_content(space)).decode() for space in spaces}
    return json_text.digest([id_, [*sorted(cells)], [*sorted(cut)]])


def _as_decided(decision: Decision) -> Decided:
    return Decided(
        verdict=decision.verdict,
        rule=decision.rule,
        clause=decision.clause,
        approvers=decision.approvers,
    )
