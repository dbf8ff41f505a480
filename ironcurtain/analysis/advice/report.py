"""What logs say about a policy (`ironcurtain advise`): use, and proposals with their proofs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ironcurtain.analysis.diff.report import Difference
from ironcurtain.enforcement.approvals.messages import RequestId
from ironcurtain.enforcement.audit.record_types import RecordedApprovalState
from ironcurtain.model.guarantees import GuaranteeResult
from ironcurtain.model.policy import Rule
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, is_empty


class PermittedClass(Frozen):
    """Calls that a sentence permits, as the matrix names them.

    Attributes:
        roles: Of the resources.
        where: The places; the most specific one that covers a resource counts.
        when: What else must be so, all of it.
    """

    roles: tuple[str, ...]
    where: tuple[str, ...]
    when: tuple[str, ...] = ()


class Use(Frozen):
    """What a sentence permits of a tool, and what of that was used.

    Attributes:
        clause: The sentence; None for what the workspace permits.
        permitted: How many classes of calls it permits; `used` so many of them.
        calls: How many calls were of these.
        callers: Whom the agent acted for in them, the first few by name; `others` so many more.
        last: When it was last used: RFC 3339, UTC; None where it was not.
        unused: The classes that no call used.
    """

    server: str
    tool: str
    clause: str | None
    verdict: Verdict
    permitted: int
    used: int
    calls: int
    callers: tuple[str, ...] = ()
    others: int = 0
    last: str | None = None
    unused: tuple[PermittedClass, ...] = ()


class Support(Frozen):
    """What of the logs a proposal rests on.

    Attributes:
        calls: Calls that it concerns; `days` the days on which they were made.
        callers: For how many callers, or connections, they were made.
        answers: Answers of people that it rests on.
    """

    calls: int
    days: int
    callers: int
    answers: int = 0


class Proof(Frozen):
    """What was proved of a proposal: nothing in it is a guess.

    Attributes:
        difference: Every decision that is another one with it; exact.
        guarantees: The guarantees of the project with it: each is proved.
        replayed: How many recorded calls were replayed.
        unknown: Of how many of these the records do not hold enough to decide them again.
        changed: How many of these are decided otherwise: each was escalated and is allowed.
    """

    difference: Difference
    guarantees: tuple[GuaranteeResult, ...] = ()
    replayed: int
    unknown: int
    changed: int


class Proposal(Frozen):
    """A sentence to write into the constitution. Nothing was changed.

    Attributes:
        kind: `fewer-questions` or `tighter`.
        sentence: The sentence, made by a template; no model wrote it. Empty where one is only to be removed.
        replaces: The clause in whose place it stands; None for one to be added.
        replaced: The words of that clause.
        rules: The rules that were examined as what the sentence means.
        before: The rule before which they were put, where a sentence is added.
        saves: How many recorded questions would not have been asked.
        opens: The classes that it opens beyond those that were asked about.
        guarantees: Guarantees that hold with it and did not before.
    """

    kind: Literal["fewer-questions", "tighter"]
    sentence: str
    replaces: str | None = None
    replaced: str = ""
    rules: tuple[Rule, ...]
    before: str | None = None
    saves: int = 0
    opens: tuple[PermittedClass, ...] = ()
    guarantees: tuple[GuaranteeResult, ...] = ()
    support: Support
    proof: Proof


class Asking(Frozen):
    """A request that waits for a person, and the sentence that asks.

    Attributes:
        clause: The id of that sentence; None where the rule has none.
        source: Where it stands, as `FILE:LINE`; empty where the policy does not say, or has other words.
        before: How past requests about this tool ended that the same sentence asked, or the same rule where
            there is none.
    """

    request: RequestId
    server: str
    tool: str
    rule: str
    reason: str
    clause: str | None
    clause_text: str | None
    source: str = ""
    before: dict[RecordedApprovalState, int] = Field(default_factory=dict)


class Advice(Frozen):
    """What logs say about a policy, or about one request that waits for a person.

    Attributes:
        asking: The request; None where it is about the policy.
        logs: The names of the logs.
        calls: How many calls they hold; `days` on so many days.
        questions: How many of these a person had to be asked about.
        saved: How many of them all proposals together would save.
        unplaced: How many permitted calls are of no class that was examined.
        notes: Why something was not proposed, or is known less well than it could be.
    """

    format: Literal["ironcurtain/advice/v1"] = "ironcurtain/advice/v1"
    asking: Asking | None = Field(default=None, exclude_if=is_empty)
    revision: str
    logs: tuple[str, ...]
    calls: int = 0
    days: int = 0
    questions: int = 0
    saved: int = 0
    unplaced: int = 0
    use: tuple[Use, ...] = ()
    proposals: tuple[Proposal, ...] = ()
    notes: tuple[str, ...] = Field(default=())
