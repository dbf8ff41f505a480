"""Guarantees: statements about all calls and all sessions (`guarantees.yaml`), and what is known of each."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from ironcurtain.model.conditions import ArgCondition, FactCondition
from ironcurtain.model.records import FactName
from ironcurtain.model.verdict import Verdict
from ironcurtain.system.frozen import Frozen, JsonValue, ServerName, is_empty


class GuaranteeScope(Frozen):
    """Which calls a guarantee speaks of; a key that is absent tests nothing.

    Attributes:
        within: Patterns, or `sandbox`: one of them covers the resource.
        outside: Patterns, or `sandbox`: none of them covers the resource.
        args: Tests of arguments, as in rules.
        caller: Tests of caller facts, as in rules.
        facts: Tests of declared facts, as in rules.
    """

    server: tuple[ServerName, ...] | None = Field(default=None, min_length=1)
    tool: tuple[str, ...] | None = Field(default=None, min_length=1)
    roles: tuple[str, ...] | None = Field(default=None, min_length=1)
    within: tuple[str, ...] | None = Field(default=None, min_length=1)
    outside: tuple[str, ...] | None = Field(default=None, min_length=1)
    args: tuple[ArgCondition, ...] = ()
    caller: tuple[ArgCondition, ...] = ()
    facts: tuple[FactCondition, ...] = ()


class Guarantee(Frozen):
    """One guarantee: `never V` (no such call is decided V or looser) or `always V` (it is V).

    With `roles` both speak of a resource: no call that holds it, or its own verdict.
    """

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")
    clause: str | None = None
    never: Verdict | None = None
    always: Verdict | None = None
    when: GuaranteeScope
    why: str = ""

    @model_validator(mode="after")
    def _one_demand(self) -> Guarantee:
        if (self.never is None) == (self.always is None):
            msg = "give either never or always"
            raise ValueError(msg)
        if self.never is Verdict.DENY:
            msg = "never: deny says that everything is denied and is not"
            raise ValueError(msg)
        return self

    @property
    def words(self) -> str:
        """The demand in two words."""
        return f"never {self.never}" if self.never is not None else f"always {self.always}"


class NeverAfter(Frozen):
    """Once a call of one kind was sent in a session, no call of another kind is allowed in it.

    Attributes:
        after: The calls that are sent: allowed, or escalated and approved.
        allow: The calls that are then not allowed without asking.
    """

    after: GuaranteeScope
    allow: GuaranteeScope


class AtMost(Frozen):
    """No call is allowed without asking by which a total would be more than a number.

    Attributes:
        total: The name of a declared counter.
        per: Its window.
        is_: The number.
    """

    total: FactName
    per: Literal["hour", "day", "week", "session"]
    is_: int | float = Field(alias="is", ge=0, allow_inf_nan=False)


class SequenceGuarantee(Frozen):
    """A guarantee about the calls of a session, one after the other."""

    id: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$")
    clause: str | None = None
    never: NeverAfter | None = None
    at_most: AtMost | None = None
    why: str = ""

    @model_validator(mode="after")
    def _one_demand(self) -> SequenceGuarantee:
        if (self.never is None) == (self.at_most is None):
            msg = "give either never or at_most"
            raise ValueError(msg)
        return self

    @property
    def words(self) -> str:
        """The demand in a few words."""
        if self.at_most is not None:
            return f"{self.at_most.total} at most {self.at_most.is_:g} per {self.at_most.per}"
        return "never allow after"


# Names in brackets are no part of the place that an error tells.
_CALLS, _SEQUENCES = "[calls]", "[sequences]"


def _form(value: object) -> str:
    if isinstance(value, dict):
        is_sequence = "at_most" in value or isinstance(value.get("never"), dict)
    else:
        is_sequence = isinstance(value, SequenceGuarantee)
    return _SEQUENCES if is_sequence else _CALLS


AnyGuarantee: TypeAlias = Annotated[
    Annotated[Guarantee, Tag(_CALLS)] | Annotated[SequenceGuarantee, Tag(_SEQUENCES)], Discriminator(_form)
]


class Guarantees(Frozen):
    """The file `guarantees.yaml`.

    Attributes:
        entries: All of them, in their order.
    """

    format: Literal["ironcurtain/guarantees/v1"]
    entries: tuple[AnyGuarantee, ...] = Field(alias="guarantees")

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Those about single calls."""
        return tuple(entry for entry in self.entries if isinstance(entry, Guarantee))

    @property
    def sequences(self) -> tuple[SequenceGuarantee, ...]:
        """Those about the calls of a session."""
        return tuple(entry for entry in self.entries if isinstance(entry, SequenceGuarantee))

    @model_validator(mode="after")
    def _ids_are_distinct(self) -> Guarantees:
        ids = [guarantee.id for guarantee in self.entries]
        if len(ids) != len(set(ids)):
            msg = "two guarantees have the same id"
            raise ValueError(msg)
        return self


