"""Roles that were forgotten: denied by default where another role of the same call is allowed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ironcurtain.analysis.engine.indexes import SourceIndex, indexed
from ironcurtain.analysis.engine.opa_queries import Examined
from ironcurtain.analysis.engine.rules.diagram import FALLS_THROUGH
from ironcurtain.analysis.engine.rules.regions import Region, grouped
from ironcurtain.analysis.engine.space.elements import ResourceKey, pairs
from ironcurtain.analysis.engine.space.equivalence_classes import EquivalenceClass
from ironcurtain.analysis.engine.values.witnesses import OUTSIDE
from ironcurtain.analysis.findings.context import FindingContext, FindingDraft
from ironcurtain.analysis.findings.finder import FinderInputs
from ironcurtain.decision.reserved_tools import is_reserved
from ironcurtain.decision.roles import NONE
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.text import visible

_DENIED = Verdict.DENY.severity


@dataclass
class _Forgotten:
    """Cells of one role of a tool that only default-deny decides, and roles that are allowed beside it."""

    cells: dict[tuple[ResourceKey | None, ...], EquivalenceClass] = field(default_factory=dict)
    beside: set[str] = field(default_factory=set)


def uncovered_roles(inputs: FinderInputs) -> Iterator[FindingDraft]:
    """Yield the roles of each tool that are denied by default although another one is allowed."""
    context = inputs.context
    for examined in context.tools:
        by_role: dict[str, _Forgotten] = {}
        _in_one_value(examined, by_role)
        _nowhere(examined, by_role)
        for role, forgotten in sorted(by_role.items()):
            yield _draft(context, examined, role, forgotten)


def _in_one_value(examined: Examined, forgotten: dict[str, _Forgotten]) -> None:
    """Look at the roles that one value has together: each of them must be allowed for any to be of use."""
    for together in _values(examined):
        for keys in together:
            key = keys[0]
            if key is None or not _falls_through(examined, keys):
                continue
            allowed = {other[0].role for other in together if other[0] and _allows(examined, other, key)}
            if allowed - {key.role}:
                entry = forgotten.setdefault(key.role, _Forgotten())
                entry.cells[keys] = examined.space.cells[keys]
                entry.beside |= allowed


def _values(examined: Examined) -> Iterator[list[tuple[ResourceKey | None, ...]]]:
    """Yield for each value that a call can hold the cells of all its roles."""
    for _, roles in examined.space.modes.of_roles({}):
        for source, roles_of_source in indexed(SourceIndex, roles):
            for element in examined.space.elements.of(source, roles_of_source):
                yield sorted({keys for keys, _ in pairs(element)}, key=str)


def _nowhere(examined: Examined, forgotten: dict[str, _Forgotten]) -> None:
    """Look for roles that no rule ever decides, while another role of the tool is allowed somewhere."""
    if is_reserved(examined.space.annotation):
        return  # a resource is a file, an address or neither: rules may well speak of one only
    by_role: dict[str, list[tuple[ResourceKey | None, ...]]] = {}
    for keys, cell in examined.space.cells.items():
        if (
            keys[0] is not None
            and not keys[0].discharged
            and cell.role != NONE
            and examined.answers.get(keys)
        ):
            by_role.setdefault(cell.role, []).append(keys)
    allowed = {role for role, cells in by_role.items() if any(_allows(examined, keys) for keys in cells)}
    for role, cells in by_role.items():
        if allowed - {role} and all(_falls_through(examined, keys) for keys in cells):
            entry = forgotten.setdefault(role, _Forgotten())
            entry.cells.update({keys: examined.space.cells[keys] for keys in cells})
            entry.beside |= allowed


def _allows(
    examined: Examined, keys: tuple[ResourceKey | None, ...], beside: ResourceKey | None = None
) -> bool:
    """Tell whether resources are allowed, by a rule or by a workspace that never exempts what is beside."""
    key = keys[0]
    if key is not None and key.discharged and beside is not None:
        return not examined.space.policies.registry[beside.role].containable
    outcomes = [answered.outcomes[0] for answered in examined.answers.get(keys, ())]
    return any(outcome is not None and outcome.verdict is Verdict.ALLOW for outcome in outcomes)


def _falls_through(examined: Examined, keys: tuple[ResourceKey | None, ...]) -> bool:
    answers = examined.answers.get(keys, ())
    discharged = keys[0] is not None and keys[0].discharged
    return bool(answers) and not discharged and all(a.path.outcome[0] == FALLS_THROUGH for a in answers)


def _draft(context: FindingContext, examined: Examined, role: str, forgotten: _Forgotten) -> FindingDraft:
    tool = f"{visible(examined.space.server)}/{visible(examined.space.tool)}"
    regions = [Region(c, label, role) for cell in forgotten.cells.values() for c, label in cell.regions]
    shown = [label for labels in grouped(regions).values() for label in labels]
    where = shown if shown != [OUTSIDE] else ["anywhere"]
    places: list[JsonValue] = [*where]
    beside = ", ".join(sorted(forgotten.beside - {role}))
    witness = next(
        (
            call
            for cell in forgotten.cells.values()
            if (call := context.find_call(examined, cell, lambda resource, _: resource[0] == _DENIED))
            is not None
        ),
        None,
    )
    return FindingDraft(
        kind="uncovered-role",
        severity="warning",
        about=[examined.space.server, examined.space.tool, role, places],
        where=tool,
        message=f"no rule speaks of {role} of {tool} ({', '.join(visible(w) for w in where) or 'anywhere'}), "
        f"so its calls are denied by default there, although other roles of it ({beside}) are allowed",
        suggestion=f"Write a rule that names the tool and says what becomes of {role}: deny, escalate or "
        "allow. Added to a rule for all tools, the role would be open to all.",
        sampled=bool(examined.gaps),
        witness=witness,
        universal=True,
    )
