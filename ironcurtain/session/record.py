"""What a session is, as its file says it (`ironcurtain/session/v1`)."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime, Field

from ironcurtain.session.limits import Used
from ironcurtain.system.frozen import Frozen, JsonValue


class SessionRecord(Frozen):
    """The file `session.json`.

    Attributes:
        model: `provider:id`.
        revision: Revision of the policy that the session was begun under.
        workspace: The agent's working directory.
        caller: Facts about whom the agent acts for.
        task: The first words of the person.
        used: What its turns have used.
    """

    format: Literal["ironcurtain/session/v1"] = "ironcurtain/session/v1"
    id: str
    model: str
    revision: str
    workspace: str | None
    begun: AwareDatetime
    caller: dict[str, JsonValue] = Field(default_factory=dict)
    task: str = ""
    used: Used = Used()
