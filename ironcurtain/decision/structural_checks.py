"""Step 5: the structural checks (specification 2.5). They are hardcoded; no artifact can change them.

All checks run over all resources and the most severe result counts: a deny ends the call, an escalate
is the least that the call comes to, and the workspace takes resources out of the policy's default.
"""

from __future__ import annotations

from collections.abc import Iterator

from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.canonical.arguments import Canonical
from ironcurtain.decision.canonical.host_view import FileKind, UnreadableError
from ironcurtain.decision.canonical.paths import Resolver, is_within
from ironcurtain.decision.canonical.paths_in_text import looks_like_path, paths_in
from ironcurtain.decision.canonical.pattern_index import PatternIndex
from ironcurtain.decision.canonical.resources import Resource
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.protected_paths import PathGuard, Protection
from ironcurtain.decision.refusal import Refusal
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import ResourceDecision
from ironcurtain.model.reasons import UNTOLD, Reason, ReasonCode
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import quoted

_CHANGING = frozenset({"write-path", "delete-path"})
_WRITING = "write-path"


class Boundaries(Struct):
    """What the checks of one server hold against: protected paths, the sandbox, the domain gate.

    Attributes:
        gate: The server's domain list as patterns; None if the server has no gate.
    """

    protection: Protection
    sandbox: str | None
    working_root: str | None
    gate: PatternIndex | None


class MinimumVerdict(Struct):
    """The outcome of the checks when none of them denies.

    Attributes:
        escalated: By resource id, the rule under which it must at least be escalated, and why.
        discharged: Ids of the resources that are workspace-exempt.
    """

    escalated: dict[str, tuple[str, str]]
    discharged: frozenset[str]


def check(tool: ToolAnnotation, call: Canonical, bounds: Boundaries) -> MinimumVerdict:
    """Run every structural check over every resource of a call.

    Raises:
        Refusal: If a protected path is touched.
    """
    _refuse_protected(tool, call, bounds)
    return MinimumVerdict(
        escalated={s.id: minimum for s in call.resources if (minimum := _floor(s, bounds))},
        discharged=frozenset(s.id for s in call.resources if _is_contained(tool, s, call.resolver, bounds)),
    )


def _refuse_protected(tool: ToolAnnotation, call: Canonical, bounds: Boundaries) -> None:
    guard = bounds.protection.guard(call.resolver)
    try:
        touched = [s for s in call.resources if _is_protected(s, guard)]
        hidden = next(_protected_leaves(call, bounds, guard), None)
    except UnreadableError as error:
        text = f"It cannot be told whether a path is protected: {error}"
        raise Refusal.unrepresentable(Reason(ReasonCode.PROTECTION, text, UNTOLD)) from None
    if not touched and hidden is None:
        return
    decided = tuple(
        ResourceDecision(
            at=s.at,
            also_at=s.also_at,
            role=s.role.name,
            value=s.value,
            verdict=Verdict.DENY,
            rule=ReservedRule.PROTECTED_PATH.value,
        )
        for s in touched
    )
    place = quoted((touched[0].at if touched else hidden) or "")[1:-1]
    raise Refusal(
        ReservedRule.PROTECTED_PATH,
        f"{place} of {tool.tool} names, or contains, a path that belongs to the protection itself.",
        decided,
    )


def _is_protected(resource: Resource, guard: PathGuard) -> bool:
    if resource.role.category != "path":
        return False
    if guard.refuses(resource.value) or (resource.recursive and guard.refuses_below(resource.value)):
        return True
    if resource.role.name not in _CHANGING or resource.git_directory:
        return False
    if guard.refuses_change(resource.value):
        return True
    return resource.role.name == _WRITING and guard.refuses_writing(resource.value)


def _protected_leaves(call: Canonical, bounds: Boundaries, guard: PathGuard) -> Iterator[str]:
    """Yield the pointers of texts without a path role, keys too, that name a protected path all the same."""
    seen: set[str] = set()
    for steps, value in pointers.ends(call.arguments):
        if steps in call.starts:
            continue
        for text in (*steps[1:], value):
            if not looks_like_path(text) or text in seen:
                continue
            seen.add(text)
            if _is_protected_text(text, call.resolver, bounds, guard):
                yield pointers.join(steps)


def _is_protected_text(text: str, resolver: Resolver, bounds: Boundaries, guard: PathGuard) -> bool:
    for path in paths_in(text):
        try:
            if guard.refuses(resolver.resolve(path, bounds.working_root)):
                return True
        except UnrepresentableError:
            continue
    return False


def _floor(resource: Resource, bounds: Boundaries) -> tuple[str, str] | None:
    if resource.unresolved is not None:
        return (
            ReservedRule.UNRESOLVED_REMOTE.value,
            f"It cannot be told what git would contact: {resource.unresolved}.",
        )
    if resource.role.category != "url" or bounds.gate is None:
        return None
    if bounds.gate.covering(resource.role, resource.resource):
        return None
    return ReservedRule.DOMAIN_ESCALATE.value, "The address is not on the domain list of this server."


def _is_contained(tool: ToolAnnotation, resource: Resource, resolver: Resolver, bounds: Boundaries) -> bool:
    if not (tool.contained and resource.role.containable and bounds.sandbox is not None):
        return False
    if not is_within(resource.value, bounds.sandbox):
        return False
    if not resource.role.writes:
        return True
    # A second name of the same file may lie outside, and writing here would change it there.
    entry = resolver.entry(resource.value)
    return entry is None or entry.kind is not FileKind.FILE or entry.links <= 1
