"""What the runner saw of a contained server: its report, read as it grows."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ironcurtain.model.base import Json
from ironcurtain.text import visible

_MOST = 1 << 20
_TRIED = {
    "write": "write a file outside",
    "read": "read a denied file",
    "network": "connect to this machine",
    "system": "change a setting of the system",
}


@dataclass(frozen=True)
class Seen:
    """One thing that was seen.

    Attributes:
        kind: `observed` (what a probe inside an identical sandbox could not do), `open` (something that it
            could), `violation` (what the server tried and was refused), `refused` (why nothing was started).
        text: What, safe to show.
    """

    kind: str
    text: str


class Report:
    """A report file; `new` returns what has been added since the last time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read = 0
        self._rest = b""

    def new(self) -> list[Seen]:
        """Return what is new; nothing once the file has gone."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read)
                data = file.read(_MOST)
        except OSError:
            return []
        self._read += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        return [_seen(json.loads(line)) for line in lines if line]


def _seen(line: dict[str, Json]) -> Seen:
    if "observed" in line:
        held: dict[str, bool] = line["observed"]
        open_ = [_TRIED[name] for name, is_held in held.items() if not is_held]
        if open_:
            return Seen("open", f"a probe in the sandbox could {', '.join(open_)}")
        return Seen(
            "observed", f"a probe in the sandbox could not {', nor '.join(map(_TRIED.__getitem__, held))}"
        )
    kind, text = next(iter(line.items()))
    return Seen(kind, visible(str(text))[:500])
