"""Why a call was decided as it was: for an operator, and for the agent that made it."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.bundle.content import PolicyContent
from ironcurtain.model.decision import Decision
from ironcurtain.model.policy import Approver
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Digest, Frozen, JsonValue, is_empty


class QuotedClause(Frozen):
    """A clause of the constitution in its own words.

    Attributes:
        file: Where it stands, empty where the bundle does not say.
        line: 1-based line in the file; 0 where the bundle does not say.
    """

    id: str
    text: str
    file: str = ""
    line: int = 0


def clauses_of(content: PolicyContent) -> dict[str, QuotedClause]:
    """Return a policy's clauses by id, each with the file and line that it was read from."""
    return {id_: _quoted(id_, text, content.sources[id_]) for id_, text in content.clauses.items()}


def _quoted(id_: str, text: str, source: str) -> QuotedClause:
    file, _, line = source.rpartition(":")
    known = bool(file) and line.isdecimal()
    return QuotedClause(id=id_, text=text, file=file if known else source, line=int(line) if known else 0)


class ExplainedStep(Frozen):
    """One of the seven steps, with what it found.

    Attributes:
        passed: False where the call ended here; None where it never came here.
    """

    number: int
    name: str
    passed: bool | None
    found: tuple[str, ...] = ()


class NearRule(Frozen):
    """A rule that could judge a resource and did not, with the conditions that failed."""

    rule: str
    then: Verdict
    clause: str
    failed: tuple[str, ...]


class RuleOutcome(Frozen):
    """What became of one rule about one resource.

    Attributes:
        state: `fired`: it decided. `held`: its conditions hold, but another one decided. `unknown`: it would
            hold, but for facts that are not known. `false`: a condition failed.
        failed: The conditions that failed.
        unknown: Its tests whose outcome hung on a fact that is not known.
    """

    rule: str
    then: Verdict
    clause: str
    state: Literal["fired", "held", "unknown", "false"]
    failed: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class ExplainedResource(Frozen):
    """One resource and the rule that judged it.

    Attributes:
        patterns: The patterns of the policy that cover it.
        reason: The rule's own reason; empty where no rule of the policy judged it.
        near: The rules that came close, the closest first.
        rules: Where every rule was asked for: those about the resource's role, in their order.
    """

    at: str
    role: str
    value: str
    verdict: Verdict
    rule: str
    discharged: bool
    patterns: tuple[str, ...]
    reason: str
    clause: str | None
    near: tuple[NearRule, ...]
    rules: tuple[RuleOutcome, ...] = Field(default=(), exclude_if=is_empty)


class Suggestion(Frozen):
    """A call that gets further, decided before it was put here.

    Attributes:
        verdict: What it was decided to be: allow, or escalate where nothing near is allowed.
        changed: Pointers of the arguments that differ from the explained call.
        caller: The caller facts that it was decided with.
    """

    server: str
    tool: str
    arguments: dict[str, JsonValue]
    verdict: Verdict
    changed: tuple[str, ...]
    caller: dict[str, JsonValue] = Field(default_factory=dict)


class OtherFact(Frozen):
    """What would have to be so of a declared fact for the call to get further, decided before it is told.

    Attributes:
        words: The fact and its values, such as `order/status = "pending"`.
        verdict: What the same call is decided to be then.
    """

    words: str
    verdict: Verdict


class Reproduction(Frozen):
    """A recorded decision, decided again.

    Attributes:
        revision: The bundle under which it was decided again.
        same: Whether verdict, rule and every resource are as recorded.
        differences: What differs, one line each.
    """

    revision: Digest
    same: bool
    differences: tuple[str, ...] = ()


class Explanation(Frozen):
    """The way of one call through the seven steps, and what would change it.

    Attributes:
        input: What OPA was asked, as `ironcurtain input` prints it; None where it was not asked.
        answer: What it answered; None where it did not.
        clauses: Every clause that the explanation refers to.
        approvers: By name, the approvers whose approval the call needs, as far as the policy describes them.
        suggestions: The nearest calls that are allowed; or escalated where none is.
        other_facts: What would let the call get further, if it were so.
        reproduction: Of a recorded decision: whether the record's own bundle decides it so again.
        today: Of a recorded decision: what another bundle decides now.
    """

    format: Literal["ironcurtain/explanation/v1"] = "ironcurtain/explanation/v1"
    decision: Decision
    steps: tuple[ExplainedStep, ...]
    subjects: tuple[ExplainedResource, ...]
    input: JsonValue = Field(default=None, exclude_if=is_empty)
    answer: JsonValue = Field(default=None, exclude_if=is_empty)
    clauses: tuple[QuotedClause, ...]
    suggestions: tuple[Suggestion, ...]
    other_facts: tuple[OtherFact, ...] = Field(default=(), exclude_if=is_empty)
    approvers: dict[str, Approver] = Field(default_factory=dict, exclude_if=is_empty)
    reproduction: Reproduction | None = None
    today: Reproduction | None = None
