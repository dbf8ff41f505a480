"""Scenarios: calls with the verdict that they must get, and the world in which they happen."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

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


class Scenario(Frozen):
    """One call and what must come of it: the verdict and, where given, the deciding rule."""

    id: Slug
    call: ScenarioCall
    expect: Verdict
    rule: str | None = None
    clause: str | None = None
    why: str = ""
    origin: Literal["handwritten", "generated", "intent", "answer"] = "handwritten"


class Scenarios(Frozen):
    """The files `scenarios.yaml` (handwritten, ground truth) and `test-scenarios.json` (all of them)."""

    format: Literal["ironcurtain/scenarios/v1"]
    world: DescribedWorld = Field(default_factory=DescribedWorld)
    scenarios: tuple[Scenario, ...]
