"""How often people will be asked (`ironcurtain forecast`), over a profile of use."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from ironcurtain.system.frozen import Frozen, JsonValue
from ironcurtain.system.text import visible


class ProfileCall(Frozen):
    """A call that an agent makes.

    Attributes:
        facts: Values of declared facts, as in scenarios; a call that is decided on others is unknown.
        at: When it is made, as text of RFC 3339.
        count: How often it is made, over all sessions of the profile together.
    """

    server: str
    tool: str
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    caller: dict[str, JsonValue] = Field(default_factory=dict)
    facts: dict[str, JsonValue] = Field(default_factory=dict)
    at: str | None = None
    count: int = Field(default=1, ge=1)


class UsageProfile(Frozen):
    """What an agent does in some sessions: a file that a person writes.

    Attributes:
        sessions: How many sessions the counts are taken over.
    """

    format: Literal["ironcurtain/profile/v1"]
    sessions: int = Field(default=1, ge=1)
    calls: tuple[ProfileCall, ...]


class ClauseForecast(Frozen):
    """The approvals that one clause causes.

    Attributes:
        clause: The clause, or the rule's name where no clause is behind it.
        text: The clause in its own words.
        approvals: Expected approvals per session.
        tools: `server/tool` of the calls.
    """

    clause: str
    text: str = ""
    approvals: float
    tools: tuple[str, ...]


class Forecast(Frozen):
    """How often a policy asks a person.

    Attributes:
        calls: Calls per session.
        approvals: Expected approvals per session.
        unknown: Calls per session of which the profile does not tell whether they need one.
        budget: The most approvals per session that are accepted.
    """

    format: Literal["ironcurtain/forecast/v1"] = "ironcurtain/forecast/v1"
    revision: str
    sessions: int
    calls: float
    approvals: float
    unknown: float
    budget: float | None = None
    clauses: tuple[ClauseForecast, ...] = ()


def text_lines(result: Forecast) -> Iterator[str]:
    """Yield a forecast as plain text."""
    budget = f" (budget {_number(result.budget)})" if result.budget is not None else ""
    approvals = "approval" if result.approvals == 1 else "approvals"
    yield f"{_number(result.approvals)} {approvals} per session{budget}, of {_number(result.calls)} calls"
    if result.unknown:
        yield f"unknown: {_number(result.unknown)} calls per session may need one, too"
    for clause in result.clauses:
        words = f" {visible(clause.text)}" if clause.text else ""
        yield f"  {_number(clause.approvals):>8}  {visible(clause.clause)}{words}"
        yield f"            {', '.join(visible(tool) for tool in clause.tools)}"


def _number(value: float | None) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if value is not None else "-"
