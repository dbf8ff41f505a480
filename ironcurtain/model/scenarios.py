"""Scenarios: calls with the verdict that they must get, and the world in which they happen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Discriminator, Field, Tag, field_validator, model_validator

from ironcurtain.model.verdict import Verdict
from ironcurtain.system import json_text
from ironcurtain.system.frozen import Frozen, JsonValue, Slug


class DescribedFile(Frozen):
    """A file of a described world; more than one link makes it a hard link."""

    links: int = Field(default=1, ge=1)


class Remote(Frozen):
    """The URLs that a git remote fetches from and pushes to."""

    fetch: tuple[str, ...] = ()
    push: tuple[str, ...] = ()


class Repository(Frozen):
    """A git repository of a described world.

    Attributes:
        branch: The branch that is checked out.
        remotes: Remotes by name.
        tracking: The remote that each branch tracks; a branch not named tracks `origin`.
        bare: A repository without a work tree.
    """

    branch: str = "main"
    remotes: dict[str, Remote] = Field(default_factory=dict)
    tracking: dict[str, str] = Field(default_factory=dict)
    bare: bool = False


class DescribedWorld(Frozen):
    """The machine that scenarios assume, as data, so that verification is the same everywhere."""

    home: str = "/home/user"
    sandbox: str | None = None
    protected: tuple[str, ...] = ()
    symlinks: dict[str, str] = Field(default_factory=dict)
    files: dict[str, DescribedFile] = Field(default_factory=dict)
    working_roots: dict[str, str] = Field(default_factory=dict)
    domains: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    repositories: dict[str, Repository] = Field(default_factory=dict)


class ScenarioCall(Frozen):
    """The call of a scenario.

    Attributes:
        facts: Values of declared facts: of a record an object of its fields, instants as texts of RFC 3339;
            or under `NAME/FIELD` as a decision sees them.
        at: When the call is decided, as text of RFC 3339: clocks and ages follow from it.
    """

    server: str
    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    caller: dict[str, JsonValue] | None = None
    facts: dict[str, JsonValue] | None = None
    at: str | None = None

    @field_validator("arguments", "caller", "facts")
    @classmethod
    def _are_strict(cls, value: JsonValue) -> JsonValue:
        """Refuse what no call can hold: a file may state larger numbers than a call."""
        json_text.check(value)
        return value


class _Expected(Frozen):
    """What must come of a call: the verdict and, where given, the deciding rule and who is asked.

    Attributes:
        approvers: Of a call that is escalated: the names of all whose approval it must need, none for
            anybody; None where that does not matter.
    """

    expect: Verdict
    rule: str | None = None
    approvers: tuple[Slug, ...] | None = Field(default=None, exclude_if=lambda value: value is None)

    @model_validator(mode="after")
    def _only_who_is_asked_approves(self) -> Self:
        if self.approvers is not None and self.expect is not Verdict.ESCALATE:
            msg = f"`approvers` are for a call that is to be escalated; this one expects {self.expect}"
            raise ValueError(msg)
        return self

    def is_met(self, verdict: Verdict, rule: str, approvers: tuple[str, ...]) -> bool:
        """Tell whether a decision is what must come of the call."""
        return (
            verdict is self.expect
            and self.rule in (None, rule)
            and (self.approvers is None or {*self.approvers} == {*approvers})
        )


class Scenario(_Expected):
    """One call and what must come of it."""

    id: Slug
    call: ScenarioCall
    clause: str | None = None
    why: str = ""
    origin: Literal["handwritten", "generated", "intent", "answer"] = "handwritten"


class Step(_Expected):
    """One call of a scenario with steps, and what must come of it.

    Attributes:
        call: The call. Its facts are what records hold; labels and totals follow from the steps before.
            Without `at` it is decided when the step before it was.
        clause: The clause that the step is about.
        approved: Of a call that is escalated: whether a person approves it, so that it is sent.
        result: What the server answers, as structured content, where a label depends on that; an answer that
            is not told counts as one that cannot be read.
    """

    call: ScenarioCall
    clause: str | None = None
    approved: bool = False
    result: dict[str, JsonValue] | None = None

    @property
    def is_sent(self) -> bool:
        """Whether the call is sent where it is decided as expected."""
        return self.expect is Verdict.ALLOW or self.approved

    @model_validator(mode="after")
    def _only_what_is_asked_about_is_approved(self) -> Step:
        if self.approved and self.expect is not Verdict.ESCALATE:
            msg = f"`approved` is for a call that is expected to be escalated; this one expects {self.expect}"
            raise ValueError(msg)
        if self.result is not None and not self.is_sent:
            msg = "a call that is not sent has no `result`"
            raise ValueError(msg)
        return self


class SteppedScenario(Frozen):
    """Calls of one session, one after the other, each with what must come of it.

    Attributes:
        clause: The clause that the last step is about.
    """

    id: Annotated[Slug, Field(max_length=112)]
    steps: tuple[Step, ...] = Field(min_length=1, max_length=999)
    clause: str | None = None
    why: str = ""
    origin: Literal["handwritten", "generated", "intent", "answer"] = "handwritten"

    @property
    def calls(self) -> tuple[Scenario, ...]:
        """Each step as a scenario of its own, without what follows from the steps before it."""
        last = len(self.steps)
        return tuple(
            Scenario(
                id=f"{self.id}.step-{number}",
                call=step.call,
                expect=step.expect,
                rule=step.rule,
                approvers=step.approvers,
                clause=step.clause or (self.clause if number == last else None),
                why=self.why,
                origin=self.origin,
            )
            for number, step in enumerate(self.steps, 1)
        )


# Names in brackets are no part of the place that an error tells.
_CALL, _STEPS = "[call]", "[steps]"


def _form(value: object) -> str:
    has_steps = "steps" in value if isinstance(value, dict) else isinstance(value, SteppedScenario)
    return _STEPS if has_steps else _CALL


Entry: TypeAlias = Annotated[
    Annotated[Scenario, Tag(_CALL)] | Annotated[SteppedScenario, Tag(_STEPS)], Discriminator(_form)
]


class Scenarios(Frozen):
    """The files `scenarios.yaml` (handwritten, ground truth) and `test-scenarios.json` (all of them).

    Attributes:
        entries: All of them, in their order.
    """

    format: Literal["ironcurtain/scenarios/v1"]
    world: DescribedWorld = Field(default_factory=DescribedWorld)
    entries: tuple[Entry, ...] = Field(alias="scenarios")

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """Those of one call."""
        return tuple(entry for entry in self.entries if isinstance(entry, Scenario))

    @property
    def stepped(self) -> tuple[SteppedScenario, ...]:
        """Those with steps."""
        return tuple(entry for entry in self.entries if isinstance(entry, SteppedScenario))

    @property
    def calls(self) -> tuple[Scenario, ...]:
        """Each call, steps without what follows from the steps before them."""
        return tuple(
            call
            for entry in self.entries
            for call in (entry.calls if isinstance(entry, SteppedScenario) else (entry,))
        )

    def with_more(self, more: Iterable[Scenario]) -> Scenarios:
        """Return these scenarios and others after them."""
        return self.model_copy(update={"entries": (*self.entries, *more)})

    def path_of(self, id_: str, origin: str | None = None) -> tuple[str | int, ...] | None:
        """Return where a call stands in a file of these entries; None if it does not.

        Args:
            id_: The id, of a step `ID.step-NUMBER`.
            origin: The file holds the entries of this origin only; None for all of them.
        """
        listed = [entry for entry in self.entries if origin in (None, entry.origin)]
        for number, entry in enumerate(listed):
            calls = entry.calls if isinstance(entry, SteppedScenario) else ()
            if entry.id == id_:
                return "scenarios", number
            for step, call in enumerate(calls):
                if call.id == id_:
                    return "scenarios", number, "steps", step
        return None
