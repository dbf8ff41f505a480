"""One tool call's way to its decision: the seven steps in their order (specification 2.0).

`prepare` is steps 1 to 5 and the input of step 6; `trace` also says what each of these found, which
`ironcurtain explain` prints. Verification prepares its scenarios with the same
function, so what is verified is what runs. Nothing here reads a clock, the environment or the network;
the engine is asked through `ask`, and ids come from the caller.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from ironcurtain.decision import structural_checks
from ironcurtain.decision.canonical.arguments import Canonical, canonicalise
from ironcurtain.decision.canonical.unrepresentable import UnrepresentableError
from ironcurtain.decision.canonical.validate import InvalidArgumentsError, ValidatedTool
from ironcurtain.decision.escalation import with_checklist
from ironcurtain.decision.facts import known_facts, with_whole_totals
from ironcurtain.decision.finalize import merge, read_answer
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.policy_input import PolicyInput, policy_input
from ironcurtain.decision.refusal import Refusal
from ironcurtain.model.annotations import ToolAnnotation
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import JsonValue
from ironcurtain.system.json_text import JsonSource
from ironcurtain.system.structs import Struct, field
from ironcurtain.system.text import quoted, visible

_log = logging.getLogger(__name__)


class Call(Struct):
    """A tool call as it arrives.

    Attributes:
        arguments: JSON text as received, or an already parsed object.
        caller: Facts about whom the agent acts for, from a verified source, never from the call.
        live_digest: Digest of the live tool's schema and description, or None: no drift check is made.
        live_listing: Digest of all that clients are told of the live tool, or None where that is not known.
        id: The caller's id for the call, carried into the decision.
        meta: What a deployment lets through to the server beside the arguments: strict JSON, which is not
            judged, but shown to the person who is asked, part of what they approve, and recorded.
        facts: Values of the facts that the policy declares, as `ironcurtain.decision.facts.normalise` returns
            them; those that are not known are left out.
        client: Whose connection it came by; like `meta` it is shown, approved and recorded.
    """

    server: str
    tool: str
    arguments: JsonSource | bytes
    caller: Mapping[str, JsonValue] | None = None
    live_digest: str | None = None
    live_listing: str | None = None
    id: str | None = None
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    client: str = ""
    facts: Mapping[str, JsonValue] | None = None


class Prepared(Struct):
    """A call after steps 1 to 5: what OPA is asked, what its answer is merged with, what goes along."""

    input: PolicyInput
    call: Canonical
    minimum: structural_checks.MinimumVerdict
    base: Decision
    meta: Mapping[str, JsonValue] = field(default_factory=dict)
    client: str = ""

    @property
    def caller(self) -> dict[str, JsonValue]:
        """The facts about the principal, as the policy sees them."""
        return self.input["caller"]

    @property
    def facts(self) -> dict[str, JsonValue]:
        """The declared facts, as the policy sees them."""
        return self.input.get("facts", {})


@dataclass(slots=True)
class Trace:
    """What steps 1 to 5 found of one call; None where the call ended before, or in that step.

    Attributes:
        arguments: Step 1: the arguments as they arrived, parsed.
        tool: Step 2: the annotated tool.
        filled: Step 3: the valid arguments, defaults filled in.
        canonical: Step 4: the canonical arguments and the resources that they name.
        outcome: Step 5 and the input of step 6; or the decision that the call ended with.
        answer: Step 6: what the engine answered, as `decide_traced` saw it.
    """

    outcome: Prepared | Decision
    arguments: dict[str, JsonValue] | None = None
    tool: ValidatedTool | None = None
    filled: dict[str, JsonValue] | None = None
    canonical: Canonical | None = None
    answer: JsonValue = None

    @property
    def passed(self) -> int:
        """How many of the five steps the call passed."""
        found = (self.arguments, self.tool, self.filled, self.canonical)
        return 5 if isinstance(self.outcome, Prepared) else sum(each is not None for each in found)


class TracedDecision(Struct):
    """A decision, and how the call came to it."""

    decision: Decision
    trace: Trace


async def decide(
    call: Call, policy: LoadedPolicy, ask: Callable[[PolicyInput], Awaitable[JsonValue]]
) -> Decision:
    """Decide one call. Total: every input yields a decision, and any failure is a deny.

    Args:
        call: The call as it arrived.
        policy: The policy, loaded where the call happens.
        ask: Asks the engine; raises Refusal with an `engine-…` rule when it gives no answer.
    """
    return await evaluate(prepare(call, policy), policy, ask)  # steps 1 to 5, then 6 and 7


async def decide_traced(
    call: Call, policy: LoadedPolicy, ask: Callable[[PolicyInput], Awaitable[JsonValue]]
) -> TracedDecision:
    """Decide one call as `decide` does, and say what each step found."""
    found = trace(call, policy)

    async def asked(question: PolicyInput) -> JsonValue:
        found.answer = await ask(question)
        return found.answer

    return TracedDecision(await evaluate(found.outcome, policy, asked), found)


async def evaluate(
    prepared: Prepared | Decision,
    policy: LoadedPolicy,
    ask: Callable[[PolicyInput], Awaitable[JsonValue]],
) -> Decision:
    """Do steps 6 and 7 for a call that `prepare` has brought there; total, as `decide` is."""
    if isinstance(prepared, Decision):
        return prepared
    try:
        answer = await ask(prepared.input)  # step 6
        return finalize(prepared, answer, policy)  # step 7
    except Exception as error:  # noqa: BLE001 - totality: a fault of ours must never let a call through
        return _refused(prepared.base, error, prepared.call)


def prepare(call: Call, policy: LoadedPolicy) -> Prepared | Decision:
    """Do steps 1 to 5: return what to ask the engine, or the decision if the call ends there."""
    return trace(call, policy).outcome


def trace(call: Call, policy: LoadedPolicy) -> Trace:
    """Do steps 1 to 5, and say what each found."""
    if not isinstance(call, Call):  # whoever embeds this may not check types
        return Trace(_no_call(call, policy))
    base = _base(call, policy)
    found = Trace(base)
    try:
        found.arguments, caller = _parse(call), _caller(call, policy)  # 1
        found.tool = tool = _know(call, policy)  # 2
        found.filled = _fit(tool, found.arguments, policy, call.server)  # 3
        found.canonical = canonical = _canonicalise(tool, found.filled, policy, call.server)  # 4
        minimum = structural_checks.check(tool.annotation, canonical, policy.boundaries(call.server))  # 5
        question = policy_input(
            call.server,
            tool.annotation,
            canonical.arguments,
            caller,
            canonical.resources,
            minimum.discharged,
            policy.patterns,
            _declared(call, policy, canonical.arguments),
        )
    except Exception as error:  # noqa: BLE001 - totality, as in decide
        found.outcome = _refused(base, error, found.canonical)
    else:
        found.outcome = Prepared(question, canonical, minimum, base, call.meta, call.client)
    return found


def finalize(prepared: Prepared, answer: JsonValue, policy: LoadedPolicy) -> Decision:
    """Do step 7: merge the engine's answer with the structural minimum.

    Raises:
        Refusal: If the answer is not a well-formed decision about this call.
    """
    resources = prepared.call.resources
    read = read_answer(answer, {resource.id for resource in resources})
    arguments, minimum = prepared.call.arguments, prepared.minimum
    merged = merge(prepared.base, arguments, resources, minimum, read, policy.clauses)
    return with_checklist(merged, policy.content)


def _parse(call: Call) -> dict[str, JsonValue]:
    try:
        arguments = _value(call.arguments)
        json_text.check([call.server, call.tool])
    except json_text.MalformedJsonError as error:
        raise Refusal(
            ReservedRule.MALFORMED_CALL, f"The call is not strict JSON: {visible(str(error))}."
        ) from None
    if not (isinstance(call.server, str) and isinstance(call.tool, str)):
        raise Refusal(ReservedRule.MALFORMED_CALL, "The names of server and tool are no strings.")
    if arguments is None:
        return {}
    if not isinstance(arguments, dict):
        raise Refusal(ReservedRule.MALFORMED_CALL, "The arguments are no JSON object.")
    return arguments


def arguments_of(call: Call) -> dict[str, JsonValue] | None:
    """Return the arguments of a call as step 1 reads them; None if they are no strict JSON object."""
    try:
        value = _value(call.arguments)
    except (TypeError, ValueError):
        return None
    return {} if value is None else value if isinstance(value, dict) else None


def _value(arguments: JsonSource | bytes) -> JsonValue:
    if isinstance(arguments, str | bytes):
        return json_text.parse(arguments)
    return json_text.plain(arguments)


def _caller(call: Call, policy: LoadedPolicy) -> dict[str, JsonValue]:
    if not call.caller:
        return policy.canonical_caller({})
    try:
        return policy.canonical_caller(json_text.members(json_text.plain(dict(call.caller))))
    except (json_text.MalformedJsonError, TypeError, ValueError):
        raise Refusal(
            ReservedRule.MALFORMED_CALL, "The facts about the caller are no strict JSON object."
        ) from None


def _declared(
    call: Call, policy: LoadedPolicy, arguments: dict[str, JsonValue]
) -> dict[str, JsonValue] | None:
    """Return the declared facts that are known; None where the policy declares none."""
    if not policy.facts:
        return None
    try:
        known = known_facts(policy.facts, json_text.members(json_text.plain(dict(call.facts or {}))))
        return with_whole_totals(policy.facts, known, call.server, call.tool, arguments)
    except (json_text.MalformedJsonError, TypeError, ValueError):
        raise Refusal(ReservedRule.MALFORMED_CALL, "The declared facts are no strict JSON object.") from None


def _know(call: Call, policy: LoadedPolicy) -> ValidatedTool:
    tool = policy.tool(call.server, call.tool)
    if tool is None:
        raise Refusal(
            ReservedRule.UNKNOWN_TOOL,
            f"No annotated tool {quoted(call.tool)} of server {quoted(call.server)}.",
        )
    if is_drifted(tool.annotation, call.live_digest, call.live_listing):
        raise Refusal(
            ReservedRule.TOOL_DRIFT, "The tool is no longer the one that was annotated; annotate it again."
        )
    return tool


def is_drifted(annotated: ToolAnnotation, digest: str | None, listing: str | None) -> bool:
    """Tell whether a live tool is no longer the annotated one, as far as its digests are known.

    Args:
        annotated: The tool's annotation.
        digest: Of its live name, description and input schema.
        listing: Of all that clients are told of it.
    """
    pinned = annotated.listing_digest
    return (digest is not None and digest != annotated.schema_digest) or (
        listing is not None and pinned is not None and listing != pinned
    )


def _fit(
    tool: ValidatedTool, arguments: dict[str, JsonValue], policy: LoadedPolicy, server: str
) -> dict[str, JsonValue]:
    try:
        return tool.validate(arguments, has_working_root=policy.deployment.working_root(server) is not None)
    except InvalidArgumentsError as error:
        raise Refusal(ReservedRule.INVALID_ARGUMENTS, f"The arguments do not fit the tool: {error}") from None


def _canonicalise(
    tool: ValidatedTool, arguments: dict[str, JsonValue], policy: LoadedPolicy, server: str
) -> Canonical:
    try:
        return canonicalise(tool.annotation, arguments, policy.canonicalization(server))
    except UnrepresentableError as error:
        cause = error.cause.within("An argument cannot be judged exactly: ", ".")
        raise Refusal.unrepresentable(cause) from None


def _no_call(given: object, policy: LoadedPolicy) -> Decision:
    base = _base(Call(server="", tool="", arguments=None), policy)
    reason = f"A {quoted(type(given).__name__)} was given, not a call of a server, a tool and arguments."
    return base.model_copy(update={"rule": ReservedRule.MALFORMED_CALL.value, "reason": reason})


def _base(call: Call, policy: LoadedPolicy) -> Decision:
    """Return the decision's frame: everything that is known before the verdict; a deny until replaced."""
    return Decision(
        id=None if call.id is None else _encodable(call.id),
        server=_encodable(call.server),
        tool=_encodable(call.tool),
        verdict=Verdict.DENY,
        rule=ReservedRule.INTERNAL_ERROR.value,
        reason="",
        revision=policy.revision,
        drift_checked=call.live_digest is not None,
    )


def _refused(base: Decision, error: Exception, canonical: Canonical | None) -> Decision:
    """Return the deny that an early end of the call means; the arguments are shown once they exist."""
    if not isinstance(error, Refusal):
        _log.error("internal error while deciding a call", exc_info=error)
    refusal = (
        error
        if isinstance(error, Refusal)
        else Refusal(ReservedRule.INTERNAL_ERROR, f"An internal error ({type(error).__name__}).")
    )
    arguments = canonical.arguments if canonical else None
    return base.model_copy(
        update={
            "rule": str(refusal.rule),
            "reason": refusal.reason,
            "subjects": refusal.resources,
            "arguments": arguments,
        }
    ).because(refusal.cause)


def _encodable(name: object) -> str:
    if type(name) is str and name.isascii():
        return name
    return str(name).encode("utf-8", "replace").decode()
