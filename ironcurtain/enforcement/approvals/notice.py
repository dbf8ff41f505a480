"""What a person is told elsewhere: that a call waits. `directory` asks, and `hook` sends this on."""

from __future__ import annotations

from ironcurtain.decision.roles import NONE
from ironcurtain.enforcement.approvals.effects import effect_of, resources_of
from ironcurtain.enforcement.approvals.messages import ApprovalNotice, ApprovalRequest, NoticeResource
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.text import cut, isolated, visible

_RESOURCES = 20
_VALUE = 300
_SUMMARY = 300
_IN_SUMMARY = 2


def notice_of(request: ApprovalRequest) -> ApprovalNotice:
    """Return the notice of a request, which is told as it is: redact it before.

    Every text is bounded and safe to show, and the summary begins with a word of ours: a program that takes
    it as an argument does not take it for an option.
    """
    resources = [each for each in request.subjects if each.role != NONE]
    about = resources_of(request, most=_IN_SUMMARY, length=_VALUE // 3)
    call = f"{_safe(request.server)} {_safe(request.tool)}"
    return ApprovalNotice(
        id=request.id,
        summary=isolated(cut(f"Waits for you: {call}" + (f" {about}" if about else ""), _SUMMARY)),
        session=_safe(request.session),
        client=_safe(request.client),
        server=_safe(request.server),
        tool=_safe(request.tool),
        effect=effect_of(request, length=_VALUE),
        resources=tuple(
            NoticeResource(
                role=_safe(each.role), value=_safe(each.value), asked=each.verdict is Verdict.ESCALATE
            )
            for each in resources[:_RESOURCES]
        ),
        more=max(0, len(resources) - _RESOURCES),
        clause=_safe(request.clause) if request.clause is not None else None,
        reason=_safe(request.reason),
        asked=request.asked,
        expires=request.expires,
        answer=f"ironcurtain approvals approve {request.id}",
    )


def _safe(text: str) -> str:
    return cut(visible(text), _VALUE)