class WitnessCall(Frozen):
    """A whole call in the assumed world, and how it is decided.

    Attributes:
        subject: The resource that it is about, as `role value`.
        at: When it is decided, where a sequence of calls needs that.
        approved: Whether it is sent because a person approves it.
        gives: The labels that it gives its session.
    """

    server: str
    tool: str
    arguments: dict[str, JsonValue]
    caller: dict[str, JsonValue] = Field(default_factory=dict)
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    subject: str
    verdict: Verdict
    rule: str
    clause: str | None = None
    at: str | None = Field(default=None, exclude_if=is_empty)
    approved: bool = Field(default=False, exclude_if=lambda value: not value)
    gives: tuple[str, ...] = Field(default=(), exclude_if=is_empty)


GuaranteeStatus: TypeAlias = Literal["proved", "not found", "broken", "says nothing", "not examined"]
STATUSES: tuple[GuaranteeStatus, ...] = get_args(GuaranteeStatus)


class GuaranteeResult(Frozen):
    """What is known of one guarantee.

    Attributes:
        demand: `never V` or `always V`.
        status: `proved` where it holds for all calls; `broken` where the witness breaks it; `not found` where
            no call was found that breaks it, but not every kind of call was examined, for the `reasons`
            given (of a `proved` one the requests that no rule opens); `says nothing` where it is proved to
            speak of no call at all; `not examined` where no call could be made that it speaks of, or that a
            tool of it takes.
        cells: How many kinds of resources it speaks of.
        witness: The smallest call that breaks it; of a guarantee about sequences the last call of one.
        sequence: The calls of a session that break it, as few as were found; the last one is the witness.
        asked_of_caller: The approvers among whom rules ask in what it speaks of and who are the principal:
            what is asked of them is not enforced against them.
    """

    id: str
    clause: str | None = None
    demand: str
    status: GuaranteeStatus
    reasons: tuple[str, ...] = ()
    cells: int
    witness: WitnessCall | None = None
    sequence: tuple[WitnessCall, ...] = Field(default=(), exclude_if=is_empty)
    asked_of_caller: tuple[str, ...] = Field(default=(), exclude_if=is_empty)

    @property
    def holds(self) -> bool:
        """Whether it is kept as far as is known; one that speaks of no call keeps nobody safe."""
        return self.cells > 0 and self.status in ("proved", "not found")


class GuaranteeReport(Frozen):
    """The result of checking all guarantees of a file.

    Attributes:
        ok: Whether each holds as far as is known.
    """

    format: Literal["ironcurtain/guarantee-report/v1"] = "ironcurtain/guarantee-report/v1"
    ok: bool
    revision: str
    results: tuple[GuaranteeResult, ...]

    @property
    def is_unexamined(self) -> bool:
        """Whether nothing is wrong with any, and of one nothing is known."""
        unkept = {result.status for result in self.results if not result.holds}
        return unkept == {"not examined"}
