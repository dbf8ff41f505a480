"""What a session is, as its file says it (`ironcurtain/session/v1`)."""

from __future__ import annotations

from typing import Literal

from pydantic import AwareDatetime

from ironcurtain.system.frozen import Frozen


class SessionRecord(Frozen):
    """The file `session.json`.

    Attributes:
        model: `provider:id`.
        revision: Revision of the policy that the session was begun under.
        workspace: The agent's working directory.
        task: The first words of the person.
    """

    format: Literal["ironcurtain/session/v1"] = "ironcurtain/session/v1"
    id: str
    model: str
    revision: str
    workspace: str | None
    begun: AwareDatetime
    task: str = ""
