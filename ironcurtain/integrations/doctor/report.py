"""What `ironcurtain doctor` finds: whether each part works, and what mends it."""

from __future__ import annotations

from typing import Literal

from ironcurtain.system.frozen import Frozen


class Diagnosis(Frozen):
    """One thing that was looked at.

    Attributes:
        name: The part, as `opa`, `servers/notes` or `client/FILE`; one part can have several.
        status: `warn` is what a person should know and can live with; `skip` is what could not be looked
            at for the reason given.
        what: What was found, in one sentence.
        fix: What mends it; empty where nothing has to be mended.
        code: The error that it is elsewhere, as `IC3001`; its page is `docs/errors/IC3001.md`.
    """

    name: str
    status: Literal["ok", "warn", "fail", "skip"]
    what: str
    fix: str = ""
    code: str = ""


class DoctorReport(Frozen):
    """Everything that was looked at, in order."""

    format: Literal["ironcurtain/doctor/v1"] = "ironcurtain/doctor/v1"
    ok: bool
    checks: tuple[Diagnosis, ...]
