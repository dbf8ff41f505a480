"""Deciding a recorded call once more: does its own bundle say the same, and does another one?"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ironcurtain.analysis.engine.rules.rules import rules_of_tool
from ironcurtain.analysis.explain.explain import Explainer
from ironcurtain.analysis.explain.report import Explanation, Reproduction
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision.canonical import pointers
from ironcurtain.decision.decide import Call
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.roles import NONE
from ironcurtain.enforcement.audit.record_types import DecisionRecord, ResourceRecord
from ironcurtain.errors import BundleIntegrityError, EvidenceError
from ironcurtain.model.decision import Decision, ResourceDecision
from ironcurtain.model.reserved_rules import ReservedRule, is_of_policy
from ironcurtain.policy import Policy
from ironcurtain.system.text import visible

_SHOWN = 20
_FREE = {NONE, "commit-message"}


def recorded_call(record: DecisionRecord) -> Call:
    """Return the call of a record: its canonical arguments, exactly what was decided.

    Raises:
        EvidenceError: If the record does not hold them.
    """
    if record.arguments is None:
        if record.abstract is not None:
            why = "its log holds no values"
        elif record.omitted:
            why = f"the call was refused, and its {record.omitted:,} bytes are too large to be in the log"
        else:
            why = "the call was refused before its arguments could be read"
        raise EvidenceError(
            f"the record {visible(record.id)} holds no arguments to decide again: {why}",
            hint=f"It was decided {record.verdict} by {visible(record.rule)}: {visible(record.reason)}",
        )
    return Call(
        record.server,
        record.tool,
        record.arguments,
        record.caller,
        live_digest=record.schema_digest if record.drift_checked else None,
        live_listing=record.listing_digest,
        id=record.id,
        facts=record.facts.values if record.facts is not None else None,
    )


def explain_recorded(
    record: DecisionRecord, load: Callable[[], Policy], bundle: str
) -> tuple[Explanation, LoadedPolicy]:
    """Decide a recorded call again under the policy that it was decided under, and explain that.

    Args:
        record: The decision.
        load: Loads the policy.
        bundle: What it loads, for errors.

    Raises:
        BundleIntegrityError: If the policy is of another revision than the record.
        EvidenceError: If the record does not hold what is needed; others as `Policy.load`.
    """
    if not is_of_policy(record.rule):
        raise EvidenceError(
            f"the record {visible(record.id)} holds no decision of the policy to explain: "
            f"it is {record.verdict} by {visible(record.rule)}",
            hint=f"Its reason: {visible(record.reason)}",
        )
    call = recorded_call(record)
    with load() as policy:
        if policy.revision != record.revision:
            raise BundleIntegrityError(
                f"the record was decided under revision {visible(record.revision)}; "
                f"this bundle has {policy.revision}",
                where=bundle,
                hint="Give the bundle of then; --today says what another one decides.",
            )
        check_known(record, policy.bundle)
        found = Explainer(policy.bundle, policy.loaded, policy.decide_traced).explain(call)
    return found.model_copy(update={"reproduction": reproduction(record, found.decision)}), policy.loaded


def check_known(record: DecisionRecord, bundle: Bundle) -> None:
    """Refuse a record whose redacted values the policy could have tested.

    Raises:
        EvidenceError: Naming the first of them.
    """
    content = PolicyContent.of(bundle)
    tool = content.annotations.find(record.server, record.tool)
    if tool is None or not record.redacted:
        return
    rules = rules_of_tool(content, record.server, tool, {})
    tested = {
        name
        for rule in rules
        for predicate in rule.predicates
        for root, name in predicate.places
        if root == "args"
    }
    tested |= {when.arg for a in tool.args if a.conditional for when in a.conditional.when}
    free = {a.top_level for a in tool.args if set(a.possible_roles) <= _FREE} - tested
    custom = bool(bundle.custom_modules)
    for pointer in record.redacted:
        if custom or pointers.tokens(pointer)[0] not in free:
            raise EvidenceError(
                f"the record {visible(record.id)} cannot be decided again: {visible(pointer)} is redacted"
            )


def reproduction(record: DecisionRecord, decision: Decision) -> Reproduction:
    """Compare a record with a new decision about the same call.

    Raises:
        EvidenceError: If what was redacted keeps the call from being decided at all.
    """
    if (
        record.redacted
        and decision.rule == ReservedRule.INVALID_ARGUMENTS
        and record.rule != ReservedRule.INVALID_ARGUMENTS
    ):
        raise EvidenceError(
            f"the record {visible(record.id)} cannot be decided again: what is redacted does not fit the tool"
        )
    differences = tuple(_differences(record, decision))
    more = (f"and {len(differences) - _SHOWN} more",) if len(differences) > _SHOWN else ()
    return Reproduction(
        revision=decision.revision, same=not differences, differences=(*differences[:_SHOWN], *more)
    )


def _differences(record: DecisionRecord, decision: Decision) -> Iterator[str]:
    if (record.verdict, record.rule) != (decision.verdict, decision.rule):
        yield (
            f"it was {record.verdict} by {visible(record.rule)}, "
            f"and is {decision.verdict} by {visible(decision.rule)}"
        )
    then = {_place(resource): resource for resource in record.subjects}
    now = {_place(resource): resource for resource in decision.subjects}
    if any(resource.value is None for resource in record.subjects):
        return
    for place in dict.fromkeys((*then, *now)):
        yield from _subject(place, then.get(place), now.get(place))
    if not record.redacted and record.arguments != (decision.arguments or record.arguments):
        yield "an argument leads elsewhere than it did"


def _subject(
    place: tuple[str, str, str | None], then: ResourceRecord | None, now: ResourceDecision | None
) -> Iterator[str]:
    at, role, value = place
    where = f"{visible(at) or 'the call'} ({role} {visible(value or '')})" if at else "the call"
    if then is None or now is None:
        yield f"{where} is new" if then is None else f"{where} is no longer there"
    elif (then.verdict, then.rule, then.discharged) != (now.verdict, now.rule, now.discharged):
        old = f"{then.verdict} by {visible(then.rule)}"
        yield f"{where} was {old}, and is {now.verdict} by {visible(now.rule)}"


def _place(resource: ResourceRecord | ResourceDecision) -> tuple[str, str, str | None]:
    return resource.at, resource.role, resource.value
