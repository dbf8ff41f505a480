"""Deciding recorded calls under another policy.

    outcomes = Replayer(bundle, loaded, opa).decide(records)

- What a record says of the call itself is kept: its resources, their minimum verdicts, which of them were
  workspace-exempt. That is sound as long as the tool means the same, which the record's basis tells.
- The policy is evaluated anew, by the real engine.
- Where a record does not determine the answer, the answer is `unknown`, with the reason.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping

from ironcurtain.analysis.engine.evaluate import evaluate
from ironcurtain.analysis.replay.pseudonymization import KeyedDigests, names_too_much
from ironcurtain.analysis.replay.report import Replayed
from ironcurtain.analysis.replay.resources import (
    PatternTable,
    RecordedResource,
    UnknownError,
    as_it_is,
    resources_of,
)
from ironcurtain.analysis.replay.values import CallCompletions, CompletedCall
from ironcurtain.bundle.archive import Bundle
from ironcurtain.bundle.content import PolicyContent
from ironcurtain.decision import structural_checks
from ironcurtain.decision.canonical.resources import CALL, Resource
from ironcurtain.decision.canonical.urls import Url
from ironcurtain.decision.finalize import merge, read_answer
from ironcurtain.decision.loaded_policy import LoadedPolicy
from ironcurtain.decision.policy_input import PolicyInput, policy_input
from ironcurtain.decision.refusal import Refusal
from ironcurtain.decision.roles import NONE, Role
from ironcurtain.enforcement.audit.record_types import DecisionRecord
from ironcurtain.enforcement.audit.recorder import annotation_of, basis_of
from ironcurtain.engine.command import OpaCommand
from ironcurtain.errors import VerificationError
from ironcurtain.model.decision import Decision
from ironcurtain.model.reserved_rules import ReservedRule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Digest, JsonValue
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_DIGEST = re.compile(r"\$[0-9a-f]{32}")
_EARLY = frozenset(
    {ReservedRule.INVALID_ARGUMENTS, ReservedRule.PROTECTED_PATH, ReservedRule.UNREPRESENTABLE_ARGUMENT}
)
"""Rules that depend on the tool and on the place alone."""


class ReplayedOutcome(Struct):
    """How a recorded call is decided now.

    Attributes:
        decision: The decision, or one of those that the call may have had; None where it is unknown.
    """

    replayed: Replayed
    decision: Decision | None


class SeenCall(Struct):
    """A recorded call as a policy sees it.

    Attributes:
        resources: Its resources, in document order.
        patterns: By resource, the patterns and `@lists` of the policy that cover it.
        completions: The arguments and facts that it may have had, at least one.
    """

    resources: list[RecordedResource]
    patterns: tuple[tuple[str, ...], ...]
    completions: list[CompletedCall]


class _Asked(Struct):
    """One question about a record, with what its answer is merged with."""

    input: PolicyInput
    resources: tuple[Resource, ...]
    minimum: structural_checks.MinimumVerdict
    base: Decision


class Replayer:
    """Decides recorded calls under one policy.

    Args:
        bundle: The policy's bundle.
        loaded: The policy, loaded with the home and the sandbox of the recorded calls.
        opa: The engine.
        key: The log's key, which a log without values needs.
    """

    def __init__(
        self, bundle: Bundle, loaded: LoadedPolicy, opa: OpaCommand, key: bytes | None = None
    ) -> None:
        self._bundle, self._loaded, self._opa = bundle, loaded, opa
        self._content = PolicyContent.of(bundle)
        self._registry = loaded.canonicalization("").registry
        digests = self._digests = KeyedDigests(key) if key is not None else None
        self._completions = CallCompletions(self._content, digests, self._registry)
        self._bases: dict[tuple[str, str], Digest | None] = {}
        self._tables = {
            False: PatternTable(self._content, loaded, as_it_is, self._registry),
        }
        self._forms = {False: as_it_is}
        if digests is not None:
            self._forms[True] = digests.chain
            self._tables[True] = PatternTable(self._content, loaded, digests.chain, self._registry)
        self._has_custom = bool(bundle.custom_modules)

    def replay(self, records: Iterable[DecisionRecord]) -> list[Replayed]:
        """Decide each recorded call; return the outcomes in the same order.

        Raises:
            EngineFailedError: If OPA does not run.
            VerificationError: If an answer of the policy is undefined or malformed.
        """
        return [outcome.replayed for outcome in self.decide(records)]

    def decide(self, records: Iterable[DecisionRecord]) -> list[ReplayedOutcome]:
        """Decide each recorded call; return the outcomes with the decisions behind them.

        Raises:
            EngineFailedError: If OPA does not run.
            VerificationError: If an answer of the policy is undefined or malformed.
        """
        listed = list(records)
        outcomes: list[Replayed | dict[str, _Asked]] = []
        for number, record in enumerate(listed):
            try:
                outcomes.append(self._asked(record, number))
            except UnknownError as error:
                outcomes.append(Replayed(id=record.id, verdict=None, unknown=str(error)))
        asked = {
            id_: question.input
            for outcome in outcomes
            if isinstance(outcome, dict)
            for id_, question in outcome.items()
        }
        answers = evaluate(asked, self._bundle, self._opa) if asked else {}
        return [
            self._concluded(record, outcome, answers)
            if isinstance(outcome, dict)
            else ReplayedOutcome(outcome, self._told(record, outcome))
            for record, outcome in zip(listed, outcomes, strict=True)
        ]

    def call_class(self, record: DecisionRecord) -> Hashable:
        """Return all that the policy can know of a recorded call: it decides calls of one class alike.

        A policy with modules of its own could ask for any value, so each of its calls is a class by itself.
        """
        place = (record.server, record.tool)
        try:
            seen = self._early(record) or self.seen(record)
        except UnknownError as error:
            return (*place, str(error))
        if isinstance(seen, Replayed):
            return (*place, seen.verdict, seen.rule)
        if self._has_custom:
            return (*place, record.time, record.id)
        tool = self._loaded.tool(*place)
        predicates = self._completions.predicates(record.server, tool) if tool is not None else ()
        known = [
            (resource.role.name, patterns, resource.discharged, resource.minimum_rule)
            for resource, patterns in zip(seen.resources, seen.patterns, strict=True)
        ]
        holds = [
            frozenset(predicate.key for predicate in predicates if predicate.holds(completion.values))
            for completion in seen.completions
        ]
        return (*place, tuple(dict.fromkeys(known)), tuple(dict.fromkeys(holds)))

    def seen(self, record: DecisionRecord) -> SeenCall:
        """Return a recorded call that came as far as a policy as this policy sees it.

        Raises:
            UnknownError: If the record does not hold enough.
        """
        if record.omitted:
            raise UnknownError("the call was refused, and is too large to be in the log")
        tool = self._loaded.tool(record.server, record.tool)
        if tool is None or not record.subjects or (record.arguments is None and record.abstract is None):
            raise UnknownError("the call was refused before its arguments were judged")
        is_abstract = record.abstract is not None
        if is_abstract and self._has_custom:
            raise UnknownError("the policy has modules of its own, which could ask for any value")
        if is_abstract and True not in self._forms:
            raise UnknownError("the log holds no values, and its key is not given")
        if self._has_custom and (record.redacted or any(s.redacted for s in record.subjects)):
            raise UnknownError("a value of the call is redacted")
        table = self._tables[is_abstract]
        resources = resources_of(
            record,
            tool.annotation,
            form=self._forms[is_abstract],
            directories=table.directories,
            sandbox=self._loaded.boundaries(record.server).sandbox,
            registry=self._registry,
            hosts=self._content.case_insensitive_hosts,
        )
        covering = tuple(table.covering(resource.beginnings) for resource in resources)
        return SeenCall(resources, covering, self._completions.of(record, tool))

    def _asked(self, record: DecisionRecord, number: int) -> Replayed | dict[str, _Asked]:
        """Return what to ask about a record, or the outcome if nothing needs to be asked."""
        early = self._early(record)
        if early is not None:
            return early
        seen = self.seen(record)
        return {
            f"{number:08d}-{index:02d}": self._question(record, seen, completion)
            for index, completion in enumerate(seen.completions)
        }

    def _early(self, record: DecisionRecord) -> Replayed | None:
        """Return the outcome of a call that no policy can decide otherwise; None if it has to be asked.

        Raises:
            UnknownError: If another policy might see another call.
        """
        tool = annotation_of(self._loaded, record.server, record.tool)
        same = Replayed(id=record.id, verdict=record.verdict, rule=record.rule)
        if record.rule == ReservedRule.MALFORMED_CALL or (
            record.rule == ReservedRule.UNKNOWN_TOOL and not self._may_know(record)
        ):
            return same
        if record.rule == ReservedRule.UNKNOWN_TOOL:
            raise UnknownError("the tool was unknown when the call was recorded")
        if tool is None:
            return Replayed(id=record.id, verdict=Verdict.DENY, rule=ReservedRule.UNKNOWN_TOOL)
        if record.rule == ReservedRule.TOOL_DRIFT:
            if tool.schema_digest == record.schema_digest:
                return same
            raise UnknownError("the tool had changed when the call was recorded")
        if record.basis != self._basis(record.server, record.tool):
            raise UnknownError(
                "the tool's annotation, the roles, home or sandbox are others now (see --home, --sandbox)"
            )
        if record.rule == ReservedRule.UNREPRESENTABLE_ARGUMENT and names_too_much(record.reason):
            raise UnknownError("the call named more than could be judged")
        return same if record.rule in _EARLY else None

    def _may_know(self, record: DecisionRecord) -> bool:
        """Tell whether the tool of a record, perhaps only known by its digest, may be one of the policy's."""
        if self._loaded.tool(record.server, record.tool) is not None:
            return True
        if not _DIGEST.fullmatch(record.tool):
            return False
        if self._digests is None:
            return True
        member = self._digests.member
        known = {(member(server), member(tool)) for server, tool in self._content.tools}
        return (record.server, record.tool) in known

    def _basis(self, server: str, tool: str) -> Digest | None:
        if (server, tool) not in self._bases:
            self._bases[server, tool] = basis_of(self._content, self._loaded, server, tool)
        return self._bases[server, tool]

    def _question(self, record: DecisionRecord, seen: SeenCall, completion: CompletedCall) -> _Asked:
        recorded = seen.resources
        by_id = {f"{number:05d}": resource for number, resource in enumerate(recorded)}
        resources = tuple(_subject(id_, resource) for id_, resource in by_id.items())
        minimum = structural_checks.MinimumVerdict(
            escalated={
                s.id: (r.minimum_rule, "") for s, r in zip(resources, recorded, strict=True) if r.minimum_rule
            },
            discharged=frozenset(s.id for s, r in zip(resources, recorded, strict=True) if r.discharged),
        )
        tool = annotation_of(self._loaded, record.server, record.tool)
        if tool is None:
            raise UnknownError("there is no such tool now")
        view = _View(dict(zip(by_id, seen.patterns, strict=True)))
        facts = completion.facts if self._content.facts else None
        args, caller, discharged = completion.args, completion.caller, minimum.discharged
        try:
            question = policy_input(record.server, tool, args, caller, resources, discharged, view, facts)
        except Refusal as refusal:
            raise UnknownError("the call names too much for the policy") from refusal
        return _Asked(question, resources, minimum, self._base(record))

    def _base(self, record: DecisionRecord) -> Decision:
        return Decision(
            id=record.id,
            server=record.server,
            tool=record.tool,
            verdict=Verdict.DENY,
            rule="",
            reason="",
            revision=self._bundle.revision,
        )

    def _concluded(
        self, record: DecisionRecord, asked: Mapping[str, _Asked], answers: Mapping[str, JsonValue]
    ) -> ReplayedOutcome:
        decisions = [self._merged(question, answers[id_]) for id_, question in asked.items()]
        verdicts = {decision.verdict for decision in decisions}
        if len(verdicts) > 1:
            unknown = "the policy tests what the record does not hold"
            return ReplayedOutcome(Replayed(id=record.id, verdict=None, unknown=unknown), None)
        causes = {(decision.rule, decision.clause) for decision in decisions}
        rule, clause = causes.pop() if len(causes) == 1 else (None, None)
        replayed = Replayed(id=record.id, verdict=verdicts.pop(), rule=rule, clause=clause)
        return ReplayedOutcome(replayed, decisions[0])

    def _told(self, record: DecisionRecord, replayed: Replayed) -> Decision | None:
        """Return the decision of a call that nobody had to be asked about."""
        if replayed.verdict is None:
            return None
        update = {"verdict": replayed.verdict, "rule": replayed.rule or "", "reason": record.reason}
        return self._base(record).model_copy(update=update)

    def _merged(self, asked: _Asked, answer: JsonValue) -> Decision:
        try:
            read = read_answer(answer, {resource.id for resource in asked.resources})
        except Refusal as refusal:
            raise VerificationError(
                f"the policy's answer about {visible(asked.base.id or '')}: {refusal.reason}"
            ) from None
        return merge(asked.base, {}, asked.resources, asked.minimum, read, self._content.clauses)


class _View:
    """The patterns of a policy, for resources that stand for themselves by their ids."""

    def __init__(self, patterns: Mapping[str, tuple[str, ...]]) -> None:
        self._patterns = patterns

    def covering(self, role: Role, resource: str | Url) -> tuple[str, ...]:  # noqa: ARG002 - the protocol's
        return self._patterns[str(resource)]


def _subject(id_: str, recorded: RecordedResource) -> Resource:
    if recorded.role.name == NONE:
        return Resource(CALL, recorded.role, CALL, at="")
    return Resource(id_, recorded.role, recorded.value, recorded.at, also_at=recorded.also_at, resource=id_)
