"""What an agent is told of a decision: enough to go on, and nothing about the policy.

Only rule names that are ours choose the words. A rule of the policy contributes nothing but which
arguments were refused, and a protected place reads exactly like one that no rule permits: otherwise the
answers would tell where the protected places are.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ironcurtain.decision.roles import BUILT_IN
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision, ResourceDecision
from ironcurtain.model.reasons import UNTOLD
from ironcurtain.model.reserved_rules import ReservedRule, reserved
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen
from ironcurtain.system.text import printable, quoted, visible

AgentState: TypeAlias = Literal["denied", "pending", "invalid", "expired", "no-approver", "withdrawn", "void"]
"""What became of a call that was not allowed: refused by the policy or a person, waiting for a person,
not answered in time, nobody there to ask, called off, or approved as another call than what is left of it."""


class AgentView(Frozen):
    """What an agent is told of a decision: no rule names, no policy text, no protected places.

    Attributes:
        state: None for an allowed call.
        reason: Why, in plain words; hidden characters are escaped.
        arguments_may_help: Whether a call of the same tool with other arguments could get further.
        approval_may_help: Whether a person's approval could still permit this call.
        decision: The decision's id.
    """

    format: Literal["ironcurtain/agent-view/v1"] = "ironcurtain/agent-view/v1"
    verdict: Verdict
    state: AgentState | None
    reason: str
    arguments_may_help: bool
    approval_may_help: bool
    decision: str

    @property
    def text(self) -> str:
        """The view in sentences, one a line."""
        lines = [self.reason]
        if self.state is not None:
            lines.append(_ARGUMENTS[self.arguments_may_help])
            if self.approval_may_help:
                lines.append("A person's approval can permit it.")
            elif self.verdict is Verdict.DENY:  # of what a person refused, the reason says so
                lines.append("No approval can permit it.")
        return "\n".join([*lines, f"Decision: {self.decision}"])


_ARGUMENTS = {True: "Other arguments may be permitted.", False: "Other arguments will not help."}


_SHOWN = 5
_MAX_REASON = 2_000
_DOING = {role.name: role.verb.gerund for role in BUILT_IN if role.verb and role.verb.gerund}
_AFTER: dict[AgentState, tuple[str, bool]] = {
    "pending": ("A person must approve {what} before it happens, and is being asked.", True),
    "denied": ("A person was asked about {what} and refused.", False),
    "invalid": ("A person had to approve {what}, and the answer that came does not count as one.", True),
    "expired": ("A person was asked about {what} and did not answer in time.", True),
    "no-approver": ("A person must approve {what}, and there is nobody to ask.", True),
    "withdrawn": ("The call was called off while a person was asked about {what}.", True),
    "void": ("Something changed after a person had approved {what}, so the approval is void.", True),
}


def agent_view(
    decision: Decision,
    decision_id: str,
    *,
    state: AgentState | None = None,
    reachable: bool = True,
    tool: ToolAnnotation | None = None,
) -> AgentView:
    """Return what the agent is told of a decision.

    Args:
        decision: The decision, as it is recorded.
        decision_id: What a person can find the decision by.
        state: What became of an escalated call (default: a person is being asked). Nothing else has one
            but `denied`.
        reachable: Whether any call of the tool could be allowed or escalated, as far as that is known.
        tool: The tool's annotation, where there is one: a tool without arguments is not called with others.
    """
    id_ = visible(decision_id)
    if decision.verdict is Verdict.ALLOW:
        return _view(decision, None, "The call is permitted.", id_)
    if decision.verdict is Verdict.ESCALATE:
        became: AgentState = state or "pending"
        words, approval = _AFTER[became]
        reason = words.format(what=_what(decision))
        other = _named(decision) and became != "pending"
        return _view(decision, became, reason, id_, arguments=bool(other), approval=approval)
    return _refusal(decision, id_, reachable=reachable, tool=tool)


def _refusal(decision: Decision, id_: str, *, reachable: bool, tool: ToolAnnotation | None) -> AgentView:
    rule = reserved(decision.rule)
    if rule is not None and rule.facts.public:
        # What the call names, there may be no record of; what is wrong with the engine, no call changes.
        other = reachable and rule is ReservedRule.FACT_UNAVAILABLE
        return _view(decision, "denied", rule.facts.public, id_, arguments=other)
    if rule is not None and rule.facts.shows_reason:
        return _view(decision, "denied", _cut(decision.reason), id_, arguments=reachable)
    if rule is ReservedRule.UNREPRESENTABLE_ARGUMENT:
        # A decision that was read from a record no longer knows what of its reason came from the call.
        told = decision.cause.public if decision.cause is not None else UNTOLD
        return _view(decision, "denied", _cut(told), id_, arguments=reachable)
    arguments = reachable and (tool is None or bool(tool.args) or bool(decision.arguments))
    words = f"{_what(decision)} is not permitted."
    return _view(decision, "denied", words[0].upper() + words[1:], id_, arguments=arguments)


def _view(
    decision: Decision,
    state: AgentState | None,
    reason: str,
    id_: str,
    *,
    arguments: bool = False,
    approval: bool = False,
) -> AgentView:
    return AgentView(
        verdict=decision.verdict,
        state=state,
        reason=printable(reason),
        arguments_may_help=arguments,
        approval_may_help=approval,
        decision=id_,
    )


def _named(decision: Decision) -> list[ResourceDecision]:
    """Return the resources that stand in an argument and have the call's verdict."""
    return [s for s in decision.subjects if s.at and s.verdict is decision.verdict]


def _what(decision: Decision) -> str:
    """Say what the call does with its refused arguments; their names only, never what they lead to."""
    doings = dict.fromkeys(f"{_DOING.get(s.role, 'using')} {_place(s.at)}" for s in _named(decision))
    shown = list(doings)[:_SHOWN]
    more = f" and {len(doings) - _SHOWN} more" if len(doings) > _SHOWN else ""
    return (" and ".join(shown) if not more else ", ".join(shown) + more) or "this call"


def _place(pointer: str) -> str:
    return f"what {quoted(pointer.removeprefix('/'), limit=80)} names"


def _cut(reason: str) -> str:
    return reason if len(reason) <= _MAX_REASON else f"{reason[:_MAX_REASON]}…"
