"""What a call does to what it names, said no further than its annotation knows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ironcurtain.decision.roles import BUILT_IN, NONE
from ironcurtain.enforcement.approvals.messages import ApprovalRequest
from ironcurtain.model.decision import SubjectDecision
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import cut, in_quotes, visible

_IS_ABOUT = "is about"
_VERBS = {role.name: role.verb for role in BUILT_IN if role.verb}
_WRITING = frozenset(role.name for role in BUILT_IN if role.writes)
_READ_PATH = "read-path"
_SENTENCE_VALUES = 5


def effect_of(request: ApprovalRequest, *, length: int | None = None) -> str:
    """Return one or two sentences, safe to show: what the call reads, changes and contacts.

    What only the tool's annotation says is told as that, and what nobody knows as unknown.

    Args:
        request: The request.
        length: Most characters of each resource; None shows them whole.
    """
    roles = {each.role for each in request.subjects} - {NONE}
    if not roles and request.side_effects:
        return (
            "What this call changes is not known: it names nothing, and its tool is annotated to change "
            "something."
        )
    if not roles:
        return "This call changes nothing, as its tool is annotated."
    said = f"This call {resources_of(request, most=_SENTENCE_VALUES, length=length)}."
    if roles & _WRITING:
        return said
    # A tool with a resource has side effects by the rules of annotation, though all it does is read. What it
    # does beyond that is known where every effect of it lies at its paths.
    if request.side_effects and not (request.contained and roles == {_READ_PATH}):
        return f"{said} Whether it changes something as well is not known."
    return f"{said} It changes nothing, as its tool is annotated."


def resources_of(request: ApprovalRequest, *, most: int, length: int | None = None) -> str:
    """Return what the call does to which resource, in canonical form, those first that are asked about.

    Args:
        request: The request.
        most: How many resources are named; of more, their number is told.
        length: Most characters of each; None shows them whole.
    """
    ordered = sorted(request.subjects, key=lambda each: each.verdict is not Verdict.ESCALATE)
    verbs = _verbs_by_value(each for each in ordered if each.role != NONE)
    parts: list[str] = []
    previous: Sequence[str] = ()
    for value in list(verbs)[:most]:
        shown = in_quotes(value) if length is None else f'"{cut(in_quotes(value)[1:-1], length)}"'
        parts.append(shown if verbs[value] == previous else f"{' and '.join(verbs[value])} {shown}")
        previous = verbs[value]
    if len(verbs) > most:
        parts.append(f"and {len(verbs) - most:,} more")
    return ", ".join(parts)


def _verbs_by_value(subjects: Iterable[SubjectDecision]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for each in subjects:
        verb = _VERBS.get(each.role, f"{_IS_ABOUT} the {visible(each.role)}")
        verbs = found.setdefault(each.value, [])
        if verb not in verbs:
            verbs.append(verb)
    return found
