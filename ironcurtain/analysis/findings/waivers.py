"""Waivers: findings that a person accepted until a certain day (`waivers.yaml`)."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field, model_validator

from ironcurtain.system.frozen import Frozen


class Waiver(Frozen):
    """One accepted finding.

    Attributes:
        id: The finding's id.
        reason: Why it is accepted.
        expires: The last day (UTC) on which the waiver counts, as `"2027-06-30"`.
    """

    id: str = Field(pattern=r"^[a-z][a-z-]*-[0-9a-f]{8}(?:-[0-9]+)?$")
    reason: str = Field(min_length=1)
    expires: date


class Waivers(Frozen):
    """The file `waivers.yaml`."""

    format: Literal["ironcurtain/waivers/v1"]
    waivers: tuple[Waiver, ...] = ()

    @model_validator(mode="after")
    def _ids_are_distinct(self) -> Waivers:
        ids = [waiver.id for waiver in self.waivers]
        if len(ids) != len(set(ids)):
            msg = "two waivers have the same id"
            raise ValueError(msg)
        return self
