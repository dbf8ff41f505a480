"""What is seen of one started server's sandbox: its report, and what is looked at from outside."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from pathlib import Path

import anyio

from ironcurtain.enforcement.sandbox.contained_process import ContainedStart, give_up_harmful
from ironcurtain.enforcement.sandbox.report import Observation, Report
from ironcurtain.system.structs import Struct
from ironcurtain.system.text import visible

_POLL = 0.25
_MECHANISM = "bubblewrap" if sys.platform == "linux" else "seatbelt"


class Confinement(Struct):
    """What was seen to confine a server's process.

    Attributes:
        isolation: `none`, or the name of the mechanism.
        observed: How that was seen.
    """

    isolation: str
    observed: str


UNSTARTED = Confinement("none", "the server has not been started")
Tell = Callable[[str, Observation], Awaitable[None]]
"""Is told of a server what was seen of it."""


class SandboxWatch:
    """Reads the report on one started server, and sees whether what it is kept from is still that."""

    def __init__(self, name: str, inside: ContainedStart, states: dict[str, Confinement], home: Path) -> None:
        self._name, self._states = name, states
        self._report = Report(inside.report, home)
        self.violations: list[str] = []
        self._held = {path: _identity(path) for path in inside.held}
        self._configured = _written(inside.held)
        self._untold: list[Observation] = []
        self.refused = ""
        states[name] = Confinement("none", "nothing has been seen of its sandbox yet")

    def take(self) -> None:
        """Read what is new."""
        for seen in self._report.new():
            self._untold.append(seen)
            if seen.kind == "violation":
                self.violations.append(seen.text)
            if seen.kind in {"observed", "open"}:
                self._states[self._name] = Confinement(
                    _MECHANISM if seen.kind == "observed" else "none", seen.text
                )
            elif seen.kind == "refused":
                self.refused = f"its sandbox could not be made: {seen.text}"

    async def run(self, tell: Tell) -> None:
        """Tell what is seen, for as long as the server runs."""
        while True:
            await self.tell_all(tell)
            await anyio.sleep(_POLL)

    async def tell_all(self, tell: Tell) -> None:
        """Tell what has been seen and not yet told."""
        self.take()
        self._look_at_held()
        untold, self._untold = self._untold, []
        for seen in untold:
            await tell(self._name, seen)

    def _look_at_held(self) -> None:
        if (configured := _written(self._held)) != self._configured:
            self._configured = configured
            give_up_harmful(self._held)
        for path in [path for path, was in self._held.items() if _identity(path) != was]:
            del self._held[path]
            place = visible(str(path))
            what = f"{place} was replaced or removed; the server is kept from it again when it next starts"
            self._untold.append(Observation("open", what))


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _written(held: Iterable[Path]) -> list[tuple[int, int]]:
    """Return when the configurations beside each `commondir` were last written."""
    written = []
    for path in held:
        if path.name == "commondir":
            with suppress(OSError):
                status = path.with_name("config").stat()
                written.append((status.st_ino, status.st_mtime_ns))
    return written
